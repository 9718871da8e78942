"""Hands that a seat cannot tell from the one it plays: hidden tiles drawn anew from its log alone.

Each other seat's unknown tiles are drawn from the tiles not seen. Then all the tiles it has had are spread over the moments
at which it got some, so that every discard it made was legal (R5.1): backwards from its last draw, and turning back where a
discard would not have been. What comes out is played again and must give the same log; else it is drawn once more. The
hands are plausible ones, not exactly as likely as the real ones would be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .actions import CHI_LOW, GANG, GANG_CLAIM, HU, PASS, PENG, RAISE
from .events import DEALT, Event
from .rules import Rules
from .scoring import MELD_NAMES
from .state import CLAIM, ROB, STAKES_ASKED
from .tables import MAX_SETS
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_TILES, WHITE

if TYPE_CHECKING:
    from .game import Game

MAX_TRIES = 2000
MAX_NODES = 4000  # of one search for the order in which a seat got its tiles
FOREVER = 1 << 30
CLAIMS = ("chi", "peng", "gang")


class NoSuchHandError(RuntimeError):
    """No hand consistent with a log was found."""


@dataclass
class Timeline:
    """What all know of one seat. Times are places in the log."""

    out: list[tuple[int, int]] = field(default_factory=list)  # (time, kind) of each tile that left the hand
    draws: list[int] = field(default_factory=list)  # times
    discards: list[tuple[int, int, bool]] = field(default_factory=list)  # (time, kind, quanqiushen was not to be)
    melds: int = 0


@dataclass
class Log:
    """A log read once."""

    dealer: int
    players: int
    caishen: int
    own: list[int]  # tiles dealt to the seat itself
    own_draws: dict[int, int]  # by time
    draws: list[tuple[int, int, bool]]  # (time, seat, replacement)
    seats: list[Timeline]
    shown: dict[int, frozenset[int]]  # winds discarded before each discard
    visible: Counter[int]  # tiles seen on the table
    end: Event | None


def taken_from_hand(event: Event, caishen: int) -> list[int]:
    """The concealed tiles that a meld used."""
    kind = event["tile"]
    if event["type"] == "chi":
        claimed = caishen if kind == WHITE else kind
        others = [k for k in range(event["lowest"], event["lowest"] + 3) if k != claimed]
        return [WHITE if k == caishen else k for k in others]
    if event["type"] == "peng":
        return [kind] * 2
    return [kind] * {"claimed": 3, "added": 1, "concealed": 4}[event["how"]]


def read(events: Sequence[Event], seat: int) -> Log:
    """The log of a hand that has been dealt."""
    begin, deal = events[0], next(e for e in events if e["type"] == "deal")
    log = Log(begin["dealer"], begin["players"], deal["caishen"], deal["tiles"], {}, [],
              [Timeline() for _ in range(begin["players"])], {}, Counter({deal["caishen"]: 1}), None)  # fmt: skip
    shown: set[int] = set()
    for time, event in enumerate(events):
        what = event["type"]
        if what == "draw":
            log.draws.append((time, event["seat"], event["replacement"]))
            log.seats[event["seat"]].draws.append(time)
            if event["seat"] == seat:
                log.own_draws[time] = event["tile"]
        elif what == "discard":
            one, kind = log.seats[event["seat"]], event["tile"]
            log.shown[time] = frozenset(shown)
            goes_on = any(e["type"] in ("draw", *CLAIMS) for e in events[time + 1 :])
            one.out.append((time, kind))
            one.discards.append((time, kind, one.melds == MAX_SETS and goes_on))
            log.visible[kind] += 1
            if kind >= HONOURS:
                shown.add(kind)
        elif what in CLAIMS:
            one, tiles = log.seats[event["seat"]], taken_from_hand(event, log.caishen)
            one.out += [(time, k) for k in tiles]
            one.melds += not (what == "gang" and event["how"] == "added")
            log.visible.update(tiles)
        elif what == "end":
            log.end = event
    return log


def hidden_tiles(log: Log, rng: np.random.Generator, seat: int, calm: float) -> tuple[dict[int, list[int]], list[int]] | None:
    """Concealed tiles for each other seat, and those left for the wall. `calm` is the chance to refuse a lone wind."""
    unseen = Counter(dict.fromkeys(range(NUM_KINDS), COPIES))
    unseen.subtract(log.visible)
    unseen.subtract(_own_tiles(log, seat))
    hands: dict[int, list[int]] = {}
    others = [q for q in range(log.players) if q != seat]
    if log.end and log.end["hand"] is not None and log.end["winner"] in others:
        hands[log.end["winner"]] = _before_the_win(log.end)
        unseen.subtract(hands[log.end["winner"]])
    if min(unseen.values()) < 0:
        return None
    caishen_left = unseen[log.caishen]
    pool = [k for k, n in unseen.items() if k != log.caishen for _ in range(n)]
    pool = [pool[i] for i in rng.permutation(len(pool))]
    sizes = {q: DEALT + len(log.seats[q].draws) - len(log.seats[q].out) for q in others if q not in hands}
    wilds = dict.fromkeys(sizes, 0)
    if log.end:
        wilds = {q: log.end["caishen"][q] for q in sizes}
    else:  # each hidden place is as likely as another to hold a caishen
        places = [q for q, n in sizes.items() for _ in range(n)] + [-1] * (len(pool) + caishen_left - sum(sizes.values()))
        for i in rng.choice(len(places), caishen_left, replace=False):
            if places[i] >= 0:
                wilds[places[i]] += 1
    for q, size in sizes.items():
        if wilds[q] > size:
            return None
        hand = [log.caishen] * wilds[q]
        caishen_left -= wilds[q]
        passed_over: list[int] = []
        while len(hand) < size:
            if not pool:
                return None
            k = pool.pop()
            if k >= HONOURS and k not in hand and pool and rng.random() < calm:
                passed_over.append(k)
            else:
                hand.append(k)
        hands[q] = hand
        pool += passed_over
        pool = [pool[i] for i in rng.permutation(len(pool))]
    if caishen_left < 0:
        return None
    return hands, pool + [log.caishen] * caishen_left


def _own_tiles(log: Log, seat: int) -> Counter[int]:
    """Concealed tiles of the seat itself now, the winning tile of another's discard left out."""
    own = Counter(log.own)
    own.update(log.own_draws.values())
    own.subtract(k for _, k in log.seats[seat].out)
    return own


