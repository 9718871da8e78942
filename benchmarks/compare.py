"""Our loops beside the peers', in turn, each in a process of its own: medians and ratios.

usage: compare.py [--riichienv PYTHON] [--runs N] [--seconds S] [--json FILE]
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAIRS = [  # ours, the peer's program and what it is asked for
    ("masks", "riichienv_loop.py", "play"),
    ("observations", "riichienv_loop.py", "encode"),
    ("raw_env", "connect_four_loop.py", "raw_env"),
    ("env", "connect_four_loop.py", "env"),
]


def rate(python: str, script: str, what: str, seconds: float) -> float:
    done = subprocess.run(
        [python, str(HERE / script), what, str(seconds)], capture_output=True, text=True, check=True, cwd=HERE.parent
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--riichienv", metavar="PYTHON", help="an interpreter with riichienv; without it left out")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    report = []
    for ours, script, what in PAIRS:
        python = options.riichienv if script.startswith("riichienv") else sys.executable
        if python is None:
            continue
        runs = [
            (rate(sys.executable, "our_loop.py", ours, options.seconds), rate(python, script, what, options.seconds))
            for _ in range(options.runs)
        ]
        mine, theirs = (statistics.median(column) for column in zip(*runs, strict=True))
        ratio = statistics.median(a / b for a, b in runs)
        name = f"{script.removesuffix('_loop.py')} {what}"
        report.append({"ours": ours, "peer": name, "our_rate": mine, "peer_rate": theirs, "ratio": ratio, "runs": runs})
        print(f"wzmj {ours:<13}{mine:>12,.0f}/s   {name:<22}{theirs:>10,.0f}/s   ratio {ratio:,.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
