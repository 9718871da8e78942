"""Questions about one hand: is it complete, what does it wait for, how far is it.

Inside compiled code a hand is
    held     (4,) uint64: bit k of `held[c]` says that more than c tiles of kind k are concealed, caishen included
    keys     (4,) uint32: the base-5 keys of the three suits and the honours (see `tables`), caishen left out
    sets     the number of sets still to be made, five less the melds

Caishen are wild (R3.1). A concealed white may stand for the caishen's own face (R3.4), so a hand with n whites has n + 1
*readings*: j whites as the face, the others white. In the keys the digit of the caishen's kind is free, since caishen
are left out, and counts the whites that stand for the face.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._jit import njit, popcount
from .checks import check_int
from .tables import (
    MAX_SETS,
    MAX_WILDS,
    code_bits,
    honour_class,
    honour_code,
    join,
    joint,
    suit_class,
    suit_code,
    whole_need,
)
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_SUITS, RANKS, WHITE

HAND_TILES = 3 * MAX_SETS + 2  # 17, the winning tile included
PAIRS = 8  # pairs of an eight-pairs hand, besides its single tile (R6.2)
THREE_CAISHEN = 3
HONOURS_KEY = NUM_SUITS  # index of the honours in `keys`
PAIR = MAX_WILDS + 1  # closing bit: PAIR * (with a pair) + wilds

ONE = np.uint64(1)
NONE = np.uint64(0)
ALL_KINDS = np.uint64(2**NUM_KINDS - 1)
WHITE_BIT = np.uint64(1 << WHITE)
POWER = np.array([5 ** (k % RANKS) for k in range(HONOURS)] + [5**k for k in range(NUM_KINDS - HONOURS)])


# --- tiles in and out ------------------------------------------------------------------------------------------------


@njit
def bit(k):
    """The set that holds kind k alone."""
    return ONE << np.uint64(k)


@njit
def contains(kinds, k):
    return (kinds >> np.uint64(k)) & ONE != NONE


@njit
def count(held, k):
    """Concealed tiles of kind k."""
    shift = np.uint64(k)
    return np.int64(
        ((held[0] >> shift) & ONE)
        + ((held[1] >> shift) & ONE)
        + ((held[2] >> shift) & ONE)
        + ((held[3] >> shift) & ONE)
    )


@njit
def key_index(k):
    return k // RANKS  # the honours follow the three suits


@njit
def add_tile(held, keys, k, caishen):
    """One more tile of kind k."""
    tile = bit(k)
    held[3] |= held[2] & tile
    held[2] |= held[1] & tile
    held[1] |= held[0] & tile
    held[0] |= tile
    if k != caishen:
        keys[key_index(k)] += POWER[k]


@njit
def remove_tile(held, keys, k, caishen):
    """One tile of kind k less; there must be one."""
    tile = bit(k)
    others = ~tile
    held[0] &= held[1] | others
    held[1] &= held[2] | others
    held[2] &= held[3] | others
    held[3] &= others
    if k != caishen:
        keys[key_index(k)] -= POWER[k]


@njit
def whites(held, caishen):
    """Concealed whites that may stand for the caishen's face (R3.4): none when the caishen is white."""
    return 0 if caishen == WHITE else count(held, WHITE)


@njit
def reading(keys, caishen, faces):
    """The four keys, int64, when so many of the whites stand for the face."""
    face_suit, shift = key_index(caishen), faces * POWER[caishen]
    return (
        np.int64(keys[0]) + (shift if face_suit == 0 else 0),
        np.int64(keys[1]) + (shift if face_suit == 1 else 0),
        np.int64(keys[2]) + (shift if face_suit == 2 else 0),
        np.int64(keys[HONOURS_KEY]) - faces * POWER[WHITE] + (shift if face_suit == HONOURS_KEY else 0),
    )


@njit
def natural_pairs(held, caishen):
    """Pairs among the tiles that are not caishen; four alike are two (R6.2)."""
    natural = ~bit(caishen)
    return popcount(held[1] & natural) + popcount(held[3] & natural)


