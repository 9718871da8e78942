"""The arena: every agent against every other over the same duplicate deals, kept on disk as it goes.

The work is cut into *units*: one pair, some deals, all seatings. A unit that is done is written to `DIR/arena.db` in one
transaction, so that a tournament which was killed goes on with the units that are missing, and none counts twice. What
a unit plays depends on the plan alone: neither the number of workers nor interruptions change it.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from . import ratings
from .bots import STARTUP_SECONDS, Human, ProcessAgent
from .checks import check_flag, check_int
from .clock import Times
from .duplicate import HAND, MAX_DEALS, deal_means, interval, note_hand, play_chunk, profile, seatings
from .executors import open_executor
from .game import MAX_SEED
from .process import Limits
from .record import Recorder
from .referee import RESTARTS, Referee
from .room import Room
from .rules import Rules
from .specs import make_agent
from .state import NOTHING

FORMAT_OF = {2: "duel", 4: "2v2"}  # what a pair plays, by seats
DATABASE, RECORDS, ERRORS = "arena.db", "records", "errors"
STORE_VERSION = 1
UNIT_DEALS = 512  # of a unit that is played in compiled loops
UNIT_DEALS_AT_TABLES = 16  # of one that is played hand by hand


@dataclass(frozen=True)
class Plan:
    """What a tournament is: the same plan gives the same games. ValueError names what is wrong with a field."""

    agents: tuple[str, ...]
    players: int = 4
    deals: int = 100
    seed: int = 0
    rules: Rules = field(default_factory=lambda: Rules(stakes=False))
    times: Times = field(default_factory=Times)
    patience: float = math.inf  # seconds that a bot may be silent where `times` has no limit
    startup: float = STARTUP_SECONDS
    restarts: int = RESTARTS
    limits: Limits = field(default_factory=Limits)
    records: bool = True

    def __post_init__(self) -> None:
        if not 2 <= len(self.agents) <= 1000 or len(set(self.agents)) != len(self.agents):
            raise ValueError(f"a tournament is between 2 to 1000 different agents, not {', '.join(self.agents)}")
        if self.players not in FORMAT_OF:
            raise ValueError(f"players must be one of {', '.join(map(str, FORMAT_OF))}, not {self.players}")
        if self.rules.num_players != self.players:
            raise ValueError(f"the rules are for {self.rules.num_players} players, not {self.players}")
        check_int(self.deals, "deals", 2, MAX_DEALS)
        check_int(self.seed, "seed", 0, MAX_SEED)
        check_int(self.restarts, "restarts", 0, 10**6)
        check_flag(self.records, "records")
        for agent in map(make_agent, self.agents):
            if isinstance(agent, Human):
                raise ValueError("a person cannot play in the arena; wzmj play seats one")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no limit is null."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {"agents": list(self.agents), "rules": self.rules.to_dict(), "limits": asdict(self.limits)}
        values |= {"times": _finite(asdict(self.times)), "patience": _finite({"": self.patience})[""]}
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """The plan that `to_dict` wrote."""
        values = dict(values)
        values["agents"], values["rules"] = tuple(values["agents"]), Rules.from_mapping(values["rules"])
        values["times"], values["limits"] = Times(**_infinite(values["times"])), Limits(**values["limits"])
        values["patience"] = _infinite({"": values["patience"]})[""]
        return cls(**values)

    @property
    def seating(self) -> np.ndarray:
        return seatings(FORMAT_OF[self.players], self.players)

    def units(self) -> list[Unit]:
        """All the work, so ordered that after any part of it the pairs have played about equally many deals."""
        at_tables = self.records or any(spec.startswith("cmd:") for spec in self.agents)
        size = UNIT_DEALS_AT_TABLES if at_tables else UNIT_DEALS
        n = len(self.agents)
        return [
            Unit(a, b, first, min(first + size, self.deals))
            for first in range(0, self.deals, size)
            for a in range(n)
            for b in range(a + 1, n)
        ]


def _finite(seconds: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isinf(value) else value for name, value in seconds.items()}


def _infinite(seconds: dict[str, float | None]) -> dict[str, float]:
    return {name: math.inf if value is None else value for name, value in seconds.items()}


@dataclass(frozen=True)
class Unit:
    """Deals first .. last - 1 between the agents in places `a` and `b` of the plan."""

    a: int
    b: int
    first: int
    last: int


@dataclass
class Use:
    """What a program has used and done wrong. Seconds are its own, from question to answer."""

    questions: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)

    def add(self, other: Use) -> None:
        self.questions += other.questions
        self.seconds += other.seconds
        self.longest = max(self.longest, other.longest)
        for cause, n in other.faults.items():
            self.faults[cause] = self.faults.get(cause, 0) + n


# --- playing ---------------------------------------------------------------------------------------------------------


class Player:
    """Plays units of a plan; its programs keep running from one to the next."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.agents = [make_agent(spec) for spec in plan.agents]
        self.room = Room(
            self.agents,
            plan.rules,
            Referee(plan.times, restarts=plan.restarts, patience=plan.patience),
            startup=plan.startup,
            limits=plan.limits,
            errors=folder / ERRORS,
        )

    def play(self, unit: Unit) -> tuple[Unit, np.ndarray, dict[int, Use]]:
        """The hands of a unit, `(D, R) HAND`, and what its programs used, by place in the plan."""
        plan, pair = self.plan, [unit.a, unit.b]
        has_program = any(isinstance(self.agents[i], ProcessAgent) for i in pair)
        if not plan.records and not has_program:
            agents = [self.agents[i] for i in pair]
            return unit, play_chunk(agents, plan.seating, unit.first, unit.last, plan.seed, plan.rules), {}
        hands = np.zeros((unit.last - unit.first, len(plan.seating)), HAND)
        self.room.reset_use()
        recorder = self._recorder(unit)
        try:
            for hand in self.room.play(np.array(pair)[plan.seating], unit.first, unit.last, plan.seed, recorder):
                note_hand(hand, hands[hand.deal - unit.first, hand.seating : hand.seating + 1])
        finally:
            if recorder is not None:
                recorder.close()
        use: dict[int, Use] = {}
        for (number, _), bot in self.room.bots.items():
            if number in pair:
                use.setdefault(number, Use()).add(Use(bot.questions, bot.seconds, bot.longest, dict(bot.faults)))
        return unit, hands, use

    def _recorder(self, unit: Unit) -> Recorder | None:
        """The record of a unit; what a killed tournament left of it is written anew."""
        if not self.plan.records:
            return None
        path = self.folder / RECORDS / f"{unit.a:03}-{unit.b:03}-{unit.first:09}.jsonl.gz"
        path.unlink(missing_ok=True)
        names = [self.plan.agents[i] for i in np.array([unit.a, unit.b])[self.plan.seating[0]]]
        return Recorder(path, self.plan.rules, names, seed=self.plan.seed, about={"first": unit.first, "last": unit.last})

    def close(self) -> None:
        self.room.close()


