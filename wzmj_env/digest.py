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
    return mix((h ^ np.uint64(field)) + GAMMA)


@njit
def _absorb_kinds(h, kinds):
    for k in range(NUM_KINDS):
        h = _absorb(h, kinds & bit(k) != np.uint64(0))
    return h


@njit
def digest(s):
    """The digest of a state, uint64."""
    h = np.uint64(DIGEST_VERSION)
    for field in (s.num_players, s.phase, s.player, s.dealer, s.ladder, s.bought):
        h = _absorb(h, field)
    for i in range(NUM_TILES):
        h = _absorb(h, s.wall[i])
    for p in range(s.num_players):
        h = _absorb(h, s.topped[p])
    if s.phase == STAKES_ASKED:
        return h
    for field in (s.caishen, s.tile, s.source, s.drawn, s.gangs, s.front, s.back, s.num_discards):
        h = _absorb(h, field)
    h = _absorb_kinds(h, s.shown)
    for i in range(s.num_discards):
        h = _absorb(_absorb(h, s.discards[i]), s.fates[i])
    for p in range(s.num_players):
        for k in range(NUM_KINDS):
            h = _absorb(h, count(s.held[p], k))
        for i in range(s.melds[p]):
            h = _absorb(_absorb(_absorb(h, s.meld_what[p, i]), s.meld_kind[p, i]), s.meld_source[p, i])
        h = _absorb_kinds(h, s.barred[p])
        for field in (s.melds[p], s.draws[p], s.caishen_ma[p], s.claims[p], s.answers[p]):
            h = _absorb(h, field)
    if s.phase == OVER:
        for field in (s.winner, s.loser, s.value, s.patterns):
            h = _absorb(h, field)
        for p in range(s.num_players):
            h = _absorb(h, s.payments[p])
    return h
