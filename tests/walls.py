"""Rigged walls and wilful players, to make rare things happen often.

`rigged(rng, num_players)` -> (wall, dealer) picks one of `SCENARIOS`; `rigged_cast` gives the styles of
play that suit it too; `drive(legal, rng, style, …)` picks an action. Pure Python and one `random.Random`:
the same seed gives the same games everywhere.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache

WHITE = 31
EAST, SOUTH, WEST, NORTH, GREEN, RED = 27, 28, 29, 30, 32, 33
SUITED = range(27)
HONOURS = range(27, 34)


def is_run(low: int) -> bool:
    return 0 <= low < 27 and low % 9 <= 6


class Deal:
    """A wall being laid: give hands and draws what they must have, chance fills the rest.

    A tile that is no longer there, or finds no room, is silently not given: scenarios ask for more than
    there may be.
    """

    def __init__(self, rng: random.Random, num_players: int, caishen=None, dealer=None):
        self.rng, self.n = rng, num_players
        self.caishen = rng.randrange(34) if caishen is None else caishen
        self.dealer = rng.randrange(num_players) if dealer is None else dealer
        self.left = Counter(dict.fromkeys(range(34), 4))
        self.left[self.caishen] -= 1
        self.hands = [[] for _ in range(num_players)]
        self.draws = {}  # number of the ordinary draw, from 0: kind
        self.replacements = {}
        self.styles = {}  # seat: the style of play that makes the thing happen

    def cast(self, style: str, *seats: int) -> None:
        for seat in seats:
            self.styles[seat] = style

    def seat(self, after: int) -> int:
        """The seat so many places after the dealer."""
        return (self.dealer + after) % self.n

    def room(self, seat: int) -> int:
        return (17 if seat == self.dealer else 16) - len(self.hands[seat])

    def give(self, seat: int, *kinds: int) -> None:
        for kind in kinds:
            if self.left[kind] and self.room(seat):
                self.left[kind] -= 1
                self.hands[seat].append(kind)

    def give_all(self, seat: int, *kinds: int) -> bool:
        """All of them or none."""
        wanted = Counter(kinds)
        if len(kinds) > self.room(seat) or any(self.left[k] < n for k, n in wanted.items()):
            return False
        self.give(seat, *kinds)
        return True

    def give_set(self, seat: int, runs: float = 0.6) -> None:
        """A run or three alike, without caishen, where chance and the tiles left allow."""
        for _ in range(30):
            if self.rng.random() < runs:
                low = self.rng.randrange(27)
                tiles = [low, low + 1, low + 2] if is_run(low) else []
            else:
                tiles = [self.rng.randrange(34)] * 3
            if tiles and self.caishen not in tiles and self.give_all(seat, *tiles):
                return

    def give_pair(self, seat: int, kinds=range(34)) -> None:
        for _ in range(30):
            kind = self.rng.choice(list(kinds))
            if kind != self.caishen and self.give_all(seat, kind, kind):
                return

    def give_junk(self, seat: int, count: int) -> None:
        """Suited singles, so that the wind-first rule does not hold them up."""
        kinds = [k for k in SUITED if k != self.caishen]
        for _ in range(60):
            kind = self.rng.choice(kinds)
            near = {k for k in self.hands[seat] if k < 27 and k // 9 == kind // 9 and abs(k - kind) <= 1}
            if count and not near and self.give_all(seat, kind):
                count -= 1

    def draw(self, number: int, kind: int) -> None:
        if self.left[kind] and number not in self.draws:
            self.left[kind] -= 1
            self.draws[number] = kind

    def replace(self, number: int, kind: int) -> None:
        if self.left[kind] and number not in self.replacements:
            self.left[kind] -= 1
            self.replacements[number] = kind

    def wall(self):
        """(136 kinds, dealer)"""
        rest = list(self.left.elements())
        self.rng.shuffle(rest)
        for seat in range(self.n):
            while self.room(seat):
                self.hands[seat].append(rest.pop())
        order = [self.seat(i) for i in range(self.n)]
        wall = [kind for seat in order for kind in self.hands[seat][:16]] + self.hands[self.dealer][16:]
        middle = [None] * (136 - len(wall) - 1)
        for number, kind in self.draws.items():
            middle[number] = kind
        for number, kind in self.replacements.items():
            if middle[-1 - number] is None:
                middle[-1 - number] = kind
            else:
                rest.append(kind)
        middle = [rest.pop() if kind is None else kind for kind in middle]
        wall += [*middle, self.caishen]
        assert sorted(wall) == sorted(list(range(34)) * 4)
        return wall, self.dealer


def suited_caishen(rng):
    return rng.randrange(27)


# -- scenarios: each takes (rng, num_players) and gives a Deal ---------------------------------------------


def shuffled(rng, n):
    return Deal(rng, n)


def near_hands(rng, n):
    """Every seat one to three tiles short, some with caishen."""
    deal = Deal(rng, n)
    for seat in range(n):
        for _ in range(rng.choice((3, 4, 4, 5))):
            deal.give_set(seat)
        deal.give_pair(seat)
        if rng.random() < 0.4:
            deal.give(seat, deal.caishen)
    return deal


def many_caishen(rng, n):
    """Two or three caishen in one hand, with or without shape."""
    deal = Deal(rng, n)
    seat = rng.randrange(n)
    deal.give(seat, *[deal.caishen] * rng.choice((2, 3, 3)))
    for _ in range(rng.choice((0, 2, 3, 4))):
        deal.give_set(seat)
    return deal


def shapeless_caishen(rng, n):
    """Three caishen and nothing else, at once or by the first draws."""
    deal = Deal(rng, n)
    seat = rng.randrange(n)
    early = rng.choice((1, 2, 3))
    deal.give(seat, *[deal.caishen] * early)
    deal.give_junk(seat, 10)
    for number in range((seat - deal.dealer - 1) % n, 40, n):
        deal.draw(number, deal.caishen)
    return deal


def whites(rng, n):
    """All whites about, the caishen suited or not, the face's neighbours in every hand."""
    deal = Deal(rng, n, caishen=suited_caishen(rng) if rng.random() < 0.8 else rng.randrange(34))
    face = deal.caishen
    holder = rng.randrange(n)
    deal.give(holder, *[WHITE] * rng.choice((1, 2, 3, 4)))
    for seat in range(n):
        deal.give(
            seat,
            *[
                k
                for k in (face - 2, face - 1, face + 1, face + 2)
                if 0 <= k < 27 and k // 9 == face // 9 and rng.random() < 0.8
            ],
        )
        deal.give(seat, WHITE)
        for _ in range(3):
            deal.give_set(seat)
    return deal


