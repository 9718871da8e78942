"""What a hand is worth (R7) and who pays whom (R9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._jit import njit
from .checks import check_flag
from .hand import HAND_TILES, check_counts, check_kind, pack
from .patterns import DOUBLE_VALUE, Pattern, patterns_in, value_and_patterns, win_facts
from .rules import Rules
from .tables import MAX_SETS, MAX_WILDS
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_SUITS, RANKS, WHITE, kind_name

MELD_NAMES = ("chi", "peng", "gang", "added", "concealed")
CHI, PENG, GANG, ADDED, CONCEALED = range(len(MELD_NAMES))


class HandValue(NamedTuple):
    """The value 1 (soft), 2 (hard) or 4 (double) of a winning hand, and the patterns of that tier in R7's order."""

    value: int
    patterns: tuple[Pattern, ...]


# --- settlement ------------------------------------------------------------------------------------------------------


@njit
def base_between(p, q, dealer, ladder_value, non_dealer_base, bought, topped):
    """The base between two seats (R8.5): the ladder's, doubled by buy and top, where one is the dealer; else R8.2's."""
    if p != dealer and q != dealer:
        return np.int64(non_dealer_base)
    other = q if p == dealer else p
    return np.int64(ladder_value) * (2 if bought else 1) * (2 if topped[other] else 1)


@njit
def add_win_payments(payments, winner, value, unit, dealer, ladder_value, non_dealer_base, bought, topped):
    """R9.1: the winner takes unit x value x base from every other seat, whoever discarded."""
    for p in range(len(payments)):
        if p != winner:
            base = base_between(winner, p, dealer, ladder_value, non_dealer_base, bought, topped)
            amount = np.int64(unit) * value * base
            payments[winner] += amount
            payments[p] -= amount


@njit
def add_caishen_points(payments, p, caishen_held, amount):
    """R9.2: seat p takes `amount` for each caishen it holds from every other seat."""
    payments[p] += (len(payments) - 1) * caishen_held * amount
    for q in range(len(payments)):
        if q != p:
            payments[q] -= caishen_held * amount


LEAVING_FACTOR = 4 * 2  # R10.6: times the ladder value


@njit
def caishen_amount(value, unit, bonus, bonus_double):
    """What a caishen brings in a hand won at this value, or drawn (0): doubled for all by a double win (R9.2)."""
    return np.int64(unit) * np.int64(bonus) * (np.int64(bonus_double) if value == DOUBLE_VALUE else 1)


def leaving_payments(rules: Rules, ladder: int, *seats: int) -> tuple[np.ndarray, int]:
    """R10.6: `(n,) int64` points that each seat gets when `seats` leave at once, and the points of the house; all sum to 0.

    `ladder` is the index into `dealer_ladder`. Each leaver pays; half of it goes in equal parts of whole units, rounded
    down, to those who stay, the rest to the house: all of it when nobody stays.

    >>> leaving_payments(Rules(), 0, 2)
    (array([ 1,  1, -8,  1]), 5)
    """
    gone = sorted(set(seats))
    charge = rules.dealer_ladder[ladder] * LEAVING_FACTOR  # units
    stay = rules.num_players - len(gone)
    share = charge // 2 // stay if stay else 0
    payments = np.full(rules.num_players, share * len(gone) * rules.unit, np.int64)
    payments[gone] = -charge * rules.unit
    return payments, -int(payments.sum())


def largest_loss(rules: Rules) -> float:
    """The most units that one seat can lose in a hand (R8.5, R9.1, R9.2).

    A loser pays the winner alone: value times base, the base being the ladder's highest, doubled by buy and top, or
    that between non-dealers. Besides, he pays the caishen points of at most three caishen in other hands, which a
    double win multiplies.
    """
    base = max(rules.dealer_ladder) * (4 if rules.stakes else 1)
    if rules.num_players > 2:  # in a duel one of the two is the dealer
        base = max(base, rules.non_dealer_base)
    caishen = MAX_WILDS * rules.caishen_bonus
    return float(max(4 * base + caishen * rules.caishen_bonus_double, 2 * base + caishen))


# --- one hand's value ------------------------------------------------------------------------------------------------


