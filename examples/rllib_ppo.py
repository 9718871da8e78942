"""RLlib's PPO against rule players, in an environment of its own with examples/rllib-requirements.txt."""

import argparse

import gymnasium
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from wzmj_env import Rules
from wzmj_env.adapters.rllib import RLlibEnv

from measure import against_rule

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=50_000, help="decisions of the learner")
parser.add_argument("--tables", type=int, default=16)
parser.add_argument("--batch", type=int, default=4096, help="decisions between updates")
parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")


def make(config):
    return RLlibEnv(gymnasium.make("wzmj_env:wzmj_env/WenzhouMahjong-v0", opponents="rule", rules=Rules(stakes=False)))


def main(arguments=None):
    options = parser.parse_args(arguments)
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    ray.tune.register_env("wzmj", make)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [256, 256]})
    algorithm = (
        PPOConfig()
        .environment("wzmj", disable_env_checking=True)  # its check plays illegal actions
        .env_runners(num_env_runners=0, num_envs_per_env_runner=options.tables)
        .rl_module(rl_module_spec=module)
        .training(gamma=1.0, lr=5e-4, train_batch_size=options.batch, minibatch_size=min(512, options.batch), num_epochs=4)
        .debugging(seed=1)
        .build_algo()
    )
    for _ in range(max(1, options.steps // options.batch)):
        algorithm.train()
    policy = algorithm.get_module()

    @torch.no_grad()
    def act(observations, masks):
        planes = torch.from_numpy(observations).flatten(1).float()
        seen = {"obs": {"observations": planes, "action_mask": torch.from_numpy(masks).float()}}
        return policy.forward_inference(seen)["action_dist_inputs"].argmax(-1).numpy()

    found = against_rule("PPO", act, options.deals)
    algorithm.stop()
    ray.shutdown()
    return found


if __name__ == "__main__":
    main()