@njit
def odd_kinds(held, caishen):
    """The kinds other than the caishen of which one or three are held."""
    return ((held[0] & ~held[1]) | (held[2] & ~held[3])) & ~bit(caishen)


# --- complete or not -------------------------------------------------------------------------------------------------


@njit
def closing_bits(keys, white_count, caishen):
    """Bit `PAIR * pair + wilds`: exactly so many caishen, with a pair or without, complete the sets of some reading.

    The number of sets follows from the number of tiles. For a hand whose caishen is white pass no whites.
    """
    m, p, s, z = keys[0], keys[1], keys[2], keys[HONOURS_KEY]
    bits = code_bits(join(join(suit_code(m), suit_code(p)), join(suit_code(s), honour_code(z))))
    if white_count > 0:
        bits |= _bits_with_faces(m, p, s, z, white_count, caishen)
    return np.int64(bits)


@njit
def _bits_with_faces(m, p, s, z, white_count, caishen):
    """`closing_bits` of the readings in which at least one white stands for the face."""
    face_suit = key_index(caishen)
    if face_suit == HONOURS_KEY:
        face_key, others = np.int64(z), join(suit_code(m), join(suit_code(p), suit_code(s)))
    elif face_suit == 0:
        face_key, others = np.int64(m), join(suit_code(p), suit_code(s))
    elif face_suit == 1:
        face_key, others = np.int64(p), join(suit_code(m), suit_code(s))
    else:
        face_key, others = np.int64(s), join(suit_code(m), suit_code(p))
    bits = 0
    for faces in range(1, white_count + 1):
        if face_suit == HONOURS_KEY:
            code = honour_code(face_key + faces * (POWER[caishen] - POWER[WHITE]))
        else:
            code = join(suit_code(face_key + faces * POWER[caishen]), honour_code(np.int64(z) - faces * POWER[WHITE]))
        bits |= code_bits(join(others, code))
    return bits


@njit
def is_standard(closing, wilds):
    """R6.1, from the closing bits of a whole hand with so many caishen."""
    return closing >> (PAIR + wilds) & 1 == 1


@njit
def is_caishen_ma(closing, wilds):
    """R5.7, from the closing bits of a hand before its winning tile: a caishen set aside, the rest are sets."""
    return wilds > 0 and closing >> (wilds - 1) & 1 == 1


@njit
def is_eight_pairs(pairs, odd, wilds):
    """R6.2 for 17 tiles without melds: `pairs` natural pairs, `odd` kinds over, so many caishen."""
    paired = min(odd, wilds)
    return pairs + paired + (wilds - paired) // 2 >= PAIRS


@njit
def is_complete(held, keys, sets, caishen):
    """R6.4: any of the three shapes. `held` is a hand of 3 * sets + 2 tiles."""
    wilds = count(held, caishen)
    if wilds >= THREE_CAISHEN or is_standard(closing_bits(keys, whites(held, caishen), caishen), wilds):
        return True
    return sets == MAX_SETS and is_eight_pairs(
        natural_pairs(held, caishen), popcount(odd_kinds(held, caishen)), wilds
    )


# --- waits -----------------------------------------------------------------------------------------------------------


@njit
def _suit_waits(suit_key, first, ranks, others, full, wanted):
    """The kinds of one suit that close it beside `others`; `wanted` is the closing bit asked for."""
    found = NONE
    for rank in range(ranks):
        k = first + rank
        if not contains(full, k):
            grown = suit_key + POWER[k]
            code = suit_code(grown) if first < HONOURS else honour_code(grown)
            if code_bits(join(code, others)) >> wanted & 1:
                found |= bit(k)
    return found


