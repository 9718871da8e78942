"""The clock of a table (R10): turns, claims, hosting, lost connections and leaving, as a state machine without a clock.

Every method is told what time it is, in seconds of any clock that never goes back; nothing here waits, so a test can
drive it. `Clock` knows seats and questions, no tiles: what the table plays for a seat is `table_action`.

A driver asks (`ask`), hands in answers (`answer`), and calls `advance` at `due()`: it gets back, in order, what has
fallen due meanwhile: seats for which the table must play, seats that have left.

Readings taken where R10 leaves one open:

* each question of a turn (after a gang's replacement draw too) has the whole time of a turn;
* the turn that puts a seat under hosting is already played as under hosting (R10.3), so a legal hu is taken;
* connections lost again and again while one question is open share the 90 s, or a table could be held up for ever; a
  connection lost while nothing is asked, or later, has the whole 90 s;
* a hosted seat keeps nobody waiting, but one whose connection is lost has still left after 90 s;
* an answer at the very moment of the limit is in time; so is a return.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from .actions import GANG, HU, PASS


class Question(Enum):
    """What a seat is asked: `TURN` is R10.1's, the other two are R10.2's."""

    TURN = "turn"
    CLAIM = "claim"
    STAKE = "stake"


@dataclass(frozen=True)
class Times:
    """The limits of R10 in seconds, `math.inf` for none. ValueError names a field that is no positive number.

    >>> Times(turn=5).turn, Times.untimed().claim
    (5, inf)
    """

    turn: float = 20.0  # R10.1
    short_turn: float = 10.0  # R10.1: the turn after one that ran out
    claim: float = 10.0  # R10.2: claims and stakes
    away: float = 90.0  # R10.5: a lost connection

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ValueError(f"{f.name} must be a number of seconds above 0, not {value!r}")

    @classmethod
    def untimed(cls, away: float = 90.0) -> Times:
        """No clock: a question is open until it is answered or the connection is lost."""
        return cls(math.inf, math.inf, math.inf, away)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Times:
        """From field names and seconds, what is left out being the default; unknown names raise ValueError."""
        known = [f.name for f in fields(cls)]
        for name in mapping:
            if name not in known:
                raise ValueError(f"no time {name!r}; there are {', '.join(known)}")
        return cls(**mapping)

    def of(self, question: Question, short: bool) -> float:
        """The seconds that a question is open."""
        if question is not Question.TURN:
            return self.claim
        return self.short_turn if short else self.turn


@dataclass(frozen=True)
class Expired:
    """The time of a seat's question is over, or the seat is hosted: the table plays for it (`table_action`)."""

    seat: int
    question: Question
    hosted: bool  # by R10.3, else by R10.4 and R10.2
    at: float  # when it fell due


@dataclass(frozen=True)
class Left:
    """A seat has left (R10.5): its connection was lost for too long. By the button it is `Clock.leave`."""

    seat: int
    at: float


@dataclass
class _Seat:
    short: bool = False  # the next turn is a short one (R10.1)
    hosted: bool = False
    left: bool = False
    question: Question | None = None
    remaining: float = 0.0  # of the open question, at `since`
    since: float = 0.0  # when `remaining` was noted
    lost_at: float | None = None  # the connection is lost since then
    away: float = 0.0  # time the connection was lost while the open question was asked, earlier losses


