"""One number for everything that matters in a hand, whatever its layout in memory.

The digest goes through the logical fields in the order of the code below, each a whole number, with
`h = mix((h ^ field) + GAMMA)` from h = DIGEST_VERSION. Two states with equal digests go on alike.
"""

from __future__ import annotations

import numpy as np

from ._jit import njit
from .engine import GAMMA, mix
from .hand import bit, count
from .state import OVER, STAKES_ASKED
from .tiles import NUM_KINDS, NUM_TILES

DIGEST_VERSION = 1


@njit
def _absorb(h, field):
    return mix((h ^ np.uint64(np.int64(field))) + GAMMA)


@njit
def _absorb_kinds(h, kinds):
    for k in range(NUM_KINDS):
        h = _absorb(h, kinds & bit(k) != np.uint64(0))
    return h


@njit
def digest(s):
    """The digest of a state, uint64."""
    h = np.uint64(DIGEST_VERSION)
    h = _absorb(h, s.num_players)
    h = _absorb(h, s.phase)
    h = _absorb(h, s.player)
    h = _absorb(h, s.dealer)
    h = _absorb(h, s.ladder)
    h = _absorb(h, s.bought)
    for i in range(NUM_TILES):
        h = _absorb(h, s.wall[i])
    for p in range(s.num_players):
        h = _absorb(h, s.topped[p])
    if s.phase == STAKES_ASKED:
        return h
    h = _absorb(h, s.caishen)
    h = _absorb(h, s.tile)
    h = _absorb(h, s.source)
    h = _absorb(h, s.drawn)
    h = _absorb(h, s.gangs)
    h = _absorb(h, s.front)
    h = _absorb(h, s.back)
    h = _absorb(h, s.num_discards)
    h = _absorb_kinds(h, s.shown)
    for i in range(s.num_discards):
        h = _absorb(_absorb(h, s.discards[i]), s.fates[i])
    for p in range(s.num_players):
        for k in range(NUM_KINDS):
            h = _absorb(h, count(s.held[p], k))
        for i in range(s.melds[p]):
            h = _absorb(_absorb(_absorb(h, s.meld_what[p, i]), s.meld_kind[p, i]), s.meld_source[p, i])
        h = _absorb_kinds(h, s.barred[p])
        h = _absorb(h, s.melds[p])
        h = _absorb(h, s.draws[p])
        h = _absorb(h, s.caishen_ma[p])
        h = _absorb(h, s.claims[p])
        h = _absorb(h, s.answers[p])
    if s.phase == OVER:
        h = _absorb(h, s.winner)
        h = _absorb(h, s.loser)
        h = _absorb(h, s.value)
        h = _absorb(h, s.patterns)
        for p in range(s.num_players):
            h = _absorb(h, s.payments[p])
    return h
