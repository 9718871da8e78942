"""What happened in a hand, as one seat saw it: the log behind `Game.events`.

The log is read off a replay, so it holds nothing that the game does not. Plain dicts, all numbers ints:

    type      fields                           when
    begin     players dealer ladder bought topped
    stake     seat raised                      a stake decision, seen by all (R8.6)
    deal      caishen tiles                    own sixteen tiles in the order dealt
    draw      seat replacement tile            tile None when another draws; the dealer's seventeenth tile is a draw too
    discard   seat tile
    declare   seat tile                        an added gang is declared and may be robbed
    chi       seat tile source lowest          tile: the one claimed; lowest: of the run, the face where a white stands for it
    peng      seat tile source
    gang      seat tile source how             how: claimed, added, concealed; source None unless claimed
    ask       legal                            the seat itself is asked
    answer    action                           what it answered: none but itself sees it here
    end       winner loser value patterns payments tile hand caishen
                                               hand: the winner's concealed tiles; caishen: each seat's at the end
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .actions import CHI_LOW, GANG, RAISE
from .engine import DEALT
from .hand import count
from .patterns import patterns_in
from .scoring import ADDED, CHI, CONCEALED, MELD_NAMES
from .scoring import GANG as GANG_MELD
from .state import CLAIM, NOTHING, OVER, ROB, STAKES_ASKED
from .tiles import NUM_KINDS

if TYPE_CHECKING:
    from .game import Game

Event = dict[str, Any]


class Facts(NamedTuple):
    """What a step may change of what all see, as plain values: far quicker to compare than two records."""

    phase: int
    player: int
    back: int
    tile: int
    source: int
    drawn: int
    draws: list[int]
    melds: list[int]
    meld_what: list[list[int]]
    meld_kind: list[list[int]]


def _facts(game: Game) -> Facts:
    return Facts(*(game._raw[name][0].tolist() for name in Facts._fields))


class Seen(NamedTuple):
    """One thing that happened, as all see it and as one seat does. None: not seen at all."""

    event: Event | None  # as the other seats see it
    owner: int = NOTHING  # the seat that sees `own` instead
    own: Event | None = None

    def by(self, seat: int) -> Event | None:
        return self.own if seat == self.owner != NOTHING else self.event


class Follower:
    """Plays a game on and tells what each seat sees of it, as it happens: `Game.events` but for `ask`."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._facts = _facts(game)

    def opening(self) -> list[Seen]:
        """What is seen of a game in which nothing has been played yet."""
        s = self.game._states[0]
        return [Seen(_begin(s)), *(_deal(s) if s.phase != STAKES_ASKED else ())]

    def step(self, action: int, play: Callable[[int], Any] | None = None) -> list[Seen]:
        """Play an action, by `play` where something else is to move the game, and what is seen of it.
        `IllegalActionError` as from `Game.step`."""
        before = self._facts
        (play or self.game.step)(action)
        after = self._facts = _facts(self.game)
        seen = [Seen(None, before.player, {"type": "answer", "action": action})]
        seen += _happened(before, action, after)
        if before.phase == STAKES_ASKED != after.phase:
            seen += _deal(self.game._states[0])
        elif after.phase == OVER:
            seen.append(Seen(_end(self.game._states[0])))
        return seen


def events_of(game: Game, seat: int) -> list[Event]:
    """The log of `seat`, from the beginning to now."""
    replay = game.begun()
    follower = Follower(replay)
    events: list[Event] = []

    def note(seen: list[Seen]) -> None:
        events.extend(event for one in seen if (event := one.by(seat)) is not None)
        if replay.current_player == seat:
            events.append({"type": "ask", "legal": replay.legal_actions()})

    note(follower.opening())
    for action in game.actions:
        note(follower.step(action))
    return events


def _begin(s: np.record) -> Event:
    n = int(s.num_players)
    return {"type": "begin", "players": n, "dealer": int(s.dealer), "ladder": int(s.ladder), "bought": bool(s.bought),
            "topped": [bool(t) for t in s.topped[:n]]}  # fmt: skip


def _deal(s: np.record) -> Iterator[Seen]:
    n, dealer, caishen = int(s.num_players), int(s.dealer), int(s.caishen)
    for seat in range(n):
        first = (seat - dealer) % n * DEALT
        yield Seen(None, seat, {"type": "deal", "caishen": caishen, "tiles": s.wall[first : first + DEALT].tolist()})
    yield _draw(dealer, False, int(s.wall[n * DEALT]))


def _draw(p: int, replacement: bool, tile: int) -> Seen:
    hidden = {"type": "draw", "seat": p, "replacement": replacement, "tile": None}
    return Seen(hidden, p, hidden | {"tile": tile})


def _happened(before: Facts, action: int, after: Facts) -> Iterator[Seen]:
    """What is seen of one action but the deal and the end."""
    p = before.player
    if before.phase == STAKES_ASKED:
        yield Seen({"type": "stake", "seat": p, "raised": action == RAISE})
        return
    if before.phase not in (CLAIM, ROB):
        if action < GANG:
            yield Seen({"type": "discard", "seat": p, "tile": action})
        elif action < CHI_LOW and after.melds[p] == before.melds[p]:
            yield Seen({"type": "declare", "seat": p, "tile": action - GANG})
    for meld in _melded(before, after):
        yield Seen(meld)
    for q, draws in enumerate(after.draws):
        if draws != before.draws[q]:
            yield _draw(q, after.back != before.back, after.drawn)


def _melded(before: Facts, after: Facts) -> Iterator[Event]:
    for q, melds in enumerate(after.melds):
        for i in range(melds):
            what, kind = after.meld_what[q][i], after.meld_kind[q][i]
            if i < before.melds[q]:
                if what == ADDED and before.meld_what[q][i] != ADDED:
                    yield {"type": "gang", "seat": q, "tile": kind, "source": None, "how": "added"}
            elif what == CONCEALED:
                yield {"type": "gang", "seat": q, "tile": kind, "source": None, "how": "concealed"}
            else:
                claim = {"type": MELD_NAMES[what], "seat": q, "tile": before.tile, "source": before.source}
                yield claim | ({"lowest": kind} if what == CHI else {"how": "claimed"} if what == GANG_MELD else {})


def _end(s: np.record) -> Event:
    n, winner = int(s.num_players), None if s.winner == NOTHING else int(s.winner)
    hand = None if winner is None else [k for k in range(NUM_KINDS) for _ in range(count(s.held[winner], k))]
    by_draw = winner is not None and s.loser == NOTHING and s.drawn != NOTHING
    tile = int(s.drawn) if by_draw else int(s.tile) if winner is not None and s.loser != NOTHING else None
    return {
        "type": "end",
        "winner": winner,
        "loser": None if s.loser == NOTHING else int(s.loser),
        "value": int(s.value),
        "patterns": [pattern.name for pattern in patterns_in(s.patterns)],
        "payments": s.payments[:n].tolist(),
        "tile": tile,
        "hand": hand,
        "caishen": [int(count(s.held[p], s.caishen)) for p in range(n)],
    }
