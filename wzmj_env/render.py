"""A state as text, open or as one seat may see it."""

from __future__ import annotations

import numpy as np

from . import tiles
from .hand import count
from .patterns import patterns_in
from .scoring import CHI, CONCEALED, MELD_NAMES, PENG
from .state import CLAIM, LYING, NOTHING, OVER, PHASES, ROB, SEAT_UNIT, STAKES_ASKED, TURN
from .tiles import NUM_KINDS, WHITE

HIDDEN = "?"


def hand_counts(s: np.record, p: int) -> np.ndarray:
    """Concealed tiles of seat p by kind, `(34,) uint8`."""
    return np.array([count(s.held[p], k) for k in range(NUM_KINDS)], np.uint8)


def meld_text(s: np.record, p: int, i: int) -> str:
    """Meld i of seat p, such as `peng 222z` or `chi 4p5z6p`, the white in a chi shown as the tile it is."""
    what, kind = int(s.meld_what[p, i]), int(s.meld_kind[p, i])
    if what == CHI:
        shown = "".join(tiles.kind_name(WHITE if k == s.caishen else k) for k in range(kind, kind + 3))
    else:
        shown = tiles.text([kind] * (3 if what == PENG else 4))
    return f"{MELD_NAMES[what]} {shown}" if what != CONCEALED else f"concealed gang {shown}"


def table_text(s: np.record, remaining: int, seat: int | None = None) -> str:
    """The table as a person would note it: all hands open, or only that of `seat`."""
    lines = [
        f"{PHASES[s.phase]} | caishen {tiles.kind_name(int(s.caishen)) if s.caishen != NOTHING else HIDDEN}"
        f" | remaining {remaining} | ladder {s.ladder}{' bought' if s.bought else ''}"
    ]
    for p in range(int(s.num_players)):
        marks = "".join(
            mark
            for mark, on in (
                ("D", p == s.dealer),
                ("T", s.topped[p]),
                (">", p == s.player and (seat is None or s.phase < CLAIM)),
            )
            if on
        )
        lines.append(f"  seat {p} {marks:<3} {_hand_text(s, p, seat)}")
        lines += [f"             {meld_text(s, p, i)}" for i in range(int(s.melds[p]))]
        discards = " ".join(
            tiles.kind_name(int(d) % SEAT_UNIT) + ("" if fate == LYING else "'")
            for d, fate in zip(s.discards[: s.num_discards], s.fates[: s.num_discards], strict=True)
            if int(d) // SEAT_UNIT == p
        )
        if discards:
            lines.append(f"             discards {discards}")
    if s.phase in (CLAIM, ROB):
        lines.append(f"  in question: {tiles.kind_name(int(s.tile))} of seat {s.source}")
    if s.phase == OVER:
        lines.append(f"  {result_text(s)}")
    return "\n".join(lines)


def _hand_text(s: np.record, p: int, seat: int | None) -> str:
    if s.phase == STAKES_ASKED:
        return ""
    counts = hand_counts(s, p)
    if seat not in (None, p):
        return HIDDEN * int(counts.sum())
    shown = tiles.text(counts, caishen=int(s.caishen))
    return f"{shown} (drawn {tiles.kind_name(int(s.drawn))})" if s.phase == TURN and p == s.player else shown


def result_text(s: np.record) -> str:
    """How a hand that is over ended, in one line."""
    payments = " ".join(f"{x:+d}" for x in s.payments[: s.num_players].tolist())
    if s.winner == NOTHING:
        return f"drawn hand | {payments}"
    names = " ".join(pattern.name for pattern in patterns_in(s.patterns))
    source = f" from seat {s.loser}" if s.loser != NOTHING else ""
    return f"seat {s.winner} wins {s.value}x{source}: {names} | {payments}"
