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

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .actions import CHI_LOW, GANG, RAISE
from .hand import count
from .patterns import patterns_in
from .scoring import ADDED, CHI, CONCEALED, MELD_NAMES
from .scoring import GANG as GANG_MELD
from .state import CLAIM, NOTHING, OVER, ROB, STAKES_ASKED
from .tiles import NUM_KINDS

if TYPE_CHECKING:
    from .game import Game

Event = dict[str, Any]
DEALT = 16


def events_of(game: Game, seat: int) -> list[Event]:
    """The log of `seat`, from the beginning to now."""
    replay = game.begun()
    events = [_begin(replay._states[0])]
    if replay._states[0].phase != STAKES_ASKED:
        events += _deal(replay._states[0], seat)
    events += _asked(replay, seat)
    for action in game.actions:
        before = replay._states.copy()[0]
        replay.step(action)
        if before.player == seat:
            events.append({"type": "answer", "action": action})
        events += _happened(before, action, replay._states[0], seat)
        events += _asked(replay, seat)
    return events


def _begin(s: np.record) -> Event:
    n = int(s.num_players)
    return {"type": "begin", "players": n, "dealer": int(s.dealer), "ladder": int(s.ladder), "bought": bool(s.bought),
            "topped": [bool(t) for t in s.topped[:n]]}  # fmt: skip


def _deal(s: np.record, seat: int) -> Iterator[Event]:
    n, dealer = int(s.num_players), int(s.dealer)
    first = (seat - dealer) % n * DEALT
    yield {"type": "deal", "caishen": int(s.caishen), "tiles": s.wall[first : first + DEALT].tolist()}
    yield _draw(dealer, False, int(s.wall[n * DEALT]), seat)


def _draw(p: int, replacement: bool, tile: int, seat: int) -> Event:
    return {"type": "draw", "seat": p, "replacement": replacement, "tile": tile if p == seat else None}


def _asked(game: Game, seat: int) -> list[Event]:
    return [{"type": "ask", "legal": game.legal_actions()}] if game.current_player == seat else []


def _happened(before: np.record, action: int, after: np.record, seat: int) -> Iterator[Event]:
    """What all see of one action, besides what `seat` sees of its own draw."""
    p = int(before.player)
    if before.phase == STAKES_ASKED:
        yield {"type": "stake", "seat": p, "raised": action == RAISE}
        if after.phase != STAKES_ASKED:
            yield from _deal(after, seat)
        return
    if before.phase not in (CLAIM, ROB):
        if action < GANG:
            yield {"type": "discard", "seat": p, "tile": action}
        elif action < CHI_LOW and after.melds[p] == before.melds[p]:
            yield {"type": "declare", "seat": p, "tile": action - GANG}
    yield from _melded(before, after)
    for q in range(int(after.num_players)):
        if after.draws[q] != before.draws[q]:
            yield _draw(q, bool(after.back != before.back), int(after.drawn), seat)
    if after.phase == OVER:
        yield _end(after)


def _melded(before: np.record, after: np.record) -> Iterator[Event]:
    for q in range(int(after.num_players)):
        for i in range(int(after.melds[q])):
            what, kind = int(after.meld_what[q, i]), int(after.meld_kind[q, i])
            if i < before.melds[q]:
                if what == ADDED and before.meld_what[q, i] != ADDED:
                    yield {"type": "gang", "seat": q, "tile": kind, "source": None, "how": "added"}
            elif what == CONCEALED:
                yield {"type": "gang", "seat": q, "tile": kind, "source": None, "how": "concealed"}
            else:
                claim = {"type": MELD_NAMES[what], "seat": q, "tile": int(before.tile), "source": int(before.source)}
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
