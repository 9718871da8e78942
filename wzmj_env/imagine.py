"""A state out of an observation: what the seat to act knows of the hand, and worlds in which all else is chance.

`read_view` makes the state as that seat knows it, `deal_hidden` completes it: a hand that can be played on, in which the
seat sees what it saw. Nothing but the observation and the mask is read, so that no player who plays by it can peek.
"""

from __future__ import annotations

import numpy as np

from . import engine
from ._jit import njit, popcount, trailing_zeros
from .actions import NUM_ACTIONS, PASS
from .hand import ALL_KINDS, NONE, ONE, WHITE_BIT, add_tile, bit, contains, remove_tile
from .observe import PLANE, SEAT_COLUMN, TABLE_COLUMN
from .players import POLICIES, choose
from .scoring import MELD_NAMES, PENG
from .state import (
    CLAIM,
    DISCARD_ONLY,
    MAX_SEATS,
    NO_DISCARD,
    NOTHING,
    OVER,
    ROB,
    SEAT_UNIT,
    STAKES_ASKED,
    TURN,
    WHITE_IS_WIND,
    WIND_FIRST,
)
from .strategy import live_planes
from .tables import MAX_SETS
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_TILES

RULE = POLICIES["rule"]  # answers for those who were asked before the seat
FRONT = 1  # of the wall: its back is one less when all is drawn, and no byte below 0
MENDINGS = 64  # swaps tried to free a hand of lone winds that it cannot hold

# --- what the seat knows ---------------------------------------------------------------------------------------------

_AT = {name: first * NUM_KINDS for name, first in PLANE.items()}  # places in the flat observation
_HAND, _CAISHEN, _MELDS = _AT["HAND"], _AT["CAISHEN"], _AT["CHI"]
_ORDER, _SEAT_OF, _FATE = _AT["DISCARD_ORDER"], _AT["DISCARD_SEAT"], _AT["DISCARD_FATE"]
_QUESTION, _DRAWN, _SHOWN, _BARRED = _AT["QUESTION"], _AT["DRAWN"], _AT["SHOWN_WINDS"], _AT["BARRED"]
_TABLE, _SEAT = _AT["TABLE"], _AT["SEAT"]
_NUM_PLAYERS, _REMAINING, _LADDER, _BOUGHT, _NUM_DISCARDS, _GANGS = (
    _TABLE + TABLE_COLUMN[name] for name in ("NUM_PLAYERS", "REMAINING", "LADDER", "BOUGHT", "DISCARDS", "GANGS")
)
_DEALER, _DRAWS, _TOPPED = (SEAT_COLUMN[name] for name in ("DEALER", "DRAWS", "TOPPED"))
_NUM_MELD_NAMES = len(MELD_NAMES)
_HALF = np.uint64(32)


@njit
def _kind_in(planes, first):
    """The kind marked in a plane of one tile at most, NOTHING when there is none."""
    for k in range(NUM_KINDS):
        if planes[first + k]:
            return k
    return NOTHING


@njit
def _kinds_in(planes, first):
    kinds = NONE
    for k in range(NUM_KINDS):
        if planes[first + k]:
            kinds |= bit(k)
    return kinds


