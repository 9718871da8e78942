"""The compiled built-in players. Each looks at nothing but what its own seat may know.

`random`   any legal action.
`greedy`   takes every win; else lowers the distance and nothing else.
`rule:1`   the action with the best score of `strategy`, which weighs speed against value.
`rule:2`   the same, and looks one draw further where discards come near each other.

A player's choice is a function of the seat's knowledge, `random` aside; equal scores go to the highest action id.
"""

from __future__ import annotations

import numpy as np

from ._jit import njit, popcount, trailing_zeros
from .actions import CHI_LOW, GANG, GANG_CLAIM, HU, PASS
from .engine import GAMMA, LEGAL_BASE, legal_discards, mix, scaled
from .hand import NONE, ONE, add_tile, contains, remove_tile, tiles_short
from .state import CLAIM, STAKES_ASKED
from .strategy import RULE_1 as FIRST
from .strategy import RULE_2 as SECOND
from .strategy import rule_action, take_for_claim
from .tables import MAX_SETS

_HALF = np.uint64(32)

RANDOM, GREEDY, RULE_1, RULE_2 = range(4)
POLICIES = {"random": RANDOM, "greedy": GREEDY, "rule:1": RULE_1, "rule:2": RULE_2, "rule": RULE_2}

__all__ = ["POLICIES", "choose", "draw_lot", "greedy_action", "random_action"]

# --- random ----------------------------------------------------------------------------------------------------------


@njit
def draw_lot(s, n):
    """A number below n, each as likely as another, from the game's own stream for players."""
    s.policy += GAMMA
    return scaled(mix(s.policy) >> _HALF, n)


@njit
def random_action(s):
    """A legal action, each as likely as another."""
    low, high = s.legal[0], s.legal[1]
    low_count = popcount(low)
    skip = draw_lot(s, low_count + popcount(high))
    base, bits = np.int64(0), low
    if skip >= low_count:
        base, bits, skip = LEGAL_BASE, high, skip - low_count
    for _ in range(skip):
        bits &= bits - ONE
    return base + trailing_zeros(bits)


# --- greedy ----------------------------------------------------------------------------------------------------------


@njit
def short_after_discard(s, p, sets):
    """The lowest distance that a legal discard of seat p leaves."""
    best = 3 * MAX_SETS
    kinds = legal_discards(s, p)
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
        best = min(best, tiles_short(s.held[p], s.keys[p], sets, s.caishen))
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    return best


@njit
def greedy_action(s):
    """Takes a win; goes the shortest way; claims and gangs only what shortens it; passes stakes."""
    p = np.int64(s.player)
    if s.phase == STAKES_ASKED:
        return np.int64(PASS)
    high = s.legal[1]
    if contains(high, HU - LEGAL_BASE):
        return np.int64(HU)
    sets = MAX_SETS - s.melds[p]
    best_action, best = np.int64(PASS), tiles_short(s.held[p], s.keys[p], sets, s.caishen)
    if s.phase >= CLAIM:
        for action in range(CHI_LOW, GANG_CLAIM + 1):
            if contains(high, action - LEGAL_BASE):
                take_for_claim(s, p, action, False)
                if action == GANG_CLAIM:
                    short = tiles_short(s.held[p], s.keys[p], sets - 1, s.caishen)
                else:
                    short = short_after_discard(s, p, sets - 1)
                take_for_claim(s, p, action, True)
                if short < best:
                    best_action, best = np.int64(action), short
        return best_action
    best = 3 * MAX_SETS
    for action in range(GANG):
        if contains(s.legal[0], action):
            remove_tile(s.held[p], s.keys[p], action, s.caishen)
            short = tiles_short(s.held[p], s.keys[p], sets, s.caishen)
            add_tile(s.held[p], s.keys[p], action, s.caishen)
            if short <= best:
                best_action, best = np.int64(action), short
    return best_action


# --- all -------------------------------------------------------------------------------------------------------------


@njit
def choose(s, policy):
    """The action of the seat to act by a built-in player."""
    if policy == RANDOM:
        return random_action(s)
    if policy == GREEDY:
        return greedy_action(s)
    return rule_action(s, FIRST if policy == RULE_1 else SECOND)
