"""A hand drawn anew as one seat may imagine it: all it cannot know is chance, all it has seen stays.

From nothing but the log of a seat (`wzmj_env.events`), the rules and a seed:

1. The places of the wall that the seat knows are filled: its own tiles and the caishen.
2. The others' discards and melds tell tiles that they must have drawn in time. Those go to random places that had come
   to them by then; the tiles that nobody has seen fill the rest.
3. Swaps of hidden places lower the number of faults - discards that the wind-first rule forbade, kept tiles that cannot
   be - to none (`_settle_down`), and then go on among the walls without fault, so that the result forgets where it began.
4. The log is played on that wall. Who is asked besides passes where the log goes on, and answers by chance where the
   question still lies. The game stands when its own log is the one it was made from.

While others are asked and the seat is not, one of them must have had an answer: one who may be and a claim are chosen
by chance, and its tiles put into his hand.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._jit import njit, popcount
from .actions import CHI_LOW, DISCARD, GANG, GANG_CLAIM, HU, PASS, PENG, RAISE
from .engine import DEALT, GAMMA, TURNED_UP, legal_discards, lone_winds, mix, scaled
from .events import Event
from .hand import NONE, ONE, add_tile, bit, closing_bits, contains, count, is_caishen_ma, remove_tile, tiles_short, whites
from .rules import Rules
from .state import CLAIM, NOTHING, ROB, plain
from .tables import MAX_SETS
from .tiles import COPIES, HONOURS, NUM_KINDS, NUM_TILES, RANKS, WHITE

if TYPE_CHECKING:
    from .game import Game

ARRIVE, DISCARDED, GIVEN = range(3)  # rows of a seat's course, see `_faults`
ROW = 4
MISSING = 4  # faults that a tile not in hand counts for: it must not be bought by curing another
MIXING = 150  # swaps tried once there is no fault
SWAPS = 2_000  # tried in the first attempt, as many more in each following one
ATTEMPTS = 150
QUESTIONS, SECRET = ("discard", "declare"), ("ask", "answer")  # types of events
CLAIM_SHARE = 0.9  # of the attempts in which somebody else is asked: he is for peng or chi, if that can be, else for hu
_HALF = np.uint64(32)
FROM_WIND, SAME_SEAT, PAIR_OF_WINDS, MOVES = (np.uint64(bits) for bits in (1, 2, 4, 7))  # which swaps to try
SAME_SEAT_TRIES = 6
BOLD = np.uint64(255)  # one in so many swaps that make one more fault is kept: it may be on the way to fewer

# --- compiled: faults and swaps --------------------------------------------------------------------------------------


@njit
def _faults(s, p, rows, wall, low, high, sets, awaited):
    """How much is wrong with the tiles that seat p drew from `wall`: 0 when its course was legal.

    `rows`: (ARRIVE, first place, tiles, -), (DISCARDED, kind, the kept tile is no caishen, winds shown), (GIVEN to a
    meld, kind, tiles, -). At the end it must hold `low` to `high` of each kind and, unless NOTHING, win on `awaited`.
    """
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    for i in range(COPIES):
        held[i] = NONE
        keys[i] = 0
    found, blamed = 0, NONE  # winds that forbade a discard; each counts once, however many it forbade
    for i in range(len(rows)):
        what, a, b = rows[i, 0], rows[i, 1], rows[i, 2]
        if what == ARRIVE:
            for place in range(a, a + b):
                add_tile(held, keys, wall[place], caishen)
        elif what == GIVEN:
            for _ in range(b):
                if contains(held[0], a):
                    remove_tile(held, keys, a, caishen)
                else:
                    found += MISSING
        elif not contains(held[0], a):
            found += MISSING
        else:
            s.shown = np.uint64(rows[i, 3])
            if not contains(legal_discards(s, p), a):
                lone = lone_winds(s, p)
                found += lone == NONE
                blamed |= lone
            remove_tile(held, keys, a, caishen)
            if b and held[0] == bit(caishen):
                found += 1
    found += popcount(blamed)
    for k in range(NUM_KINDS):
        n = count(held, k)
        found += max(low[k] - n, 0) + max(n - high[k], 0)
    if awaited != NOTHING:
        wilds, white_count = count(held, caishen), whites(held, caishen)
        found += is_caishen_ma(closing_bits(keys, white_count, caishen), wilds)
        add_tile(held, keys, awaited, caishen)
        found += tiles_short(held, keys, sets, caishen)
    return found


@njit
def _random_of(places, word):
    return places[scaled(mix(word) >> _HALF, len(places))]


@njit
def _place_of(wall, places, kinds, start):
    """The first of `places` from place `start` round that holds a tile of one of `kinds`; `start` when none does."""
    at = np.searchsorted(places, start)
    for step in range(len(places)):
        place = places[(at + step) % len(places)]
        if contains(kinds, wall[place]):
            return place
    return np.int64(start)


@njit
def _settle_down(states, rows, starts, wall, owner, places, free, low, high, sets, awaited, word, swaps, mixing):
    """Swap tiles of hidden places until no seat has a fault, then `mixing` times more without making one.

    `rows[starts[p]:starts[p + 1]]` is the course of seat p, `owner` the seat that drew from each place of the wall,
    NOTHING for none, `free` the places that may be swapped and `places` those of them that have an owner. Tells
    whether it came to no fault.

    Half of the moves bring a seat two tiles of a wind at once: a pair is often right where one tile would be a fault.
    """
    s = states[0]
    n = len(starts) - 1
    faults, renewed = np.zeros(n, np.int64), np.zeros(n, np.int64)
    first, second = np.zeros(2, np.int64), np.zeros(2, np.int64)  # places swapped in a move
    for p in range(n):
        if starts[p + 1] > starts[p]:
            faults[p] = _faults(s, p, rows[starts[p] : starts[p + 1]], wall, low[p], high[p], sets[p], awaited[p])
    total = faults.sum()
    left = mixing
    for _ in range(swaps):
        if total == 0:
            left -= 1
            if left < 0:
                return True
        word += GAMMA
        kind_of_move = mix(word) & MOVES
        i = _random_of(places, word)
        if kind_of_move & FROM_WIND != NONE:
            i = _place_of(wall, places, s.winds, i)
        p = owner[i]
        j = _random_of(free, word + ONE)
        for attempt in range(SAME_SEAT_TRIES if kind_of_move & SAME_SEAT != NONE else 0):
            if owner[j] != p:
                j = _random_of(places, word + np.uint64(2 + attempt))
        first[0], second[0], moved = i, j, 1
        if kind_of_move & PAIR_OF_WINDS != NONE:
            j = _place_of(wall, free, s.winds, j)
            other = _random_of(places, word + np.uint64(SAME_SEAT_TRIES + 2))
            second[0], first[1] = j, other
            second[1] = _place_of(wall, free, bit(wall[j]), _random_of(free, word + np.uint64(SAME_SEAT_TRIES + 3)))
            moved = 2 if owner[other] == p and other != i and second[1] != j else 1
        touched = 0
        for m in range(moved):
            x, y = first[m], second[m]
            wall[x], wall[y] = wall[y], wall[x]
            touched |= 1 << owner[x]
            if owner[y] != NOTHING:
                touched |= 1 << owner[y]
        change = 0
        for q in range(n):
            if touched >> q & 1:
                renewed[q] = _faults(s, q, rows[starts[q] : starts[q + 1]], wall, low[q], high[q], sets[q], awaited[q])
                change += renewed[q] - faults[q]
        if change <= 0 or (change == 1 and total > 0 and mix(~word) & BOLD == NONE):
            total += change
            for q in range(n):
                if touched >> q & 1:
                    faults[q] = renewed[q]
        else:
            for m in range(moved - 1, -1, -1):
                x, y = first[m], second[m]
                wall[x], wall[y] = wall[y], wall[x]
    return total == 0


# --- what the log tells ----------------------------------------------------------------------------------------------


@dataclass
class _Question:
    """A tile in question at the end of the log, about which others than the seat are asked now."""

    tile: int
    source: int
    robbing: bool
    seats: list[int]  # who may be asked


@dataclass
class _Known:
    """What a log tells about the wall and the others' courses."""

    wall: np.ndarray  # (136,) kinds, NOTHING where hidden
    owner: np.ndarray  # (136,) the seat that drew from each place, NOTHING for none and for the seat of the log
    courses: list[list[tuple[int, int, int, int]]]  # rows of each seat, see `_faults`; none for the seat of the log
    held: list[Counter[int]]  # tiles that each seat surely has in hand at the end
    exact: list[list[int]]  # kinds of which a seat has no more in hand than that
    sets: list[int]  # each seat has still to make
    unseen: Counter[int]  # tiles whose places are hidden and that no discard or meld shows
    question: _Question | None = None
    doubtful: int = NOTHING  # the seat whose discard lies in question and whose kept tile may be a caishen