@njit
def read_view(planes, mask, s):
    """Make `s` the state as the seat to act knows it, from `(OBSERVATION_SIZE,) uint8` and `(76,) int8`.

    That seat is seat 0. What others conceal is left empty, the wall too. The fields of the Rules stay as they are.
    """
    s.num_players = planes[_NUM_PLAYERS]
    s.phase = OVER
    for phase in range(STAKES_ASKED, OVER):
        if planes[_TABLE + phase]:
            s.phase = phase
    s.player = 0
    s.ladder, s.bought, s.gangs = planes[_LADDER], planes[_BOUGHT], planes[_GANGS]
    s.front, s.back = FRONT, planes[_REMAINING] - 2 + FRONT  # as `engine.remaining` counts
    s.caishen = _kind_in(planes, _CAISHEN)
    s.shown = _kinds_in(planes, _SHOWN)
    s.winds = NONE
    if s.caishen != NOTHING:
        s.winds = engine.HONOUR_SET & ~bit(s.caishen)
        if s.switches & WHITE_IS_WIND == 0 and s.caishen < HONOURS:
            s.winds &= ~WHITE_BIT
    for q in range(s.num_players):
        _read_seat(planes, q, s)
    _read_discards(planes, s)
    tile = _kind_in(planes, _QUESTION)
    s.tile, s.source = tile, NOTHING
    if tile != NOTHING:
        s.source = planes[_QUESTION + tile] - 1
    s.barred[0] = _kinds_in(planes, _BARRED)
    s.legal[0] = s.legal[1] = NONE
    for a in range(NUM_ACTIONS):
        if mask[a]:
            s.legal[a // engine.WORD] |= ONE << np.uint64(a % engine.WORD)
    s.claims[0] = (s.legal[1] & ~engine.PASS_BIT) >> engine.CLAIM_SHIFT if s.phase >= CLAIM else NONE
    _read_hand(planes, s)


@njit
def _read_seat(planes, q, s):
    for c in range(COPIES):
        s.held[q, c] = NONE
        s.keys[q, c] = 0
    s.waits[q] = s.barred[q] = s.pengs[q] = NONE
    s.caishen_ma[q] = s.claims[q] = s.melds[q] = 0
    s.answers[q] = PASS
    facts = _SEAT + q * NUM_KINDS
    if planes[facts + _DEALER]:
        s.dealer = q
    s.draws[q], s.topped[q] = planes[facts + _DRAWS], planes[facts + _TOPPED]
    for what in range(_NUM_MELD_NAMES):
        first = _MELDS + (what * MAX_SEATS + q) * NUM_KINDS
        for k in range(NUM_KINDS):
            for _ in range(planes[first + k]):
                i = s.melds[q]
                s.meld_what[q, i], s.meld_kind[q, i], s.meld_source[q, i] = what, k, NO_DISCARD
                s.melds[q] += 1
                if what == PENG:
                    s.pengs[q] |= bit(k)


@njit
def _read_discards(planes, s):
    s.num_discards = planes[_NUM_DISCARDS]
    for at in range(COPIES * NUM_KINDS):
        if planes[_ORDER + at]:
            i = planes[_ORDER + at] - 1
            s.discards[i] = at % NUM_KINDS + SEAT_UNIT * (planes[_SEAT_OF + at] - 1)
            s.fates[i] = planes[_FATE + at]


@njit
def _read_hand(planes, s):
    """The observer's own tiles, and what the hand waited for before its draw."""
    for at in range(COPIES * NUM_KINDS):
        if planes[_HAND + at]:
            add_tile(s.held[0], s.keys[0], at % NUM_KINDS, s.caishen)
    s.drawn = _kind_in(planes, _DRAWN)
    if s.phase == TURN:
        remove_tile(s.held[0], s.keys[0], s.drawn, s.caishen)
        engine.refresh(s, 0)
        add_tile(s.held[0], s.keys[0], s.drawn, s.caishen)
    elif s.phase >= CLAIM:
        engine.refresh(s, 0)


# --- what it does not know, by chance --------------------------------------------------------------------------------


@njit
def deal_hidden(s, word):
    """Complete a state of `read_view` from 64 random bits: hands of the others, the wall, claims and earlier answers.

    The others are dealt tiles out of sight, and improve on them as often as they have discarded: for they have played
    as well. Nobody is left with a lone wind that he would have had to discard (R5.1). Others asked before the seat have
    answered as the rule player does. The state must be one that `adds_up`; False when it is none nevertheless.
    """
    if s.phase == STAKES_ASKED:
        for i in range(NUM_TILES):
            s.wall[i] = i // COPIES
        _shuffle(s.wall, word)
        return True
    hidden = s.wall[FRONT : _gather(s)]
    _shuffle(hidden, word)
    source = np.int64(s.source)
    n = np.int64(len(hidden))
    if s.phase == CLAIM and s.melds[source] == MAX_SETS and not _lay_kept_tile(s, hidden):
        return False
    q = max(source, np.int64(1))  # the source first, whose kept tile lies uppermost
    for _ in range(1, s.num_players):
        for _ in range(_dealt_size(s, q)):
            n -= 1
            add_tile(s.held[q], s.keys[q], hidden[n], s.caishen)
        q = q + 1 if q + 1 < s.num_players else np.int64(1)
    for q in range(1, s.num_players):
        word = engine.mix(word)
        _improve(s, q, hidden[:n], word)
        _mend(s, q, hidden[:n], ~word)
        engine.refresh(s, q)
    s.wall[engine.TURNED_UP] = s.caishen
    if s.phase >= CLAIM:
        _ask_others(s)
    return True


@njit
def adds_up(s):
    """Whether the tiles of a state of `read_view` are as many as those of a hand, and the seat has those it may discard."""
    if s.phase == STAKES_ASKED:
        return True
    if s.caishen == NOTHING or s.phase == OVER or (s.phase >= CLAIM) != (s.source > 0):
        return False
    own = popcount(s.held[0, 0]) + popcount(s.held[0, 1]) + popcount(s.held[0, 2]) + popcount(s.held[0, 3])
    hidden = engine.remaining(s) - 1 + (s.phase == ROB)
    for q in range(1, s.num_players):
        hidden += _dealt_size(s, q)
    out_of_sight = 0
    for kinds in live_planes(s, 0):
        out_of_sight += popcount(kinds)
    may_discard = s.legal[0] & ALL_KINDS if s.phase < CLAIM else NONE
    return own == _dealt_size(s, 0) + (s.phase < CLAIM) and out_of_sight == hidden and may_discard & ~s.held[0, 0] == NONE


@njit
def _dealt_size(s, q):
    return 3 * (MAX_SETS - s.melds[q]) + 1


@njit
def _gather(s):
    """Put the tiles out of sight into the wall from FRONT on, sorted; where they end. A tile that is robbed goes to its
    owner."""
    end = np.int64(FRONT)
    robbed = np.int64(s.tile) if s.phase == ROB else np.int64(NOTHING)
    for kinds in live_planes(s, 0):
        while kinds != NONE:
            k = trailing_zeros(kinds)
            kinds &= kinds - ONE
            if k == robbed:
                robbed = np.int64(NOTHING)
                add_tile(s.held[s.source], s.keys[s.source], k, s.caishen)
            else:
                s.wall[end] = k
                end += 1
    return end


@njit
def _shuffle(tiles, word):
    for i in range(len(tiles) - 1, 0, -1):
        word += engine.GAMMA
        j = engine.scaled(engine.mix(word) >> _HALF, i + 1)
        tiles[i], tiles[j] = tiles[j], tiles[i]


@njit
def _lay_kept_tile(s, hidden):
    """The discarder has five melds: whether his kept tile is a caishen can show in what the seat may answer (R5.8). Put a
    tile that fits at the end of the hidden ones; False when there is none."""
    hu_alone = s.claims[0] & ~engine.HU_CLAIM == 0
    s.keeps_caishen = 0
    if engine.claims_on_discard(s, 0, np.int64(s.tile)) & ~engine.HU_CLAIM == 0:
        return True  # he could answer nothing else anyway
    end = len(hidden) - 1
    for j in range(end, -1, -1):
        if (hidden[j] == s.caishen) == hu_alone:
            hidden[j], hidden[end] = hidden[end], hidden[j]
            return True
    return False


@njit
def _improve(s, q, wall, word):
    """Let seat q draw from the wall and put back what the rule player would discard, once for each of its discards; a
    tile that would have won is none that it drew."""
    if len(wall) == 0:
        return
    phase, player, low, high = s.phase, s.player, s.legal[0], s.legal[1]
    s.phase, s.player, s.legal[1] = DISCARD_ONLY, q, NONE
    for i in range(s.num_discards):
        if s.discards[i] // SEAT_UNIT != q:
            continue
        word += engine.GAMMA
        j = engine.scaled(engine.mix(word) >> _HALF, len(wall))
        engine.refresh(s, q)
        if contains(s.waits[q], wall[j]):
            continue
        add_tile(s.held[q], s.keys[q], wall[j], s.caishen)
        s.legal[0] = engine.legal_discards(s, q)
        wall[j] = choose(s, RULE)
        remove_tile(s.held[q], s.keys[q], wall[j], s.caishen)
    s.phase, s.player, s.legal[0], s.legal[1] = phase, player, low, high


@njit
def _not_alone(s, q):
    """The winds of which seat q cannot conceal exactly one since its last discard (R5.1)."""
    if s.switches & WIND_FIRST == 0:
        return NONE
    last = np.int64(s.num_discards) - 1
    while last >= 0 and s.discards[last] // SEAT_UNIT != q:
        last -= 1
    if last < 0:
        return NONE
    k = np.int64(s.discards[last] % SEAT_UNIT)
    if not contains(s.winds, k):
        return s.winds
    shown = NONE
    for i in range(last):
        shown |= bit(np.int64(s.discards[i] % SEAT_UNIT))
    return NONE if contains(shown, k) else shown & s.winds


@njit
def _mend(s, q, wall, word):
    """Change lone winds that seat q cannot hold for tiles of the wall."""
    forbidden = _not_alone(s, q)
    for _ in range(MENDINGS):
        lone = engine.lone_winds(s, q) & forbidden
        if lone == NONE or len(wall) == 0:
            return
        k = trailing_zeros(lone)
        word += engine.GAMMA
        j = engine.scaled(engine.mix(word) >> _HALF, len(wall))
        remove_tile(s.held[q], s.keys[q], k, s.caishen)
        add_tile(s.held[q], s.keys[q], wall[j], s.caishen)
        wall[j] = k


@njit
def _ask_others(s):
    """What the others may answer to the tile in question; those before the seat do answer."""
    source = np.int64(s.source)
    s.keeps_caishen = s.phase == CLAIM and s.melds[source] == MAX_SETS and s.held[source, 0] == bit(s.caishen)
    for q in range(1, s.num_players):
        if q == source:
            continue
        if s.phase == ROB:
            s.claims[q] = engine.HU_CLAIM if engine.can_win_on(s, q, s.tile) else 0
        else:
            s.claims[q] = engine.claims_on_discard(s, q, np.int64(s.tile))
    engine.ask_next_claim(s, source)
    while s.player != 0:
        engine.step(s, choose(s, RULE))
