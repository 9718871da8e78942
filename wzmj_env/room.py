"""A room: deals played hand by hand under a referee, by programs that keep running from hand to hand.

Deal d is hand 0 of game d under the seed, the same as everywhere (see `engine.seed_game`). A program has one process for
each seat that its agent may have at one table. Agents of this process are given a seed for each table: a function of
(seed, deal, seating) and their place in the list. Built-in ones among themselves play what compiled loops play.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from . import engine
from ._jit import njit
from .batch import VectorEnv
from .bots import GOODBYE_SECONDS, STARTUP_SECONDS, ProcessAgent, ProcessBot
from .game import Game
from .process import Limits
from .record import Recorder
from .referee import Played, Referee
from .rules import Rules


@njit
def own_stream(s, seating):
    """Give this table's players a stream that no other seating of the deal has."""
    s.policy = engine.mix(s.policy + np.uint64(seating))


@njit
def _set_stream(states, stream, seating):
    states[0].policy = stream
    own_stream(states[0], seating)


class Hand(NamedTuple):
    """One hand played: number `deal` in seating `seating`."""

    deal: int
    seating: int
    game: Game
    played: Played


class Room:
    """Plays deals between `agents`. Closing it ends all programs; it is a context.

    `goodbye`: seconds that a program has to end of itself. `errors`: a folder for what programs write on standard error,
    a file for each.
    """

    def __init__(
        self,
        agents: Sequence[Any],
        rules: Rules,
        referee: Referee | None = None,
        *,
        startup: float = STARTUP_SECONDS,
        limits: Limits | None = None,
        goodbye: float = GOODBYE_SECONDS,
        errors: Path | None = None,
    ) -> None:
        self.agents, self.rules = agents, rules
        self.referee = referee or Referee()
        self._bots: dict[tuple[int, int], ProcessBot] = {}  # by place in `agents` and copy
        self._make_bot = partial(ProcessBot, rules=rules, startup=startup, limits=limits)
        self._goodbye, self._errors = goodbye, errors

    def play(self, seating: np.ndarray, first: int, last: int, seed: int, recorder: Recorder | None = None) -> Iterator[Hand]:
        """Deals first .. last - 1 in each seating; `seating[r, p]` is the place in `agents` of seat p's agent."""
        deals = VectorEnv(last - first, self.rules, seed=seed, observe=False, games=range(first, last))
        walls, dealers, streams = (deals.states[name].copy() for name in ("wall", "dealer", "policy"))
        deals.close()
        for d in range(last - first):
            for r, row in enumerate(seating.tolist()):
                game = Game(self.rules, seed=seed, wall=walls[d], dealer=int(dealers[d]))
                _set_stream(game._raw, streams[d], r)
                yield Hand(first + d, r, game, self.play_hand(game, row, (seed, first + d, r), recorder))

    def play_hand(self, game: Game, row: Sequence[int], seed: Sequence[int], recorder: Recorder | None = None) -> Played:
        """One game; `row[p]` is the place in `agents` of seat p's agent."""
        seats: list[Any] = []
        for p, number in enumerate(row):
            agent = self.agents[number]
            if isinstance(agent, ProcessAgent):
                seats.append(self._bot(number, row[:p].count(number)))
            else:
                seats.append(agent)
        for number in set(row):
            if not isinstance(self.agents[number], ProcessAgent):
                self.agents[number].reset(int(np.random.SeedSequence([*seed, number]).generate_state(1)[0]))
        if recorder is None:
            return self.referee.play(game, seats)
        recorder.begin(game, [self.agents[number].name for number in row])
        played = self.referee.play(game, seats, recorder.step)
        if played.left:
            recorder.leave(*played.left)
        return played

    def _bot(self, number: int, copy: int) -> ProcessBot:
        key = number, copy
        if key not in self._bots:
            errors = None if self._errors is None else self._errors / f"agent-{number}-{copy}.txt"
            self._bots[key] = self._make_bot(self.agents[number], stderr=errors)
        return self._bots[key]

    @property
    def bots(self) -> dict[tuple[int, int], ProcessBot]:
        """The programs that have been started, by the place in `agents` and the number of the copy."""
        return dict(self._bots)

    def reset_use(self) -> None:
        """Count questions, seconds and faults of all programs from 0."""
        for bot in self._bots.values():
            bot.reset_use()

    def close(self) -> None:
        """End all programs."""
        for bot in self._bots.values():
            bot.stop(self._goodbye)

    def __enter__(self) -> Room:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
