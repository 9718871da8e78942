"""A hand set up from what a person knows of it, as in the question "what would you discard".

Own tiles, melds and discards of all seats, caishen and dealer are given; the others' tiles and the wall are drawn from a
seed. How often each seat has drawn follows from what it has and has laid down (R2.3); in what order the discards came is
taken to be round the table. Whether a hand can come about in that way is not asked: tiles are counted, R5.1 is not replayed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from . import engine, tiles
from ._jit import njit
from .actions import CHI_LOW, GANG_CLAIM, PASS, PENG
from .hand import ONE, add_tile
from .hand import pack as pack_hand
from .scoring import ADDED, CHI, CONCEALED, MELD_NAMES
from .scoring import PENG as PENG_MELD
from .state import CLAIM, LYING, NO_DISCARD, NOTHING, SEAT_UNIT, TAKEN_AS, WHITE_IS_WIND, plain
from .tables import MAX_SETS
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_TILES, RANKS, WHITE, kind_name

_DISCARD_PHASE_TILES = 17  # concealed and in melds, a meld counting three, of a seat that is to discard


@dataclass
class _Meld:
    what: int
    kind: int  # lowest; a white in a chi counted as the face
    own: list[int]  # tiles from the hand
    claimed: int | None
    action: int | None


@njit
def _refresh(states, seat):
    engine.refresh(states[0], seat)


@njit
def _ask_turn(states, seat, drawn):
    s = states[0]
    if drawn == NOTHING:
        engine.ask_discard(s, seat)
    else:
        engine.take_in(s, seat, drawn)
        engine.ask_turn(s, seat)


@njit
def _discard(states, source, tile):
    s = states[0]
    add_tile(s.held[source], s.keys[source], tile, s.caishen)
    engine.discard(s, source, tile)


@njit
def _pass(states):
    engine.step(states[0], PASS)


def set_up(
    states: np.recarray, seat: int, hand: str | Sequence[int], caishen: int, after_claim: bool,
    melds: Mapping[int, Sequence[str]], discards: Mapping[int, str | Sequence[int]], claim: tuple[int, int] | None, seed: int,
) -> None:  # fmt: skip
    """Make the one state of `states`, of which rules, dealer and stakes stand, the position. See `Game.from_position`."""
    s = states[0]
    n = int(s.num_players)
    read = {p: [_read_meld(text, caishen) for text in _of_seat(melds, p, n, "melds", ())] for p in range(n)}
    lying = {p: _in_order(_of_seat(discards, p, n, "discards", "")) for p in range(n)}
    own = _in_order(hand)
    if claim is not None and (claim[0] == seat or claim[1] == caishen):
        raise ValueError("a claim is on a tile of another seat, and not on a caishen here")
    for p in range(n):
        if len(read[p]) > MAX_SETS:
            raise ValueError(f"seat {p} has {len(read[p])} melds; there are at most {MAX_SETS}")
    want = _DISCARD_PHASE_TILES - (claim is not None) - 3 * len(read[seat])
    if len(own) != want:
        asked = "asked about a claim" if claim else "to discard"
        raise ValueError(f"the hand holds {len(own)} tiles; with {len(read[seat])} melds, {asked}, it must hold {want}")
    drawn = NOTHING if after_claim or claim is not None else own[-1]

    used = Counter(own) + Counter([caishen]) + Counter([claim[1]] if claim else [])
    for p in range(n):
        used.update(lying[p])
        for meld in read[p]:
            used.update([*meld.own, *([] if meld.claimed is None else [meld.claimed])])
    for kind, number in used.items():
        if number > COPIES:
            raise ValueError(f"{number} tiles {kind_name(kind)} are given, the one turned up counted; {COPIES} is all there are")
    rest = list((Counter(dict.fromkeys(range(NUM_KINDS), COPIES)) - used).elements())
    random.Random(seed).shuffle(rest)
    hands = {seat: own}
    for p in range(n):
        if p != seat:
            size = _DISCARD_PHASE_TILES - 1 - 3 * len(read[p])
            if size > len(rest):
                raise ValueError("there are not tiles enough for the other hands")
            hands[p], rest = rest[:size], rest[size:]

    s.caishen = caishen
    s.winds = engine.HONOUR_SET & ~(ONE << np.uint64(caishen))
    if not s.switches & WHITE_IS_WIND and caishen < HONOURS:
        s.winds &= ~(ONE << np.uint64(WHITE))
    _lay_down(s, n, read, lying)
    for p in range(n):
        concealed = Counter(hands[p])
        if p == seat and drawn != NOTHING:
            concealed[drawn] -= 1
        _pack(states, p, np.array([concealed[k] for k in range(NUM_KINDS)], np.int64), caishen)
        _refresh(plain(states), p)
    _count_draws(s, n, read, lying, hands, claim)
    gangs = int(s.gangs)
    total = int(s.draws[:n].sum())
    s.front, s.back = engine.DEALT * n + 1 + total - gangs, engine.TURNED_UP - 1 - gangs
    if total < gangs:
        raise ValueError(f"{gangs} gangs have been made, but only {total} tiles drawn")
    gone = list((Counter(dict.fromkeys(range(NUM_KINDS), COPIES)) - Counter(rest) - Counter([caishen])).elements())
    s.wall[: s.front] = gone[: s.front]
    s.wall[s.front : s.back + 1] = rest
    s.wall[s.back + 1 : NUM_TILES - 1] = gone[s.front :]
    s.wall[NUM_TILES - 1] = caishen
    if claim is None:
        _ask_turn(plain(states), seat, drawn)
        return
    _discard(plain(states), *claim)
    while s.phase == CLAIM and s.player != seat and s.player != NOTHING:
        _pass(plain(states))
    if s.player != seat or s.phase != CLAIM:
        raise ValueError(f"the hand has no claim on {kind_name(claim[1])} of seat {claim[0]}")


def _of_seat(given: Mapping[int, Any], p: int, n: int, name: str, default: Any) -> Any:
    wrong = [key for key in given if isinstance(key, bool) or not isinstance(key, (int, np.integer)) or not 0 <= key < n]
    if wrong:
        raise ValueError(f"{name} has a seat {wrong[0]!r}; seats are whole numbers from 0 to {n - 1}")
    return given.get(p, default)


def _in_order(given: str | Sequence[int]) -> list[int]:
    return tiles.parse(given if isinstance(given, str) else "".join(map(kind_name, given)))


def _read_meld(text: str, caishen: int) -> _Meld:
    """A meld as `peng 222z`, `chi 345p`, `gang 1111m`, `added 1111m`, `concealed 1111m`. Of a chi the tile written first is
    the one claimed, and a white stands for the caishen's face."""
    what, _, shown = text.partition(" ") if isinstance(text, str) else ("", "", "")
    if what not in MELD_NAMES:
        raise ValueError(f"a meld is one of {', '.join(MELD_NAMES)} and its tiles, such as peng 222z, not {text!r}")
    kinds = tiles.parse(shown)
    index = MELD_NAMES.index(what)
    if index == CHI:
        faces = sorted(caishen if k == WHITE else k for k in kinds)
        run = len(kinds) == 3 and caishen not in kinds and faces == [faces[0], faces[0] + 1, faces[0] + 2]
        if not run or faces[2] >= HONOURS or faces[0] % RANKS > RANKS - 3:
            raise ValueError(f"{text!r} is no chi: three tiles of one suit in a row, without caishen")
        face = caishen if kinds[0] == WHITE else kinds[0]
        return _Meld(CHI, faces[0], kinds[1:], kinds[0], CHI_LOW + face - faces[0])
    size = 3 if index == PENG_MELD else 4
    if kinds != [kinds[0]] * size if kinds else True:
        raise ValueError(f"{text!r} is no {what}: {size} tiles alike")
    if kinds[0] == caishen:
        raise ValueError(f"{text!r} cannot be: the caishen is in no meld (R3.2)")
    if index == CONCEALED:
        return _Meld(index, kinds[0], kinds, None, None)
    return _Meld(index, kinds[0], kinds[1:], kinds[0], PENG if index in (PENG_MELD, ADDED) else GANG_CLAIM)


