"""Questions about hands against the slow twin."""

import random

import numpy as np
import pytest

from wzmj_env import hand, tiles

import naive
from hands import meld_counts, random_hand


def smaller(rng, counts):
    """The same hand with one tile less."""
    k = rng.choice([k for k in range(34) if counts[k]])
    return [c - (i == k) for i, c in enumerate(counts)]


@pytest.fixture(scope="module")
def hands():
    rng = random.Random(5)
    return [random_hand(rng) for _ in range(1500)]


def test_complete_hands_are_found(hands):
    answers = [hand.complete(c, len(melds), caishen) for c, melds, caishen in hands]
    assert answers == [naive.is_complete(c, len(melds), caishen) for c, melds, caishen in hands]
    assert 0.2 < np.mean(answers) < 0.8


def test_waits_and_distance_before_the_draw(hands):
    rng = random.Random(6)
    ready = 0
    for counts, melds, caishen in hands:
        held, n = smaller(rng, counts), len(melds)
        if held[caishen] > 3:
            continue
        waits = set(hand.waits(held, n, caishen))
        drawable = {k for k in range(34) if held[k] < 4}
        assert waits == naive.waits(held, n, caishen) & drawable, (held, n, caishen)
        assert hand.distance(held, n, caishen) == naive.distance(held, n, caishen), (held, n, caishen)
        assert bool(waits) == (hand.distance(held, n, caishen) <= 1)
        visible = meld_counts(melds, caishen)
        visible[caishen] += 1
        live = set(hand.live_waits(held, n, caishen, visible))
        assert live == {k for k in waits if held[k] + visible[k] < 4}
        ready += bool(waits)
    assert ready > 300


def test_distance_after_the_draw(hands):
    for counts, melds, caishen in hands:
        distance = hand.distance(counts, len(melds), caishen)
        assert distance == naive.distance(counts, len(melds), caishen), (counts, melds, caishen)
        assert (distance == 0) == hand.complete(counts, len(melds), caishen)


def test_improving_kinds_lower_the_distance(hands):
    rng = random.Random(7)
    for counts, melds, caishen in hands[:250]:
        held, n = smaller(rng, counts), len(melds)
        drawable = {k for k in range(34) if held[k] < 4}
        assert set(hand.improving(held, n, caishen)) == naive.improving(held, n, caishen) & drawable


def test_waits_that_cannot_come_are_formal_only():
    held = tiles.counts("1m 444m 123p 456p 789p 123s")
    visible = tiles.counts("111m 7z")
    assert hand.waits(held, 0, tiles.RED) == [tiles.parse_kind("1m"), tiles.RED]
    assert hand.live_waits(held, 0, tiles.RED, visible) == [tiles.RED]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((tiles.counts("11m"), 0, 33), "16"),
        ((tiles.counts("1m"), 6, 33), "num_melds"),
        ((tiles.counts("1m"), 5, 34), "caishen"),
        ((tiles.counts("7777z"), 4, 33), "four caishen"),
        (([5] + [0] * 33, 4, 33), "0 to 4"),
        (("1m", 5, 33), "34"),
    ],
)
def test_impossible_hands_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        hand.waits(*arguments)