class Clock:
    """R10.1 to R10.5 for the seats of one table. Times are seconds; every method takes the present one as `now`."""

    def __init__(self, num_players: int, times: Times | None = None) -> None:
        self.times = times or Times()
        self._seats = [_Seat() for _ in range(num_players)]

    # --- who sits there ---

    def sit(self, seat: int) -> None:
        """Another player takes the seat: nothing is remembered of the one before."""
        self._seats[seat] = _Seat()

    def restore(self, seat: int, short: bool, hosted: bool) -> None:
        """Go on as a record tells: whether the seat's next turn is a short one, and whether it is hosted (R10.1)."""
        self._seats[seat].short, self._seats[seat].hosted = short, hosted

    # --- questions ---

    def ask(self, seat: int, question: Question, now: float) -> None:
        """A question is put to a seat that has none open."""
        s = self._seats[seat]
        if s.question is not None or s.left:
            raise ValueError(f"seat {seat} {'has left' if s.left else 'has a question open'}")
        s.question, s.remaining, s.since = question, self.times.of(question, s.short), now

    def answer(self, seat: int, now: float) -> bool:
        """An answer has come. False, and nothing changes, when no question is open or its time was over before."""
        s = self._seats[seat]
        if s.question is None or now > self._question_due(s):
            return False
        if s.question is Question.TURN:
            s.short = False
        self._close(s)
        return True

    def withdraw(self, seat: int) -> None:
        """The open question, if any, has no more to be answered: the hand has ended."""
        self._close(self._seats[seat])

    def remaining(self, seat: int, now: float) -> float | None:
        """What is left for the open question, None when none is; it stands still while the connection is lost."""
        s = self._seats[seat]
        if s.question is None:
            return None
        return s.remaining if s.lost_at is not None else max(0.0, s.remaining - (now - s.since))

    # --- the course of time ---

    def due(self) -> float:
        """When `advance` will next have something to tell; `math.inf` when nothing is awaited."""
        return min((min(self._question_due(s), self._away_due(s)) for s in self._seats), default=math.inf)

    def advance(self, now: float) -> list[Expired | Left]:
        """What has fallen due until `now`, in the order of its time, then of seats.

        It ends with the moment at which somebody leaves, for that ends the hand: seats that leave at that very moment
        are told together, nothing later is.
        """
        happened: list[Expired | Left] = []
        while (at := self.due()) < now or (at == now and self._is_hosted_question(at)):
            for seat, s in enumerate(self._seats):
                if self._away_due(s) == at:
                    self.leave(seat)
                    happened.append(Left(seat, at))
                elif self._question_due(s) == at:
                    happened.append(self._expire(seat, at))
            if any(isinstance(event, Left) for event in happened):
                break
        return happened

    def _is_hosted_question(self, at: float) -> bool:
        """A hosted seat's question is due at the moment it is asked; a limit has passed only after its moment."""
        return any(s.hosted and self._question_due(s) == at for s in self._seats)

    def _expire(self, seat: int, at: float) -> Expired:
        s = self._seats[seat]
        question = s.question
        assert question is not None
        if question is Question.TURN and not s.hosted:
            s.hosted = s.short  # R10.1: the second time in a row
            s.short = True
        self._close(s)
        return Expired(seat, question, s.hosted, at)

    # --- hosting, connections, leaving ---

    def is_hosted(self, seat: int) -> bool:
        return self._seats[seat].hosted

    def is_short(self, seat: int) -> bool:
        """Whether the seat's next turn is a short one."""
        return self._seats[seat].short

    def is_away(self, seat: int) -> bool:
        """Whether the seat's connection is lost."""
        return self._seats[seat].lost_at is not None

    def has_left(self, seat: int) -> bool:
        return self._seats[seat].left

    def cancel_hosting(self, seat: int) -> None:
        """The player takes over again; he has a whole turn's time (R10.1)."""
        s = self._seats[seat]
        if s.hosted:
            s.hosted = s.short = False
            if s.question is not None:
                s.remaining = self.times.of(s.question, s.short)

    def lose(self, seat: int, now: float) -> None:
        """The connection is lost: what is left of an open question's time stands still (R10.5)."""
        s = self._seats[seat]
        if s.lost_at is not None or s.left:
            return
        if s.question is None:
            s.away = 0.0
        else:
            s.remaining = max(0.0, s.remaining - (now - s.since))
        s.lost_at = now

    def regain(self, seat: int, now: float) -> bool:
        """The connection is back. False when it was too late: the seat has left, or will have by `advance`."""
        s = self._seats[seat]
        if s.left or now > self._away_due(s):
            return False
        if s.lost_at is not None:
            s.away += now - s.lost_at
            s.lost_at, s.since = None, now
        return True

    def leave(self, seat: int) -> bool:
        """The player leaves by the button. False when he had left before, so that nobody is charged twice."""
        s = self._seats[seat]
        if s.left:
            return False
        self._close(s)
        s.left, s.lost_at = True, None
        return True

    # --- parts ---

    def _close(self, s: _Seat) -> None:
        s.question, s.away = None, 0.0

    def _question_due(self, s: _Seat) -> float:
        if s.question is None:
            return math.inf
        if s.hosted:
            return s.since
        return math.inf if s.lost_at is not None else s.since + s.remaining

    def _away_due(self, s: _Seat) -> float:
        return math.inf if s.lost_at is None else s.lost_at + max(0.0, self.times.away - s.away)


def table_action(legal: Sequence[int], drawn: int | None, hosted: bool) -> int:
    """What the table plays for a seat whose time is over (R10.2, R10.4) or that is hosted (R10.3).

    `legal`: the seat's legal actions; `drawn`: the kind it has just drawn, None when it has not.

    >>> table_action([3, 8, 73], 3, hosted=False), table_action([3, 8, 73], 3, hosted=True), table_action([3, 8], None, False)
    (3, 73, 8)
    """
    if hosted and HU in legal:
        return HU
    if PASS in legal:
        return PASS
    discards = [action for action in legal if action < GANG]
    return drawn if drawn is not None and drawn in discards else max(discards)