# --- what is kept ----------------------------------------------------------------------------------------------------


class Store:
    """The units that are done, in a folder. ValueError says what is wrong with it."""

    def __init__(self, folder: Path, plan: Plan | None, resume: bool) -> None:
        path = folder / DATABASE
        if path.exists() and not resume:
            raise ValueError(f"there is a tournament in {folder}: go on with --resume, or name another folder")
        if not path.exists() and plan is None:
            raise ValueError(f"there is no tournament in {folder} to resume")
        for part in (RECORDS, ERRORS):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        try:
            self._open(path, plan)
        except BaseException:
            self._db.close()
            raise

    def _open(self, path: Path, plan: Plan | None) -> None:
        try:
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("CREATE TABLE IF NOT EXISTS plan (version INTEGER, plan TEXT)")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS units"
                " (a INTEGER, b INTEGER, first INTEGER, hands BLOB, use TEXT, PRIMARY KEY (a, b, first))"
            )
            row = self._db.execute("SELECT version, plan FROM plan").fetchone()
            if row is None and plan is not None:
                self._db.execute("INSERT INTO plan VALUES (?, ?)", (STORE_VERSION, json.dumps(plan.to_dict())))
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path}: {error}") from None
        if row is None:
            assert plan is not None
            self.plan = plan
            return
        if row[0] != STORE_VERSION:
            raise ValueError(f"{path} is of version {row[0]}; this program reads {STORE_VERSION}")
        self.plan = Plan.from_dict(json.loads(row[1]))
        if plan is not None and plan != self.plan:
            differ = [f.name for f in fields(plan) if getattr(plan, f.name) != getattr(self.plan, f.name)]
            raise ValueError(f"the tournament in {path.parent} was begun with other {', '.join(differ)}")

    def add(self, unit: Unit, hands: np.ndarray, use: dict[int, Use]) -> None:
        """Keep a unit that is done."""
        used = json.dumps({number: asdict(one) for number, one in use.items()})
        self._db.execute("INSERT INTO units VALUES (?, ?, ?, ?, ?)", (unit.a, unit.b, unit.first, hands.tobytes(), used))

    def done(self) -> dict[Unit, tuple[np.ndarray, dict[int, Use]]]:
        """The units kept, in the order of the plan."""
        rows = {row[:3]: row[3:] for row in self._db.execute("SELECT a, b, first, hands, use FROM units")}
        done = {}
        for unit in self.plan.units():
            if (unit.a, unit.b, unit.first) in rows:
                hands, used = rows[unit.a, unit.b, unit.first]
                shaped = np.frombuffer(hands, HAND).reshape(unit.last - unit.first, -1)
                done[unit] = shaped, {int(number): Use(**one) for number, one in json.loads(used).items()}
        return done

    def close(self) -> None:
        self._db.close()


