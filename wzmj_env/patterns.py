"""The patterns of R7, one predicate each, and the value they give.

A predicate looks at a `Win`: the facts of one winning hand, gathered by `win_facts`. The value is that of the best tier
that has a pattern, and only that tier's patterns are reported (R7.15).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ._jit import njit, popcount
from .hand import (
    HONOURS_KEY,
    PAIR,
    PAIRS,
    POWER,
    THREE_CAISHEN,
    bit,
    closing_bits,
    count,
    is_eight_pairs,
    is_standard,
    key_index,
    natural_pairs,
    odd_kinds,
    whites,
)
from .tables import MAX_SETS, code_bits, honour_code, join, suit_code
from .tiles import COPIES, RANKS, WHITE


class Pattern(IntEnum):
    """The patterns by their names in R7; the value is the bit that stands for one in a set of patterns."""

    HEAVENLY = 0
    EARTHLY = 1
    SINGLE_WAIT = 2
    QUANQIUSHEN = 3
    HARD_EIGHT_PAIRS = 4
    THREE_CAISHEN_COMPLETE = 5
    ALL_TRIPLETS = 6
    SELF_DRAW = 7
    NO_CAISHEN = 8
    CAISHEN_HOME = 9
    ROB_GANG = 10
    SOFT_EIGHT_PAIRS = 11
    THREE_CAISHEN = 12
    SOFT = 13


SOFT_VALUE, HARD_VALUE, DOUBLE_VALUE = 1, 2, 4
QUANQIUSHEN_SET = 1 << int(Pattern.QUANQIUSHEN)
SOFT_SET = 1 << int(Pattern.SOFT)


class Win(NamedTuple):
    """The facts of a winning hand that patterns look at."""

    wilds: int  # caishen in the concealed hand, the winning tile included
    standard: bool  # R6.1 holds
    eight_pairs: bool  # R6.2 holds
    pairs: int  # natural pairs in the concealed hand
    at_home: bool  # R6.1 holds with each caishen as its own kind (R7.10)
    triplets: bool  # a pair and five triplets
    melds: int
    self_draw: bool
    rob: bool
    heavenly: bool
    earthly: bool
    caishen_ma: bool  # won by own draw out of caishen ma


# --- facts -----------------------------------------------------------------------------------------------------------


@njit
def _closes_plainly(keys, index, face_suit_key, honours_key, wanted):
    """Whether a hand without wilds closes, the key of suit `index` and the honours' key replaced."""
    m = face_suit_key if index == 0 else np.int64(keys[0])
    p = face_suit_key if index == 1 else np.int64(keys[1])
    s = face_suit_key if index == 2 else np.int64(keys[2])
    z = face_suit_key if index == HONOURS_KEY else honours_key
    code = join(join(suit_code(m), suit_code(p)), join(suit_code(s), honour_code(z)))
    return code_bits(code) >> wanted & 1 == 1


@njit
def _closes_at_home(keys, caishen, wilds, faces):
    """Whether R6.1 holds with `wilds` caishen as their own kind and `faces` whites as that kind too."""
    index = key_index(caishen)
    power = POWER[caishen]
    honours = np.int64(keys[HONOURS_KEY]) - faces * POWER[WHITE]
    base = honours if index == HONOURS_KEY else np.int64(keys[index])
    copies = wilds + faces
    if copies <= COPIES:
        return _closes_plainly(keys, index, base + copies * power, honours, PAIR)
    # More copies than a digit holds: one of the sets they are in is taken out first.
    if _closes_plainly(keys, index, base + (copies - 3) * power, honours, PAIR):
        return True
    if copies - 2 <= COPIES and _closes_plainly(keys, index, base + (copies - 2) * power, honours, 0):
        return True
    if index != HONOURS_KEY and copies - 1 <= COPIES:
        rank = caishen % RANKS
        for lowest in range(max(rank - 2, 0), min(rank, RANKS - 3) + 1):
            left, possible = base + (copies - 1) * power, True
            for other in range(lowest, lowest + 3):
                if other != rank:
                    possible = possible and base // 5**other % 5 > 0
                    left -= 5**other
            if possible and _closes_plainly(keys, index, left, honours, PAIR):
                return True
    return False


@njit
def is_caishen_at_home(keys, white_count, caishen, wilds, white_home_face):
    """R7.10: with caishen in hand, R6.1 holds when each is just its own kind and each white just white; under
    `white_home_face` whites may be the face here too."""
    if wilds == 0:
        return False
    for faces in range((white_count if white_home_face else 0) + 1):
        if _closes_at_home(keys, caishen, wilds, faces):
            return True
    return False


@njit
def _wilds_for_triplets(singles, doubles, fours):
    """Caishen needed to make triplets and one pair of so many kinds held once, twice and four times."""
    need = 2 * singles + doubles + 2 * fours
    return need - 1 if singles + doubles + fours > 0 else need + 2  # the pair: where a tile is over, else beside


