"""Agents that think beside the table: in threads, never where others wait for them.

A `Mind` is one agent in one seat. Built-in players answer within microseconds and share two threads; every other agent has a
thread of its own, so that one which hangs holds up nobody else. A program (`cmd:`) is spoken to as in the arena.
"""

from __future__ import annotations

import queue
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import protocol
from .bots import ProcessAgent, ProcessBot
from .clock import Question
from .events import Event
from .players import POLICIES
from .process import Fault
from .rules import Rules
from .specs import BuiltIn, make_agent

SHARED_THREADS = 2
LOOK = 0.2  # seconds between two looks at whether a program is still awaited

_shared = ThreadPoolExecutor(SHARED_THREADS, thread_name_prefix="wzmj-built-in")


@dataclass(frozen=True)
class Thought:
    """A question to an agent, with all that its seat has seen of the hand."""

    hand: int
    kind: Question
    legal: list[int]
    observation: np.ndarray  # (C, 34) uint8
    mask: np.ndarray  # (76,) int8
    events: list[Event]
    seconds: float


class Worker:
    """One thread that runs what it is given in order, and keeps no program from ending."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Future[int], Callable[[], int]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="wzmj-agent").start()

    def submit(self, work: Callable[[], int]) -> Future[int]:
        done: Future[int] = Future()
        self._waiting.put((done, work))
        return done

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            done, work = item
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except BaseException as error:
                    done.set_exception(error)

    def close(self) -> None:
        self._waiting.put(None)


class Mind:
    """The agent of a spec in seat `seat`. Nothing here waits: `think` gives a future of the action.

    A new question ends the wait for the answer to the last one. The agent is made in its thread.
    """

    def __init__(self, spec: str, rules: Rules, seat: int, seed: int) -> None:
        self.spec, self.rules, self.seat, self.seed = spec, rules, seat, seed
        self._agent: Any = None
        self._bot: ProcessBot | None = None
        self._worker: Worker | None = None
        self._hand = -1
        self._told = 0
        self._latest: Thought | None = None
        self.closed = False

    def think(self, thought: Thought) -> Future[int]:
        """The action that the agent chooses, or its exception."""
        self._latest = thought
        if self._agent is None and self._worker is None:
            if self.spec in POLICIES:
                self._agent = BuiltIn(self.spec, self.rules)
                self._agent.reset(self.seed)
            else:
                self._worker = Worker()
        if self._worker is None:
            return _shared.submit(self._act, thought)
        return self._worker.submit(lambda: self._work(thought))

    def _work(self, thought: Thought) -> int:
        if self._agent is None:
            self._agent = make_agent(self.spec)
            if isinstance(self._agent, ProcessAgent):
                self._bot = ProcessBot(self._agent, self.rules)
            else:
                self._agent.reset(self.seed)
        return self._act(thought) if self._bot is None else self._converse(self._bot, thought)

    def _act(self, thought: Thought) -> int:
        answer = np.asarray(self._agent.act(thought.observation[None], thought.mask[None]))
        if answer.shape != (1,) or answer.dtype.kind not in "iu":
            raise ValueError(f"agent {self.spec!r} answered {answer!r}, no action")
        return int(answer[0])

    def _converse(self, bot: ProcessBot, thought: Thought) -> int:
        """Put a question to a program and wait for its answer, until it is no longer awaited."""
        if thought.hand != self._hand:
            self._hand, self._told = thought.hand, 0
            bot.begin_hand(self.seat)
        for event in thought.events[self._told :]:
            bot.tell(protocol.line(event))
        self._told = len(thought.events)
        if bot.process is None:
            bot.start()
        asked = False
        try:
            while self._latest is thought and not self.closed:
                assert bot.process is not None
                if bot.is_ready and not asked:
                    bot.ask(thought.kind, thought.legal, thought.seconds)
                    asked = True
                if not bot.is_ready and bot._now() > bot.start_by:
                    raise Fault("start")
                writing = [bot.process.input_fileno()] if bot.process.is_behind else []
                ready, room, _ = select.select([bot.process.fileno()], writing, [], LOOK)
                if room:
                    bot.process.flush()
                action = bot.receive() if ready else None
                if action is not None:
                    return action
        except Fault as fault:
            bot.fail(fault.cause)
            raise
        bot.withdraw()
        if self.closed:
            bot.stop()
        raise TimeoutError("nobody waits for this answer any more")

    def close(self) -> None:
        """End the agent; one that hangs in a thread is left alone there."""
        self.closed = True
        if self._worker is not None:
            self._worker.submit(self._end)
            self._worker.close()

    def _end(self) -> int:
        if self._bot is not None:
            with suppress(OSError):
                self._bot.stop()
        return 0


def hint(rules: Rules, observation: np.ndarray, mask: np.ndarray) -> int:
    """What the rule player would do."""
    return int(BuiltIn("rule", rules).act(observation[None], mask[None])[0])