@njit
def _standard_waits(keys, white_count, caishen, wilds, full):
    """Kinds whose natural tile completes sets and pair; the caishen's own bit stands for a white as the face."""
    found = NONE
    wanted = PAIR + wilds
    for faces in range(white_count + 1):
        m, p, s, z = reading(keys, caishen, faces)
        codes_mp = join(suit_code(m), suit_code(p))
        codes_sz = join(suit_code(s), honour_code(z))
        found |= _suit_waits(m, 0, RANKS, join(suit_code(p), codes_sz), full, wanted)
        found |= _suit_waits(p, RANKS, RANKS, join(suit_code(m), codes_sz), full, wanted)
        found |= _suit_waits(s, 2 * RANKS, RANKS, join(codes_mp, honour_code(z)), full, wanted)
        found |= _suit_waits(z, HONOURS, NUM_KINDS - HONOURS, join(codes_mp, suit_code(s)), full, wanted)
    return found


@njit
def wait_set(held, keys, sets, caishen, closing):
    """The formal waits of a hand of 3 * sets + 1 tiles: kinds that complete it by any shape (R6), seen from the hand
    alone. A kind of which the hand itself holds all four cannot come and is left out. `closing`: its closing bits."""
    wilds = count(held, caishen)
    drawable = ALL_KINDS & ~held[3]
    if wilds >= THREE_CAISHEN:
        return drawable
    found = bit(caishen) if wilds == THREE_CAISHEN - 1 else NONE
    if is_standard(closing, wilds + 1):  # one more caishen would do: only then can a tile do
        white_count = whites(held, caishen)
        full = held[3] | (bit(caishen) if white_count == COPIES or caishen == WHITE else NONE)
        natural = _standard_waits(keys, white_count, caishen, wilds, full)
        if contains(natural, caishen):
            natural |= WHITE_BIT
        found |= natural | bit(caishen)
    if sets == MAX_SETS:
        pairs = natural_pairs(held, caishen)
        odd = odd_kinds(held, caishen)
        odd_count = popcount(odd)
        if is_eight_pairs(pairs, odd_count, wilds + 1):
            found |= bit(caishen)
            if is_eight_pairs(pairs + 1, odd_count - 1, wilds):
                found |= odd
            if is_eight_pairs(pairs, odd_count + 1, wilds):
                found |= ALL_KINDS & ~odd
    return found & drawable


# --- distance --------------------------------------------------------------------------------------------------------

@njit
def standard_need(keys, white_count, caishen, sets):
    """Tiles missing for the standard shape over all readings, caishen not counted."""
    best = np.int64(HAND_TILES)
    for faces in range(white_count + 1):
        m, p, s, z = reading(keys, caishen, faces)
        best = min(best, whole_need(joint(suit_class(m), suit_class(p)), joint(suit_class(s), honour_class(z)), sets))
    return best


@njit
def pairs_need(pairs, odd):
    """Tiles missing for eight pairs and a single, caishen not counted."""
    missing = max(0, PAIRS - pairs)
    return missing + max(0, missing - odd)


@njit
def tiles_short(held, keys, sets, caishen):
    """The distance: how many tiles a hand is short of complete, the nearest shape counting; 0 complete, 1 ready.

    Formal: what others hold or have discarded does not count.
    """
    wilds = count(held, caishen)
    need = standard_need(keys, whites(held, caishen), caishen, sets) - wilds
    if sets == MAX_SETS:
        need = min(need, pairs_need(natural_pairs(held, caishen), popcount(odd_kinds(held, caishen))) - wilds)
    need = min(need, THREE_CAISHEN - wilds)
    tiles = popcount(held[0]) + popcount(held[1]) + popcount(held[2]) + popcount(held[3])
    return max(need, 3 * sets + 2 - tiles, 0)


@njit
def improving_set(held, keys, sets, caishen):
    """The kinds that lower the distance when added; those of which the hand holds all four are left out."""
    now = tiles_short(held, keys, sets, caishen)
    found = NONE
    for k in range(NUM_KINDS):
        if not contains(held[3], k):
            add_tile(held, keys, k, caishen)
            if tiles_short(held, keys, sets, caishen) < now:
                found |= bit(k)
            remove_tile(held, keys, k, caishen)
    return found


@njit
def pack(counts, caishen, held, keys):
    """Fill `held` and `keys` from 34 counts."""
    held[:] = NONE
    keys[:] = 0
    for k in range(NUM_KINDS):
        for _ in range(counts[k]):
            add_tile(held, keys, k, caishen)


