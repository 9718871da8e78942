"""Records: hands and matches as lines of JSON, written as they are played, and read back with everything checked.

    type      fields                                       when
    record    format wzmj environment observation actions  the first line: versions, rules and their hash, the players' names
              rules rules_hash players seed about          seat by seat, the seed if known, and what the writer adds
    hand      hand players wall dealer ladder bought       a hand begins: its number from 0, the wall as kinds, the stakes it
              topped carried state                         goes on with; carried: as R9.4 has it after the last hand
    decision  seat legal action state [by]                 a decision offered and what was chosen, passes too; state: the
                                                           digest after it; by: who chose in the player's place
    draw      seat tile replacement                        what a seat drew after it
    end       winner loser value patterns payments next    the hand is settled; next: dealer, ladder, bought, topped
    left      seats payments house                         the hand ends unplayed, for these seats have left (R10.6)
    note      note                                         what the writer adds to a hand: clocks, faults
    close     hands                                        the last line: nothing is missing

Every line ends with its `check`, 16 hex digits of SHA-256 over the check of the line before it and the line without its own:
a byte changed by accident breaks the chain. It is no signature. What a line says is written and checked by the same code: a
reader plays each hand again and compares every line with the one that would be written now.

A line is one write. A writer that was killed leaves at most one incomplete line, which readers report and `Recorder.resume`
takes away. Names are texts and nothing else: they are never used as names of files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from . import engine
from ._jit import njit
from ._version import __version__
from .actions import ACTION_VERSION
from .batch import CARRY, SKIP_FORCED, VectorEnv
from .checks import MAX_NAME, check_flag, check_int, check_name, short
from .digest import digest
from .game import MAX_SEED, Game, Match, Result
from .observe import OBSERVATION_VERSION
from .rules import Rules
from .scoring import leaving_payments
from .state import plain

FORMAT_VERSION = 1
ENVIRONMENT = "wenzhou_mahjong_v0"
VERSIONS = {
    "format": FORMAT_VERSION,
    "environment": ENVIRONMENT,
    "observation": OBSERVATION_VERSION,
    "actions": ACTION_VERSION,
}

MAX_LINE = 1 << 17  # bytes
MAX_ABOUT = 1 << 14  # bytes of what a writer adds to the header
MAX_NOTE = 1 << 12  # bytes of a note
MAX_NOTES = 2000  # of a hand
CHUNK = 1 << 16  # bytes read at a time
GZIP_LEVEL, GZIP_WINDOW = 6, 31  # as zlib counts: 31 is a gzip file

_GZIP_MAGIC = b"\x1f\x8b"
_BY = re.compile(r"[a-z_]{1,20}")
_CHECK_DIGITS = 16
_TAIL = re.compile(rb',"check":"([0-9a-f]{16})"}\n')
_TAIL_BYTES = len(b',"check":""}\n') + _CHECK_DIGITS
_HAND_FIELDS = ("dealer", "ladder", "bought", "topped")


class RecordError(ValueError):
    """A record that cannot be read, or does not verify: the file, the line and what is wrong with it."""


# --- what a line says ------------------------------------------------------------------------------------------------


@njit
def _facts_into(states, facts):
    s = states[0]
    draws = 0
    for p in range(s.num_players):
        draws += s.draws[p]
    facts[0], facts[1] = s.player + 1, draws
    facts[2], facts[3] = s.drawn + 1, s.back
    facts[4], facts[5] = s.legal[0], s.legal[1]
    facts[6] = digest(s)


class _Course:
    """A hand being played: what each action adds to the record."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._row = np.zeros(7, np.uint64)
        self._now = self._facts()

    def _facts(self) -> list[int]:
        _facts_into(self.game._raw, self._row)
        return self._row.tolist()

    def play(self, step: Callable[[int], None], action: int, by: str | None) -> list[str]:
        """Play `action` by `step`, which moves the game; the lines that say so."""
        player, draws, _, back, low, high, _ = self._now
        step(action)
        self._now = after_player, after_draws, drawn, after_back, _, _, state = self._facts()
        because = "" if by is None else f',"by":"{by}"'
        lines = [
            f'{{"type":"decision","seat":{player - 1},"legal":{_id_list(low, high)},"action":{action},'
            f'"state":"{state:016x}"{because}}}'
        ]
        if after_draws != draws:
            lines.append(
                f'{{"type":"draw","seat":{after_player - 1},"tile":{drawn - 1},'
                f'"replacement":{"true" if after_back != back else "false"}}}'
            )
        result = self.game.result if after_player == 0 else None
        if result is not None:
            lines.append(_json(_end_fields(result)))
        return lines


