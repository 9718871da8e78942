"""riichienv: random legal actions in one environment. Prints decisions per second of processor time.

usage: riichienv_loop.py play|encode SECONDS
"""

import random
import sys
import time

from riichienv import RiichiEnv


def main(what: str, seconds: float) -> float:
    rng = random.Random(0)
    env = RiichiEnv(game_mode="4p-red-half", skip_mjai_logging=True, seed=1)
    observations = env.reset()
    decisions, start = 0, time.process_time()
    while True:
        answers = {}
        for player, observation in observations.items():
            if what == "encode":
                observation.encode()
                observation.mask()
            answers[player] = rng.choice(observation.legal_actions())
        decisions += len(answers)
        observations = env.step(answers)
        if env.done():
            spent = time.process_time() - start
            if spent > seconds:
                return decisions / spent
            observations = env.reset()


if __name__ == "__main__":
    print(main(sys.argv[1], float(sys.argv[2])))
