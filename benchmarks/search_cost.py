"""What a decision of players costs, in games of the rule player at four seats: milliseconds of processor time, the median,
the mean and the longest of decisions asked one at a time. The rule player's own is that of its agent, observation in, action out.

python benchmarks/search_cost.py search:16 search:64 "search:64?prior=4p" ppo:4p
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from wzmj_env import Rules, VectorEnv
from wzmj_env.specs import make_agent

TABLES = 64


def shown(decisions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of decisions in games of the rule player, of all parts of a hand."""
    env = VectorEnv(TABLES, Rules(stakes=False), seed=seed, skip_forced=True)
    rule, lots = make_agent("rule:1"), np.random.default_rng(seed)
    observations, masks = [], []
    while TABLES // 8 * len(masks) < decisions:
        kept = lots.choice(TABLES, TABLES // 8, replace=False)
        observations.append(env.observation[kept])
        masks.append(env.action_mask[kept])
        env.step(rule.act(env.observation, env.action_mask))
    env.close()
    return np.concatenate(observations)[:decisions], np.concatenate(masks)[:decisions]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=["rule:1", "ppo:4p", "search:16", "search:64", "search:64?prior=4p"])
    parser.add_argument("--decisions", type=int, default=2000)
    options = parser.parse_args()
    observations, masks = shown(options.decisions, seed=1)
    for spec in options.agents:
        agent = make_agent(spec)
        agent.act(observations[:2], masks[:2])  # compiles
        spent = []
        for i in range(len(masks)):
            start = time.process_time()
            agent.act(observations[i : i + 1], masks[i : i + 1])
            spent.append(1000 * (time.process_time() - start))
        print(f"{spec}: median {np.median(spent):.2f} ms, mean {np.mean(spent):.2f} ms, longest {max(spent):.1f} ms")


if __name__ == "__main__":
    main()
