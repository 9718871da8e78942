"""A running ladder: bots register, play whenever they are free, and are rated after each game. One SQLite file.

A *game* is one deal between different bots, played in every rotation of the seats, so that the luck of tiles is the same
for all; who is paid more in sum is placed higher (openskill's Plackett-Luce). Its result, the new ratings and the end of
the bots' being busy are one transaction: a runner that is killed leaves no half of a game. Several runners may work on
one ladder; a bot plays one game at a time, and what a dead runner had begun is free again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import ratings
from .arena import Use
from .bots import Human
from .checks import check_int
from .game import MAX_SEED
from .record import Recorder
from .referee import Referee
from .room import Room
from .rules import Rules
from .specs import make_agent

STORE_VERSION = 1
MAX_NAME = 64
DEVIATIONS = 3  # a bot's shown rating is its mean less so many deviations
BUSY_SECONDS = 30  # that a runner waits for another to finish writing

TABLES = """
CREATE TABLE IF NOT EXISTS ladder (version INTEGER, rules TEXT, seed TEXT);
CREATE TABLE IF NOT EXISTS bots (id INTEGER PRIMARY KEY, name TEXT UNIQUE, spec TEXT, mean REAL, deviation REAL, games INTEGER,
                                 use TEXT);
CREATE TABLE IF NOT EXISTS games (id INTEGER PRIMARY KEY, bots TEXT, payments TEXT, left_hands INTEGER, at REAL, record TEXT);
CREATE TABLE IF NOT EXISTS busy (bot INTEGER PRIMARY KEY, game INTEGER, runner TEXT);
"""


@dataclass(frozen=True)
class Bot:
    """A bot as it stands on the ladder."""

    id: int
    name: str
    spec: str
    mean: float
    deviation: float
    games: int
    use: Use

    @property
    def rating(self) -> float:
        """What it is surely worth: the mean less three deviations."""
        return self.mean - DEVIATIONS * self.deviation


@dataclass(frozen=True)
class Result:
    """A game played: the names and what each was paid in sum, in units."""

    id: int
    names: list[str]
    payments: list[int]


class Ladder:
    """A ladder in a file, made with `rules` and `seed` when it is not there. ValueError says what is wrong with it.

    Records of its games lie in the folder FILE.records.
    """

    def __init__(self, path: str | Path, rules: Rules | None = None, seed: int = 0) -> None:
        self.path = Path(path)
        self.records = self.path.with_name(self.path.name + ".records")
        seed = check_int(seed, "seed", 0, MAX_SEED)
        self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(TABLES)
            with self._transaction():
                row = self._db.execute("SELECT version, rules, seed FROM ladder").fetchone()
                if row is None:
                    row = STORE_VERSION, json.dumps((rules or Rules(stakes=False)).to_dict()), str(seed)
                    self._db.execute("INSERT INTO ladder VALUES (?, ?, ?)", row)
            if row[0] != STORE_VERSION:
                raise ValueError(f"{path} is of version {row[0]}; this program reads {STORE_VERSION}")
            self.rules, self.seed = Rules.from_mapping(json.loads(row[1])), int(row[2])
            if rules is not None and rules != self.rules:
                raise ValueError(f"{path} was begun with other rules")
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{path}: {error}") from None
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add(self, name: str, spec: str) -> None:
        """Register a bot. ValueError for a spec that names no agent, and for a name that is taken or no name."""
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise ValueError(f"a name is 1 to {MAX_NAME} printable characters, not {name!r}")
        if isinstance(make_agent(spec), Human):
            raise ValueError("a person cannot be registered")
        try:
            self._db.execute(
                "INSERT INTO bots (name, spec, mean, deviation, games, use) VALUES (?, ?, ?, ?, 0, '{}')",
                (name, spec, ratings.MEAN, ratings.DEVIATION),
            )
        except sqlite3.IntegrityError:
            raise ValueError(f"the name {name!r} is taken") from None

    def standings(self) -> list[Bot]:
        """All bots, the best first."""
        rows = self._db.execute("SELECT id, name, spec, mean, deviation, games, use FROM bots")
        bots = [
            Bot(id, name, spec, mean, deviation, games, Use(**json.loads(use)))
            for id, name, spec, mean, deviation, games, use in rows
        ]
        return sorted(bots, key=lambda bot: (-bot.rating, bot.id))

    def games(self) -> list[Result]:
        """All games, in the order of their ends."""
        names = dict(self._db.execute("SELECT id, name FROM bots"))
        rows = self._db.execute("SELECT id, bots, payments FROM games ORDER BY at, id")
        return [Result(id, [names[bot] for bot in json.loads(bots)], json.loads(paid)) for id, bots, paid in rows]

    def run(self, games: int, referee: Referee | None = None) -> Iterator[Result]:
        """Play so many games, one after another. ValueError when there are too few free bots for one."""
        ratings.after_game([(ratings.MEAN, ratings.DEVIATION)] * 2, [0, 0])  # what is not installed is said before playing
        for _ in range(games):
            number, bots = self._take()
            try:
                result = self._play(number, bots, referee or Referee())
            finally:
                self._db.execute("DELETE FROM busy WHERE game = ?", (number,))
            yield result

    def _take(self) -> tuple[int, list[Bot]]:
        """A number for a new game, and the free bots that play it: those with the fewest games, by chance among equals."""
        with self._transaction():
            for runner in [row[0] for row in self._db.execute("SELECT DISTINCT runner FROM busy")]:
                if not _is_running(runner):
                    self._db.execute("DELETE FROM busy WHERE runner = ?", (runner,))
            number = 1 + max(
                self._db.execute(f"SELECT COALESCE(MAX({column}), 0) FROM {table}").fetchone()[0]
                for column, table in (("id", "games"), ("game", "busy"))
            )
            busy = {row[0] for row in self._db.execute("SELECT bot FROM busy")}
            free = [bot for bot in self.standings() if bot.id not in busy]
            n = self.rules.num_players
            if len(free) < n:
                raise ValueError(f"a game needs {n} free bots, and {len(free)} are free")
            lots = np.random.default_rng([self.seed, number]).permutation(len(free))
            chosen = sorted(zip(free, lots.tolist(), strict=True), key=lambda one: (one[0].games, one[1]))[:n]
            bots = [bot for bot, _ in chosen]
            me = _runner(os.getpid())
            self._db.executemany("INSERT INTO busy VALUES (?, ?, ?)", [(bot.id, number, me) for bot in bots])
        return number, bots

    def _play(self, number: int, bots: Sequence[Bot], referee: Referee) -> Result:
        n = len(bots)
        self.records.mkdir(exist_ok=True)
        record = self.records / f"{number:09}.jsonl.gz"
        record.unlink(missing_ok=True)  # of a runner that was killed
        agents = [make_agent(bot.spec) for bot in bots]
        for agent, bot in zip(agents, bots, strict=True):
            agent.name = bot.name  # as the record calls it
        room = Room(agents, self.rules, referee)
        seating = (np.arange(n)[:, None] + np.arange(n)) % n  # every bot in every seat once
        payments, left = np.zeros(n, np.int64), 0
        with room, Recorder(record, self.rules, [bot.name for bot in bots], seed=self.seed) as recorder:
            for hand in room.play(seating, number, number + 1, self.seed, recorder):
                np.add.at(payments, seating[hand.seating], np.array(hand.played.payments) // self.rules.unit)
                left += bool(hand.played.left)
        used = {i: Use(bot.questions, bot.seconds, bot.longest, dict(bot.faults)) for (i, _), bot in room.bots.items()}
        with self._transaction():
            now = {bot.id: bot for bot in self.standings()}
            skills = [(now[bot.id].mean, now[bot.id].deviation) for bot in bots]
            for i, (bot, skill) in enumerate(zip(bots, ratings.after_game(skills, payments.tolist()), strict=True)):
                use = now[bot.id].use
                use.add(used.get(i, Use()))
                self._db.execute(
                    "UPDATE bots SET mean = ?, deviation = ?, games = games + 1, use = ? WHERE id = ?",
                    (*skill, json.dumps(vars(use)), bot.id),
                )
            self._db.execute(
                "INSERT INTO games VALUES (?, ?, ?, ?, ?, ?)",
                (number, json.dumps([bot.id for bot in bots]), json.dumps(payments.tolist()), left, time.time(), record.name),
            )
            self._db.execute("DELETE FROM busy WHERE game = ?", (number,))
        return Result(number, [bot.name for bot in bots], payments.tolist())

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Ladder:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _runner(pid: int) -> str:
    """A process so named that another with its id later is not taken for it."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        started = ""
    return f"{pid} {started}"


def _is_running(runner: str) -> bool:
    pid = int(runner.partition(" ")[0])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _runner(pid) == runner