@njit
def is_all_triplets(held, caishen, white_count, wilds):
    """R7.7 for the concealed part: triplets and a pair, in some reading of the whites."""
    natural = ~bit(caishen)
    other = natural if caishen == WHITE else natural & ~bit(WHITE)
    singles = popcount(held[0] & ~held[1] & other)
    doubles = popcount(held[1] & ~held[2] & other)
    fours = popcount(held[3] & other)
    for faces in range(white_count + 1):
        ones, twos, quads = singles, doubles, fours
        for copies in (faces, white_count - faces):
            ones += copies == 1
            twos += copies == 2
            quads += copies == COPIES
        if _wilds_for_triplets(ones, twos, quads) <= wilds:
            return True
    return False


@njit
def win_facts(
    held, keys, caishen, melds, has_chi, self_draw, rob, heavenly, earthly, caishen_ma, white_home_face
):
    """The facts of a hand of 17 - 3 * melds concealed tiles (see `hand`), whether it wins or not."""
    wilds = count(held, caishen)
    white_count = whites(held, caishen)
    pairs = natural_pairs(held, caishen)
    standard = is_standard(closing_bits(keys, white_count, caishen), wilds)
    return Win(
        wilds,
        standard,
        melds == 0 and is_eight_pairs(pairs, popcount(odd_kinds(held, caishen)), wilds),
        pairs,
        standard and is_caishen_at_home(keys, white_count, caishen, wilds, white_home_face),
        standard and not has_chi and is_all_triplets(held, caishen, white_count, wilds),
        melds,
        self_draw,
        rob,
        heavenly,
        earthly,
        caishen_ma,
    )


# --- predicates ------------------------------------------------------------------------------------------------------


@njit
def is_win(win):
    """R6.4: one of the three shapes."""
    return win.standard or win.eight_pairs or win.wilds >= THREE_CAISHEN


@njit
def is_heavenly(win):
    """R7.1 天胡: the dealer wins with the first 17 tiles, before any other act."""
    return win.heavenly


@njit
def is_earthly(win):
    """R7.2 地胡: another player wins before drawing any tile, or by the first tile he draws."""
    return win.earthly


@njit
def is_single_wait(win):
    """R7.3 单吊: five melds declared, one tile left, and it wins; not out of caishen ma (R7.16)."""
    return win.melds == MAX_SETS and not win.caishen_ma


@njit
def is_hard_eight_pairs(win):
    """R7.5 硬八对: eight pairs without caishen, or with one that is the single, or with two or more."""
    return win.eight_pairs and (win.wilds != 1 or win.pairs == PAIRS)


@njit
def is_three_caishen_complete(win):
    """R7.6: three caishen and R6.1 or R6.2."""
    return win.wilds >= THREE_CAISHEN and (win.standard or win.eight_pairs)


@njit
def is_triplets(win):
    """R7.7 碰碰胡: a pair and five triplets."""
    return win.triplets


@njit
def is_self_draw(win):
    """R7.8 自摸: own draw."""
    return win.self_draw


@njit
def is_no_caishen(win):
    """R7.9: standard with no caishen in hand."""
    return win.standard and win.wilds == 0


@njit
def is_caishen_home(win):
    """R7.10 财神归位: standard with each caishen as its own kind."""
    return win.at_home


@njit
def is_rob_gang(win):
    """R7.11 抢杠胡."""
    return win.rob


@njit
def is_soft_eight_pairs(win):
    """R7.12 软八对: eight pairs with exactly one caishen, and it pairs a tile."""
    return win.eight_pairs and win.wilds == 1


@njit
def is_three_caishen(win):
    """R7.13: R6.3 without R6.1 or R6.2."""
    return win.wilds >= THREE_CAISHEN and not (win.standard or win.eight_pairs)


# --- value -----------------------------------------------------------------------------------------------------------


@njit
def value_and_patterns(win):
    """The value 4, 2 or 1 of a winning hand and its patterns as a set of bits (R7.15); (0, 0) when it does not win.

    Quanqiushen (R7.4) is no matter of the hand and not asked here.
    """
    if not is_win(win):
        return 0, 0
    double = (
        int(is_heavenly(win)) << Pattern.HEAVENLY
        | int(is_earthly(win)) << Pattern.EARTHLY
        | int(is_single_wait(win)) << Pattern.SINGLE_WAIT
        | int(is_hard_eight_pairs(win)) << Pattern.HARD_EIGHT_PAIRS
        | int(is_three_caishen_complete(win)) << Pattern.THREE_CAISHEN_COMPLETE
        | int(is_triplets(win)) << Pattern.ALL_TRIPLETS
    )
    if double:
        return DOUBLE_VALUE, double
    hard = (
        int(is_self_draw(win)) << Pattern.SELF_DRAW
        | int(is_no_caishen(win)) << Pattern.NO_CAISHEN
        | int(is_caishen_home(win)) << Pattern.CAISHEN_HOME
        | int(is_rob_gang(win)) << Pattern.ROB_GANG
        | int(is_soft_eight_pairs(win)) << Pattern.SOFT_EIGHT_PAIRS
        | int(is_three_caishen(win)) << Pattern.THREE_CAISHEN
    )
    if hard:
        return HARD_VALUE, hard
    return SOFT_VALUE, SOFT_SET


def patterns_in(bits: int) -> tuple[Pattern, ...]:
    """The patterns of a set of bits, in R7's order."""
    return tuple(pattern for pattern in Pattern if int(bits) >> pattern & 1)
