"""PettingZoo's connect_four with random legal actions. Prints decisions per second of processor time.

usage: connect_four_loop.py raw_env|env SECONDS
"""

import random
import sys
import time

from pettingzoo.classic.connect_four import connect_four


def main(make: str, seconds: float) -> float:
    env = getattr(connect_four, make)()
    rng = random.Random(0)
    decisions, games, start = 0, 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        env.reset(seed=games)
        games += 1
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            env.step(rng.choice(observation["action_mask"].nonzero()[0].tolist()))
            decisions += 1
    return decisions / spent


if __name__ == "__main__":
    print(main(sys.argv[1], float(sys.argv[2])))
