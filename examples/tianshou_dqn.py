"""Tianshou's DQN against rule players, measured over duplicate deals.

    python examples/tianshou_dqn.py
"""

import argparse

import gymnasium
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import wzmj_env
from wzmj_env.adapters.tianshou import TianshouEnv
from wzmj_env.duplicate import compare


class Learnt:
    """The trained policy as an agent."""

    name = "DQN"

    def __init__(self, policy):
        self.policy = policy.eval()

    def act(self, observations, masks):
        return self.policy(Batch(obs=Batch(obs=observations.reshape(len(masks), -1), mask=masks), info={})).act

    def reset(self, seed):
        pass


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50_000, help="decisions of the learner")
    parser.add_argument("--tables", type=int, default=16)
    parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")
    options = parser.parse_args(arguments)
    settings = {"opponents": "rule", "rules": wzmj_env.Rules(stakes=False)}
    make = lambda: TianshouEnv(gymnasium.make("wzmj_env/WenzhouMahjong-v0", **settings))  # noqa: E731
    envs, spaces = DummyVectorEnv([make] * options.tables), make()
    envs.seed(1)
    net = Net(state_shape=spaces.observation_space["obs"].shape, action_shape=spaces.action_space.n, hidden_sizes=(256, 256))
    policy = DiscreteQLearningPolicy(model=net, action_space=spaces.action_space, eps_training=0.1)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=3e-4), gamma=1.0, n_step_return_horizon=5, target_update_freq=500)
    collector = Collector(policy, envs, VectorReplayBuffer(50_000, options.tables), exploration_noise=True)
    dqn.run_training(OffPolicyTrainerParams(
        training_collector=collector, max_epochs=1, epoch_num_steps=options.steps, collection_step_num_env_steps=256,
        batch_size=256, update_step_num_gradient_steps_per_sample=1 / 32, show_progress=False, verbose=False,
    ))  # fmt: skip
    result = compare(Learnt(policy), "rule", "1v3", options.deals, seed=1)
    print(f"{result.a} against 3 rule players, {result.deals} deals:"
          f" {result.mean:+.3f} ({result.low:+.3f} .. {result.high:+.3f}) units a hand")  # fmt: skip
    return result


if __name__ == "__main__":
    main()