def _id_list(low: int, high: int) -> str:
    """The set bits of two words as a JSON list."""
    bits, ids = low | high << engine.WORD, []
    while bits:
        lowest = bits & -bits
        ids.append(lowest.bit_length() - 1)
        bits ^= lowest
    return str(ids).replace(" ", "")


def _end_fields(result: Result) -> dict[str, Any]:
    return {
        "type": "end",
        "winner": result.winner,
        "loser": result.loser,
        "value": result.value,
        "patterns": [pattern.name for pattern in result.patterns],
        "payments": result.payments.tolist(),
        "next": _next_setup(result),
    }


def _next_setup(result: Result) -> dict[str, Any]:
    return {
        "dealer": result.next_dealer,
        "ladder": result.next_ladder,
        "bought": result.next_bought,
        "topped": list(result.next_topped),
    }


def _header_fields(
    rules: Rules, players: list[str], seed: int | None, about: dict[str, Any], program: str = __version__
) -> dict[str, Any]:
    return {
        "type": "record",
        "format": FORMAT_VERSION,
        "wzmj": program,
        **{name: VERSIONS[name] for name in ("environment", "observation", "actions")},
        "rules": rules.to_dict(),
        "rules_hash": rules.hash,
        "players": players,
        "seed": seed,
        "about": about,
    }


def _hand_line(number: int, game: Game, players: list[str], carried: bool) -> str:
    """The line of a hand that has not moved yet."""
    return _json(
        {
            "type": "hand",
            "hand": number,
            "players": players,
            "wall": game.wall.tolist(),
            **game.setup,
            "carried": carried,
            "state": game.digest(),
        }
    )


def _left_line(game: Game, seats: Sequence[int]) -> str:
    payments, house = leaving_payments(game.rules, game.setup["ladder"], *seats)
    return _json({"type": "left", "seats": list(seats), "payments": payments.tolist(), "house": house})


def _check_seats(seats: Any, num_players: int) -> tuple[int, ...]:
    if not isinstance(seats, (list, tuple)) or not seats:
        raise ValueError(f"seats must be a list of one seat or more, not {seats!r}")
    return tuple(check_int(seat, "seat", 0, num_players - 1) for seat in seats)


def _json(value: Any) -> str:
    """The one way that this format writes a value. ValueError for what is no JSON."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from None


def _check_of(previous: bytes, said: bytes) -> bytes:
    return hashlib.sha256(previous + said).hexdigest()[:_CHECK_DIGITS].encode()


def check_names(players: Any, num_players: int) -> list[str]:
    """A name for every seat: texts of 1 to MAX_NAME characters."""
    if isinstance(players, str) or not isinstance(players, Sequence) or len(players) != num_players:
        raise ValueError(f"players must be {num_players} names, one for each seat")
    return [check_name(name, "a player's name") for name in players]


def _check_fields(value: Any, name: str, limit: int) -> dict[str, Any]:
    """A JSON object of at most `limit` bytes, as plain values."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be a mapping of texts to JSON values, not {short(value)}")
    text = _json(dict(value))
    if len(text) > limit:
        raise ValueError(f"{name} must be at most {limit} bytes of JSON, not {len(text)}")
    return json.loads(text)


def _check_by(by: Any) -> str | None:
    if by is not None and (not isinstance(by, str) or not _BY.fullmatch(by)):
        raise ValueError(f"by must be a word of small letters, or None, not {short(by)}")
    return by


