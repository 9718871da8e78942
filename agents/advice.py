"""What the rule player thinks of a decision, as inputs of a network: of a state, or of what an observation shows of it.

An advice is `(ADVICE_SIZE,) float32`, columns named in `ADVICE`. It holds nothing that the seat to act may not know.
"""

from __future__ import annotations

import math

import numpy as np

from wzmj_env._jit import njit
from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.engine import is_legal
from wzmj_env.observe import OBSERVATION_SIZE
from wzmj_env.rules import Rules
from wzmj_env.specs import read_view
from wzmj_env.state import STAKES_ASKED, new_states
from wzmj_env.strategy import RULE_2, live_planes, rule_scores, tally
from wzmj_env.tiles import COPIES, NUM_KINDS

# The player whose scores these are: a version that stays what it is, since weights are trained with it.
ADVISER, VERSION = "rule:2", RULE_2
UNITS_A_LOGIT = 0.15  # what a difference of 1 between logits stands for that were learnt as gains on its choice

ADVICE = {
    "RATIO": NUM_ACTIONS,  # log of the action's score over the best one's, not below LEAST_RATIO; illegal: LEAST_RATIO
    "LIVE": NUM_KINDS,  # tiles of the kind that the seat cannot see, of COPIES
    "BEST": 1,  # log of the best score
}
ADVICE_SIZE = sum(ADVICE.values())
_LIVE, _BEST = NUM_ACTIONS, NUM_ACTIONS + NUM_KINDS

LEAST_RATIO = -2.0
LEAST_SCORE = math.exp(-8.0)


@njit
def write_advice(s, scores, out):
    """Fill `out` for the seat to act; `scores`, `(NUM_ACTIONS,) float64`, is room to work in."""
    rule_scores(s, VERSION, scores)
    best = LEAST_SCORE
    for action in range(NUM_ACTIONS):
        best = max(best, scores[action])
    for action in range(NUM_ACTIONS):
        ratio = LEAST_RATIO
        if is_legal(s, action):
            ratio = max(LEAST_RATIO, math.log(max(scores[action], LEAST_SCORE) / best))
        out[action] = ratio
    for column in range(_LIVE, _LIVE + NUM_KINDS):
        out[column] = 0
    if s.phase != STAKES_ASKED:
        live = live_planes(s, np.int64(s.player))
        for k in range(NUM_KINDS):
            out[_LIVE + k] = tally(live, np.uint64(1) << np.uint64(k)) / COPIES
    out[_BEST] = math.log(best)


@njit
def _advise(known, observations, masks, out):
    scores = np.empty(NUM_ACTIONS, np.float64)
    for i in range(len(masks)):
        read_view(observations[i], masks[i], known[0])
        write_advice(known[0], scores, out[i])


def advise(observations: np.ndarray, masks: np.ndarray, rules: Rules | None = None) -> np.ndarray:
    """Advice, `(B, ADVICE_SIZE) float32`, from `(B, C, 34) uint8` and `(B, 76) int8`. Rules that no observation shows
    are those of `rules`, by default the usual ones."""
    out = np.empty((len(masks), ADVICE_SIZE), np.float32)
    flat = np.ascontiguousarray(observations).reshape(len(masks), OBSERVATION_SIZE)
    _advise(new_states(1, rules or Rules()), flat, masks, out)
    return out
