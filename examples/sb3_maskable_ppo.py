"""MaskablePPO of sb3-contrib against rule players, measured over duplicate deals.

    python examples/sb3_maskable_ppo.py               # on the compiled batch
    python examples/sb3_maskable_ppo.py --single      # on one environment
"""

import argparse

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO

import wzmj_env  # registers the environment
from wzmj_env.adapters.sb3 import SB3VecEnv
from wzmj_env.duplicate import compare


class Learnt:
    """The trained policy as an agent."""

    name = "MaskablePPO"

    def __init__(self, model):
        self.model = model

    def act(self, observations, masks):
        return self.model.predict(observations, action_masks=masks.astype(np.bool_), deterministic=True)[0]

    def reset(self, seed):
        pass


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000, help="decisions of the learner")
    parser.add_argument("--tables", type=int, default=64)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")
    options = parser.parse_args(arguments)
    name, settings = "wzmj_env/WenzhouMahjong-v0", {"opponents": "rule", "rules": wzmj_env.Rules(stakes=False)}
    if options.single:
        env, rows = gymnasium.make(name, **settings), 2048
    else:
        env, rows = SB3VecEnv(gymnasium.make_vec(name, num_envs=options.tables, **settings)), 128
    rows = max(2, min(rows, options.steps // (1 if options.single else options.tables)))
    model = MaskablePPO("MlpPolicy", env, n_steps=rows, batch_size=512, n_epochs=4, learning_rate=5e-4, gamma=1.0, seed=1)
    model.learn(options.steps)
    result = compare(Learnt(model), "rule", "1v3", options.deals, seed=1)
    print(f"{result.a} against 3 rule players, {result.deals} deals:"
          f" {result.mean:+.3f} ({result.low:+.3f} .. {result.high:+.3f}) units a hand")  # fmt: skip
    return result


if __name__ == "__main__":
    main()