def _check_seed(seed: Any) -> int | None:
    return None if seed is None else check_int(seed, "seed", 0, MAX_SEED)


# --- writing ---------------------------------------------------------------------------------------------------------


class Recorder:
    """Writes a record as it happens. A file that is there is not overwritten.

    `players` are the names by seat, `seed` that of the walls if known, `about` JSON values to keep with the record. A path
    that ends in `.gz` is compressed, and then written at settlements; otherwise every line is written at once. `fsync=True`
    makes sure of it at settlements. ValueError names what is wrong with an argument.

    >>> import tempfile
    >>> from wzmj_env import Game, Rules
    >>> path = Path(tempfile.mkdtemp()) / "hand.jsonl"
    >>> with Recorder(path, Rules(), ["a", "b", "c", "d"]) as recorder:
    ...     game = Game(seed=1)
    ...     recorder.begin(game)
    ...     while not game.done:
    ...         recorder.step(game.legal_actions()[0])
    >>> [hand.game == game for hand in Record(path)]
    [True]
    """

    _file: BinaryIO | None
    _zip: Any  # zlib's compressor, None for plain text

    def __init__(
        self,
        path: str | Path,
        rules: Rules,
        players: Sequence[str],
        *,
        seed: int | None = None,
        about: Mapping[str, Any] | None = None,
        fsync: bool = False,
    ) -> None:
        if not isinstance(rules, Rules):
            raise ValueError(f"rules must be a Rules, not {type(rules).__name__}")
        self.path, self.rules = Path(path), rules
        self.players = check_names(players, rules.num_players)
        self._fsync = check_flag(fsync, "fsync")
        header = _header_fields(rules, self.players, _check_seed(seed), _check_fields(about or {}, "about", MAX_ABOUT))
        self._start(b"", 0)
        self._file = open(self.path, "xb", buffering=0)  # noqa: SIM115
        if self.path.suffix == ".gz":
            self._zip = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)
        self._write([_json(header)])
        self._settle()
        if self._fsync:
            _sync_folder(self.path.parent)

    def _start(self, check: bytes, hands: int) -> None:
        self.hands = hands  # begun so far
        self._zip = None
        self._check = check
        self._table: Game | Match | None = None
        self._course: _Course | None = None
        self._last: Result | None = None
        self._notes = 0

    @classmethod
    def resume(cls, path: str | Path, *, fsync: bool = False) -> Recorder:
        """Go on with a record whose writer was stopped, from its last whole line. `game` is the hand it was in, if any.

        RecordError when the record does not verify, or was closed; a compressed one cannot be resumed.
        """
        path = Path(path)
        record = Record(path)
        last: PlayedHand | None = None
        for hand in record:
            last = hand
        if record.closed:
            raise RecordError(f"{_shown_path(path)}: it was closed, there is nothing to go on with")
        if record.compressed:
            raise RecordError(f"{_shown_path(path)}: a compressed record cannot be resumed")
        recorder = object.__new__(cls)
        recorder.path, recorder.rules, recorder.players = path, record.rules, record.players
        recorder._fsync = check_flag(fsync, "fsync")
        recorder._start(record._check, record.hands)
        recorder._file = file = open(path, "r+b", buffering=0)  # noqa: SIM115
        file.truncate(record.whole)
        file.seek(0, os.SEEK_END)
        recorder._write(record._missing)
        if last is not None:
            recorder._notes = len(last.notes)
            recorder._last = last.game.result
            if last.left is None and not last.game.done:
                recorder._table, recorder._course = last.game, _Course(last.game)
        return recorder

    @property
    def game(self) -> Game | None:
        """The hand being played; None between hands."""
        return self._course.game if self._course else None

    def begin(self, table: Game | Match, players: Sequence[str] | None = None, *, carried: bool = False) -> None:
        """A hand begins, or the first one of a match, whose later hands begin of themselves.

        What has been played in it already is written too, so that a hand can be recorded after it was played. `players`:
        who sits where in this hand, if not as in the header. `carried`: it goes on from the last one as R9.4 says.
        """
        if self._course is not None:
            raise ValueError("the hand being recorded is not over: finish it, or call leave")
        game = table.game if isinstance(table, Match) else table
        if not isinstance(game, Game):
            raise ValueError(f"a Game or a Match is recorded, not {type(table).__name__}")
        if isinstance(table, Match) and table.results:
            raise ValueError("a match is recorded from its first hand on")
        if game.rules != self.rules:
            raise ValueError(f"this record is of rules {self.rules.hash}, the hand of rules {game.rules.hash}")
        names = self.players if players is None else check_names(players, self.rules.num_players)
        self._begin(table, game.begun(), names, check_flag(carried, "carried"))
        course = self._course
        assert course is not None
        replay = course.game
        for action in game.actions:
            self._write(course.play(replay.step, action, None))
        if replay.done:
            self._end(replay)
        else:
            self._course = _Course(game)

    def _begin(self, table: Game | Match, game: Game, names: list[str], carried: bool) -> None:
        if carried and (self._last is None or _next_setup(self._last) != game.setup):
            raise ValueError("this hand does not go on from the last one: its dealer or stakes are others (R9.4)")
        self._table, self._course = table, _Course(game)
        self._write([_hand_line(self.hands, game, names, carried)])
        self.hands += 1
        self._notes = 0

    def step(self, action: int, by: str | None = None) -> None:
        """Play an action in the hand or match being recorded, and write it. `by` says who chose in the player's place,
        such as `timeout`. IllegalActionError from the game: nothing is played or written."""
        if self._course is None or self._table is None:
            raise ValueError("no hand is being recorded: call begin")
        game, table = self._course.game, self._table
        self._write(self._course.play(table.step, action, _check_by(by)))
        if game.done:
            self._end(game)
            if isinstance(table, Match) and not table.done:
                self._begin(table, table.game, self.players, True)

    def leave(self, *seats: int) -> None:
        """The hand being recorded ends unplayed, for `seats` have left, at once, and pay for it (R10.6)."""
        if self._course is None:
            raise ValueError("no hand is being recorded: call begin")
        game = self._course.game
        self._write([_left_line(game, _check_seats(seats, game.num_players))])
        self._end(game)

    def note(self, **fields: Any) -> None:
        """Add JSON values to the hand that was begun last."""
        if self.hands == 0 or self._notes == MAX_NOTES:
            raise ValueError(f"a note belongs to a hand, and a hand has at most {MAX_NOTES}")
        self._write([_json({"type": "note", "note": _check_fields(fields, "a note", MAX_NOTE)})])
        self._notes += 1

    def _end(self, game: Game) -> None:
        self._last, self._table, self._course = game.result, None, None
        self._settle()

    def _write(self, said: list[str]) -> None:
        """Write lines, one call each."""
        for text in said:
            payload = text.encode()
            self._check = _check_of(self._check, payload)
            self._put(payload[:-1] + b',"check":"' + self._check + b'"}\n')

    def _put(self, line: bytes) -> None:
        if self._file is None:
            raise ValueError(f"{_shown_path(self.path)}: the record is closed")
        data = line if self._zip is None else self._zip.compress(line)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            self._abandon()  # half a line may stand there: nothing may follow it
            raise

    def _settle(self) -> None:
        """All that was said is in the file, and with `fsync` on the disk."""
        if self._zip is not None:
            flushed, compressor = self._zip.flush(zlib.Z_SYNC_FLUSH), self._zip
            self._zip = None
            self._put(flushed)
            self._zip = compressor
        if self._fsync and self._file is not None:
            os.fsync(self._file.fileno())

    def _abandon(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Write the last line, which tells readers that nothing is missing. A hand that is not over stays unfinished, and
        the record then has no last line: it can be resumed."""
        if self._file is None:
            return
        if self._course is None:
            self._write([_json({"type": "close", "hands": self.hands})])
        if self._zip is not None:
            rest, self._zip = self._zip.flush(), None
            self._put(rest)
        self._settle()
        self._abandon()

    def let_go(self) -> None:
        """Close the file as it stands, without a last line: it can be resumed."""
        if self._file is not None:
            self._settle()
            self._abandon()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: Any) -> None:
        if error is None:
            self.close()
        else:
            self._abandon()  # as a writer that was killed leaves it


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass
class PlayedHand:
    """A hand of a record, as far as it was played."""

    number: int  # from 0
    players: list[str]  # by seat
    carried: bool
    game: Game  # after its last action
    by: list[str | None] = field(default_factory=list)  # of each action, who chose in the player's place
    notes: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # (actions played before it, what it says)
    left: tuple[int, ...] | None = None  # the seats that left
    payments: np.ndarray | None = None  # (n,) int64 points; None while it is not over

    def at(self, actions: int) -> Game:
        """The hand after so many actions."""
        actions = check_int(actions, "actions", 0, len(self.game.actions))
        game = self.game.begun()
        for action in self.game.actions[:actions]:
            game.step(action)
        return game

    def positions(self) -> Iterator[Game]:
        """The hand before each of its actions and after the last: one game, which moves on at each step."""
        game = self.game.begun()
        yield game
        for action in self.game.actions:
            game.step(action)
            yield game


class Record:
    """A record to read: the header at once, the hands by iterating, one in memory at a time, every line checked.

    RecordError names the file, the line and what is wrong. After a whole iteration `closed` says whether the last line is
    there, `whole` how many bytes (unpacked) its whole lines have, `cut` how many an incomplete one at the end has (at least 1
    where a compressed file ends too soon).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.hands = self.cut = 0
        self.closed = False
        with open(self.path, "rb") as file:
            self.compressed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        first = next(self._lines(), None)
        if first is None:
            raise self._wrong("no whole line: this is no record")
        said = self._checked(first, b"")
        fields = self._parsed(said)
        if fields.get("type") != "record":
            raise self._wrong("the first line is no header of a record")
        for name, version in VERSIONS.items():
            if fields.get(name) != version or isinstance(fields.get(name), bool):
                raise self._wrong(f"{name} is {short(fields.get(name))}; this program reads {version!r}")
        try:
            self.rules = Rules.from_mapping(fields["rules"])
            if fields["rules_hash"] != self.rules.hash:
                raise ValueError(f"the rules have the hash {self.rules.hash}, not {short(fields['rules_hash'])}")
            self.players = check_names(fields["players"], self.rules.num_players)
            self.seed = _check_seed(fields["seed"])
            self.about = _check_fields(fields["about"], "about", MAX_ABOUT)
            self.program = fields["wzmj"]  # the version that wrote it
            if not isinstance(self.program, str) or len(self.program) > MAX_NAME:
                raise ValueError(f"wzmj must be a version, not {short(self.program)}")
            self._compare(said, _json(_header_fields(self.rules, self.players, self.seed, self.about, self.program)))
        except KeyError as error:
            raise self._wrong(f"the header has no {error}") from None
        except RecordError:
            raise
        except ValueError as error:
            raise self._wrong(str(error)) from None
        self._check = self._checks(first)

    # --- lines ---

    def _wrong(self, what: str) -> RecordError:
        return RecordError(f"{_shown_path(self.path)}, line {self._line}: {what}")

    def _lines(self) -> Iterator[bytes]:
        """Whole lines; counts the bytes of a last one that is not."""
        self.whole = self.cut = 0
        self._line = 1
        rest = b""
        with open(self.path, "rb") as file:
            source: Any = gzip.GzipFile(fileobj=file) if self.compressed else file
            ended = False
            while not ended:
                try:
                    chunk = source.read1(CHUNK)
                except EOFError:
                    chunk, ended, self.cut = b"", True, 1
                except (zlib.error, gzip.BadGzipFile) as error:
                    raise self._wrong(f"the compressed data are damaged: {error}") from None
                ended = ended or not chunk
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self.whole += len(line) + 1
                    if len(line) >= MAX_LINE:
                        raise self._wrong(f"the line is longer than {MAX_LINE} bytes")
                    yield line + b"\n"
                    self._line += 1
                if len(rest) >= MAX_LINE:
                    raise self._wrong(f"the line is longer than {MAX_LINE} bytes")
        self.cut += len(rest)

    def _checked(self, line: bytes, previous: bytes) -> bytes:
        """What a line says, without its check."""
        tail = _TAIL.fullmatch(line[-_TAIL_BYTES:])
        if not tail:
            raise self._wrong("it does not end with its check")
        said = line[:-_TAIL_BYTES] + b"}"
        if tail[1] != _check_of(previous, said):
            raise self._wrong("its check differs: this line or one before it was changed, or one is missing")
        return said

    @staticmethod
    def _checks(line: bytes) -> bytes:
        return line[-3 - _CHECK_DIGITS : -3]

    def _parsed(self, said: bytes) -> dict[str, Any]:
        try:
            fields = json.loads(said)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"no JSON that can be read: {short(str(error))}") from None
        if not isinstance(fields, dict):
            raise self._wrong("no JSON object")
        return fields

    def _compare(self, said: bytes, expected: str) -> None:
        if said != expected.encode():
            raise self._wrong(f"it says {_cut(said.decode(errors='replace'))}; replayed it would be {_cut(expected)}")

    # --- hands ---

    def __iter__(self) -> Iterator[PlayedHand]:
        self.hands, self.closed = 0, False
        lines = self._lines()
        self._check = self._checks(next(lines))
        hand: PlayedHand | None = None
        course: _Course | None = None
        last: Result | None = None
        expected: list[str] = []  # lines that must come next
        for line in lines:
            said = self._checked(line, self._check)
            self._check = self._checks(line)
            if self.closed:
                raise self._wrong("it comes after the last line")
            if expected:
                self._compare(said, expected.pop(0))
                continue
            fields = self._parsed(said)
            kind = fields.get("type")
            try:
                if kind == "decision" and course is not None and hand is not None:
                    by = _check_by(fields.get("by"))
                    action = check_int(fields.get("action"), "action", 0, 255)
                    text, *expected = course.play(course.game.step, action, by)
                    self._compare(said, text)
                    hand.by.append(by)
                    if course.game.done:
                        last, course = course.game.result, None
                        assert last is not None
                        hand.payments = last.payments
                elif kind == "note" and hand is not None and len(hand.notes) < MAX_NOTES:
                    note = _check_fields(fields.get("note"), "a note", MAX_NOTE)
                    self._compare(said, _json({"type": "note", "note": note}))
                    hand.notes.append((len(hand.game.actions), note))
                elif kind == "left" and course is not None and hand is not None:
                    hand.left = _check_seats(fields.get("seats"), self.rules.num_players)
                    self._compare(said, _left_line(course.game, hand.left))
                    hand.payments, _ = leaving_payments(self.rules, course.game.setup["ladder"], *hand.left)
                    last, course = None, None
                elif kind == "hand" and course is None:
                    if hand is not None:
                        yield hand
                    hand = self._begun(fields, said, last)
                    course = _Course(hand.game)
                    self.hands += 1
                elif kind == "close" and course is None:
                    self._compare(said, _json({"type": "close", "hands": self.hands}))
                    self.closed = True
                else:
                    raise self._wrong(f"a line of type {short(kind)} cannot stand here")
            except RecordError:
                raise
            except ValueError as error:
                raise self._wrong(str(error)) from None
        if self.closed and self.cut:
            raise self._wrong("something follows the last line")
        self._missing = expected  # the writer was stopped between a decision and what it led to
        if hand is not None:
            yield hand

    def _begun(self, fields: dict[str, Any], said: bytes, last: Result | None) -> PlayedHand:
        names = check_names(fields.get("players"), self.rules.num_players)
        carried = check_flag(fields.get("carried"), "carried")
        if any(name not in fields for name in ("wall", *_HAND_FIELDS)):
            raise self._wrong("a hand needs its wall, dealer, ladder, bought and topped")
        setup = {name: fields[name] for name in _HAND_FIELDS}
        if not isinstance(setup["topped"], list) or not isinstance(fields["wall"], list) or len(fields["wall"]) > 136:
            raise self._wrong("wall and topped must be lists")
        if not all(type(kind) is int and 0 <= kind < 256 for kind in fields["wall"]):
            raise self._wrong("wall must hold kinds")
        game = Game(self.rules, seed=0, wall=fields["wall"], **setup)
        self._compare(said, _hand_line(self.hands, game, names, carried))
        if carried and (last is None or _next_setup(last) != game.setup):
            raise self._wrong("the hand does not go on from the last one: its dealer or stakes are others (R9.4)")
        return PlayedHand(self.hands, names, carried, game)


