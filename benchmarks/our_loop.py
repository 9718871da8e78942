"""This package's loops. Prints decisions per second of processor time.

usage: our_loop.py masks|observations|raw_env|env SECONDS
"""

import sys

from wzmj_env import bench


def main(what: str, seconds: float) -> float:
    if what in ("raw_env", "env"):
        run = bench.aec_loop(what, seconds)
    else:
        run = bench.compiled_loop(seconds, observe=what == "observations")
    run()
    return run()


if __name__ == "__main__":
    print(main(sys.argv[1], float(sys.argv[2])))