def caishen_home(rng, n):
    """A ready hand in which a caishen stands in a run of its own kind, whites beside it."""
    deal = Deal(rng, n, caishen=suited_caishen(rng))
    seat, face = rng.randrange(n), deal.caishen
    lows = [low for low in (face - 2, face - 1, face) if is_run(low)]
    low = rng.choice(lows)
    deal.give(seat, low, low + 1, low + 2)
    deal.give(seat, *[WHITE] * rng.choice((0, 2, 3)))
    for _ in range(3):
        deal.give_set(seat)
    deal.give_pair(seat)
    return deal


def gangs(rng, n):
    """Three and four alike everywhere, the fourth tiles among the draws."""
    deal = Deal(rng, n)
    kinds = [k for k in range(34) if k != deal.caishen]
    rng.shuffle(kinds)
    for seat in range(n):
        for _ in range(rng.choice((2, 3, 4))):
            kind = kinds.pop()
            deal.give(seat, *[kind] * rng.choice((3, 3, 4)))
            if rng.random() < 0.5:
                deal.draw(rng.randrange(30), kind)
            else:
                deal.give(rng.randrange(n), kind)
    return deal


def robbed_gang(rng, n):
    """One seat holds three of a kind, pengs the fourth and adds the third later; others wait for it in a
    run.
    """
    deal = Deal(rng, n)
    while True:
        kind = rng.randrange(27)
        gaps = [
            (a, b)
            for a, b in ((kind - 2, kind - 1), (kind - 1, kind + 1), (kind + 1, kind + 2))
            if is_run(min(a, kind)) and deal.caishen not in (kind, a, b)
        ]
        if gaps:
            break
    ganger, giver, *waiters = rng.sample(range(n), n)
    if not waiters:
        waiters = [giver]
    deal.give(ganger, kind, kind, kind)
    deal.cast("adder", ganger)
    deal.give(giver, kind)
    if giver not in waiters:
        full_hand_but(deal, giver)
    for waiter in waiters[: rng.choice((1, 2))]:
        deal.cast("waiter", waiter)
        deal.give(waiter, *rng.choice(gaps))
        if rng.random() < 0.5:
            deal.give(waiter, deal.caishen)
        for _ in range(4):
            deal.give_set(waiter)
        deal.give_pair(waiter)
    return deal


