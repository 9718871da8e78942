"""The host of all tables in one event loop: it tells them the time, asks their agents, and shows viewers what has changed.

It knows viewers as `Viewer`s with a place for what is to be sent; how that travels is another's business (`wzmj_env.web`).
A view is complete in itself, so that one which was not sent yet is replaced by the next: a slow reader costs nobody
anything, and is sent away when it has read nothing for a while.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import tempfile
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from .clock import Question
from .lobby import Lobby
from .rules import Rules
from .scene import SPECTATOR
from .table import OPEN, OVER, PLAYING, Plan, Refused, Table
from .thinking import Mind, Thought, hint

RETRY = 1.0  # seconds until an agent that failed is asked again
SWEEP = 30.0  # seconds between two looks for tables that nobody needs
IDLE_OPEN, IDLE_OVER = 3600.0, 600.0  # seconds until an empty table is dropped
MAX_SPECTATORS = 50  # at one table
MAX_REPLIES = 20  # that wait to be sent to one viewer

log = logging.getLogger("wzmj.table")


class Viewer:
    """One connection: what it sees, and what is to be sent to it."""

    def __init__(self, name: str, seat: int) -> None:
        self.name, self.seat = name, seat  # seat: SPECTATOR for none
        self.wake = asyncio.Event()
        self.ended: str | None = None  # why it is to be closed
        self._replies: deque[str] = deque(maxlen=MAX_REPLIES)
        self._view: str | None = None
        self._shown = ""

    def show(self, view: str, seconds: str, again: bool = False) -> None:
        """Send a view, in place of one that is not sent yet; nothing when it is the last one once more."""
        if view != self._shown or again:
            self._shown = view
            self._view = f'{{"type":"view","view":{view},"seconds":{seconds}}}'
            self.wake.set()

    def reply(self, message: dict[str, Any]) -> None:
        self._replies.append(_json(message))
        self.wake.set()

    def end(self, why: str) -> None:
        self.ended = why
        self.wake.set()

    def take(self) -> list[str]:
        """What is to be sent now."""
        self.wake.clear()
        taken = list(self._replies)
        self._replies.clear()
        if self._view is not None:
            taken.append(self._view)
            self._view = None
        return taken


class Host:
    """Runs the tables of a lobby. `pace`: seconds that an agent takes at least for a turn, so that people can follow."""

    def __init__(self, lobby: Lobby, pace: float = 0.0) -> None:
        self.lobby, self.pace = lobby, pace
        self._loop = asyncio.get_running_loop()
        self._viewers: dict[str, set[Viewer]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._minds: dict[tuple[str, int], Mind] = {}
        self._thinking: dict[tuple[str, int], str] = {}  # the number of the question that an agent is at
        self._changed: set[str] = set()
        self._idle_since: dict[str, float] = {}
        self._closed = False
        self._sweeper = self._loop.call_later(SWEEP, self._sweep)
        for name in lobby.tables:
            self.change(name)

    def now(self) -> float:
        return self._loop.time()

    # --- viewers ---

    def join(self, name: str, token: Any) -> Viewer:
        """A connection, to the seat of its token or as a spectator; one seat has one, the newer. `Refused` says why not."""
        table = self.lobby.find(name)
        seat = SPECTATOR if token is None else self.lobby.seat_of(name, token)
        viewers = self._viewers.setdefault(name, set())
        if seat == SPECTATOR and sum(v.seat == SPECTATOR for v in viewers) >= MAX_SPECTATORS:
            raise Refused("there are too many spectators")
        if seat != SPECTATOR:
            for other in [v for v in viewers if v.seat == seat]:
                other.end("replaced")
                viewers.discard(other)
            table.regain(seat, self.now())
        viewer = Viewer(name, seat)
        viewers.add(viewer)
        self.change(name)
        return viewer

    def part(self, viewer: Viewer) -> None:
        """A connection is over; that of a seat is lost, unless another has replaced it."""
        viewers = self._viewers.get(viewer.name, set())
        if viewer not in viewers:
            return
        viewers.discard(viewer)
        table = self.lobby.tables.get(viewer.name)
        if table is not None:
            if viewer.seat != SPECTATOR:
                table.lose(viewer.seat, self.now())
            self.change(viewer.name)

    def hear(self, viewer: Viewer, message: dict[str, Any]) -> None:
        """A message of a viewer; what it says is checked here. `Refused` says what is wrong with it."""
        kind, seat = message.get("type"), viewer.seat
        if kind == "echo":
            viewer.reply({"type": "echo", "n": message.get("n")})
            return
        table = self.lobby.find(viewer.name)
        if seat == SPECTATOR:
            raise Refused("a spectator looks on")
        if kind == "answer":
            number, action = message.get("id"), message.get("action")
            if not isinstance(number, str) or isinstance(action, bool) or not isinstance(action, int):
                raise Refused("an answer has the id of a question and the number of an action")
            table.answer(seat, number, action, self.now())
        elif kind == "press":
            table.press(seat, self.now())
        elif kind == "cancel_hosting":
            table.cancel_hosting(seat, self.now())
        elif kind == "leave":
            table.leave(seat, self.now())
            if table.phase == OPEN:  # the seat is another's to take
                viewer.end("left")
                self._viewers[viewer.name].discard(viewer)
        elif kind == "hint":
            asked = table.seats[seat].asked
            if asked is None or asked.number != message.get("id"):
                raise Refused("this question is not open")
            viewer.reply({"type": "hint", "id": asked.number, "action": hint(table.rules, *table.observation(seat))})
            return
        else:
            raise Refused("no such message")
        self.change(viewer.name)

    # --- tables ---

    def change(self, name: str) -> None:
        """Something may have changed at a table: soon all that follows from it is done, once."""
        if self._closed:
            return
        if not self._changed:
            self._loop.call_soon(self._follow_up)
        self._changed.add(name)

    def _follow_up(self) -> None:
        changed, self._changed = self._changed, set()
        for name in changed:
            table = self.lobby.tables.get(name)
            if table is not None:
                try:
                    self._attend(name, table)
                except Exception:  # one table's fault must not stop the others
                    log.exception("table %s", name)

    def _attend(self, name: str, table: Table) -> None:
        now = self.now()
        table.advance(now)
        self.lobby.save(name)
        for viewer in self._viewers.get(name, ()):
            self._show(viewer, table, now)
        self._ask_agents(name, table, now)
        self._set_timer(name, table, now)
        self._note_idle(name, table, now)

    def _show(self, viewer: Viewer, table: Table, now: float) -> None:
        viewer.show(_json(table.view(viewer.seat)), _json(table.seconds(viewer.seat, now)))

    def _set_timer(self, name: str, table: Table, now: float) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()
        due = table.due()
        if not math.isinf(due):
            # a limit has passed only after its moment
            self._timers[name] = self._loop.call_later(max(0.0, due - now) + 0.001, self.change, name)

    # --- agents ---

    def _ask_agents(self, name: str, table: Table, now: float) -> None:
        for seat, s in enumerate(table.seats):
            asked = s.asked
            if s.agent is None or asked is None or self._thinking.get((name, seat)) == asked.number:
                continue
            key = name, seat
            mind = self._minds.get(key)
            if mind is None:
                mind = self._minds[key] = Mind(s.agent, table.rules, seat, (table.seed + seat) % (1 << 32))
            self._thinking[key] = asked.number
            observation, mask = table.observation(seat)
            seconds = table.clock.remaining(seat, now)
            thought = Thought(
                len(table.played), asked.kind, asked.legal, observation, mask, table.events(seat),
                3600.0 if seconds is None or math.isinf(seconds) else seconds,
            )  # fmt: skip
            earliest = now + self.pace if asked.kind is Question.TURN else now
            mind.think(thought).add_done_callback(lambda done, key=key, number=asked.number, earliest=earliest: self._wake(  # type: ignore[misc]
                key, number, earliest, done))  # fmt: skip

    def _wake(self, key: tuple[str, int], number: str, earliest: float, done: Future[int]) -> None:
        """In whatever thread the answer came: hand it to the loop."""
        try:
            self._loop.call_soon_threadsafe(self._hold, key, number, earliest, done)
        except RuntimeError:  # the loop is closed: the server is being stopped
            pass

    def _hold(self, key: tuple[str, int], number: str, earliest: float, done: Future[int]) -> None:
        if self.now() < earliest:
            self._loop.call_later(earliest - self.now(), self._answered, key, number, done)
        else:
            self._answered(key, number, done)

    def _answered(self, key: tuple[str, int], number: str, done: Future[int]) -> None:
        name, seat = key
        table = self.lobby.tables.get(name)
        if table is None:
            return
        asked = table.seats[seat].asked
        error = done.exception()
        if asked is None or asked.number != number:
            if error is None:  # late, but it is back
                table.cancel_hosting(seat, self.now())
        elif error is None and done.result() in asked.legal:
            with suppress(Refused):  # its time was over at this very moment
                table.answer(seat, number, done.result(), self.now())
        else:  # R10.7: a lost connection, until it is asked again
            log.warning("table %s, agent %r in seat %d: %s", name, table.seats[seat].agent, seat, error or "an illegal action")
            self._forget(key)
            table.lose(seat, self.now())
            self._loop.call_later(RETRY, self._retry, key)
        self.change(name)

    def _retry(self, key: tuple[str, int]) -> None:
        name, seat = key
        table = self.lobby.tables.get(name)
        if table is not None:
            table.regain(seat, self.now())
            self._thinking.pop(key, None)
            self.change(name)

    def _forget(self, key: tuple[str, int]) -> None:
        mind = self._minds.pop(key, None)
        if mind is not None:
            mind.close()

    # --- tidying ---

    def _note_idle(self, name: str, table: Table, now: float) -> None:
        if self._viewers.get(name) or table.phase not in (OPEN, OVER):
            self._idle_since.pop(name, None)
        else:
            self._idle_since.setdefault(name, now)
        if table.phase == OVER:
            for seat in range(len(table.seats)):
                self._forget((name, seat))
                self._thinking.pop((name, seat), None)

    def _sweep(self) -> None:
        now = self.now()
        for name, since in list(self._idle_since.items()):
            table = self.lobby.tables.get(name)
            if table is None or now - since > (IDLE_OPEN if table.phase == OPEN else IDLE_OVER):
                self._idle_since.pop(name)
                self._viewers.pop(name, None)
                if name in self._timers:
                    self._timers.pop(name).cancel()
                if table is not None:
                    self.lobby.drop(name)
        self._sweeper = self._loop.call_later(SWEEP, self._sweep)

    def close(self) -> None:
        """Stop everything; the tables can be restored from their records."""
        self._closed = True
        self._sweeper.cancel()
        for timer in self._timers.values():
            timer.cancel()
        for key in list(self._minds):
            self._forget(key)
        for viewers in self._viewers.values():
            for viewer in viewers:
                viewer.end("stopped")
        self._changed.clear()
        self.lobby.close()

    def counts(self) -> dict[str, int]:
        """How much is going on."""
        return {
            "tables": len(self.lobby.tables),
            "playing": sum(table.phase == PLAYING for table in self.lobby.tables.values()),
            "viewers": sum(map(len, self._viewers.values())),
        }


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def warm_up(rules: Rules | None = None) -> None:
    """Play a hand and read its record, so that no table has to wait for the compiler."""
    rules = replace(rules or Rules(), num_players=2)
    with tempfile.TemporaryDirectory() as folder:
        table = Table(Plan(rules, ("rule", "rule"), 1), Path(folder) / "warm.jsonl", seed=0)
        table.press(0, 0.0)
        while table.phase == PLAYING:
            seat, asked = next((p, s.asked) for p, s in enumerate(table.seats) if s.asked is not None)
            table.view(seat)
            table.answer(seat, asked.number, hint(rules, *table.observation(seat)), 0.0)
        table.view(SPECTATOR)
        Table.restore(table.path, now=0.0)
