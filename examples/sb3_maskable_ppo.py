"""MaskablePPO of sb3-contrib against rule players.

python examples/sb3_maskable_ppo.py               # on the compiled batch
python examples/sb3_maskable_ppo.py --single      # on one environment
"""

import argparse

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO

from wzmj_env import Rules
from wzmj_env.adapters.sb3 import SB3VecEnv

from measure import against_rule

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=100_000, help="decisions of the learner")
parser.add_argument("--tables", type=int, default=64)
parser.add_argument("--rows", type=int, default=128, help="decisions a table between updates")
parser.add_argument("--single", action="store_true", help="one environment in place of the batch")
parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")


def main(arguments=None):
    options = parser.parse_args(arguments)
    settings = {"opponents": "rule", "rules": Rules(stakes=False)}
    if options.single:
        env, rows = gymnasium.make("wzmj_env/WenzhouMahjong-v0", **settings), options.rows * options.tables
    else:
        env = SB3VecEnv(gymnasium.make_vec("wzmj_env/WenzhouMahjong-v0", num_envs=options.tables, **settings))
        rows = options.rows
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=rows, batch_size=512, n_epochs=4, learning_rate=5e-4, gamma=1.0, seed=1,
        policy_kwargs={"net_arch": [256, 256]},
    )  # fmt: skip
    model.learn(options.steps)

    def act(observations, masks):
        return model.predict(observations, action_masks=masks.astype(np.bool_), deterministic=True)[0]

    return against_rule("MaskablePPO", act, options.deals)


if __name__ == "__main__":
    main()
