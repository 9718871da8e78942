"""What the choices of weights gain on those of a compiled player, one at a time: where they differ, in games of that player
alone, both are played out with the same wall.

    python -m train.gains ppo:4p [--rule rule:1] [--decisions 1000000] [--seed 1] [--rules FILE]

The sum over a hand is what the weights would gain if one choice of theirs did not change the next ones. `promised` is what
their logits say of the same choices, if they were learnt from vines: more than was seen is wishful thinking.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from agents.advice import UNITS_A_LOGIT
from agents.ppo import PPOAgent
from train.vine import CHUNK, Decisions
from wzmj_env import Rules
from wzmj_env.actions import CHI_LOW, GANG
from wzmj_env.checks import check_int
from wzmj_env.players import POLICIES
from wzmj_env.specs import make_agent

KINDS_OF_CHOICE = ("discards", "gangs of one's own", "claims, passes, wins, stakes", "all")
PROMISES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, np.inf)
Z_95 = 1.96


def measure(agent: PPOAgent, rules: Rules, policy: int, decisions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the weights chose otherwise: actions `(N, 2)`, the compiled player's first; gains and promises `(N, 2)`, units."""
    played = Decisions(rules, agent.network.shape.policy_columns, policy, seed, 0)
    actions, gains = [], []
    for _ in range(-(-decisions // CHUNK)):
        played.play()
        logits = played.logits(agent.network)
        likeliest = logits.argmax(1)
        differs = likeliest != played.tried[:, 0]
        played.tried[differs, 1] = likeliest[differs]
        *_, tried, paid = played.try_out(CHUNK)
        both = np.take_along_axis(logits[differs], tried[:, :2], 1)
        actions.append(tried[:, :2])
        gains.append(np.stack((paid[:, 1] - paid[:, 0], (both[:, 1] - both[:, 0]) * UNITS_A_LOGIT), 1))
    return np.concatenate(actions), np.concatenate(gains)


def weights_and_rules(spec: str, path: Path | None) -> tuple[PPOAgent, Rules]:
    """The agent of a spec of weights, and the rules of a file or, without one, the usual ones with stakes off for as many
    players as the weights are for. ValueError or OSError on bad input."""
    agent = make_agent(spec)
    if not isinstance(agent, PPOAgent):
        raise ValueError(f"{spec!r} is no spec of weights, such as ppo:4p")
    rules = Rules.load(path) if path else Rules(num_players=agent.num_players, stakes=False)
    if rules.num_players != agent.num_players:
        raise ValueError(f"the weights are for {agent.num_players} players, the rules for {rules.num_players}")
    return agent, rules


def row(name: str, gains: np.ndarray, decisions: int) -> str:
    if not len(gains):
        return f"| {name} | 0 | | | |"
    (gain, promised), error = gains.mean(0), Z_95 * gains[:, 0].std() / len(gains) ** 0.5
    share = len(gains) / decisions
    return f"| {name} | {share:.2%} | {gain:+.3f} ± {error:.3f} | {promised:+.3f} | {share * gain:+.4f} |"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m train.gains", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("weights", help="a spec of weights, ppo:...")
    parser.add_argument("--rule", default="rule:1", choices=list(POLICIES), help="the compiled player (default: %(default)s)")
    parser.add_argument("--decisions", type=int, default=10**6, help="looked at (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", type=Path, help="a YAML file (default: no stakes, for as many players as the weights are for)")
    options = parser.parse_args(argv)
    try:
        agent, rules = weights_and_rules(options.weights, options.rules)
        check_int(options.decisions, "--decisions", 1, 10**9)
        check_int(options.seed, "--seed", 0, 2**64 - 1)
    except (ValueError, OSError) as error:
        print(f"train.gains: {error}", file=sys.stderr)
        return 2
    actions, gains = measure(agent, rules, POLICIES[options.rule], options.decisions, options.seed)
    looked_at = -(-options.decisions // CHUNK) * CHUNK
    kind = np.digitize(actions.max(1), (GANG, CHI_LOW))
    print("| where they differ | share of decisions | gain | promised | gain a decision |\n|---|---|---|---|---|")
    for i, name in enumerate(KINDS_OF_CHOICE):
        print(row(name, gains[(kind == i) | (name == "all")], looked_at))
    for low, high in pairwise(PROMISES):
        print(row(f"promised {low:g} to {high:g}", gains[(gains[:, 1] > low) & (gains[:, 1] <= high)], looked_at))
    return 0


if __name__ == "__main__":
    sys.exit(main())
