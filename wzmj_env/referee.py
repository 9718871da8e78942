"""The referee: one hand between players of any make, under the clock of R10.

A seat is held by an agent of this process, which is asked and waited for, or by a `ProcessBot`, which is held to the clock.
All who may answer a tile are asked at once (R5.4); events reach a bot with its next question, so that it cannot tell by
the time of a line who is being asked. A bot whose connection is lost (R10.7) is started again and told the hand anew as
its seat saw it, as long as its restarts and R10.5 allow; after that it has left (R10.6).

Time is that of a monotonic clock. What a bot has answered by the time the referee looks is in time: the referee's own
delays are not the bot's.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import protocol
from .actions import NUM_ACTIONS
from .bots import ProcessBot
from .clock import Clock, Expired, Left, Question, Times, table_action
from .events import Follower, Seen
from .game import Game, IllegalActionError
from .process import Fault
from .scoring import leaving_payments
from .specs import BuiltIn
from .state import CLAIM, NOTHING, STAKES_ASKED

RESTARTS = 3  # of a bot in one hand
MAX_LEFT = 2  # hands in a row that a bot has left: it is not started again
MILLISECONDS = 1000
TIMEOUT, HOSTING = "timeout", "hosting"  # who chose in a player's place

Step = Callable[[int, str | None], Any]


@dataclass
class Played:
    """How a hand went. `left`: the seats that have left it; then `payments` (points) and `house` are those of R10.6."""

    left: tuple[int, ...] = ()
    payments: list[int] = field(default_factory=list)
    house: int = 0


class _Ended(Exception):
    """Seats have left: the hand ends."""

    def __init__(self, seats: Sequence[int]) -> None:
        self.seats = tuple(seats)


class Referee:
    """Plays hands, one after another. Times are seconds.

    `restarts`: how often a bot may be started again in one hand. `patience`: where there is no clock, how long a bot may
    be silent before it has left.
    """

    def __init__(
        self,
        times: Times | None = None,
        *,
        restarts: int = RESTARTS,
        patience: float = math.inf,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.times = times or Times()
        self.restarts, self.patience = restarts, patience
        self._now = now

    def play(self, game: Game, seats: Sequence[Any], step: Step | None = None) -> Played:
        """Play a game to its end; `seats[p]`, an agent or a `ProcessBot`, holds seat p.

        `step` moves the game in place of `Game.step`, a recorder's say: it gets each action and who chose it in the player's
        place, None, `timeout` or `hosting`. `IllegalActionError` for an agent of this process that answers nonsense.
        """
        hand = _Hand(self, game, seats, step)
        return hand.play()


class _Hand:
    def __init__(self, referee: Referee, game: Game, seats: Sequence[Any], step: Step | None) -> None:
        self.game, self.seats, self.step = game, seats, step
        self.bots = {p: bot for p, bot in enumerate(seats) if isinstance(bot, ProcessBot)}
        self.clock = Clock(len(seats), referee.times)
        self.restarts = dict.fromkeys(self.bots, referee.restarts)
        self.patience, self.now = referee.patience, referee._now
        self.question = Question.TURN
        self.asked: dict[int, list[int]] = {}
        self.waiting: dict[int, float] = {}  # bots that owe an answer, and when they were asked
        self.answers: dict[int, tuple[int, str | None]] = {}
        self.poll, self.seat_of = select.poll(), dict[int, int]()
        self.polled: list[Any] = []  # the processes that `poll` was made for

    def play(self) -> Played:
        if not self.bots:
            return self.play_without_bots()
        follower = Follower(self.game)
        try:
            self.begin()
            self.tell(follower.opening())
            while not self.game.done:
                self.ask(self.game.asked())
                for seat in self.asked:
                    action, by = self.answers[seat]
                    self.tell(follower.step(action, self.move(by)))
            played = self.settled()
        except _Ended as ended:
            played = self.end_unplayed(ended.seats)
        for seat, bot in self.bots.items():
            bot.hands_left = bot.hands_left + 1 if seat in played.left else 0
            if bot.is_ready:
                self.guarded(seat, bot.flush)
        return played

    def play_without_bots(self) -> Played:
        """One question after another: nobody is kept waiting, nobody has to be told."""
        game, move = self.game, self.move(None) or self.game.step
        while not game.done:
            seat = game.current_player
            agent = self.seats[seat]
            if isinstance(agent, BuiltIn):
                move(agent.choose(game._raw))
            else:
                move(self.local_answer(seat, game.legal_actions()))
        return self.settled()

    def settled(self) -> Played:
        return Played(payments=self.game._raw["payments"][0, : self.game.num_players].tolist())

    def move(self, by: str | None) -> Callable[[int], Any] | None:
        """What moves the game, None for the game itself."""
        step = self.step
        return None if step is None else lambda action: step(action, by)

    def begin(self) -> None:
        """All bots are running, or their connections are lost."""
        for seat, bot in self.bots.items():
            bot.begin_hand(seat)
        out = [seat for seat, bot in self.bots.items() if bot.hands_left >= MAX_LEFT]
        if out:
            raise _Ended(out)
        for bot in self.bots.values():
            if not bot.is_ready:
                bot.start()
        while starting := [bot for bot in self.bots.values() if bot.process is not None and not bot.is_ready]:
            self.listen(min(bot.start_by for bot in starting))
            self.end_slow_starts()

    def end_unplayed(self, leavers: Sequence[int]) -> Played:
        """R10.6."""
        payments, house = leaving_payments(self.game.rules, self.game.setup["ladder"], *leavers)
        line = protocol.line({"type": "left", "seats": list(leavers), "payments": payments.tolist()})
        for seat, bot in self.bots.items():
            bot.withdraw()
            bot.tell(line)
            if seat in leavers:
                bot.faults["left"] += 1
                bot.stop()
        return Played(tuple(leavers), payments.tolist(), house)

    def tell(self, seen: list[Seen]) -> None:
        for one in seen:
            line = None
            for seat, bot in self.bots.items():
                if seat == one.owner:
                    if one.own is not None:
                        bot.tell(protocol.line(one.own))
                elif one.event is not None:
                    line = line or protocol.line(one.event)
                    bot.tell(line)

    # --- a question ---

    def ask(self, asked: dict[int, list[int]]) -> None:
        """Put a question to all who are asked; then `answers` holds what each chooses and who chose in its place."""
        phase = self.game.phase
        self.question = Question.STAKE if phase == STAKES_ASKED else Question.CLAIM if phase >= CLAIM else Question.TURN
        self.asked, self.answers = asked, {}
        for seat in asked:
            if seat in self.bots:
                self.waiting[seat] = self.now()
                self.clock.ask(seat, self.question, self.waiting[seat])
                if not self.clock.is_hosted(seat):
                    self.put(seat)
        for seat, legal in asked.items():
            if seat not in self.bots:
                self.answers[seat] = self.local_answer(seat, legal), None
        if self.waiting:
            self.wait()

    def put(self, seat: int) -> None:
        """Send the open question; a bot that is away gets it when it is back."""
        if not self.clock.is_away(seat):
            remaining = self.clock.remaining(seat, self.now())
            assert remaining is not None
            self.guarded(seat, lambda: self.bots[seat].ask(self.question, self.asked[seat], remaining))

    def local_answer(self, seat: int, legal: list[int]) -> int:
        agent = self.seats[seat]
        mask = np.zeros(NUM_ACTIONS, np.int8)
        mask[legal] = 1
        answer = np.asarray(agent.act(self.game.observe(seat)[None], mask[None]))
        if answer.shape != (1,) or answer.dtype.kind not in "iu" or int(answer[0]) not in legal:
            raise IllegalActionError(f"agent {agent.name!r} gave the illegal action {answer.tolist()}; legal were {legal}")
        return int(answer[0])

    def wait(self) -> None:
        """Wait for the bots that owe an answer, as long as the clock allows. `_Ended` when seats leave."""
        silent = min(self.waiting.values()) + self.patience
        while self.waiting:
            leavers = self.bring_back()
            if not leavers:
                starts = [bot.start_by for bot in self.bots.values() if bot.process is not None and not bot.is_ready]
                self.listen(min(self.clock.due(), silent, *starts))
                if not self.waiting:
                    return
                self.end_slow_starts()
                now = self.now()
                leavers = self.expire(now)
                if now > silent:
                    for seat in self.waiting:
                        self.bots[seat].fail("silent")
                        leavers.append(seat)
            if leavers:
                for seat in leavers:
                    self.clock.leave(seat)
                raise _Ended(sorted(set(leavers)))

    def bring_back(self) -> list[int]:
        """Start the bots anew that are away; those that have used up their restarts have left."""
        gone = []
        for seat, bot in self.bots.items():
            if bot.process is None and not self.clock.has_left(seat):
                if self.restarts[seat] == 0:
                    gone.append(seat)
                else:
                    self.restarts[seat] -= 1
                    bot.faults["restart"] += 1
                    bot.start()
        return gone

    def expire(self, now: float) -> list[int]:
        """What has fallen due: the table plays, seats leave; the latter."""
        leavers = []
        for event in self.clock.advance(now):
            if isinstance(event, Left):
                leavers.append(event.seat)
            else:
                self.play_for(event)
        return leavers

    def play_for(self, event: Expired) -> None:
        """The table plays for a seat (R10.2, R10.3, R10.4)."""
        seat, bot = event.seat, self.bots[event.seat]
        was_asked = bot.withdraw()
        if was_asked:
            bot.faults[TIMEOUT if event.question is Question.TURN else f"{event.question.value} {TIMEOUT}"] += 1
            if event.hosted:
                bot.faults["hosted"] += 1
                bot.tell(protocol.line({"type": "hosting"}))
                self.guarded(seat, bot.flush)
        drawn = int(self.game._states[0].drawn)
        action = table_action(self.asked[seat], None if drawn == NOTHING else drawn, event.hosted)
        self.answers[seat] = action, HOSTING if event.hosted else TIMEOUT
        del self.waiting[seat]

    # --- connections ---

    def guarded(self, seat: int, talk: Callable[[], Any]) -> Any:
        """Talk to a bot; what ends its connection is a lost connection (R10.7)."""
        try:
            return talk()
        except Fault as fault:
            self.bots[seat].fail(fault.cause)
            self.clock.lose(seat, self.now())
            return None

    def end_slow_starts(self) -> None:
        for seat, bot in self.bots.items():
            if bot.process is None:
                self.clock.lose(seat, self.now())
            elif not bot.is_ready and self.now() > bot.start_by:
                bot.fail("start")
                self.clock.lose(seat, self.now())

    def listen(self, until: float) -> None:
        """Wait until a bot writes or can be written to, at most until then; take what bots have said."""
        processes = [bot.process for bot in self.bots.values()]
        behind = any(process is not None and process.is_behind for process in processes)
        if behind or processes != self.polled:
            self.watch()
            self.polled = [] if behind else processes
        timeout = None if math.isinf(until) else max(0, math.ceil((until - self.now()) * MILLISECONDS))
        for descriptor, _ in self.poll.poll(timeout):
            seat = self.seat_of[descriptor]
            process = self.bots[seat].process
            if process is not None:
                self.guarded(seat, partial(self.hear, seat) if descriptor == process.fileno() else process.flush)

    def watch(self) -> None:
        """Renew what is polled: the output of every bot, and the input of those that have left something unread."""
        self.poll, self.seat_of = select.poll(), {}
        for seat, bot in self.bots.items():
            if bot.process is not None:
                self.seat_of[bot.process.fileno()] = seat
                self.poll.register(bot.process.fileno(), select.POLLIN)
                if bot.process.is_behind:
                    self.seat_of[bot.process.input_fileno()] = seat
                    self.poll.register(bot.process.input_fileno(), select.POLLOUT)

    def hear(self, seat: int) -> None:
        """Take what a bot has said."""
        bot = self.bots[seat]
        was_ready = bot.is_ready
        action = bot.receive()
        if bot.is_ready and not was_ready and self.clock.is_away(seat) and self.clock.regain(seat, self.now()):
            if seat in self.waiting:
                self.put(seat)
        if bot.wants_back:
            bot.wants_back = False
            if self.clock.is_hosted(seat):
                self.clock.cancel_hosting(seat)
                if seat in self.waiting:
                    self.put(seat)
        if action is not None:
            begun = self.waiting.pop(seat)
            self.clock.answer(seat, begun)  # it lay there when the referee looked: in time
            bot.used(self.now() - begun)
            self.answers[seat] = action, None
