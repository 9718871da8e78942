"""All tables of a server: made, found by their names, their seats by tokens, kept in a folder and restored from it.

    DIR/tables.db       SQLite: tables and their plans, seats and hashes of their tokens, results of every hand
    DIR/records/ID.jsonl   the record of each match (`wzmj_env.record`)

A token is a secret of 256 bits; the store has its hash. Nothing here waits or knows of connections.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .checks import check_int
from .clock import Times
from .game import MAX_SEED
from .record import RecordError
from .rules import Rules
from .table import MAX_HANDS, OPEN, OVER, PAUSE, Plan, Refused, Table, unit_of

MAX_TABLES = 2000  # in memory
MAX_PERSON = 24  # characters of a person's name
ALL = -1  # in place of a number of hands: the match is over, and all of it is in the store
SHOWN_AFTER_END = 3600.0  # seconds for which a finished match is still there after a restart

SCHEMA = """
CREATE TABLE IF NOT EXISTS tables (id TEXT PRIMARY KEY, players INTEGER NOT NULL, hands INTEGER NOT NULL, entry INTEGER NOT NULL,
    agents TEXT NOT NULL, rules TEXT NOT NULL, seed TEXT NOT NULL, made REAL NOT NULL, ended REAL);
CREATE TABLE IF NOT EXISTS seats (token BLOB PRIMARY KEY, id TEXT NOT NULL, seat INTEGER NOT NULL, name TEXT NOT NULL,
    UNIQUE (id, seat));
CREATE TABLE IF NOT EXISTS results (id TEXT NOT NULL, hand INTEGER NOT NULL, seat INTEGER NOT NULL, name TEXT NOT NULL,
    points INTEGER NOT NULL, house INTEGER NOT NULL, PRIMARY KEY (id, hand, seat));