def _before_the_win(end: Event) -> list[int]:
    """The winner's concealed tiles, without one won from another."""
    hand = list(end["hand"])
    if end["loser"] is not None:
        hand.remove(end["tile"])
    return hand


def arrivals(
    log: Log, one: Timeline, concealed: list[int], last: int | None, rules: Rules, rng: np.random.Generator
) -> list[int] | None:
    """The tiles a seat was dealt and drew, in order: sixteen, then one a draw. None when no order is found.

    `last` is the tile of the last draw when the log tells it.
    """
    tiles = [(time, k) for time, k in one.out] + [(FOREVER, k) for k in concealed]
    winds = _winds(log.caishen, rules)
    drawn: list[int] = []  # from the last draw backwards
    nodes = 0

    def is_legal(kinds: Counter[int], at: tuple[int, int, bool]) -> bool:
        """Whether a discard could be made from these tiles."""
        time, kind, no_quan = at
        if no_quan and kinds[log.caishen] > (kind == log.caishen):
            return False
        if kind == log.caishen:
            return sum(kinds.values()) == 2 and kinds[kind] == 2
        if not rules.wind_first:
            return True
        lone = {k for k in winds if kinds[k] == 1}
        return kind in (lone & log.shown[time] or lone or {kind})

    def legal_between(left: list[tuple[int, int]], after: int, before: int) -> bool:
        """Whether the discards between two moments are legal when just the tiles `left` had come by then."""
        return all(
            is_legal(Counter(k for gone, k in left if gone >= at[0]), at) for at in one.discards if after < at[0] < before
        )

    def search(i: int, left: list[tuple[int, int]], before: int) -> bool:
        nonlocal nodes
        nodes += 1
        if nodes > MAX_NODES:
            return False
        time = one.draws[i] if i >= 0 else -1
        if not legal_between(left, time, before):
            return False
        if i < 0:
            return all(gone > 0 for gone, _ in left)
        candidates = sorted({tile for tile in left if tile[0] > time})
        if last is not None and i == len(one.draws) - 1:
            candidates = [tile for tile in candidates if tile == (FOREVER, last)]
        weights = np.array([left.count(tile) for tile in candidates], float) * rng.random(len(candidates))
        for j in np.argsort(-weights):
            tile = candidates[j]
            rest = list(left)
            rest.remove(tile)
            drawn.append(tile[1])
            if search(i - 1, rest, time):
                return True
            drawn.pop()
        return False

    if not search(len(one.draws) - 1, tiles, FOREVER):
        return None
    dealt = [k for _, k in tiles]
    for k in drawn:
        dealt.remove(k)
    return [dealt[j] for j in rng.permutation(len(dealt))] + drawn[::-1]


def _winds(caishen: int, rules: Rules) -> list[int]:
    """R1.2."""
    white = rules.white_is_wind or caishen >= HONOURS
    return [k for k in range(HONOURS, NUM_KINDS) if k != caishen and (white or k != WHITE)]


