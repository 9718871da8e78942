"""One table at which people and agents play a match, as a state machine: no web, no waiting, no clock of its own.

A driver says what time it is with everything it tells the table (seconds of any clock that never goes back), calls
`advance` at `due()`, and shows each viewer its `view`, which is a function of what that viewer may know. The seats are
held to R10 (`wzmj_env.clock`) alike, whoever sits there. What is played is written as a record as it goes.

    open      people take seats and press start; when all seats are filled and all people ready, the match begins
    playing   a hand is played; questions are open
    settled   between two hands: until all people there press continue, or the pause is over
    over      the match is played out, or somebody has left (R10.6)

Readings taken where R10 leaves one open: who leaves between two hands leaves the one that comes next, and pays for it; who
leaves before the match or after its last hand pays nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .actions import GANG, NUM_ACTIONS
from .checks import check_flag, check_int, check_name
from .clock import Clock, Expired, Left, Question, Times, table_action
from .events import Event, Follower, Seen
from .game import MAX_SEED, Game, hand_wall
from .record import Record, Recorder
from .rules import Rules
from .scene import SPECTATOR
from .scoring import leaving_payments
from .settlement import settlement
from .state import CLAIM, NOTHING, STAKES_ASKED

OPEN, PLAYING, SETTLED, OVER = "open", "playing", "settled", "over"
UNITS = 5  # R8.1: the entry has five
MAX_ENTRY = UNITS * 1_000_000
MAX_HANDS = 100
PAUSE = 20.0  # seconds between hands
SHOWN_EVENTS = 8  # the last ones, shown to a viewer
TIMEOUT, HOSTING = "timeout", "hosting"  # who chose in a player's place


class Refused(ValueError):
    """Something that the table does not do, in words that can be shown."""


@dataclass(frozen=True)
class Plan:
    """What a table is for. ValueError names what cannot be.

    `agents` has the spec of an agent for each seat, None where a person plays.
    """

    rules: Rules
    agents: tuple[str | None, ...]
    hands: int = 8

    def __post_init__(self) -> None:
        check_int(self.hands, "hands", 1, MAX_HANDS)
        if len(self.agents) != self.rules.num_players:
            raise ValueError(f"agents must be {self.rules.num_players}, one for each seat")
        for spec in self.agents:
            if spec is not None:
                check_name(spec, "an agent's spec")

    @property
    def entry(self) -> int:
        """Points that a seat stakes (R8.1)."""
        return self.rules.unit * UNITS


def unit_of(entry: Any) -> int:
    """The unit of a room with that entry, a fifth of it (R8.1). ValueError for what is not divisible by 5.

    >>> unit_of(50)
    10
    """
    entry = check_int(entry, "entry", UNITS, MAX_ENTRY)
    if entry % UNITS:
        raise ValueError(f"entry must be divisible by {UNITS}, not {entry}")
    return entry // UNITS


@dataclass
class Asked:
    """An open question."""

    number: str  # its id; a seat's own count, which tells nothing of other seats
    kind: Question
    legal: list[int]


@dataclass
class Seat:
    """Who holds a seat."""

    agent: str | None  # spec; None: a person
    name: str = ""  # "" while nobody has taken it
    ready: bool = False  # to begin, or to go on
    questions: int = 0  # put to it in this hand
    asked: Asked | None = None
    answer: tuple[int, str | None] | None = None  # action, who chose in its place
    chosen: dict[str, int] = field(default_factory=dict)  # answers taken in this hand, by question


class Table:
    """See the module. `path`: where its record is written; `seed`: of the walls, kept from all who play."""

    def __init__(
        self,
        plan: Plan,
        path: Path,
        *,
        seed: int,
        name: str = "",
        times: Times | None = None,
        pause: float = PAUSE,
    ) -> None:
        self.plan, self.path, self.name = plan, path, name
        self.rules = plan.rules
        self.seed = check_int(seed, "seed", 0, MAX_SEED)
        self.clock = Clock(self.rules.num_players, times)
        self.pause = pause
        self.phase = OPEN
        self.seats = [Seat(agent, agent or "") for agent in plan.agents]
        self.scores = [0] * self.rules.num_players  # points
        self.house = 0  # points it has got from those who left
        self.played: list[dict[str, Any]] = []  # how each hand ended, as viewers see it
        self.left: tuple[int, ...] = ()
        self.game: Game | None = None
        self.seen: list[Seen] = []  # of the hand being played
        self._carry: dict[str, Any] = {}  # what the next hand begins with
        self._recorder: Recorder | None = None
        self._follower: Follower | None = None
        self._pause_until = math.inf

    # --- before the match ---

    def sit(self, seat: int, name: str, now: float) -> None:
        """A person takes a seat that is free. Its connection counts as lost until `regain`."""
        seat = check_int(seat, "seat", 0, len(self.seats) - 1)
        s = self.seats[seat]
        if self.phase != OPEN or s.agent is not None or s.name:
            raise Refused("this seat is taken")
        s.name, s.ready = name, False
        self.clock.sit(seat)
        self.clock.lose(seat, now)

    def press(self, seat: int, now: float) -> None:
        """A person presses start, or continue after a settlement."""
        self.advance(now)
        if self.phase not in (OPEN, SETTLED) or not self.seats[seat].name:
            raise Refused("there is nothing to start")
        self.seats[seat].ready = True
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Begin what all are ready for."""
        if self.phase == OPEN:
            if all(s.name and (s.agent is not None or s.ready) for s in self.seats):
                self._begin_match()
                self._begin_hand(now)
        elif self.phase == SETTLED:
            present = [s for p, s in enumerate(self.seats) if self._is_waited_for(p)]
            if present and all(s.ready for s in present):
                self._begin_hand(now)

    def _is_waited_for(self, seat: int) -> bool:
        return self.seats[seat].agent is None and not self.clock.is_hosted(seat) and not self.clock.is_away(seat)

    def _begin_match(self) -> None:
        about = {
            "table": self.name,
            "hands": self.plan.hands,
            "entry": self.plan.entry,
            "agents": list(self.plan.agents),
        }
        names = [s.name for s in self.seats]
        self._recorder = Recorder(self.path, self.rules, names, seed=self.seed, about=about, fsync=True)

    def _begin_hand(self, now: float) -> None:
        self._deal()
        self._ask(now)

    def _deal(self) -> None:
        assert self._recorder is not None
        number = len(self.played)
        self.game = Game(self.rules, seed=self.seed, wall=hand_wall(self.seed, number), **self._carry)
        self._recorder.begin(self.game, carried=number > 0)
        self._follow(self.game)

    def _follow(self, game: Game) -> None:
        self.phase = PLAYING
        self._pause_until = math.inf
        self.seen = Follower(game.begun()).opening()
        self._follower = Follower(game)
        for s in self.seats:
            s.asked = s.answer = None
            s.questions, s.chosen = 0, {}

    # --- questions ---

    def _ask(self, now: float) -> None:
        """Put the questions of the moment; those who may claim a tile are asked at once (R5.4)."""
        assert self.game is not None
        phase = self.game.phase
        kind = Question.STAKE if phase == STAKES_ASKED else Question.CLAIM if phase >= CLAIM else Question.TURN
        for seat, legal in self.game.asked().items():
            s = self.seats[seat]
            s.asked = Asked(self._number(s), kind, legal)
            s.questions += 1
            self.clock.ask(seat, kind, now)

    def _number(self, s: Seat) -> str:
        return f"{len(self.played)}-{s.questions}"

    def answer(self, seat: int, number: str, action: int, now: float) -> None:
        """A seat answers question `number`. `Refused` for one that is not open, or a choice that is not legal; the same
        answer again is no error and changes nothing."""
        self.advance(now)
        s = self.seats[seat]
        if isinstance(action, bool) or not isinstance(action, int):
            raise Refused("an action is a whole number")
        if s.chosen.get(number) == action:
            return
        if s.asked is None or s.asked.number != number:
            raise Refused("this question is not open")
        if action not in s.asked.legal:
            raise Refused("this action is not legal")
        if not self.clock.answer(seat, now):
            raise Refused("this question is not open")
        s.chosen[number] = action
        self._take(seat, action, None)
        self._play(now)

    def _take(self, seat: int, action: int, by: str | None) -> None:
        s = self.seats[seat]
        s.asked, s.answer = None, (action, by)

    def _play(self, now: float) -> None:
        """Play on when all questions of the moment are answered."""
        if any(s.asked is not None for s in self.seats):
            return
        game, recorder, follower = self.game, self._recorder, self._follower
        assert game is not None and recorder is not None and follower is not None
        for seat in list(game.asked()):
            answer = self.seats[seat].answer
            assert answer is not None
            action, by = answer
            self.seats[seat].answer = None
            self.seen += follower.step(action, lambda action, by=by: recorder.step(action, by))  # type: ignore[misc]
        if game.done:
            self._settle(now)
        else:
            self._ask(now)

    def _settle(self, now: float) -> None:
        assert self.game is not None
        self._count(self.game)
        for s in self.seats:
            s.ready = False
        if len(self.played) == self.plan.hands:
            self._end()
        else:
            self.phase, self._pause_until = SETTLED, now + self.pause

    def _count(self, game: Game) -> None:
        """Add a hand that is over to what was played."""
        result = game.result
        assert result is not None
        lines = settlement(game)
        end = {
            "hand": len(self.played),
            "dealer": game.setup["dealer"],
            "winner": result.winner,
            "loser": result.loser,
            "value": result.value,
            "patterns": [pattern.name for pattern in result.patterns],
            "left": [],
            **lines,
        }
        self._add(end, result.payments.tolist())
        self._carry = {name: getattr(result, f"next_{name}") for name in ("dealer", "ladder", "bought", "topped")}

    def _add(self, end: dict[str, Any], payments: list[int], house: int = 0) -> None:
        self.played.append(end)
        self.scores = [score + points for score, points in zip(self.scores, payments, strict=True)]
        self.house += house

    def _end(self) -> None:
        self.phase, self._pause_until = OVER, math.inf
        for seat, s in enumerate(self.seats):
            s.asked = s.answer = None
            self.clock.withdraw(seat)
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    # --- the course of time ---

    def due(self) -> float:
        """When `advance` will next have something to do; `math.inf` when nothing is awaited."""
        return math.inf if self.phase == OVER else min(self.clock.due(), self._pause_until)

    def advance(self, now: float) -> None:
        """Do what has fallen due: timeouts, hosted play, seats that have left, the end of a pause."""
        while self.phase != OVER:
            at = min(self.clock.due(), self._pause_until)
            if at > now:
                return
            if self._pause_until <= at:
                self._begin_hand(at)
                continue
            happened = self.clock.advance(min(now, math.nextafter(at, math.inf)))
            if not happened:
                return  # a limit has passed only after its moment
            leavers = [event.seat for event in happened if isinstance(event, Left)]
            if leavers:
                self._have_left(leavers)
                continue
            for event in happened:
                assert isinstance(event, Expired)
                self._play_for(event)
            self._play(at)

    def _play_for(self, event: Expired) -> None:
        """The table plays for a seat (R10.2, R10.3, R10.4)."""
        assert self.game is not None
        asked = self.seats[event.seat].asked
        assert asked is not None
        drawn = int(self.game._states[0].drawn)
        action = table_action(asked.legal, None if drawn == NOTHING else drawn, event.hosted)
        self._take(event.seat, action, HOSTING if event.hosted else TIMEOUT)

    # --- hosting, connections, leaving ---

    def cancel_hosting(self, seat: int, now: float) -> None:
        """The player takes over again (R10.1)."""
        self.advance(now)
        if self.clock.is_hosted(seat) and self._recorder is not None and self.phase in (PLAYING, SETTLED):
            self._recorder.note(hosting_cancelled=seat)
            self.clock.cancel_hosting(seat)

    def lose(self, seat: int, now: float) -> None:
        """The seat's connection is lost (R10.5)."""
        self.advance(now)
        if self.phase != OVER:
            self.clock.lose(seat, now)
            self._go_on(now)

    def regain(self, seat: int, now: float) -> bool:
        """The seat's connection is there, or back. False when it is too late: the seat has left."""
        self.advance(now)
        return self.clock.regain(seat, now) or self.phase == OVER

    def leave(self, seat: int, now: float) -> bool:
        """A person leaves by the button. False, and nothing is charged, when there is nothing to leave."""
        self.advance(now)
        if self.phase == OVER or not self.clock.leave(seat):
            return False
        self._have_left([seat])
        return True

    def _have_left(self, seats: Sequence[int]) -> None:
        if self.phase == OPEN:
            for seat in seats:
                self.seats[seat] = Seat(None)
                self.clock.sit(seat)
            return
        if self.phase == SETTLED:
            self._deal()
        assert self._recorder is not None
        self._recorder.leave(*seats)
        self._count_left(seats)
        self._end()

    def _count_left(self, seats: Sequence[int]) -> None:
        """R10.6."""
        assert self.game is not None
        setup = self.game.setup
        payments, house = leaving_payments(self.rules, setup["ladder"], *seats)
        self.left = tuple(sorted(seats))
        end = {"hand": len(self.played), "dealer": setup["dealer"], "winner": None, "loser": None, "value": 0, "patterns": [],
               "left": list(self.left), "wins": [], "caishen": [], "payments": payments.tolist(), "house": house}  # fmt: skip
        self._add(end, payments.tolist(), house)

    # --- what viewers see ---

    def view(self, viewer: int = SPECTATOR) -> dict[str, Any]:
        """What a seat, or a SPECTATOR, may see now, as plain values; the time that is left stands in `seconds`."""
        game = self.game
        view: dict[str, Any] = {
            "phase": self.phase,
            "viewer": None if viewer == SPECTATOR else viewer,
            "players": self.rules.num_players,
            "hands": self.plan.hands,
            "hand": len(self.played) if self.phase == PLAYING else max(0, len(self.played) - 1),
            "entry": self.plan.entry,
            "unit": self.rules.unit,
            "house": self.house,
            "seats": [self._seat_view(p) for p in range(len(self.seats))],
            "played": self.played[-1] if self.played else None,
            "totals": [end["payments"] for end in self.played],
            "scene": None,
            "question": None,
            "events": [],
        }
        if game is not None:
            scene = game.scene(viewer)
            if self.phase == PLAYING and game.phase >= CLAIM:  # all who may answer are asked at once: none stands out
                scene["mover"] = viewer if viewer != SPECTATOR and self.seats[viewer].asked is not None else None
            view["scene"] = scene
            state = game._states[0]
            view["stakes"] = {
                "ladder": self.rules.dealer_ladder[int(state.ladder)],
                "bought": bool(state.bought),
                "topped": [bool(t) for t in state.topped[: self.rules.num_players]],
            }
            view["events"] = [event for event in self.events(viewer) if event["type"] not in ("begin", "deal", "answer")][
                -SHOWN_EVENTS:
            ]
        asked = self.seats[viewer].asked if viewer != SPECTATOR else None
        if asked is not None and game is not None:
            view["question"] = {
                "id": asked.number,
                "kind": asked.kind.value,
                "legal": asked.legal,
                "forbidden": forbidden_tiles(game.scene(viewer), asked.legal) if asked.kind is Question.TURN else {},
            }
        return view

    def _seat_view(self, p: int) -> dict[str, Any]:
        s = self.seats[p]
        return {
            "name": s.name,
            "agent": s.agent is not None,
            "ready": s.ready,
            "away": s.name != "" and self.clock.is_away(p),
            "hosted": self.clock.is_hosted(p),
            "left": p in self.left,
            "score": self.scores[p],
        }

    def seconds(self, viewer: int, now: float) -> dict[str, float | None]:
        """Seconds that are left: for the viewer's own question, and of the pause."""
        remaining = None if viewer == SPECTATOR else self.clock.remaining(viewer, now)
        pause = None if math.isinf(self._pause_until) else max(0.0, self._pause_until - now)
        return {"question": None if remaining is None or math.isinf(remaining) else remaining, "pause": pause}

    def events(self, viewer: int) -> list[Event]:
        """What a viewer has seen of the hand, as `Game.events` has it but for `ask`."""
        return [event for one in self.seen if (event := one.by(viewer)) is not None]

    def observation(self, seat: int) -> tuple[np.ndarray, np.ndarray]:
        """What an agent in that seat is asked with: `(C, 34) uint8` and the mask of its open question, `(76,) int8`."""
        mask = np.zeros(NUM_ACTIONS, np.int8)
        asked = self.seats[seat].asked
        if self.game is None or asked is None:
            raise Refused("nothing is asked")
        mask[asked.legal] = 1
        return self.game.observe(seat), mask

    # --- restored ---

    @classmethod
    def restore(cls, path: Path, *, now: float, times: Times | None = None, pause: float = PAUSE) -> Table:
        """The table whose record stands at `path`, after its server was stopped. All connections of people are lost from
        `now` on; an open question has its whole time. RecordError when the record does not verify."""
        record = Record(path)
        hands = list(record)
        about = record.about
        agents = tuple(about["agents"])
        plan = Plan(record.rules, agents, check_int(about["hands"], "hands", 1, MAX_HANDS))
        if record.seed is None:
            raise ValueError(f"{path.name}: it is no record of a table")
        table = cls(plan, path, seed=record.seed, name=str(about["table"]), times=times, pause=pause)
        for seat, name in zip(table.seats, record.players, strict=True):
            seat.name = name
        for hand in hands:
            table.game = hand.game
            table._restore_clock(hand.game.begun(), hand.game.actions, hand.by, hand.notes)
            if hand.left is not None:
                table._count_left(hand.left)
            elif hand.game.done:
                table._count(hand.game)
        if not record.closed:
            table._recorder = Recorder.resume(path, fsync=True)
        if record.closed or table.left or len(table.played) == plan.hands:
            table._end()
            return table
        if table._recorder is not None and table._recorder.game is not None:
            table._restore_hand(table._recorder.game, now)
        else:
            table.phase, table._pause_until = SETTLED, now + pause
        for p, seat in enumerate(table.seats):
            if seat.agent is None:
                table.clock.lose(p, now)
        return table

    def _restore_clock(
        self, game: Game, actions: Sequence[int], by: Sequence[str | None], notes: Sequence[tuple[int, dict[str, Any]]]
    ) -> None:
        """Short turns and hosting as the hand's lines tell."""
        short = [self.clock.is_short(p) for p in range(len(self.seats))]
        hosted = [self.clock.is_hosted(p) for p in range(len(self.seats))]

        def noted(place: int) -> None:
            for at, note in notes:
                seat = note.get("hosting_cancelled")
                if at == place and isinstance(seat, int) and 0 <= seat < len(hosted):
                    short[seat] = hosted[seat] = check_flag(False, "hosted")

        for place, (action, who) in enumerate(zip(actions, by, strict=True)):
            noted(place)
            seat = game.current_player
            if STAKES_ASKED < game.phase < CLAIM:
                short[seat] = who is not None
                hosted[seat] = who == HOSTING
            game.step(action)
        noted(len(actions))
        for p in range(len(self.seats)):
            self.clock.restore(p, short[p], hosted[p])

    def _restore_hand(self, game: Game, now: float) -> None:
        self.game = game
        self._follow(game)
        replay = Follower(game.begun())
        for action in game.actions:
            self.seats[replay.game.current_player].questions += 1
            self.seen += replay.step(action)
        self._ask(now)

    def abandon(self) -> None:
        """Let go of the record without ending it, as when the server is stopped: it can be restored."""
        if self._recorder is not None:
            self._recorder.let_go()
            self._recorder = None


def forbidden_tiles(scene: dict[str, Any], legal: Sequence[int]) -> dict[str, str]:
    """Why tiles of a seat's own hand may not be discarded: by kind `caishen` (R3.2), `follow` (a lone wind that has been
    shown goes first) or `lone` (a lone wind goes first, R5.1)."""
    seat = scene["seat"]
    allowed = {action for action in legal if action < GANG}
    shown = {kind for row in scene["discards"] for kind, _ in row}
    reason = "follow" if allowed and allowed <= shown else "lone"
    return {
        str(kind): "caishen" if kind == scene["caishen"] else reason for kind in set(scene["hands"][seat]) if kind not in allowed
    }
