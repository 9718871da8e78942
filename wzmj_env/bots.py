"""Players that are asked one question at a time: a class of one's own, a program, a person at the terminal.

`SingleAgent` makes an agent of a class with `act(observation, mask, info)`. `ProcessAgent` is the spec of a program;
`ProcessBot` is one running copy of it in one seat, spoken to in the words of `protocol`. `Human` asks at the terminal.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from . import actions, protocol
from .clock import Question
from .process import Fault, Limits, Process
from .rules import Rules

STARTUP_SECONDS = 20.0
GOODBYE_SECONDS = 1.0  # for a program to end of itself
MAX_REFUSED = 100  # lines that change nothing, between two answers: more is a flood


class SingleAgent:
    """Asks a player with `act(observation, mask, info)`, and `reset(seed)` if it has one, table by table.

    `observation` is `(C, 34) uint8`, `mask` `(76,) int8`, `info` holds `legal`, the ids of the legal actions.
    """

    def __init__(self, player: Any) -> None:
        self.player = player
        self.name = type(player).__name__

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        chosen = [
            self.player.act(observation, mask, {"legal": np.flatnonzero(mask).tolist()})
            for observation, mask in zip(observations, masks, strict=True)
        ]
        return np.asarray(chosen)

    def reset(self, seed: int) -> None:
        if callable(getattr(self.player, "reset", None)):
            self.player.reset(seed)


class ProcessAgent:
    """The agent `cmd:program args`: a program that speaks the protocol. It plays at tables, one process a seat."""

    def __init__(self, command: str) -> None:
        self.name = f"cmd:{command}"
        try:
            self.command = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"the command {command!r} cannot be read: {error}") from None
        if not self.command:
            raise ValueError("cmd: wants a program and its arguments, such as cmd:python bot.py")
        if shutil.which(self.command[0]) is None:
            raise ValueError(f"there is no program {self.command[0]!r}")

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        raise ValueError(f"{self.name} is a process: it plays at tables, with events, and cannot be asked for an action alone")

    def reset(self, seed: int) -> None:
        """A program has its own randomness."""


class ProcessBot:
    """One copy of a program at a table. Nothing here waits: the referee asks when there is something to read.

    `faults` counts by cause what it has done wrong; `seconds` and `questions` what it has used.
    """

    def __init__(
        self,
        agent: ProcessAgent,
        rules: Rules,
        *,
        startup: float = STARTUP_SECONDS,
        limits: Limits | None = None,
        stderr: Path | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.agent, self.rules = agent, rules
        self._startup, self._limits, self._stderr, self._now = startup, limits, stderr, now
        self.name: str | None = None  # as it calls itself, from its first `ready` on
        self.process: Process | None = None
        self.is_ready = False
        self.reset_use()
        self.wants_back = False  # it has asked for hosting to end
        self.hands_left = 0  # hands in a row that it has left
        self._start_by = 0.0
        self._log: list[bytes] = []  # what it has been told of this hand
        self._untold = 0  # from here on not yet sent
        self._number = 0  # of the last question; its own count, which tells nothing of other seats
        self._open: tuple[int, list[int]] | None = None  # the question open and its legal actions
        self._refused = 0

    # --- its process ---

    def start(self) -> None:
        """Start the program, or start it anew; `is_ready` once it has answered the greeting."""
        self.stop()
        self.process = Process(self.agent.command, self._limits, self._stderr)
        self._start_by = self._now() + self._startup
        self._untold = self._refused = 0
        self._open = None
        with suppress(Fault):  # a program that is gone already is noticed by its end of output
            self.process.send(protocol.hello(self.rules, self._startup))

    def stop(self, grace: float = 0.0) -> None:
        """End the program and all it has started."""
        if self.process is not None:
            if grace > 0:
                with suppress(Fault):
                    self.process.send(protocol.line({"type": "bye"}))
            self.process.close(grace)
        self.process, self.is_ready = None, False

    @property
    def start_by(self) -> float:
        """When a program that is being started must be ready."""
        return self._start_by

    def fail(self, cause: str) -> None:
        """It has done what ends its connection: count it, end the process."""
        process = self.process
        self.stop()
        if cause == "exit" and process is not None and process.cause in ("memory", "processes"):
            cause = process.cause  # its keeper knows better
        self.faults[cause] += 1

    # --- telling ---

    def begin_hand(self, seat: int) -> None:
        """A new hand in which it has this seat."""
        self._log = [protocol.line({"type": "hand", "seat": seat})]
        self._untold = 0
        self._open = None

    def tell(self, line: bytes) -> None:
        """Something its seat sees. It is sent with the next question, or by `flush`."""
        self._log.append(line)

    def flush(self) -> None:
        """Send what it has not been told yet. Fault when its connection is over."""
        if self.process is not None and self._untold < len(self._log):
            told, self._untold = self._log[self._untold :], len(self._log)
            self.process.send(b"".join(told))

    def ask(self, question: Question, legal: list[int], seconds: float) -> None:
        """Put a question, or, after a restart, put it again. Fault when its connection is over."""
        self._number += 1
        self._open = self._number, legal
        if self.process is not None:
            told, self._untold = self._log[self._untold :], len(self._log)
            self.process.send(b"".join(told) + protocol.ask(self._number, question, legal, seconds))

    def withdraw(self) -> bool:
        """The question is no longer open. Whether one was."""
        was_open, self._open = self._open is not None, None
        self._refused = 0
        return was_open

    # --- listening ---

    def receive(self) -> int | None:
        """Read what it has written; the action with which it answers the open question, if it does.

        `is_ready` and `wants_back` are set as it says. Fault when its connection is over.
        """
        assert self.process is not None
        action = None
        for line in self.process.receive():
            try:
                message = protocol.read(line)
                if not self.is_ready:
                    name = protocol.bot_name(message)
                    if name is None:
                        raise protocol.Refused("garbage")
                    self.name, self.is_ready = name, True
                elif message.get("type") == "resume":
                    self.wants_back = True
                else:
                    number, legal = self._open or (None, [])
                    action = protocol.answered_action(message, number, legal)
                    self.withdraw()
            except protocol.Refused as refused:
                self._refuse(refused.cause)
        return action

    def _refuse(self, cause: str) -> None:
        self.faults[cause] += 1
        self._refused += 1
        if self._refused > MAX_REFUSED:
            raise Fault("flood")
        assert self.process is not None
        self.process.send(protocol.line({"type": "refused", "cause": cause}))

    def reset_use(self) -> None:
        """Count questions, seconds and faults from 0."""
        self.faults: Counter[str] = Counter()
        self.questions, self.seconds, self.longest = 0, 0.0, 0.0

    def used(self, seconds: float) -> None:
        """Note the time of one answer."""
        self.questions += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)


class Human:
    """A person at the terminal: the table as his seat sees it, the legal actions by number and name."""

    name = "human"

    def __init__(self, draw: Callable[[np.ndarray, np.ndarray], str], read: Callable[[str], str] = input) -> None:
        self._draw, self._read = draw, read  # draw: the table as text, from an observation and its mask

    def reset(self, seed: int) -> None:
        """A person has his own randomness."""

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return np.array([self._choose(*table) for table in zip(observations, masks, strict=True)])

    def _choose(self, observation: np.ndarray, mask: np.ndarray) -> int:
        legal = np.flatnonzero(mask).tolist()
        print(f"\n{self._draw(observation, mask)}\n{_menu(legal)}")
        while True:
            try:
                text = self._read("your action (name or number): ").strip()
            except EOFError:
                raise ValueError("the input has ended before the game") from None
            with suppress(ValueError):
                action = int(text) if text.isdecimal() else actions.parse(text)
                if action in legal:
                    return action
            print(f"{text!r} is not among {', '.join(map(actions.name, legal))}")


def _menu(legal: Sequence[int]) -> str:
    return "  ".join(f"{action}: {actions.name(action)}" for action in legal)