# --- a tournament ----------------------------------------------------------------------------------------------------

Told = Callable[["Standings", int], Any]  # of the standings, and how many more deals are done


class Standings:
    """Mean payment a hand so far, by agent."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sum, self._seats = np.zeros(len(plan.agents)), np.zeros(len(plan.agents))

    def add(self, unit: Unit, hands: np.ndarray) -> None:
        payments, seating = hands["payments"][:, :, : self._plan.players], self._plan.seating
        for side, agent in enumerate((unit.a, unit.b)):
            self._sum[agent] += payments[:, seating == side].sum()
            self._seats[agent] += len(hands) * (seating == side).sum()

    def best(self, most: int = 4) -> str:
        """The first places as text."""
        means = self._sum / np.maximum(self._seats, 1)
        order = [i for i in np.argsort(-means, kind="stable") if self._seats[i]][:most]
        return "  ".join(f"{self._plan.agents[i]} {means[i]:+.2f}" for i in order)


def run(
    store: Store, folder: Path, *, workers: int = 1, executor: str = "processes", told: Told | None = None
) -> bool:
    """Play the units that are missing, with an executor of `executors.KINDS`. Whether all are done now: not when it was
    interrupted by the keyboard. With workers on other machines the folder must be theirs too, for what they write."""
    plan, standings = store.plan, Standings(store.plan)
    done = store.done()
    missing = [unit for unit in plan.units() if unit not in done]
    for unit, (hands, _) in done.items():
        standings.add(unit, hands)
        if told is not None:
            told(standings, unit.last - unit.first)
    try:
        with open_executor(executor, workers, Player, plan, folder.absolute()) as crew:
            for _, (unit, hands, use) in crew.each(Player.play, missing):
                store.add(unit, hands, use)
                standings.add(unit, hands)
                if told is not None:
                    told(standings, unit.last - unit.first)
    except KeyboardInterrupt:
        return False
    return True


# --- results ---------------------------------------------------------------------------------------------------------


def results(store: Store) -> dict[str, Any]:
    """All that a tournament says, as plain values; units that are not done are left out, and counted."""
    plan, done = store.plan, store.done()
    n = len(plan.agents)
    pairs: list[dict[str, Any]] = []
    matrix: list[list[float | None]] = [[None] * n for _ in range(n)]
    scores: list[tuple[int, int, np.ndarray]] = []
    hands_of: dict[tuple[int, int], np.ndarray] = {}
    numbers: dict[tuple[int, int], np.ndarray] = {}
    for a in range(n):
        for b in range(a + 1, n):
            own = [(unit, hands) for unit, (hands, _) in done.items() if (unit.a, unit.b) == (a, b)]
            if own:
                hands = hands_of[a, b] = np.concatenate([hands for _, hands in own])
                numbers[a, b] = np.concatenate([np.arange(unit.first, unit.last) for unit, _ in own])
                means = deal_means(hands, plan.seating, 0)
                others = deal_means(hands, plan.seating, 1)  # not just the opposite: a charge for leaving goes to the house
                scores.append((a, b, (means - others) / 2))
                matrix[a][b], matrix[b][a] = float(means.mean()), float(others.mean())
                pairs.append({"a": plan.agents[a], "b": plan.agents[b], "deals": len(means), **_estimate(means)})
    rated, hint = _ratings(scores, n)
    agents = [
        {"agent": spec, **_of_agent(i, plan, hands_of, numbers), "rating": None if rated is None else rated[i], **_use(i, done)}
        for i, spec in enumerate(plan.agents)
    ]
    units = len(plan.units())
    return {
        "plan": plan.to_dict(),
        "format": FORMAT_OF[plan.players],
        "complete": len(done) == units,
        "units": {"done": len(done), "missing": units - len(done)},
        "hands": sum(hands.size for hands in hands_of.values()),
        "left": sum(int((hands["left"] != 0).sum()) for hands in hands_of.values()),
        "agents": sorted(agents, key=lambda row: -row["mean"]),
        "pairs": pairs,
        "matrix": matrix,
        "ratings_hint": hint,
    }


def _estimate(means: np.ndarray) -> dict[str, float]:
    low, high = interval(means)
    return {"mean": float(means.mean()), "low": low, "high": high}


def _ratings(scores: list[tuple[int, int, np.ndarray]], n: int) -> tuple[list[dict[str, float]] | None, str | None]:
    if len(scores) < n * (n - 1) // 2:
        return None, "ratings wait until every pair has played"
    try:
        rows = ratings.elo(scores, n).tolist()
    except ratings.MissingExtra as missing:
        return None, str(missing)
    return [dict(zip(("elo", "low", "high"), row, strict=True)) for row in rows], None


def _of_agent(
    i: int, plan: Plan, hands_of: dict[tuple[int, int], np.ndarray], numbers: dict[tuple[int, int], np.ndarray]
) -> dict[str, Any]:
    """Payments and wins of one agent over all its pairs; the interval is clustered by deal."""
    total, times = np.zeros(plan.deals), np.zeros(plan.deals)
    counts: Counter[str] = Counter()
    by_value: Counter[int] = Counter()
    by_pattern: Counter[str] = Counter()
    payments: Counter[int] = Counter()
    for pair, hands in hands_of.items():
        if i not in pair:
            continue
        side = pair.index(i)
        total[numbers[pair]] += deal_means(hands, plan.seating, side)
        times[numbers[pair]] += 1
        one = profile(hands, plan.seating, side)
        counts.update(seats=one.seats, won=one.won, own_draw=one.own_draw, deal_in=one.deal_in, hands=hands.size)
        counts.update(drawn=int(((hands["winner"] == NOTHING) & (hands["left"] == 0)).sum()))
        by_value.update(one.by_value)
        by_pattern.update(one.by_pattern)
        values, n = np.unique(hands["payments"][:, :, : plan.players][:, plan.seating == side], return_counts=True)
        payments.update(dict(zip(values.tolist(), n.tolist(), strict=True)))
    played = times > 0
    estimate = _estimate(total[played] / times[played]) if played.any() else {"mean": 0.0, "low": 0.0, "high": 0.0}
    return {
        **estimate,
        "deals": int(times.sum()),
        **{name: counts[name] for name in ("hands", "seats", "won", "own_draw", "deal_in", "drawn")},
        "by_value": dict(sorted(by_value.items())),
        "by_pattern": dict(by_pattern.most_common()),
        "payments": dict(sorted(payments.items())),  # how often each payment, a seat
    }


def _use(i: int, done: dict[Unit, tuple[np.ndarray, dict[int, Use]]]) -> dict[str, Any]:
    """What the agent's programs used; None for an agent of the arena's own process."""
    total, found = Use(), False
    for _, use in done.values():
        if i in use:
            total.add(use[i])
            found = True
    return {"use": {**asdict(total), "faults": dict(sorted(total.faults.items()))} if found else None}