def _lay_down(s: np.record, n: int, read: dict[int, list[_Meld]], lying: dict[int, list[int]]) -> None:
    """Discards, the claimed ones first and those that lie after them in turn, and melds; whoever sits before a seat is taken
    to have discarded what it claimed."""
    at = 0

    def put(p: int, kind: int, fate: int) -> None:
        nonlocal at
        s.discards[at], s.fates[at] = kind + SEAT_UNIT * p, fate
        if kind >= HONOURS:
            s.shown |= ONE << np.uint64(kind)
        at += 1

    for p in range(n):
        for i, meld in enumerate(read[p]):
            s.meld_what[p, i], s.meld_kind[p, i], s.meld_source[p, i] = meld.what, meld.kind, NO_DISCARD
            if meld.claimed is not None and meld.action is not None:
                s.meld_source[p, i] = at
                put((p - 1) % n, meld.claimed, TAKEN_AS + meld.action - CHI_LOW)
            if meld.what == PENG_MELD:
                s.pengs[p] |= ONE << np.uint64(meld.kind)
        s.melds[p] = len(read[p])
        s.gangs += sum(meld.what not in (CHI, PENG_MELD) for meld in read[p])
    dealer = int(s.dealer)
    order = [(dealer + i) % n for i in range(n)]
    for row in zip_longest(*(lying[p] for p in order)):
        for p, kind in zip(order, row, strict=True):
            if kind is not None:
                put(p, kind, LYING)
    s.num_discards = at


@njit
def _pack_seat(states, p, counts, caishen):
    pack_hand(counts, caishen, states[0].held[p], states[0].keys[p])


def _pack(states: np.recarray, p: int, counts: np.ndarray, caishen: int) -> None:
    _pack_seat(plain(states), p, counts, caishen)


def _count_draws(
    s: np.record, n: int, read: dict[int, list[_Meld]], lying: dict[int, list[int]], hands: dict[int, list[int]],
    claim: tuple[int, int] | None,
) -> None:  # fmt: skip
    discarded = [int(d) // SEAT_UNIT for d in s.discards[: s.num_discards]]
    for p in range(n):
        had = len(hands[p]) + sum(len(meld.own) for meld in read[p]) + discarded.count(p) + (claim is not None and claim[0] == p)
        draws = had - engine.DEALT - (p == s.dealer)
        if draws < 0:
            raise ValueError(f"seat {p} has too few tiles: {had} in hand, melds and discards")
        s.draws[p] = draws
