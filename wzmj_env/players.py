"""The compiled built-in players. Each looks at nothing but what its own seat may know."""

from __future__ import annotations

import numpy as np

from ._jit import njit, popcount, trailing_zeros
from .engine import GAMMA, LEGAL_BASE, mix, scaled
from .hand import ONE

_HALF = np.uint64(32)

RANDOM, GREEDY, RULE_1 = range(3)
POLICIES = {"random": RANDOM}


@njit
def random_action(s):
    """A legal action, each as likely as another, from the game's own stream for players."""
    s.policy += GAMMA
    low, high = s.legal[0], s.legal[1]
    low_count = popcount(low)
    skip = scaled(mix(s.policy) >> _HALF, low_count + popcount(high))
    base, bits = np.int64(0), low
    if skip >= low_count:
        base, bits, skip = LEGAL_BASE, high, skip - low_count
    for _ in range(skip):
        bits &= bits - ONE
    return base + trailing_zeros(bits)


@njit
def choose(s, policy):
    """The action of the seat to act by a built-in player."""
    return random_action(s)
