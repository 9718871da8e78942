"""Events and resample: a seat's log, and hands that go with it."""

import json
import random

import numpy as np
import pytest

from wzmj_env import Game, Rules, actions
from wzmj_env.render import hand_counts
from wzmj_env.state import CLAIM, PHASES, ROB, STAKES_ASKED

import walls
from test_views import RULES


def games(rules, n, first=0):
    """Games stopped at some moment, some of them over, with wins taken and claims made."""
    for seed in range(first, first + n):
        rng = random.Random(seed)
        game = Game(rules, seed=seed)
        stop = rng.choice((1, 3, 20, 60, 100, 1000))
        while not game.done and len(game.actions) < stop:
            legal = game.legal_actions()
            claims = [a for a in legal if a > actions.CHI_LOW and a != actions.PASS]
            game.step(rng.choice(claims if claims and rng.random() < 0.6 else legal))
        yield game


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
def test_resampled_games_are_the_same_to_the_seat(rules):
    differ = compared = 0
    phases = set()
    for game in games(rules, 14):
        for seat in range(rules.num_players):
            other = game.resample(seat, 5)
            assert other.events(seat) == game.events(seat)
            assert np.array_equal(other.observe(seat), game.observe(seat))
            assert (other.current_player == seat) == (game.current_player == seat)
            if game.current_player == seat:
                assert other.legal_actions() == game.legal_actions()
            assert other.phase == game.phase
            compared += 1
            differ += not np.array_equal(other.wall, game.wall)
            phases.add(PHASES[game.phase])
    assert differ == compared
    assert {"turn", "over"} <= phases


def rigged_games(rng, name):
    """A hand of a rigged wall stopped in each phase it came to, before and after somebody's fifth meld."""
    n = rng.choice((2, 3, 4))
    rules = Rules(**(walls.random_rules(rng) if rng.random() < 0.5 else {}) | {"num_players": n})
    wall, dealer, styles = walls.rigged_cast(rng, n, name)
    game = Game(rules, seed=rng.getrandbits(60), wall=wall, dealer=dealer)
    moments = {}
    while True:
        s = game._states[0]
        moments.setdefault((game.phase, bool((s.melds == 5).any())), []).append(game.copy())
        if game.done:
            return [rng.choice(games) for games in moments.values()]
        p = game.current_player
        pengs = [k for k in range(34) if int(s.pengs[p]) >> k & 1]
        hand = hand_counts(s, p).tolist()
        game.step(
            walls.drive(game.legal_actions(), rng, styles[p], hand, int(s.caishen), int(s.melds[p]), pengs)
        )


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_every_seat_of_rigged_hands_can_be_resampled_in_every_phase(rounds):
    rng = random.Random(rounds)
    phases = set()
    for name in list(walls.BUILDERS) * rounds + ["robbed_gang"] * 3:
        for game in rigged_games(rng, name):
            phases.add(PHASES[game.phase])
            for seat in range(game.num_players):
                other = game.resample(seat, rng.getrandbits(40))
                assert other.events(seat) == game.events(seat)
                assert np.array_equal(other.observe(seat), game.observe(seat))
                assert (other.current_player == seat) == (game.current_player == seat)
                if game.current_player == seat:
                    assert other.legal_actions() == game.legal_actions()
    assert phases == set(PHASES) or rounds == 1


def test_resample_looks_at_the_log_alone():
    """Two games that differ only in what the seat cannot know have the same log, and equal resamples."""
    compared = 0
    for game in games(Rules(), 10, first=100):
        for seat in range(4):
            twin = game.resample(seat, 77)
            assert twin.digest() != game.digest()
            assert twin.resample(seat, 3).digest() == game.resample(seat, 3).digest()
            compared += 1
    assert compared == 40


def test_different_seeds_give_different_hands():
    game = next(games(Rules(stakes=False), 1, first=3))
    assert len({game.resample(0, seed).digest() for seed in range(12)}) > 8


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
def test_logs_are_plain_and_show_nothing_hidden(rules):
    for game in games(rules, 12, first=40):
        for seat in range(rules.num_players):
            log = game.events(seat)
            assert json.loads(json.dumps(log)) == log
            assert log[0]["type"] == "begin"
            for event in log:
                if event["type"] == "draw":
                    assert (event["tile"] is None) == (event["seat"] != seat)
            asked = [e for e in log if e["type"] in ("ask", "answer")]
            assert [e["type"] for e in asked] == (["ask", "answer"] * len(asked))[: len(asked)]
            if game.phase == STAKES_ASKED:
                assert not any(e["type"] in ("deal", "draw") for e in log)
            if game.done:
                assert log[-1]["payments"] == game.result.payments.tolist()


def test_a_seat_that_is_not_asked_sees_only_the_discard():
    found = 0
    for game in games(Rules(), 400, first=1000):
        if game.phase in (CLAIM, ROB):
            source = int(game._states.source[0])
            for seat in range(4):
                last = game.events(seat)[-1]
                if seat == source:
                    assert last["type"] in ("discard", "declare")
                    found += 1
                elif seat != game.current_player:
                    assert last["type"] in ("discard", "declare", "answer")
    assert found > 5


@pytest.mark.parametrize("arguments", [(-1, 0), (4, 0), (0, -1), (0, 1.5), ("0", 0)])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        Game(seed=1).resample(*arguments)
