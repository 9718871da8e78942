"""Play games under a seed and print what came of them: run by tests in other processes and under other settings.

usage: python digests.py SEED GAMES DECISIONS [PLAYERS]
"""

import hashlib
import json
import sys

import numpy as np

from wzmj_env import Rules, VectorEnv


def play(seed, games, decisions, players=4):
    """A digest a decision over every buffer and every byte of the states."""
    env = VectorEnv(games, Rules(num_players=players), seed=seed, state=True)
    rows = []
    for _ in range(decisions):
        env.step(env.sample_actions())
        h = hashlib.sha256()
        for buffer in (env.observation, env.action_mask, env.state, env.current_player, env.rewards, env.terminated):
            h.update(np.ascontiguousarray(buffer).tobytes())
        h.update(env.states.tobytes())
        rows.append(h.hexdigest()[:16])
    return rows


if __name__ == "__main__":
    print(json.dumps(play(*map(int, sys.argv[1:]))))
