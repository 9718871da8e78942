"""An envpool game stepped in batches on one thread, random legal actions. Prints the decisions per second of processor
time at its best batch size.

usage: envpool_loop.py GAME SECONDS
"""

import sys
import time

import envpool
import numpy as np

BATCHES = (256, 1024, 4096)
MASKS = ("legal_action_mask", "action_mask", "legal_actions", "mask")


def mask_in(*places):
    """The first array of legal actions among some dicts, or None."""
    for place in places:
        for name in MASKS:
            if isinstance(place, dict) and name in place:
                return np.asarray(place[name]).astype(bool)
    return None


def rate(game: str, batch: int, seconds: float) -> float:
    env = envpool.make_gymnasium(game, num_envs=batch, num_threads=1, seed=0)
    rng = np.random.default_rng(0)
    observation, info = env.reset()
    decisions, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        mask = mask_in(info, observation)
        if mask is None:
            actions = rng.integers(0, env.action_space.n, batch)
        else:
            actions = (rng.random(mask.shape, dtype=np.float32) * mask).argmax(axis=1)
        observation, _, _, _, info = env.step(actions.astype(np.int32))
        decisions += batch
    env.close()
    return decisions / spent


if __name__ == "__main__":
    print(max(rate(sys.argv[1], batch, float(sys.argv[2])) for batch in BATCHES))