# --- games of a batch ------------------------------------------------------------------------------------------------


@njit
def _begin_next_hand(states, carry):
    engine.begin_next_hand(states[0], carry)


@njit
def _digest_of(states, i):
    return digest(states[i])


class _Mirror:
    """One game of a VectorEnv, played once more as a Game that is recorded."""

    def __init__(self, env: VectorEnv, place: int, recorder: Recorder) -> None:
        self._env, self._place, self._recorder = env, place, recorder
        self._carry, self._skip = env._options & CARRY != 0, env._options & SKIP_FORCED != 0
        self._states = env.states[place : place + 1].copy()
        game = self._new_game()
        if _digest_of(plain(env.states), place) != int(game.digest(), 16) and not self._skip:
            raise ValueError(f"game {place} is in the middle of a hand: record it from a reset on")
        recorder.begin(game)
        self._play_forced()
        self._compare()

    def _new_game(self) -> Game:
        """The hand that has just begun in `_states`, which alone know what walls the game has after it."""
        s = self._states[0]
        stakes = {"ladder": int(s.ladder), "bought": bool(s.bought), "topped": (s.topped[: s.num_players] != 0).tolist()}
        self._game = Game(self._env.rules, seed=self._env.seed, wall=s.wall, dealer=int(s.dealer), **stakes)
        return self._game

    def play(self, action: int) -> None:
        self._step(action)
        self._play_forced()
        self._compare()

    def _step(self, action: int) -> None:
        self._recorder.step(action)
        if self._game.done:
            over = self._game._states.copy()
            for name in ("stream", "hand_number"):
                over[name] = self._states[name]
            self._states = over
            _begin_next_hand(plain(self._states), self._carry)
            self._recorder.begin(self._new_game(), carried=self._carry)

    def _play_forced(self) -> None:
        while self._skip and len(legal := self._game.legal_actions()) == 1:
            self._step(legal[0])

    def _compare(self) -> None:
        if _digest_of(plain(self._env.states), self._place) != int(self._game.digest(), 16):
            raise ValueError(f"game {self._place} was moved without its recorder: record it from a reset on, by `step` here")


class BatchRecorder:
    """Records chosen games of a VectorEnv that was just reset: `recorders` has a Recorder for each place of such a game.

    `step` stands for that of the environment. The recorders are closed by whoever made them; the hand that each game is
    in then stays unfinished.
    """

    def __init__(self, env: VectorEnv, recorders: Mapping[int, Recorder]) -> None:
        self.env = env
        places = [check_int(place, "a recorded game", 0, env.num_envs - 1) for place in recorders]
        self._mirrors = {place: _Mirror(env, place, recorders[place]) for place in places}

    def step(self, actions: np.ndarray) -> None:
        """Play one action in every game, as `VectorEnv.step` does, and write those of the recorded games."""
        given = np.array(actions)
        self.env.step(given)
        for place, mirror in self._mirrors.items():
            mirror.play(int(given[place]))


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."


def _shown_path(path: Path) -> str:
    return str(path).encode("ascii", "backslashreplace").decode()