# --- from Python -----------------------------------------------------------------------------------------------------


def check_counts(counts: Sequence[int] | np.ndarray, name: str) -> np.ndarray:
    """`counts` as `(34,) int64`, each 0–4; anything else raises ValueError."""
    array = np.asarray(counts)
    if array.shape != (NUM_KINDS,) or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {NUM_KINDS} whole numbers, one a kind, not {counts!r}")
    if array.min() < 0 or array.max() > COPIES:
        k = int(np.flatnonzero((array < 0) | (array > COPIES))[0])
        raise ValueError(f"{name} holds {array[k]} tiles of kind {k}; 0 to {COPIES} are possible")
    return array.astype(np.int64)


def check_kind(kind: int, name: str) -> int:
    """`kind` as an int 0–33; anything else raises ValueError."""
    return check_int(kind, name, 0, NUM_KINDS - 1)


def _packed(
    concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int, sizes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """held, keys, sets, caishen of a checked hand; `sizes` are the numbers of tiles allowed beyond 3 * sets."""
    caishen = check_kind(caishen, "caishen")
    num_melds = check_int(num_melds, "num_melds", 0, MAX_SETS)
    counts = check_counts(concealed, "concealed")
    sets = MAX_SETS - num_melds
    if int(counts.sum()) - 3 * sets not in sizes:
        allowed = " or ".join(str(3 * sets + size) for size in sizes)
        raise ValueError(f"concealed holds {counts.sum()} tiles; with {num_melds} melds it must hold {allowed}")
    if counts[caishen] > MAX_WILDS:
        raise ValueError(f"concealed holds four caishen; the fourth is the one turned up (R2.2), so at most {MAX_WILDS}")
    held, keys = np.zeros(COPIES, np.uint64), np.zeros(NUM_SUITS + 1, np.uint32)
    pack(counts, caishen, held, keys)
    return held, keys, sets, caishen


def kinds_in(kinds: int) -> list[int]:
    """The kinds of a set, in id order."""
    return [k for k in range(NUM_KINDS) if int(kinds) >> k & 1]


def complete(concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int) -> bool:
    """Whether 34 counts of `17 - 3 * num_melds` tiles, winning tile included, are a winning shape (R6)."""
    return bool(is_complete(*_packed(concealed, num_melds, caishen, (2,))))


def waits(concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int) -> list[int]:
    """The formal waits of `16 - 3 * num_melds` tiles: the kinds that complete the shape (R6).

    Kinds of which the hand itself holds all four are left out. See `live_waits` for those that can still come.
    """
    held, keys, sets, caishen = _packed(concealed, num_melds, caishen, (1,))
    closing = closing_bits(keys, whites(held, caishen), caishen)
    return kinds_in(wait_set(held, keys, sets, caishen, closing))


def live_waits(
    concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int, visible: Sequence[int] | np.ndarray
) -> list[int]:
    """The waits of which a tile may still come: fewer than four in the hand and in `visible` together.

    `visible` is 34 counts of the tiles seen outside the concealed hand: melds, discards, the turned-up caishen.
    """
    seen = check_counts(visible, "visible") + np.asarray(concealed)
    return [k for k in waits(concealed, num_melds, caishen) if seen[k] < COPIES]


def distance(concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int) -> int:
    """How many tiles a hand of `16 - 3 * num_melds` or one more tiles is short of complete: 0 complete, 1 ready.

    The nearest of standard, eight pairs (without melds) and three caishen counts (R6.1–R6.3).
    """
    return int(tiles_short(*_packed(concealed, num_melds, caishen, (1, 2))))


def improving(concealed: Sequence[int] | np.ndarray, num_melds: int, caishen: int) -> list[int]:
    """The kinds that lower the distance of `16 - 3 * num_melds` tiles when one is added."""
    return kinds_in(improving_set(*_packed(concealed, num_melds, caishen, (1,))))