def _read(log: list[Event], me: int, caishen: int) -> _Known:
    dealer, n = log[0]["dealer"], log[0]["players"]
    wall, owner = np.full(NUM_TILES, NOTHING), np.full(NUM_TILES, NOTHING)
    known = _Known(
        wall, owner, [[] for _ in range(n)], [Counter() for _ in range(n)], [[] for _ in range(n)], [MAX_SETS] * n,
        Counter(dict.fromkeys(range(NUM_KINDS), COPIES)),
    )  # fmt: skip
    last_place = [NOTHING] * n  # that each seat drew from
    front, back, shown = DEALT * n, TURNED_UP - 1, 0

    def know(place: int, tile: int) -> None:
        wall[place] = tile
        known.unseen[tile] -= 1

    def arrive(p: int, first: int, tiles: list[int | None]) -> None:
        last_place[p] = first
        for place, tile in enumerate(tiles, first):
            if tile is not None:
                know(place, tile)
        if p != me:
            owner[first : first + len(tiles)] = p
            known.courses[p].append((ARRIVE, first, len(tiles), 0))

    def leave(p: int, what: int, tile: int, b: int) -> None:
        if p != me:
            known.courses[p].append((what, tile, b, shown))
            known.unseen[tile] -= b if what == GIVEN else 1

    know(TURNED_UP, caishen)
    for i, event in enumerate(log):
        what, p, how = event["type"], event.get("seat", NOTHING), event.get("how")
        tile: Any = event.get("tile")  # None where it was hidden
        after = _after_question(log, i)
        if what == "deal":
            for q in range(n):
                arrive(q, DEALT * ((q - dealer) % n), event["tiles"] if q == me else [None] * DEALT)
        elif what == "draw":
            arrive(p, back if event["replacement"] else front, [tile])
            back, front = (back - 1, front) if event["replacement"] else (back, front + 1)
        elif what == "discard":
            leave(p, DISCARDED, tile, known.sets[p] == 0 and after is not None and after["type"] != "end")
            if tile >= HONOURS:
                shown |= 1 << tile
            if p != me and known.sets[p] == 0 and after is None:
                known.doubtful = p
        elif what == "chi":
            for other in _run(event["lowest"], tile, caishen):
                leave(p, GIVEN, other, 1)
        elif what == "declare":
            leave(p, GIVEN, tile, 1)
        elif what in ("peng", "gang") and how != "added":
            leave(p, GIVEN, tile, {"concealed": COPIES, "claimed": 3}.get(how or "", 2))
        elif what == "end":
            _read_end(event, me, known, last_place)
        if what in ("chi", "peng", "gang") and how != "added":
            known.sets[p] -= 1
        if what in QUESTIONS and after is None and log[-1]["type"] != "ask":
            first = (me - p) % n + 1 if log[-1]["type"] == "answer" else 1  # after me, when I have answered
            seats = [q for q in ((p + step) % n for step in range(first, n)) if q != me]
            known.question = _Question(tile, p, what == "declare", seats)
    return known


