"""Tianshou's DQN against rule players.

python examples/tianshou_dqn.py
"""

import argparse

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from wzmj_env import Rules
from wzmj_env.adapters.tianshou import TianshouEnv

from measure import against_rule

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=50_000, help="decisions of the learner")
parser.add_argument("--tables", type=int, default=16)
parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")


def make():
    return TianshouEnv(gymnasium.make("wzmj_env/WenzhouMahjong-v0", opponents="rule", rules=Rules(stakes=False)))


def main(arguments=None):
    options = parser.parse_args(arguments)
    np.random.seed(1)  # Tianshou explores by numpy's own generator
    torch.manual_seed(1)
    env, envs = make(), DummyVectorEnv([make] * options.tables)
    envs.seed(1)
    net = Net(state_shape=env.observation_space["obs"].shape, action_shape=env.action_space.n, hidden_sizes=(256, 256))
    policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=3e-4), gamma=1.0, n_step_return_horizon=5, target_update_freq=500)
    collector = Collector(policy, envs, VectorReplayBuffer(50_000, options.tables), exploration_noise=True)
    dqn.run_training(OffPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=options.steps, collection_step_num_env_steps=256,
        batch_size=256, update_step_num_gradient_steps_per_sample=1 / 32, show_progress=False, verbose=False,
    ))  # fmt: skip
    policy.eval()

    def act(observations, masks):
        return policy(Batch(obs=Batch(obs=observations.reshape(len(masks), -1), mask=masks), info={})).act

    return against_rule("DQN", act, options.deals)


if __name__ == "__main__":
    main()
