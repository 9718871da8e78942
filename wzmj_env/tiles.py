"""The 34 kinds of tiles, their names, and the text notation mpsz in and out (R1.1).

    0..8    characters 万  1m..9m
    9..17   dots 筒        1p..9p
    18..26  bamboo 索      1s..9s
    27..30  East South West North 东南西北  1z..4z
    31      white 白       5z
    32      green 发       6z
    33      red 中         7z
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

COPIES = 4  # of each kind
RANKS = 9  # of each suit
NUM_SUITS = 3  # characters, dots, bamboo
NUM_WINDS = 4  # East, South, West, North
NUM_DRAGONS = 3  # white, green, red
NUM_HONOURS = NUM_WINDS + NUM_DRAGONS

CHARACTERS = 0  # the first kind of each suit
DOTS = CHARACTERS + RANKS
BAMBOO = DOTS + RANKS
HONOURS = BAMBOO + RANKS
EAST, SOUTH, WEST, NORTH = range(HONOURS, HONOURS + NUM_WINDS)
WHITE, GREEN, RED = range(HONOURS + NUM_WINDS, HONOURS + NUM_HONOURS)
NUM_KINDS = NUM_SUITS * RANKS + NUM_HONOURS
NUM_TILES = NUM_KINDS * COPIES

SUITS = "mpsz"  # letters of the notation, in the order of the kinds
_FIRST_OF_SUIT = {"m": CHARACTERS, "p": DOTS, "s": BAMBOO, "z": HONOURS}
_SIZE_OF_SUIT = {"m": RANKS, "p": RANKS, "s": RANKS, "z": NUM_HONOURS}

_DIGITS_ZH = "一二三四五六七八九"
_DIGITS_EN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SUITS_ZH = ("万", "筒", "索")
_SUITS_EN = ("characters", "dots", "bamboo")

NAMES_ZH = tuple(d + suit for suit in _SUITS_ZH for d in _DIGITS_ZH) + ("东", "南", "西", "北", "白", "发", "中")
NAMES_EN = tuple(f"{d} of {suit}" for suit in _SUITS_EN for d in _DIGITS_EN) + (
    *("east", "south", "west", "north"),
    *("white", "green", "red"),
)


def rank(kind: int) -> int:
    """The number in the notation: 1 to 9 in a suit, 1 to 7 among the honours."""
    return _checked_kind(kind) % RANKS + 1  # the honours begin at a multiple of nine too


def suit(kind: int) -> str:
    """The letter in the notation: m, p, s or z."""
    return SUITS[_checked_kind(kind) // RANKS]


def kind_name(kind: int) -> str:
    """A kind in the notation. Raises ``ValueError`` for what is no kind.

    >>> kind_name(WHITE)
    '5z'
    """
    return f"{rank(kind)}{suit(kind)}"


def parse_kind(text: str) -> int:
    """The one kind that ``text`` names, in the notation. Raises ``ValueError`` for none or several."""
    kinds = parse(text)
    if len(kinds) != 1:
        raise ValueError(f"expected one tile such as 5z, not {text!r}")
    return kinds[0]


def parse(text: str) -> list[int]:
    """The kinds in ``text``, in the order written; spaces may stand anywhere, ``""`` is no tiles.

    Raises ``ValueError`` naming the place for an unknown letter, a 0, an 8z, digits without a suit, or a suit without
    digits. How many there are of a kind is not checked here.

    >>> parse("123m55z")
    [0, 1, 2, 31, 31]
    """
    if not isinstance(text, str):
        raise ValueError(f"tiles are written as text such as 123m55z, not {text!r}")
    kinds: list[int] = []
    digits: list[tuple[int, int]] = []  # (number, place in text) since the last letter
    for place, sign in enumerate(text):
        if sign.isspace():
            continue
        if sign in "123456789":
            digits.append((int(sign), place))
        elif sign in _FIRST_OF_SUIT:
            if not digits:
                raise ValueError(f"{_at(text, place)}: {sign!r} has no numbers before it")
            for number, at in digits:
                if number > _SIZE_OF_SUIT[sign]:
                    raise ValueError(f"{_at(text, at)}: there is no {number}{sign}, honours are 1z to {NUM_HONOURS}z")
                kinds.append(_FIRST_OF_SUIT[sign] + number - 1)
            digits = []
        else:
            raise ValueError(f"{_at(text, place)}: {sign!r} is neither a number 1 to 9 nor a suit m, p, s or z")
    if digits:
        raise ValueError(f"{_at(text, digits[0][1])}: numbers without a suit m, p, s or z after them")
    return kinds


def counts(tiles: str | Iterable[int]) -> np.ndarray:
    """How many of each kind: ``(34,) uint8``, from text or a list of kinds.

    Raises ``ValueError`` for what is no kind and for more than 255 of one.
    """
    kinds = parse(tiles) if isinstance(tiles, str) else [_checked_kind(kind) for kind in tiles]
    found = np.bincount(kinds, minlength=NUM_KINDS) if kinds else np.zeros(NUM_KINDS, np.int64)
    if found.max() > np.iinfo(np.uint8).max:
        kind = int(found.argmax())
        raise ValueError(f"{found[kind]} tiles {kind_name(kind)} are too many to count")
    return found.astype(np.uint8)


def text(tiles: str | Iterable[int], caishen: int | None = None) -> str:
    """A hand as text: the caishen first, then the kinds in id order (R3.5).

    ``tiles`` are a list of kinds, or 34 counts as a numpy array; a plain list is always a list of kinds.

    >>> text(parse("9p1m5z3m2m"))
    '123m9p5z'
    >>> text(counts("1m9p55z"), caishen=WHITE)
    '55z1m9p'
    """
    kinds = kinds_of(tiles)
    if caishen is None:
        return _written(kinds)
    caishen = _checked_kind(caishen)
    return _written([k for k in kinds if k == caishen]) + _written([k for k in kinds if k != caishen])


def kinds_of(tiles: str | Iterable[int]) -> list[int]:
    """The kinds, sorted, of text, a list of kinds, or 34 counts as a numpy array."""
    if isinstance(tiles, str):
        return sorted(parse(tiles))
    if isinstance(tiles, np.ndarray) and tiles.shape == (NUM_KINDS,):
        if tiles.dtype.kind not in "iu" or int(tiles.min()) < 0:
            raise ValueError("counts of tiles must be whole numbers, 0 or more")
        return np.repeat(np.arange(NUM_KINDS), tiles.astype(np.int64)).tolist()
    return sorted(_checked_kind(kind) for kind in tiles)


def _written(kinds: Sequence[int]) -> str:
    """Kinds in the order given, neighbours of one suit sharing its letter."""
    parts: list[str] = []
    for place, kind in enumerate(kinds):
        parts.append(str(rank(kind)))
        if place + 1 == len(kinds) or suit(kinds[place + 1]) != suit(kind):
            parts.append(suit(kind))
    return "".join(parts)


def _checked_kind(kind: Any) -> int:
    try:
        number = operator.index(kind) if not isinstance(kind, bool) else -1
    except TypeError:
        number = -1
    if not 0 <= number < NUM_KINDS:
        raise ValueError(f"no kind {kind!r}: kinds are whole numbers from 0 to {NUM_KINDS - 1}")
    return number


def _at(text: str, place: int, around: int = 40) -> str:
    shown = text if len(text) <= around else text[:around] + "..."
    return f"{shown!r}, character {place + 1}"