def _check_melds(melds: Sequence[tuple[str, int]], caishen: int) -> tuple[np.ndarray, bool]:
    """Tiles in the melds, `(34,) int64`, whites standing for the face counted as whites; and whether one is a chi."""
    used = np.zeros(NUM_KINDS, np.int64)
    if isinstance(melds, str) or not isinstance(melds, Sequence) or len(melds) > MAX_SETS:
        raise ValueError(f"melds must be a list of at most {MAX_SETS} pairs (what, lowest kind), not {melds!r}")
    has_chi = False
    for meld in melds:
        if isinstance(meld, str) or not isinstance(meld, Sequence) or len(meld) != 2:
            raise ValueError(f"a meld is a pair (what, lowest kind), not {meld!r}")
        what, kind = meld
        if what not in MELD_NAMES:
            raise ValueError(f"a meld is one of {', '.join(MELD_NAMES)}, not {what!r}")
        kind = check_kind(kind, f"the kind of a {what}")
        if what == "chi":
            has_chi = True
            if kind >= HONOURS or kind % RANKS > RANKS - 3:
                raise ValueError(f"a chi from {kind_name(kind)} upwards is no run of one suit (R6.1)")
            for k in range(kind, kind + 3):
                used[WHITE if k == caishen else k] += 1  # the face's place is filled by a white alone (R3.4)
        else:
            if kind == caishen:
                raise ValueError(f"a {what} of {kind_name(kind)}, the caishen, cannot be (R3.2)")
            used[kind] += 3 if what == "peng" else 4
    return used, has_chi


def evaluate(
    concealed: Sequence[int] | np.ndarray,
    melds: Sequence[tuple[str, int]],
    caishen: int,
    *,
    self_draw: bool,
    rob: bool = False,
    heavenly: bool = False,
    earthly: bool = False,
    caishen_ma: bool = False,
    white_home_face: bool = False,
) -> HandValue | None:
    """The value and patterns of a hand by R6 and R7, or None when it does not win.

    `concealed` is 34 counts, the winning tile included; `melds` a list of `(what, lowest kind)` with what one of
    `MELD_NAMES`, a white in a chi counted as the face; `caishen` the wild kind. The circumstances are taken as told:
    `caishen_ma` says that the hand won by own draw out of caishen ma (R7.16), which 34 counts cannot tell.
    Impossible input raises ValueError.

    >>> from wzmj_env import scoring, tiles
    >>> evaluate(tiles.counts("11m 123m 456p 789p 123s 456s"), [], tiles.RED, self_draw=False)
    HandValue(value=2, patterns=(<Pattern.NO_CAISHEN: 8>,))
    """
    caishen = check_kind(caishen, "caishen")
    counts = check_counts(concealed, "concealed")
    used, has_chi = _check_melds(melds, caishen)
    flags = {"self_draw": self_draw, "rob": rob, "heavenly": heavenly, "earthly": earthly,
             "caishen_ma": caishen_ma, "white_home_face": white_home_face}  # fmt: skip
    flags = {name: check_flag(value, name) for name, value in flags.items()}
    if flags["self_draw"] and flags["rob"]:
        raise ValueError("self_draw and rob cannot both be: a robbed tile is another player's")
    if flags["heavenly"] and (not flags["self_draw"] or len(melds) or flags["earthly"]):
        raise ValueError("heavenly is a win by own draw, without melds, and not earthly (R7.1)")
    if flags["caishen_ma"] and not flags["self_draw"]:
        raise ValueError("caishen_ma is a win by own draw (R5.7): self_draw must be set")
    tiles = HAND_TILES - 3 * len(melds)
    if counts.sum() != tiles:
        raise ValueError(f"concealed holds {counts.sum()} tiles; with {len(melds)} melds it must hold {tiles}")
    if counts[caishen] > MAX_WILDS:
        raise ValueError(f"concealed holds four caishen; the fourth is turned up (R2.2), at most {MAX_WILDS} can be")
    if flags["caishen_ma"] and not counts[caishen]:
        raise ValueError("caishen_ma needs a caishen in concealed (R5.7)")
    total = counts + used
    if total.max() > COPIES:
        k = int(total.argmax())
        raise ValueError(f"concealed and melds hold {total[k]} tiles of {kind_name(k)}; there are {COPIES}")
    held, keys = np.zeros(COPIES, np.uint64), np.zeros(NUM_SUITS + 1, np.uint32)
    pack(counts, caishen, held, keys)
    value, bits = _evaluate(held, keys, caishen, len(melds), has_chi, *flags.values())
    return HandValue(int(value), patterns_in(bits)) if value else None


@njit
def _evaluate(held, keys, caishen, melds, has_chi, self_draw, rob, heavenly, earthly, caishen_ma, white_home_face):
    return value_and_patterns(
        win_facts(held, keys, caishen, melds, has_chi, self_draw, rob, heavenly, earthly, caishen_ma, white_home_face)
    )