def wall_from(log: Log, seat: int, rules: Rules, rng: np.random.Generator, calm: float) -> list[int] | None:
    """A wall that may have been, None when this draw of hidden tiles does not go with the log."""
    found = hidden_tiles(log, rng, seat, calm)
    if found is None:
        return None
    hands, rest = found
    got = {seat: log.own + [log.own_draws[time] for time in sorted(log.own_draws)]}
    for q, hand in hands.items():
        by_draw = log.end and log.end["winner"] == q and log.end["loser"] is None and log.end["tile"] is not None
        last = log.end["tile"] if log.end and by_draw else None
        order = arrivals(log, log.seats[q], hand, last, rules, rng)
        if order is None:
            return None
        got[q] = order
    front = [k for i in range(log.players) for k in got[(log.dealer + i) % log.players][:DEALT]]
    back: list[int] = []
    upcoming = {q: iter(tiles[DEALT:]) for q, tiles in got.items()}
    for _, q, replacement in log.draws:
        (back if replacement else front).append(next(upcoming[q]))
    rest = [rest[i] for i in rng.permutation(len(rest))]
    return front + rest + back[::-1] + [log.caishen]


def anew(events: Sequence[Event], rng: np.random.Generator) -> list[int]:
    """A wall for a hand that has not been dealt: nothing is known of it."""
    wall = np.repeat(np.arange(NUM_KINDS), COPIES)
    rng.shuffle(wall)
    return wall.tolist()


def follow(game: Game, events: Sequence[Event], seat: int) -> bool:
    """Play a game by the log of `seat`, whatever others were asked in secret being passed. Whether it could be."""
    script = [e for e in events if e["type"] in ("stake", "discard", "declare", "answer", *CLAIMS)]
    end = events[-1] if events[-1]["type"] == "end" else None
    at = 0
    while not game.done:
        phase = int(game.phase)
        if phase not in (CLAIM, ROB):
            while at < len(script) and script[at]["type"] in CLAIMS and script[at].get("how") != "concealed":
                at += 1  # carried out already
        upcoming = script[at] if at < len(script) else None
        p = game.current_player
        if p == seat:
            if upcoming is None or upcoming["type"] != "answer":
                return upcoming is None and end is None
            action = upcoming["action"]
            at += 1
            if phase not in (CLAIM, ROB) and action not in (HU,):
                at += 1  # what all saw of it
        elif phase in (CLAIM, ROB):
            claim = next((e for e in script[at:] if e["type"] != "answer"), None)
            if claim is not None and claim["type"] in CLAIMS and claim["seat"] == p and claim.get("how") != "added":
                action = _claim(claim)
            elif end is not None and claim is None and end["winner"] == p and end["loser"] is not None:
                action = HU
            elif upcoming is None and end is None and events[-1]["type"] in ("discard", "declare", "answer"):
                return True  # still in question
            else:
                action = PASS
        elif upcoming is None:
            if end is None or end["winner"] != p:
                return end is None
            action = HU
        else:
            if upcoming["seat"] != p or (phase == STAKES_ASKED) != (upcoming["type"] == "stake"):
                return False
            action = _open_action(upcoming)
            at += 1
        if action not in game.legal_actions():
            return False
        game.step(action)
    return end is not None


def _claim(event: Event) -> int:
    if event["type"] == "chi":
        return CHI_LOW + event["place"]
    return PENG if event["type"] == "peng" else GANG_CLAIM


def _open_action(event: Event) -> int:
    if event["type"] == "stake":
        return RAISE if event["raised"] else PASS
    return int(event["tile"]) + (0 if event["type"] == "discard" else GANG)


def with_places(events: Iterable[Event], caishen: int) -> list[Event]:
    """The log with the place of the claimed tile in each chi: 0 lowest, 1, 2."""
    return [
        e | {"place": (caishen if e["tile"] == WHITE else e["tile"]) - e["lowest"]} if e["type"] == "chi" else e
        for e in events
    ]


assert MELD_NAMES[:3] == CLAIMS
assert NUM_TILES == COPIES * NUM_KINDS


def walls(events: Sequence[Event], seat: int, rules: Rules, seed: int) -> Iterable[list[int]]:
    """Walls that may have been, one after the other; a function of its arguments alone."""
    rng = np.random.default_rng(seed)
    if not any(e["type"] == "deal" for e in events):
        while True:
            yield anew(events, rng)
    log = read(events, seat)
    for attempt in range(MAX_TRIES):
        wall: list[int] | None = wall_from(log, seat, rules, rng, calm=min(0.97, attempt / 40))
        if wall is not None:
            yield wall


def setup(events: Sequence[Event]) -> dict[str, Any]:
    """How the hand began, as arguments of `Game`."""
    return {name: events[0][name] for name in ("dealer", "ladder", "bought", "topped")}