def eight_pairs(rng, n):
    """Seven or eight pairs, four alike among them, with up to three caishen."""
    deal = Deal(rng, n)
    for seat in rng.sample(range(n), rng.choice((1, 2))):
        deal.give(seat, *[deal.caishen] * rng.choice((0, 0, 1, 1, 2)))
        if rng.random() < 0.3:
            deal.give_all(seat, *[rng.choice([k for k in range(34) if k != deal.caishen])] * 4)
        for _ in range(rng.choice((6, 7, 8))):
            deal.give_pair(seat)
    return deal


def five_melds(rng, n, caishen_in_hand=1, junk=5):
    """Five pairs of honours in one hand, the others of them lone in other hands, which must discard them
    first.
    """
    deal = Deal(rng, n, caishen=rng.choice((*SUITED, *SUITED, WHITE)))
    seat = rng.randrange(n)
    others = [s for s in range(n) if s != seat]
    pairs = rng.sample([k for k in HONOURS if k != deal.caishen], 5)
    for kind in pairs:
        deal.give(seat, kind, kind)
        deal.give(rng.choice(others), kind)
    deal.give(seat, *[deal.caishen] * caishen_in_hand)
    deal.give_junk(seat, junk if seat != deal.dealer else junk + 1)
    deal.cast("claimer", seat)
    deal.cast("hoarder", *others)
    return deal, seat, others


def five_melds_by_gang(rng, n):
    """Four such pairs, a caishen and three alike, suited: a gang is the fifth meld and the replacement tile
    wins.
    """
    deal = Deal(rng, n, caishen=suited_caishen(rng))
    seat = rng.randrange(n)
    others = [s for s in range(n) if s != seat]
    for kind in rng.sample(HONOURS, 4):
        deal.give(seat, kind, kind)
        deal.give(rng.choice(others), kind)
    kind = rng.choice([k for k in SUITED if k != deal.caishen])
    deal.give(seat, kind, kind, kind, deal.caishen)
    if rng.random() < 0.5:
        deal.give(rng.choice(others), kind)
    else:
        deal.draw(rng.randrange(20, 40), kind)
    deal.give_junk(seat, 6)
    deal.cast("claimer", seat)
    deal.cast("hoarder", *others)
    return deal


def quanqiushen(rng, n):
    return five_melds(rng, n)[0]


def single_wait(rng, n):
    return five_melds(rng, n, caishen_in_hand=0, junk=6)[0]


