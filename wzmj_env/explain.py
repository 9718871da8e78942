"""Why the rule player would do what it does: every legal action of a position with what it leaves and its score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from . import tiles
from ._jit import njit
from .actions import DISCARD, GANG, NUM_ACTIONS
from .actions import name as action_name
from .game import Game
from .hand import kinds_in, tiles_short
from .state import STAKES_ASKED
from .strategy import RULE_2 as NEWEST
from .strategy import discard_prospects, rule_scores
from .tables import MAX_SETS
from .tiles import NUM_KINDS


@dataclass(frozen=True)
class Prospect:
    """A legal action. What it leaves is known of discards alone, else None."""

    action: int
    score: float  # of the rule player, see `wzmj_env.strategy`
    distance: int | None  # tiles short of a win
    accepting: tuple[int, ...] | None  # kinds that lower it
    live: int | None  # how many tiles of them the seat cannot see


@njit
def _scores(states, scores):
    rule_scores(states[0], NEWEST, scores)


@njit
def _prospects(states, short, accepting, live):
    discard_prospects(states[0], short, accepting, live)


@njit
def _short(states):
    s = states[0]
    p = np.int64(s.player)
    return tiles_short(s.held[p], s.keys[p], np.int64(MAX_SETS - s.melds[p]), np.int64(s.caishen))


def prospects(game: Game) -> list[Prospect]:
    """The legal actions of the seat to act, the best score first. It looks at nothing that this seat does not know."""
    raw = game.copy()._raw
    scores = np.empty(NUM_ACTIONS)
    short, accepting = np.empty(NUM_KINDS, np.int64), np.empty(NUM_KINDS, np.uint64)
    live = np.empty(NUM_KINDS, np.int64)
    _scores(raw, scores)
    _prospects(raw, short, accepting, live)
    found = []
    for action in game.legal_actions():
        k = action - DISCARD
        known = k < GANG and short[k] >= 0
        found.append(
            Prospect(
                action,
                float(scores[action]),
                int(short[k]) if known else None,
                tuple(kinds_in(accepting[k])) if known else None,
                int(live[k]) if known else None,
            )
        )
    return sorted(found, key=lambda prospect: (-prospect.score, -prospect.action))


def as_text(game: Game) -> Iterator[str]:
    """The position and its prospects for a person to read."""
    if game.done or game.phase == STAKES_ASKED:
        raise ValueError("there is no hand to explain: the hand is over, or stakes are asked")
    yield str(game).splitlines()[0]
    yield f"seat {game.current_player} is {int(_short(game._raw))} tiles short of a win"
    yield f"{'action':<14}{'score':>9}{'short':>7}{'live':>6}  accepting"
    for prospect in prospects(game):
        left = f"{'':>7}{'':>6}"
        if prospect.distance is not None and prospect.accepting is not None:
            left = f"{prospect.distance:>7}{prospect.live:>6}  {tiles.text(prospect.accepting)}"
        yield f"{action_name(prospect.action):<14}{prospect.score:>9.3f}{left}".rstrip()
