"""What a drawing of the table shows, open or to one seat: plain values, the same for every drawing there is.

    players, dealer       numbers
    seat                  whose view it is, None for an open one, SPECTATOR for what all may see
    phase                 a word of `state.PHASES`
    mover                 the seat to act; None when over, and to a seat that may not know it
    caishen               a kind; None before the deal
    remaining             tiles not yet drawn
    hands                 by seat: the kinds, caishen first, the tile just drawn last; a number where they are hidden
    drawn                 whether that last tile of the mover is one just drawn
    melds                 by seat: [tiles, place of the one turned sideways or None, how]; how as in `scoring.MELD_NAMES`
    discards              by seat: [kind, whether it was claimed], in order
    question              [seat, kind] of the tile that may be claimed or robbed; None when there is none
    winner, payments      once it is over; else None
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .scoring import CHI, CONCEALED, MELD_NAMES, PENG
from .state import CLAIM, LYING, NOTHING, OVER, PHASES, SEAT_UNIT, STAKES_ASKED, TURN
from .tiles import NUM_KINDS, WHITE

Scene = dict[str, Any]
SPECTATOR = -1  # the seat of one who has none


def scene_of(s: np.record, remaining: int, seat: int | None = None) -> Scene:
    """The scene of a state, open or as `seat` may see it."""
    n, phase = int(s.num_players), int(s.phase)
    hides_mover = phase >= CLAIM and seat is not None and s.player != seat
    mover = None if s.player == NOTHING or hides_mover else int(s.player)
    open_hands = [seat in (None, p) or (phase == OVER and p == s.winner) for p in range(n)]
    drawn = phase == TURN and open_hands[int(s.player)]
    return {
        "players": n,
        "seat": seat,
        "dealer": int(s.dealer),
        "phase": PHASES[phase],
        "mover": mover,
        "caishen": None if phase == STAKES_ASKED else int(s.caishen),
        "remaining": remaining,
        "hands": [_hand(s, p, open_hands[p], drawn and p == s.player) for p in range(n)],
        "drawn": drawn,
        "melds": [[_meld(s, p, i) for i in range(int(s.melds[p]))] for p in range(n)],
        "discards": [_discards(s, p) for p in range(n)],
        "question": [int(s.source), int(s.tile)] if s.tile != NOTHING and phase != OVER else None,
        "winner": int(s.winner) if phase == OVER and s.winner != NOTHING else None,
        "payments": s.payments[:n].tolist() if phase == OVER else None,
    }


def _hand(s: np.record, p: int, is_open: bool, drawn_last: bool) -> list[int] | int:
    if s.phase == STAKES_ASKED:
        return 0
    planes = s.held[p].tolist()
    counts = [sum(plane >> k & 1 for plane in planes) for k in range(NUM_KINDS)]
    if not is_open:
        return sum(counts)
    if drawn_last:
        counts[s.drawn] -= 1
    kinds = [int(s.caishen)] * counts[s.caishen]
    kinds += [k for k in range(NUM_KINDS) if k != s.caishen for _ in range(counts[k])]
    return [*kinds, int(s.drawn)] if drawn_last else kinds


def _meld(s: np.record, p: int, i: int) -> list[Any]:
    what, kind = int(s.meld_what[p, i]), int(s.meld_kind[p, i])
    if what == CONCEALED:
        return [[kind] * 4, None, MELD_NAMES[what]]
    claimed = int(s.discards[s.meld_source[p, i]])
    tile, source = claimed % SEAT_UNIT, claimed // SEAT_UNIT
    if what == CHI:
        run = [WHITE if k == s.caishen else k for k in range(kind, kind + 3)]
        run.remove(tile)
        return [[tile, *run], 0, MELD_NAMES[what]]
    tiles = [kind] * (3 if what == PENG else 4)
    return [tiles, turned_place(source, p, int(s.num_players), what == PENG), MELD_NAMES[what]]


def turned_place(source: int, p: int, n: int, is_peng: bool) -> int:
    """Where the claimed tile lies among a meld's: on the side of the seat that it came from."""
    after = (source - p) % n
    if after == n - 1:
        return 0
    return (2 if is_peng else 3) if after == 1 else 1


def _discards(s: np.record, p: int) -> list[list[Any]]:
    rows = zip(s.discards[: s.num_discards].tolist(), s.fates[: s.num_discards].tolist(), strict=True)
    return [[tile % SEAT_UNIT, fate != LYING] for tile, fate in rows if tile // SEAT_UNIT == p]
