"""A record as a person reads it, and as arrays to learn from."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from . import tiles
from .actions import ACTION_VERSION, DISCARD, GANG, NUM_ACTIONS, PASS, RAISE
from .actions import name as action_name
from .files import whole_file
from .game import Game
from .observe import OBSERVATION_SHAPE, OBSERVATION_VERSION
from .record import PlayedHand, Record
from .render import hand_counts, result_text
from .state import STAKES_ASKED
from .tiles import kind_name

# --- as text ---------------------------------------------------------------------------------------------------------


def shown(name: str) -> str:
    """A name that changes nothing but what it says: signs that cannot be seen are written out.

    >>> shown("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def as_text(record: Record) -> Iterator[str]:
    """The lines of a record for a person to read."""
    seed = "" if record.seed is None else f" | seed {record.seed}"
    yield f"record of wzmj {shown(record.program)} | {record.rules.num_players} players | rules {record.rules.hash}{seed}"
    for hand in record:
        yield ""
        yield from hand_text(hand)
    yield ""
    yield f"{record.hands} hands; {ending_text(record)}"


def ending_text(record: Record) -> str:
    """Whether a record that was read to its end is complete, in words."""
    if record.closed:
        return "the record is complete"
    if record.cut:
        return "the record is not complete: it ends within a line"
    return "the record is not complete: its last line is missing, it was cut or is still being written"


def hand_text(hand: PlayedHand) -> Iterator[str]:
    """The lines of a hand for a person to read."""
    names = [shown(name) for name in hand.players]
    width = max(map(len, names))

    def line(p: int, said: str) -> str:
        return f"  {p} {names[p]:<{width}}  {said}"

    setup = hand.game.setup
    marks = "".join(f", {name}" for name in ("bought", "carried") if setup.get(name) or getattr(hand, name, False))
    yield f"hand {hand.number + 1}: seat {setup['dealer']} deals, ladder {setup['ladder']}{marks}"
    dealt, draws = False, 0
    notes = dict[int, list[str]]()
    for at, note in hand.notes:
        notes.setdefault(at, []).append(f"  note: {note!a}")
    game = hand.game
    for i, game in enumerate(hand.positions()):
        s = game._states[0]
        if not dealt and game.phase != STAKES_ASKED:
            dealt = True
            yield f"  caishen {kind_name(int(s.caishen))}"
            for p in range(game.num_players):
                yield line(p, tiles.text(hand_counts(s, p), caishen=int(s.caishen)))
        if draws != (draws := int(s.draws.sum())):
            yield line(game.current_player, f"draws {kind_name(int(s.drawn))}")
        yield from notes.get(i, ())
        if i < len(hand.game.actions):
            yield line(game.current_player, _chosen(game, hand.game.actions[i], hand.by[i]))
    if hand.left is not None:
        for seat in hand.left:
            yield line(seat, "leaves; the hand ends unplayed")
    elif game.done:
        yield "  " + result_text(game._states[0])
    else:
        yield "  not over"
    if hand.payments is not None and hand.left is not None:
        yield "  " + " ".join(f"{x:+d}" for x in hand.payments.tolist())


def _chosen(game: Game, action: int, by: str | None) -> str:
    legal = game.legal_actions()
    others = [a for a in legal if a != action]
    discards = tiles.text([a - DISCARD for a in others if a < GANG])
    words = [*([f"discard {discards}"] if discards else []), *(action_name(a) for a in others if a >= GANG)]
    stake = "buys" if game.current_player == game.setup["dealer"] else "tops"
    said = {PASS: "passes", RAISE: stake}.get(action, action_name(action))
    because = "" if by is None else f" ({by})"
    return f"{said}{because}" + (f"    not: {', '.join(words)}" if words else "")


# --- as arrays -------------------------------------------------------------------------------------------------------

ARRAYS = {
    "observations": (OBSERVATION_SHAPE, np.uint8),
    "masks": ((NUM_ACTIONS,), np.int8),
    "actions": ((), np.int64),
    "seats": ((), np.int8),
    "games": ((), np.int64),
}
COMPRESSION = 1  # of zlib: planes are nearly all zeros


def write_arrays(record: Record, path: str | Path) -> int:
    """Write every decision of a record to an `.npz` file, for imitation learning; how many there were.

        observations (N, C, 34) uint8, masks (N, 76) int8, actions (N,) int64, seats (N,) int8,
        games (N,) int64: the number of the hand; observation_version and action_version, numbers

    Decisions are in the order played. Memory does not grow with the record; the file is there whole or not at all.
    """
    path = Path(path)
    columns: dict[str, IO[bytes]] = {}
    n = 0
    try:
        for name in ARRAYS:
            columns[name] = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115
        for hand in record:
            for game, action in zip(hand.positions(), hand.game.actions, strict=False):
                seat = game.current_player
                row = (game.observe(seat), game.action_mask(), action, seat, hand.number)
                for (name, (_, dtype)), value in zip(ARRAYS.items(), row, strict=True):
                    columns[name].write(np.asarray(value, dtype).tobytes())
                n += 1
        with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive:
            for name, (shape, dtype) in ARRAYS.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    _write_header(entry, (n, *shape), dtype)
                    columns[name].seek(0)
                    while chunk := columns[name].read(1 << 20):
                        entry.write(chunk)
            for name, version in (("observation_version", OBSERVATION_VERSION), ("action_version", ACTION_VERSION)):
                with archive.open(f"{name}.npy", "w") as entry:
                    _write_header(entry, (), np.int64)
                    entry.write(np.int64(version).tobytes())
    finally:
        for column in columns.values():
            column.close()
    return n


def _write_header(file: IO[bytes], shape: tuple[int, ...], dtype: type) -> None:
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