def quanqiushen_spoiled(rng, n):
    """As before, with another seat that waits for much of what the last discard can be."""
    deal, seat, others = five_melds(rng, n)
    for waiter in others[: rng.choice((1, 2))]:
        deal.cast("closed", waiter)
        if rng.random() < 0.6:
            deal.give(waiter, deal.caishen)
        junk = rng.choice([k for k in deal.hands[seat] if k < 27 and k != deal.caishen] or [0])
        deal.give(waiter, *[k for k in (junk - 1, junk + 1) if k >= 0 and k // 9 == junk // 9])
        for _ in range(4):
            deal.give_set(waiter)
        deal.give_pair(waiter, SUITED)
    return deal


def forced_caishen(rng, n):
    """Five pairs to be melded, two caishen left over."""
    deal, seat, _ = five_melds(rng, n, caishen_in_hand=rng.choice((1, 2, 2)), junk=4)
    for number in range((seat - deal.dealer - 1) % n, 60, n):
        if rng.random() < 0.2:
            deal.draw(number, deal.caishen)
    return deal


def won_on_caishen(rng, n):
    """The same, and the others ready for anything."""
    deal, _, others = five_melds(rng, n, caishen_in_hand=2, junk=4)
    for waiter in others:
        deal.cast(rng.choice(("closed", "hoarder")), waiter)
        for _ in range(5):
            deal.give_set(waiter, runs=rng.choice((0.1, 0.8)))
        deal.give_pair(waiter, SUITED)
    return deal


def all_triplets(rng, n):
    """Pairs and triplets in one or two hands."""
    deal = Deal(rng, n)
    for seat in rng.sample(range(n), rng.choice((1, 2))):
        if rng.random() < 0.4:
            deal.give(seat, *[deal.caishen] * rng.choice((1, 2)))
        for _ in range(rng.choice((2, 3, 4))):
            deal.give_set(seat, runs=0)
        for _ in range(4):
            deal.give_pair(seat)
    return deal


def ready(deal, seat, *, runs=0.6, wild=0.3):
    """A hand that waits: five sets and one, or four sets, a pair and two."""
    rng = deal.rng
    if rng.random() < wild:
        deal.give(seat, deal.caishen)
    for _ in range(4):
        deal.give_set(seat, runs)
    if rng.random() < 0.5:
        deal.give_set(seat, runs)
    else:
        deal.give_pair(seat)
        low = rng.choice([k for k in range(27) if is_run(k)])
        deal.give(seat, *rng.choice(((low, low + 1), (low, low + 2), (low + 1, low + 2))))


def heavenly(rng, n):
    deal = Deal(rng, n)
    if rng.random() < 0.3:
        deal.give(deal.dealer, deal.caishen)
    if rng.random() < 0.2:
        for _ in range(8):
            deal.give_pair(deal.dealer)
    for _ in range(5):
        deal.give_set(deal.dealer)
    deal.give_pair(deal.dealer)
    return deal


def earthly(rng, n):
    """Everyone but the dealer ready from the start, some caishen among the first draws."""
    deal = Deal(rng, n)
    for after in range(1, n):
        ready(deal, deal.seat(after))
    if rng.random() < 0.5:
        deal.draw(rng.randrange(n), deal.caishen)
    return deal


def caishen_ma(rng, n):
    """Five sets and a caishen, or four with two or three caishen and two tiles."""
    deal = Deal(rng, n)
    for seat in rng.sample(range(n), rng.choice((1, 2))):
        caishen = rng.choice((1, 1, 2))
        deal.give(seat, *[deal.caishen] * caishen)
        if rng.random() < 0.3 and deal.caishen < 27:
            lows = [low for low in range(max(0, deal.caishen - 2), deal.caishen + 1) if is_run(low)]
            low = rng.choice(lows)
            deal.give(seat, *[WHITE if k == deal.caishen else k for k in (low, low + 1, low + 2)])
        for _ in range(5 if caishen == 1 else 4):
            deal.give_set(seat)
        if caishen > 1:
            low = rng.choice([k for k in range(27) if is_run(k)])
            deal.give(seat, low, low + 2)
    return deal


def single_or_ma(rng, n):
    """Five melds again; the lone tile is a caishen or draws one."""
    deal, seat, _ = five_melds(rng, n, caishen_in_hand=rng.choice((0, 1)), junk=5)
    for number in range((seat - deal.dealer - 1) % n, 60, n):
        if rng.random() < 0.15:
            deal.draw(number, deal.caishen)
    return deal


def full_hand_but(deal, seat, singles=2):
    """Fills a hand with pairs, so that its few singles are soon discarded by a seat that keeps what is
    alike.
    """
    deal.cast("hoarder", seat)
    deal.give_junk(seat, singles)
    while deal.room(seat) > 1:
        before = deal.room(seat)
        deal.give_pair(seat, SUITED)
        if deal.room(seat) == before:
            return


def two_winners(rng, n):
    """Two or three seats wait for one kind, some of them for a double; another discards it before long."""
    deal = Deal(rng, n)
    while True:
        kind = rng.randrange(27)
        gaps = [
            (a, b)
            for a, b in ((kind - 2, kind - 1), (kind - 1, kind + 1), (kind + 1, kind + 2))
            if is_run(min(a, kind)) and deal.caishen not in (kind, a, b)
        ]
        if gaps:
            break
    giver, one, *others = rng.sample(range(n), n)
    deal.give(giver, kind)
    deal.give(one, *rng.choice(gaps))
    if others:
        deal.give(others[0], kind, kind)
    for other in others[1:]:
        deal.give(other, *rng.choice(gaps))
    for seat in (one, *others):
        deal.cast("closed", seat)
        triplets = seat in others[:1] and rng.random() < 0.7
        for _ in range(4):
            deal.give_set(seat, runs=0 if triplets else 0.8)
        deal.give_pair(seat)
    full_hand_but(deal, giver, singles=3)
    return deal


def competing_claims(rng, n):
    """One kind that one seat can chi, another peng and a third wins with."""
    deal = Deal(rng, n)
    kind = rng.choice([k for k in SUITED if k != deal.caishen])
    giver = rng.randrange(n)
    after = [(giver + i) % n for i in range(1, n)]
    near = [k for k in (kind - 2, kind - 1, kind + 1, kind + 2) if k in SUITED and k // 9 == kind // 9]
    deal.give(giver, kind)
    deal.give(after[0], *near)
    deal.give(after[-1], *[kind] * rng.choice((2, 2, 3)))
    deal.cast("claimer", after[0], after[-1])
    if n > 2:
        winner = rng.choice(after[1:])
        deal.give(winner, *rng.sample(near, 2))
        deal.cast("closed", winner)
        for _ in range(4):
            deal.give_set(winner)
        deal.give_pair(winner)
    full_hand_but(deal, giver)
    return deal


def late_peng(rng, n):
    """Pairs in one hand whose other two tiles other seats hold or draw soon, lone winds among them."""
    deal = Deal(rng, n)
    seat = rng.randrange(n)
    for kind in rng.sample([k for k in HONOURS if k != deal.caishen], 4):
        deal.give(seat, kind, kind)
        for _ in range(2):
            if rng.random() < 0.6:
                deal.give(rng.choice([s for s in range(n) if s != seat]), kind)
            else:
                deal.draw(rng.randrange(12), kind)
    return deal


def late_gangs(rng, n):
    """Three alike from the start, the fourth tile among the last draws of the wall."""
    deal = Deal(rng, n)
    draws = 136 - 16 * n - 1 - 1
    for seat in range(n):
        for _ in range(rng.choice((2, 3))):
            kind = rng.choice([k for k in range(34) if k != deal.caishen])
            deal.cast("hoarder", seat)
            if deal.give_all(seat, kind, kind, kind):
                where = draws - rng.randrange(10, 28)
                deal.draw(where, kind)
    return deal


BUILDERS = {
    f.__name__: f
    for f in (
        shuffled,
        near_hands,
        many_caishen,
        shapeless_caishen,
        whites,
        caishen_home,
        gangs,
        robbed_gang,
        eight_pairs,
        quanqiushen,
        quanqiushen_spoiled,
        single_wait,
        five_melds_by_gang,
        forced_caishen,
        won_on_caishen,
        all_triplets,
        heavenly,
        earthly,
        caishen_ma,
        single_or_ma,
        two_winners,
        competing_claims,
        late_peng,
        late_gangs,
    )
}


def rigged_cast(rng: random.Random, num_players: int, name: str | None = None):
    """(wall, dealer, styles): a scenario, by name or by chance, and a style of play for every seat."""
    deal = BUILDERS[name or rng.choice(list(BUILDERS))](rng, num_players)
    wall, dealer = deal.wall()
    free = rng.random() < 0.25
    styles = [rng.choice(STYLES) for _ in range(num_players)]
    if not free:
        styles = [deal.styles.get(seat, style) for seat, style in enumerate(styles)]
    return wall, dealer, styles


def _scenario(name: str):
    return lambda rng, num_players: rigged_cast(rng, num_players, name)[:2]


SCENARIOS = {name: _scenario(name) for name in BUILDERS}


def rigged(rng: random.Random, num_players: int):
    """(wall, dealer) of a scenario taken by chance."""
    return rigged_cast(rng, num_players)[:2]


def random_rules(rng: random.Random) -> dict:
    """House rules with each switch turned now and then."""
    rules = {"num_players": rng.choice((2, 3, 4, 4, 4))}
    options = {
        "unit": lambda: rng.choice((1, 20, 1000)),
        "dealer_ladder": lambda: rng.choice(((1, 2, 3, 4), (2, 4, 6, 8), (3, 5), (7,))),
        "non_dealer_base": lambda: rng.randint(1, 3),
        "stakes": lambda: False,
        "wind_first": lambda: False,
        "white_is_wind": lambda: False,
        "passed_peng": lambda: False,
        "white_home_face": lambda: True,
        "dead_wall": lambda: rng.choice((1, 2, 3, 20, 60)),
        "caishen_bonus": lambda: rng.randint(0, 3),
        "caishen_bonus_double": lambda: rng.randint(0, 3),
        "caishen_bonus_on_draw": lambda: False,
    }
    for name, value in options.items():
        if rng.random() < 0.15:
            rules[name] = value()
    return rules


def random_stakes(rng: random.Random, rules: dict, dealer: int) -> dict:
    """Ladder, bought and topped as they may stand before a hand."""
    steps = len(rules.get("dealer_ladder", (1, 2, 3, 4)))
    given = rules.get("stakes", True) and rng.random() < 0.5
    seats = rules.get("num_players", 4)
    return {
        "ladder": rng.randrange(steps),
        "bought": bool(given and rng.random() < 0.5),
        "topped": tuple(bool(given and s != dealer and rng.random() < 0.4) for s in range(seats)),
    }


# -- players -------------------------------------------------------------------------------------------------

CHI_LOW, CHI_MID, CHI_HIGH, PENG, GANG, HU, PASS, RAISE = range(68, 76)
CHIS = (CHI_LOW, CHI_MID, CHI_HIGH)
STYLES = ("random", "claimer", "adder", "hoarder", "greedy", "waiter", "closed")


@lru_cache(maxsize=200_000)
def _kept(tiles: tuple):
    """For one suit or the honours: (sets, pair) -> the most tiles that can lie in them."""
    best = {(s, p): 0 for s in range(6) for p in (0, 1)}
    if not tiles:
        return best
    lowest, alike = tiles[0], tiles.count(tiles[0])
    ways = [(0, 0, tiles[1:], 0), (0, 1, tiles[min(alike, 2) :], min(alike, 2))]
    ways += [(1, 0, tiles[real:], real) for real in range(1, min(alike, 3) + 1)]
    for low in (lowest - 2, lowest - 1, lowest):
        if is_run(low) and low // 9 == lowest // 9:
            rest, real = list(tiles), 0
            for k in (low, low + 1, low + 2):
                if k in rest:
                    rest.remove(k)
                    real += 1
            ways.append((1, 0, tuple(rest), real))
    for sets, pair, rest, real in ways:
        for (s, p), more in _kept(rest).items():
            key = s + sets, p + pair
            if key in best:
                best[key] = max(best[key], real + more)
    return best


def quick_distance(counts, n_melds: int, caishen: int) -> int:
    """`naive.distance` again, suit by suit, for the players below."""
    size = 17 - 3 * n_melds
    need = 5 - n_melds
    whites = counts[WHITE] if caishen != WHITE else 0
    kept = 0
    for faces in range(whites + 1):
        c = list(counts)
        c[caishen] = 0
        if faces:
            c[WHITE] -= faces
            c[caishen] += faces
        total = {(0, 0): 0}
        for low, high in ((0, 9), (9, 18), (18, 27), (27, 34)):
            tiles = tuple([k for k in range(low, high) for _ in range(c[k])])
            joined = {}
            for (s, p), a in total.items():
                for (t, q), b in _kept(tiles).items():
                    if s + t <= need and p + q <= 1:
                        key = s + t, p + q
                        if a + b > joined.get(key, -1):
                            joined[key] = a + b
            total = joined
        kept = max(kept, total[need, 1])
    if n_melds == 0:
        natural = [n for k, n in enumerate(counts) if k != caishen]
        pairs, singles = sum(n // 2 for n in natural), sum(n % 2 for n in natural)
        kept = max(kept, min(17, 2 * pairs + min(singles, 8 - pairs + 1)))
    short = max(0, size - kept - counts[caishen])
    if size >= 3:
        short = min(short, max(3 - counts[caishen], size - sum(counts), 0))
    return short


def _discard(discards, rng, hand, caishen, n_melds, *, keep_alike=False):
    """The discard that leaves the hand nearest to a win; by chance among equals."""
    if len(discards) == 1:
        return discards[0]

    def cost(kind):
        rest = list(hand)
        rest[kind] -= 1
        distance = quick_distance(rest, n_melds, caishen)
        return (hand[kind] > 1, distance) if keep_alike else distance

    costs = {kind: cost(kind) for kind in discards}
    least = min(costs.values())
    return rng.choice([kind for kind in discards if costs[kind] == least])


def drive(legal, rng: random.Random, style: str, hand=None, caishen=None, n_melds: int = 0, pengs=()) -> int:
    """One of the legal ids. `hand`: the seat's 34 counts; without them discards are by chance. `pengs`:
    kinds of its pengs.

    random: any. claimer: melds whatever it can, seldom wins before its fifth meld. adder: the same, but
    rather pengs now and adds later. hoarder: keeps what is alike, claims little, gangs late. greedy: takes
    wins and goes the shortest way. waiter: the same, but claims nothing and lets half the wins go. closed:
    a waiter that takes every win.
    """
    if style == "random" or len(legal) == 1 or RAISE in legal:
        return rng.choice(legal)
    melder = style in ("claimer", "adder")
    win = {"hoarder": 0.3, "waiter": 0.5}.get(style, 1.0)
    if melder:
        win = 0.8 if n_melds == 5 else 0.15
    if HU in legal and rng.random() < win:
        return HU
    discards = [a for a in legal if a < 34]
    if discards:
        if style == "adder":  # the fourth tile is kept
            discards = [kind for kind in discards if kind not in pengs] or discards
        own_gangs = [a for a in legal if 34 <= a < 68]
        gang = {"hoarder": 0.1, "claimer": 1.0, "adder": 1.0}.get(style, 0.5)
        if own_gangs and rng.random() < gang:
            return rng.choice(own_gangs)
        if hand is None:
            return rng.choice(discards)
        if style == "hoarder":
            fewest = min(hand[kind] for kind in discards)
            return rng.choice([kind for kind in discards if hand[kind] == fewest])
        return _discard(discards, rng, hand, caishen, n_melds, keep_alike=melder)
    if melder:
        for claim in (PENG, GANG) if style == "adder" else (GANG, PENG):
            if claim in legal and rng.random() < 0.9:
                return claim
    if melder or style == "greedy":
        claims = [a for a in legal if a in (GANG, PENG, *CHIS)]
        if claims and rng.random() < (0.7 if melder else 0.4):
            return rng.choice(claims)
    if style == "hoarder" and GANG in legal and rng.random() < 0.3:
        return GANG
    return PASS


def play(game, rng: random.Random, styles=None, each=None):
    """Plays a `naive.NaiveGame` to its end, a style a seat; calls `each(game)` after every step; returns
    the actions.
    """
    styles = styles or [rng.choice(STYLES) for _ in range(game.n)]
    actions = []
    while not game.done:
        seat = game.current_player
        hand = [game.hands[seat][k] for k in range(34)]
        pengs = [kind for what, kind in game.melds[seat] if what == "peng"]
        action = drive(game.legal(), rng, styles[seat], hand, game.caishen, len(game.melds[seat]), pengs)
        game.step(action)
        actions.append(action)
        if each:
            each(game)
    return actions
