"""TorchRL's clipped PPO on the compiled batch, against rule players.

python examples/torchrl_ppo.py
"""

import argparse

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from wzmj_env import Rules
from wzmj_env.adapters.torchrl import TorchRLEnv
from wzmj_env.observe import OBSERVATION_SIZE

from measure import against_rule

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=100_000, help="decisions of the learner")
parser.add_argument("--tables", type=int, default=64)
parser.add_argument("--rows", type=int, default=128, help="decisions a table between updates")
parser.add_argument("--deals", type=int, default=500, help="duplicate deals of the evaluation")


def main(arguments=None):
    options = parser.parse_args(arguments)
    torch.manual_seed(1)
    settings = {"opponents": "rule", "rules": Rules(stakes=False), "num_envs": options.tables}
    env = TorchRLEnv(gymnasium.make_vec("wzmj_env/WenzhouMahjong-v0", **settings))
    env.set_seed(1)
    logits, value = (MLP(OBSERVATION_SIZE, outputs, num_cells=[256, 256]) for outputs in (env.action_spec.n, 1))
    actor = ProbabilisticActor(
        TensorDictModule(logits, ["observation"], ["logits"]), in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical, distribution_kwargs={"neg_inf": -1e9}, return_log_prob=True,
    )  # fmt: skip
    critic = ValueOperator(value, in_keys=["observation"])
    loss, gae = ClipPPOLoss(actor, critic, normalize_advantage=True), GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-4)
    for batch in Collector(env, actor, frames_per_batch=options.tables * options.rows, total_frames=options.steps):
        with torch.no_grad():
            rows = gae(batch).reshape(-1)
        for part in (part for _ in range(4) for part in torch.randperm(len(rows)).split(512)):
            optimizer.zero_grad()
            sum(term for name, term in loss(rows[part]).items() if name.startswith("loss_")).backward()
            optimizer.step()

    @torch.no_grad()
    def act(observations, masks):
        found = logits(torch.from_numpy(observations).flatten(1).float())
        return found.masked_fill(torch.from_numpy(masks) == 0, -1e9).argmax(-1).numpy()

    return against_rule("PPO", act, options.deals)


if __name__ == "__main__":
    main()
