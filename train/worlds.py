"""What imagined worlds say of actions, beside what came of them: what the search player weighs by.

    python -m train.worlds [ppo:4p] [--decisions 40000] [--worlds 64] [--seed 1] [--rules FILE]

At decisions in games of the rule player, the actions that search would look at are played out in imagined worlds, and once in
the very state; all gains are on the first action's, in units. By what was expected of them beforehand, of the weights or,
without such, of the rule player's scores, the table shows means, the variance of the worlds about what was expected that is
more than their noise, beside the fitted one, and the share of what the worlds say beyond it that came true, beside the one
that search takes when it looks at all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from agents import search
from agents.network import Shape
from agents.ppo import PPOAgent
from agents.search import ACTION, PRIOR, SPREAD, SQUARES, TOTAL, WORLD, begin, outcome, play_worlds, share_of_worlds
from train.gains import Z_95, weights_and_rules
from train.vine import CHUNK, Decisions
from wzmj_env import Rules, engine
from wzmj_env._jit import njit
from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.checks import check_int
from wzmj_env.observe import OBSERVATION_SIZE, write_observation
from wzmj_env.state import new_states

EXPECTED = (0.0, 0.05, 0.1, 0.2, 0.4, np.inf)  # units behind the first action

# Columns of what is found of an action: at which decision, and which it is; mean and variance of its gain beforehand; of the
# worlds the mean, the variance of that by their noise, and the share that search takes; what came of it.
DECISION, TRIED, PRIOR_MEAN, PRIOR_VARIANCE, MEAN, NOISE, TAKEN, CAME = range(8)
COLUMNS = 8


@njit
def _look(states, kept, masks, logits, rows, scores, word, worlds, found):
    """Fill `found`, `(len(kept) * (len(rows) - 1), COLUMNS)`, a row for each action behind the first; how many, -1 where a
    world could not be imagined."""
    planes = np.empty(OBSERVATION_SIZE, np.uint8)
    others = kept[0].num_players - 1
    filled = 0
    for i in range(len(kept)):
        write_observation(kept[i], np.int64(kept[i].player), planes)
        n = begin(states, planes, masks[i], logits[i], rows, scores, 1.0)
        if n < 1:
            return -1
        if n == 1:
            continue
        if not play_worlds(states, rows[:n], 0, worlds, word + np.uint64(i * worlds)):
            return -1
        states[WORLD] = kept[i]  # the very state
        base = outcome(states, np.int64(rows[0, ACTION]))
        for row in rows[1:n]:
            entry, mean = found[filled], row[TOTAL] / worlds
            entry[DECISION], entry[TRIED], entry[PRIOR_MEAN], entry[PRIOR_VARIANCE] = i, row[ACTION], row[PRIOR], row[SPREAD]
            entry[MEAN], entry[NOISE] = mean, (row[SQUARES] / worlds - mean * mean) / (worlds - 1)
            entry[TAKEN] = share_of_worlds(row, others)
            entry[CAME] = outcome(states, np.int64(row[ACTION])) - base
            filled += 1
    return filled


def measure(prior: PPOAgent | None, rules: Rules, decisions: int, worlds: int, seed: int) -> np.ndarray:
    """At so many decisions, rounded up to `CHUNK`s, a row for each action behind the first, `(N, COLUMNS)`."""
    shape = Shape(inputs="compact") if prior is None else prior.network.shape
    played = Decisions(rules, shape.policy_columns, search.RULE, seed, 0)
    states = new_states(3, rules)
    rows, scores = np.zeros((search.CANDIDATES, search.COLUMNS)), np.zeros(NUM_ACTIONS)
    parts = []
    for number in range(-(-decisions // CHUNK)):
        played.play()
        logits = np.zeros((CHUNK, 0), np.float32) if prior is None else played.logits(prior.network)
        found = np.zeros((CHUNK * (len(rows) - 1), COLUMNS))
        word = np.uint64(engine.mix(np.uint64((seed + number) % 2**64)))
        n = _look(states, played.kept, played.masks, logits, rows, scores, word, worlds, found)
        assert n >= 0, "every state of a game can be imagined"
        found[:n, DECISION] += number * CHUNK
        parts.append(found[:n])
    return np.concatenate(parts)


def row(name: str, found: np.ndarray) -> str:
    if len(found) < 2:
        return f"| {name} | {len(found)} | | | | | | | |"
    expected, fitted, mean, noise, taken, came = found[:, PRIOR_MEAN:].mean(0)
    beyond, rest = found[:, MEAN] - found[:, PRIOR_MEAN], found[:, CAME] - found[:, PRIOR_MEAN]
    squares = (beyond**2).sum()
    true = (beyond * rest).sum() / squares
    _, decision = np.unique(found[:, DECISION], return_inverse=True)  # actions of one are not independent
    error = Z_95 * np.sqrt((np.bincount(decision, beyond * (rest - true * beyond)) ** 2).sum()) / squares
    return (
        f"| {name} | {len(found)} | {expected:+.3f} | {mean:+.3f} | {came:+.3f} | {beyond.var() - noise:.3f} | {fitted:.3f}"
        f" | {true:+.2f} ± {error:.2f} | {taken:.2f} |"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m train.worlds", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("weights", nargs="?", help="a spec of weights, ppo:... (default: the rule player's scores)")
    parser.add_argument("--decisions", type=int, default=40_000, help="looked at (default: %(default)s)")
    parser.add_argument("--worlds", type=int, default=64, help="for each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", type=Path, help="a YAML file (default: no stakes, for as many players as the weights are for)")
    options = parser.parse_args(argv)
    try:
        prior = None
        if options.weights:
            prior, rules = weights_and_rules(options.weights, options.rules)
        else:
            rules = Rules.load(options.rules) if options.rules else Rules(stakes=False)
        check_int(options.decisions, "--decisions", 1, 10**9)
        check_int(options.worlds, "--worlds", 2, search.MAX_WORLDS)
        check_int(options.seed, "--seed", 0, 2**64 - 1)
    except (ValueError, OSError) as error:
        print(f"train.worlds: {error}", file=sys.stderr)
        return 2
    found = measure(prior, rules, options.decisions, options.worlds, options.seed)
    print("| behind | actions | expected | worlds | came | variance | fitted | came true | taken |")
    print("|---|---|---|---|---|---|---|---|---|")
    for low, high in pairwise(EXPECTED):
        behind = -found[:, PRIOR_MEAN]
        print(row(f"{low:g} to {high:g}", found[(behind >= low) & (behind < high)]))
    print(row("all", found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