def _run(lowest: int, claimed: int, caishen: int) -> list[int]:
    """The two tiles from hand in a chi (R3.4)."""
    face = caishen if claimed == WHITE else claimed
    return [WHITE if k == caishen else k for k in range(lowest, lowest + 3) if k != face]


def _read_end(end: Event, me: int, known: _Known, last_place: list[int]) -> None:
    caishen = int(known.wall[TURNED_UP])
    for p, held in enumerate(end["caishen"]):
        known.held[p][caishen] = held
        known.exact[p] = [caishen]
    winner, tile = end["winner"], end["tile"]
    if winner is None:
        return
    known.held[winner] = Counter(end["hand"])
    known.exact[winner] = list(range(NUM_KINDS))
    if end["loser"] is not None:
        known.held[winner][tile] -= 1
    elif tile is not None and winner != me:  # the tile he drew last
        known.wall[last_place[winner]] = tile
        known.unseen[tile] -= 1


def _after_question(log: list[Event], i: int) -> Event | None:
    """What came after event i but for this seat's own question and answer."""
    return next((event for event in log[i + 1 :] if event["type"] not in SECRET), None)


# --- one attempt -----------------------------------------------------------------------------------------------------


def _suppose(known: _Known, rng: random.Random) -> tuple[list[Counter[int]], list[list[int]], list[int]]:
    """`held` and `exact` of `known` with what this attempt supposes besides, and the tile on which each seat must win:
    whether the tile kept beside five melds is a caishen, and who has which answer to the tile in question."""
    held, exact = [tiles.copy() for tiles in known.held], known.exact.copy()
    awaited = [NOTHING] * len(held)
    caishen = int(known.wall[TURNED_UP])
    keeps = known.doubtful != NOTHING and known.unseen[caishen] > 0 and rng.random() < 0.5
    if known.doubtful != NOTHING:
        held[known.doubtful][caishen] += keeps
        exact[known.doubtful] = [caishen]
    question = known.question
    if question is not None:
        claims = [] if keeps or question.robbing else _claims(question, known, caishen)
        if claims and rng.random() < CLAIM_SHARE:
            q, tiles = rng.choice(claims)
            held[q].update(tiles)
        else:
            awaited[rng.choice(question.seats)] = question.tile
    return held, exact, awaited