"""

log = logging.getLogger("wzmj.table")


class Lobby:
    """See the module. `agents`: the specs that may be seated, `only` some of them at tables of so many players; `rules`:
    those of all tables but for players and unit."""

    def __init__(
        self,
        folder: Path,
        *,
        now: float,
        agents: Sequence[str] = ("rule",),
        only: Mapping[str, int] | None = None,
        rules: Rules | None = None,
        times: Times | None = None,
        pause: float = PAUSE,
    ) -> None:
        self.agents, self.only = tuple(agents), only or {}
        self.rules = rules or Rules()
        self._times, self._pause = times, pause
        self._records = folder / "records"
        self._records.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "tables.db", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {SCHEMA}")
        self.tables: dict[str, Table] = {}
        self._saved: dict[str, int] = {}  # hands whose results are in the store
        self._restore(now)

    # --- making and finding ---

    def create(self, players: Any, hands: Any, entry: Any, agents: Any) -> str:
        """A new table; its name. `agents` has a spec or None for each seat. ValueError names what cannot be."""
        players = check_int(players, "players", 2, 4)
        rules = replace(self.rules, num_players=players, unit=unit_of(entry))
        hands = check_int(hands, "hands", 1, MAX_HANDS)
        if not isinstance(agents, list) or len(agents) != players:
            raise ValueError(f"agents must be a list of {players}, one for each seat")
        for spec in agents:
            if spec is not None and spec not in self.agents:
                raise ValueError(f"there is no such agent here; allowed are {', '.join(self.agents)}")
            if spec in self.only and self.only[spec] != players:
                raise ValueError(f"{spec} sits at tables of {self.only[spec]} players")
        if None not in agents:
            raise ValueError("one seat at least must be a person's")
        if len(self.tables) >= MAX_TABLES:
            raise Refused("there are too many tables: try again later")
        name, seed = secrets.token_hex(8), secrets.randbelow(MAX_SEED + 1)
        self._db.execute(
            "INSERT INTO tables VALUES (?,?,?,?,?,?,?,?,NULL)",
            (name, players, hands, entry, json.dumps(agents), json.dumps(rules.to_dict()), str(seed), time.time()),
        )
        self.tables[name] = self._table(name, Plan(rules, tuple(agents), hands), seed)
        return name

    def _table(self, name: str, plan: Plan, seed: int) -> Table:
        return Table(plan, self._path(name), seed=seed, name=name, times=self._times, pause=self._pause)

    def _path(self, name: str) -> Path:
        return self._records / f"{name}.jsonl"

    def find(self, name: Any) -> Table:
        """The table of that name. `Refused` when there is none."""
        table = self.tables.get(name) if isinstance(name, str) else None
        if table is None:
            raise Refused("there is no such table")
        return table

    def sit(self, name: Any, seat: Any, person: Any, now: float) -> tuple[int, str]:
        """A person takes a seat, None for any that is free; the seat and its token. `Refused` or ValueError say why not."""
        table = self.find(name)
        person = check_person(person)
        if seat is None:
            free = [p for p, s in enumerate(table.seats) if s.agent is None and not s.name]
            if not free or table.phase != OPEN:
                raise Refused("no seat is free")
            seat = free[0]
        table.sit(seat, person, now)
        token = secrets.token_urlsafe(32)
        self._db.execute("INSERT OR REPLACE INTO seats VALUES (?,?,?,?)", (_hash(token), name, seat, person))
        return seat, token

    def seat_of(self, name: str, token: Any) -> int:
        """The seat at a table that a token is for. `Refused` when it is for none."""
        row = None
        if isinstance(token, str) and len(token) <= 100:
            row = self._db.execute("SELECT seat FROM seats WHERE token = ? AND id = ?", (_hash(token), name)).fetchone()
        if row is None:
            raise Refused("this is no seat of yours")
        return int(row[0])

    # --- keeping ---

    def save(self, name: str) -> None:
        """Keep what has happened at a table since it was last saved: seats given up, hands settled, the end."""
        table = self.tables[name]
        if table.phase == OPEN:
            taken = {p for p, s in enumerate(table.seats) if s.agent is None and s.name}
            for (seat,) in self._db.execute("SELECT seat FROM seats WHERE id = ?", (name,)).fetchall():
                if seat not in taken:
                    self._db.execute("DELETE FROM seats WHERE id = ? AND seat = ?", (name, seat))
            return
        saved = self._saved.get(name, 0)
        if saved == ALL or (saved == len(table.played) and table.phase != OVER):
            return
        with self._db:
            self._db.execute("BEGIN")
            for end in table.played[saved:]:
                rows = [
                    (name, end["hand"], p, s.name, end["payments"][p], end.get("house", 0)) for p, s in enumerate(table.seats)
                ]
                self._db.executemany("INSERT OR IGNORE INTO results VALUES (?,?,?,?,?,?)", rows)
            self._saved[name] = len(table.played)
            if table.phase == OVER:
                self._db.execute("UPDATE tables SET ended = ? WHERE id = ? AND ended IS NULL", (time.time(), name))
                self._saved[name] = ALL

    def drop(self, name: str) -> None:
        """A table that nobody needs any more: its record and results stay, a match that never began is forgotten."""
        table = self.tables.pop(name)
        self._saved.pop(name, None)
        if table.phase == OPEN:
            self._db.execute("DELETE FROM seats WHERE id = ?", (name,))
            self._db.execute("DELETE FROM tables WHERE id = ?", (name,))
        table.abandon()

    def results(self, name: str) -> list[tuple[int, int, str, int, int]]:
        """Of a table, in order: hand, seat, name, points, and what the house got of that hand."""
        return self._db.execute(
            "SELECT hand, seat, name, points, house FROM results WHERE id = ? ORDER BY hand, seat", (name,)
        ).fetchall()

    def _restore(self, now: float) -> None:
        rows = self._db.execute(
            "SELECT id, players, hands, entry, agents, rules, seed FROM tables WHERE ended IS NULL OR ended > ?",
            (time.time() - SHOWN_AFTER_END,),
        ).fetchall()
        for name, _, hands, _, agents, rules, seed in rows:
            path = self._path(name)
            try:
                if path.exists() and b"\n" in path.read_bytes():
                    table = Table.restore(path, now=now, times=self._times, pause=self._pause)
                else:  # it had not begun
                    path.unlink(missing_ok=True)
                    plan = Plan(Rules.from_mapping(json.loads(rules)), tuple(json.loads(agents)), hands)
                    table = self._table(name, plan, int(seed))
                    taken = self._db.execute("SELECT seat, name FROM seats WHERE id = ?", (name,)).fetchall()
                    for seat, person in taken:
                        table.sit(seat, person, now)
            except (RecordError, ValueError, KeyError, TypeError) as error:
                log.warning("table %s cannot be restored: %s", name, error)
                continue
            self.tables[name] = table
            self.save(name)

    def close(self) -> None:
        """Let go of all records, which can be restored, and of the store."""
        for table in self.tables.values():
            table.abandon()
        self._db.close()


def check_person(name: Any) -> str:
    """The name of a person: 1 to 24 characters that can be seen. ValueError for anything else."""
    if isinstance(name, str):
        name = name.strip()
        hidden = any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in name)
        if 1 <= len(name) <= MAX_PERSON and not hidden:
            return name
    raise ValueError(f"a name must have 1 to {MAX_PERSON} characters that can be seen")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
