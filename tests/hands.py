"""Random hands for tests: winning ones, near misses, and whatever else can be dealt."""

from __future__ import annotations

import random

WHITE = 31
SUITED = 27


def _set_of(rng: random.Random) -> list[int]:
    if rng.random() < 0.6:
        low = 9 * rng.randrange(3) + rng.randrange(7)
        return [low, low + 1, low + 2]
    return [rng.randrange(34)] * 3


def _melds(rng: random.Random, n: int, caishen: int) -> list[tuple[str, int]]:
    melds: list[tuple[str, int]] = []
    while len(melds) < n:
        what = rng.choice(("chi", "chi", "peng", "gang", "added", "concealed"))
        kind = 9 * rng.randrange(3) + rng.randrange(7) if what == "chi" else rng.randrange(34)
        if what == "chi" or kind != caishen:
            melds.append((what, kind))
    return melds


def meld_counts(melds: list[tuple[str, int]], caishen: int) -> list[int]:
    counts = [0] * 34
    for what, kind in melds:
        if what == "chi":
            for k in range(kind, kind + 3):
                counts[WHITE if k == caishen else k] += 1
        else:
            counts[kind] += 3 if what == "peng" else 4
    return counts


def random_hand(rng: random.Random) -> tuple[list[int], list[tuple[str, int]], int]:
    """34 counts of 17 - 3 * melds tiles, melds, caishen: possible together, about half of them near or at a win."""
    while True:
        caishen = rng.choice((rng.randrange(SUITED), rng.randrange(34), WHITE))
        melds = _melds(rng, rng.choice((0, 0, 0, 1, 2, 3, 4, 5)), caishen)
        size = 17 - 3 * len(melds)
        shape = rng.random()
        if shape < 0.2 and not melds:  # eight pairs
            hand = [k for k in (rng.randrange(34) for _ in range(8)) for _ in range(2)] + [rng.randrange(34)]
        elif shape < 0.85:  # sets and a pair
            hand = [k for _ in range(5 - len(melds)) for k in _set_of(rng)] + [rng.randrange(34)] * 2
        else:
            hand = [rng.randrange(34) for _ in range(size)]
        for i in range(size):
            change = rng.random()
            if change < 0.06 or (hand[i] == caishen and change < 0.4):
                hand[i] = rng.randrange(34)
            elif change < 0.16:
                hand[i] = caishen
            elif change < 0.2 or (hand[i] == caishen and change < 0.8):
                hand[i] = WHITE
        counts = [hand.count(k) for k in range(34)]
        in_melds = meld_counts(melds, caishen)
        if counts[caishen] == 3 and rng.random() < 0.85:  # they cost the brute-force solver 30 times the others
            continue
        if counts[caishen] <= 3 and all(a + b <= 4 for a, b in zip(counts, in_melds, strict=True)):
            return counts, melds, caishen


def circumstances(rng: random.Random, counts: list[int], melds: list[tuple[str, int]], caishen: int) -> dict[str, bool]:
    """Keyword arguments of `evaluate` that can be."""
    self_draw = rng.random() < 0.5
    heavenly = self_draw and not melds and rng.random() < 0.05
    return {
        "self_draw": self_draw,
        "rob": not self_draw and rng.random() < 0.2,
        "heavenly": heavenly,
        "earthly": not heavenly and rng.random() < 0.05,
        "caishen_ma": self_draw and not heavenly and counts[caishen] > 0 and rng.random() < 0.2,
        "white_home_face": rng.random() < 0.5,
    }