def _claims(question: _Question, known: _Known, caishen: int) -> list[tuple[int, list[int]]]:
    """Who may have peng or chi, and the two tiles he has it with."""
    tile = question.tile
    if tile == caishen:
        return []
    claims = [(q, [tile, tile]) for q in question.seats]
    following = (question.source + 1) % len(known.courses)
    kind = caishen if tile == WHITE else tile
    if following in question.seats and kind < HONOURS:
        for lowest in range(max(kind - 2, kind // RANKS * RANKS), min(kind, kind // RANKS * RANKS + RANKS - 3) + 1):
            claims.append((following, _run(lowest, tile, caishen)))
    return [(q, tiles) for q, tiles in claims if Counter(tiles) <= known.unseen]


def _lay(known: _Known, held: list[Counter[int]], rng: random.Random) -> np.ndarray | None:
    """A wall by chance in which each seat draws in time what it must; None when there are too few tiles for it."""
    wall = known.wall.copy()
    unseen = known.unseen.copy()
    caishen = int(wall[TURNED_UP])

    def put(places: list[int], tile: int) -> None:
        wall[places.pop(rng.randrange(len(places)))] = tile

    for p, course in enumerate(known.courses):
        places: list[int] = []
        surely = held[p].copy() if course else Counter()
        surely.subtract(wall[(known.owner == p) & (wall != NOTHING)].tolist())  # a tile that he won by
        surely = +surely
        unseen.subtract(surely)
        since = 0  # places[since:] came after the last discard beside which no lone wind can have been
        for what, a, b, _ in course:
            if what == ARRIVE:
                places += [place for place in range(a, a + b) if wall[place] == NOTHING]
                if b == DEALT:  # pairs of winds that he ends with: best from the first
                    for tile in [k for k in surely if k >= HONOURS and surely[k] > 1]:
                        for _ in range(surely.pop(tile)):
                            put(places, tile)
            elif len(places) < (b if what == GIVEN else 1):  # what was supposed cannot be
                return None
            elif what == DISCARDED and a >= HONOURS and since < len(places):
                wall[places.pop(rng.randrange(since, len(places)))] = a
            else:
                for _ in range(b if what == GIVEN else 1):
                    put(places, a)
                since = len(places) if what == DISCARDED else min(since, len(places))
        if surely.total() > len(places):
            return None
        for tile in surely.elements():
            put(places, tile)
    if min(unseen.values()) < 0:
        return None
    left = np.flatnonzero((wall == NOTHING) & (known.owner == NOTHING)).tolist()
    if any(caishen in kinds for kinds in known.exact):  # nobody has more of them
        while unseen[caishen] > 0 and left:
            put(left, caishen)
            unseen[caishen] -= 1
    hidden = list(unseen.elements())
    rng.shuffle(hidden)
    wall[wall == NOTHING] = hidden
    return wall


def _without_faults(
    states: np.ndarray, known: _Known, wall: np.ndarray, held: list[Counter[int]], exact: list[list[int]],
    awaited: list[int], word: int, swaps: int,
) -> bool:  # fmt: skip
    """Change `wall` by swaps until it has no fault; whether it came to that."""
    n = len(known.courses)
    low, high = np.zeros((n, NUM_KINDS), np.int64), np.full((n, NUM_KINDS), COPIES)
    for p in range(n):
        for tile, number in held[p].items():
            low[p, tile] = number
        high[p, exact[p]] = low[p, exact[p]]
    rows = [row for course in known.courses for row in course]
    starts = np.cumsum([0, *map(len, known.courses)])
    free = np.flatnonzero(known.wall == NOTHING)
    return _settle_down(
        states, np.array(rows, np.int64).reshape(-1, ROW), starts, wall, known.owner,
        free[known.owner[free] != NOTHING], free, low, high, np.array(known.sets), np.array(awaited),
        np.uint64(word), swaps, MIXING,
    )  # fmt: skip


# --- playing the log -------------------------------------------------------------------------------------------------


def _play(game: Game, log: list[Event], me: int, rng: random.Random) -> None:
    """Play what the log tells; answers that it does not tell are passes, or chance where the question still lies."""
    for i, event in enumerate(log):
        what = event["type"]
        if what == "stake":
            game.step(RAISE if event["raised"] else PASS)
        elif what == "discard":
            game.step(DISCARD + event["tile"])
        elif what == "declare" or event.get("how") == "concealed":
            game.step(GANG + event["tile"])
        elif what == "end" and event["loser"] is None and event["tile"] is not None:
            game.step(HU)
        if what in QUESTIONS:
            _answer(game, log, i, me, rng)


def _answer(game: Game, log: list[Event], i: int, me: int, rng: random.Random) -> None:
    """Answers to the tile in question of event i."""
    mine = [event for event in log[i + 1 : i + 3] if event["type"] in SECRET]
    after = _after_question(log, i)
    claimer, claim = _claim_of(after, int(game._states.caishen[0]))
    while game.phase in (CLAIM, ROB):
        p = game.current_player
        if p == me:
            if len(mine) < 2:
                return
            game.step(mine[1]["action"])
            if after is None:
                return
        elif after is not None:
            game.step(claim if p == claimer else PASS)
        elif mine:
            game.step(rng.choice(game.legal_actions()))
        else:
            return


def _claim_of(after: Event | None, caishen: int) -> tuple[int, int]:
    """Who claimed the tile in question, and the action."""
    what = "" if after is None else after["type"]
    if after is not None and what == "chi":
        return after["seat"], CHI_LOW + (caishen if after["tile"] == WHITE else after["tile"]) - after["lowest"]
    if after is not None and what in ("peng", "gang"):
        return after["seat"], PENG if what == "peng" else GANG_CLAIM
    if after is not None and what == "end" and after["loser"] is not None:
        return after["winner"], HU
    return NOTHING, PASS


# --- the whole -------------------------------------------------------------------------------------------------------


class NoSuchHandError(RuntimeError):
    """No hand consistent with a log was found."""


def redraw(log: list[Event], me: int, rules: Rules, seed: int, make_game: Callable[..., Game]) -> Game:
    """A game in which the log of seat `me` is this one, all else drawn from `seed`. `make_game` is `Game`."""
    rng = random.Random(seed)
    setup = {name: log[0][name] for name in ("dealer", "ladder", "bought", "topped")}
    deal = next((event for event in log if event["type"] == "deal"), None)
    tiles = [kind for kind in range(NUM_KINDS) for _ in range(COPIES)]
    if deal is None:
        rng.shuffle(tiles)
        game = make_game(rules, seed=seed, wall=tiles, **setup)
        _play(game, log, me, rng)
        return game
    caishen = deal["caishen"]
    known = _read(log, me, caishen)
    tiles.remove(caishen)
    begun = make_game(rules, seed=seed, wall=[*tiles, caishen], **setup)  # for the winds and switches in its state
    _play(begun, [event for event in log if event["type"] == "stake"], me, rng)
    states = plain(begun._states.copy())
    for attempt in range(1, ATTEMPTS + 1):
        held, exact, awaited = _suppose(known, rng)
        wall = _lay(known, held, rng)
        word = rng.getrandbits(64)
        if wall is None or not _without_faults(states, known, wall, held, exact, awaited, word, SWAPS * attempt):
            continue
        game = make_game(rules, seed=seed, wall=wall, **setup)
        try:
            _play(game, log, me, rng)
        except ValueError:  # an action that is not legal: what was supposed cannot be
            continue
        if game.events(me) == log:
            return game
    raise NoSuchHandError(f"no hand consistent with the log of seat {me} was found")
