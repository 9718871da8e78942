"""`scoring.evaluate` against a solver that writes every possible kind in place of every caishen."""

import os
import random

import numpy as np
import pytest

from wzmj_env import Rules, scoring, tiles
from wzmj_env.workers import process_pool

import naive
from hands import circumstances, random_hand

HANDS, LONG_HANDS, CHUNK = 4_000, 200_000, 1_000


def check_hands(first):
    """Compare CHUNK hands; how many of them win."""
    rng = random.Random(first)
    wins = 0
    for _ in range(CHUNK):
        counts, melds, caishen = random_hand(rng)
        how = circumstances(rng, counts, melds, caishen)
        found = scoring.evaluate(counts, melds, caishen, **how)
        want = naive.brute_force(counts, melds, caishen, **how)
        assert (found and (found.value, sorted(p.name for p in found.patterns))) == want, (counts, melds, caishen, how)
        wins += found is not None
    return wins


def check_many(first, hands):
    with process_pool(os.cpu_count()) as pool:
        wins = sum(pool.map(check_hands, range(first, first + hands, CHUNK)))
    assert 0.3 * hands < wins < 0.7 * hands  # about half of them are no wins


def test_evaluate_agrees_with_the_brute_force_solver():
    check_many(0, HANDS)


@pytest.mark.long
@pytest.mark.largest
def test_evaluate_agrees_with_the_brute_force_solver_over_many_hands():
    check_many(10_000_000, LONG_HANDS)


WON = tiles.counts("11m 123m 456p 789p 123s 456s")


def evaluate(concealed=WON, melds=(), caishen=tiles.RED, **how):
    return scoring.evaluate(concealed, list(melds), caishen, **{"self_draw": True, **how})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"concealed": tiles.counts("11m 123m")}, "17"),
        ({"concealed": tiles.counts("11111m 456p 789p 123s 456s")}, "0 to 4"),
        ({"concealed": tiles.counts("7777z 1m 123m 456p 789p 123s")}, "four caishen"),
        ({"concealed": WON[:33]}, "34"),
        ({"concealed": WON.astype(float)}, "34"),
        ({"concealed": "11m123m"}, "34"),
        ({"concealed": None}, "34"),
        ({"caishen": 34}, "0 to 33"),
        ({"caishen": -1}, "0 to 33"),
        ({"caishen": True}, "0 to 33"),
        ({"caishen": 1.0}, "0 to 33"),
        ({"melds": [("chi", 7)]}, "no run"),
        ({"melds": [("chi", 27)]}, "no run"),
        ({"melds": [("kong", 7)]}, "kong"),
        ({"melds": [("peng", 33)]}, "caishen"),
        ({"melds": [("peng", 40)]}, "0 to 33"),
        ({"melds": [("peng",)]}, "pair"),
        ({"melds": ["peng"]}, "pair"),
        ({"melds": [("peng", k) for k in range(6)]}, "at most 5"),
        ({"melds": [("peng", 0)], "concealed": tiles.counts("11m 456p 789p 123s 456s")}, "5 tiles of 1m"),
        ({"melds": [("gang", 31), ("chi", 0)], "caishen": 1, "concealed": tiles.counts("11p 456p 789p 123s")}, "5 tiles of 5z"),
        ({"rob": True}, "rob"),
        ({"self_draw": 1}, "self_draw"),
        ({"self_draw": None}, "self_draw"),
        ({"caishen_ma": True}, "caishen_ma"),
        ({"heavenly": True, "self_draw": False}, "heavenly"),
    ],
)  # fmt: skip
def test_impossible_hands_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        evaluate(**arguments)


def test_payments_of_every_base():  # R8.5, R9.1
    payments = np.zeros(4, np.int64)
    # seat 1 wins a double hand; seat 0 deals at ladder value 3, has bought, and seat 1 has topped, seat 2 too
    scoring.add_win_payments(payments, 1, 4, 5, 0, 3, 1, True, np.array([0, 1, 1, 0]))
    assert payments.tolist() == [-5 * 4 * 12, 5 * 4 * 14, -5 * 4, -5 * 4]


def test_caishen_points():  # R9.2
    payments = np.zeros(3, np.int64)
    scoring.add_caishen_points(payments, 0, 2, scoring.caishen_amount(4, 5, 1, 2))
    scoring.add_caishen_points(payments, 2, 1, scoring.caishen_amount(4, 5, 1, 2))
    assert payments.tolist() == [40 - 10, -20 - 10, 20 - 20]


# --- leaving: R10.6 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "ladder", "leavers", "payments", "house"),
    [
        (4, 0, [2], [1, 1, -8, 1], 5),  # half of 8 is 4, in whole units a third of it is 1
        (4, 2, [0], [-24, 4, 4, 4], 12),
        (4, 3, [3], [5, 5, 5, -32], 17),
        (3, 1, [1], [4, -16, 4], 8),
        (2, 0, [0], [-8, 4], 4),
        (4, 0, [1, 2], [4, -8, -8, 4], 8),  # two at once: each half goes to the two who stay
        (4, 0, [2, 1, 2], [4, -8, -8, 4], 8),
        (2, 1, [0, 1], [-16, -16], 32),
    ],
)
def test_charge_for_leaving(players, ladder, leavers, payments, house):  # R10.6
    for unit in (1, 10):
        paid, to_house = scoring.leaving_payments(Rules(num_players=players, unit=unit), ladder, *leavers)
        assert paid.tolist() == [unit * x for x in payments]
        assert to_house == unit * house
        assert paid.sum() + to_house == 0
