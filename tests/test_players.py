"""Built-in players: legal, deterministic, blind to what is hidden, and stronger from one to the next."""

import hashlib
import random

import numpy as np
import pytest

from wzmj_env import Rules, VectorEnv, actions, duplicate, players
from wzmj_env._jit import njit
from wzmj_env.hand import count
from wzmj_env.state import DISCARD_ONLY, TURN

import naive
from test_engine import game_of
from test_views import RULES, exchange_hidden

DETERMINISTIC = ("greedy", "rule:1")
RULE_1 = "038992a80b573fad"


@njit
def _choose(states, policy):
    return players.choose(states[0], policy)


def choice(states, name):
    return int(_choose(states, players.POLICIES[name]))


def of_game(game, name):
    return actions.name(choice(game._states, name))


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_choices_are_legal_and_blind_to_what_is_hidden(name, rules):
    rng = random.Random(3)
    env = VectorEnv(16, rules, seed=31)
    for step in range(200):
        chosen = []
        for i in range(env.num_envs):
            states = env.states[i : i + 1]
            before = states.tobytes()
            action = choice(states, name)
            assert states.tobytes() == before
            assert env.action_mask[i, action] == 1
            hidden = exchange_hidden(states, int(states.player[0]), rng)
            assert choice(hidden, name) == action
            chosen.append(action)
        env.step(np.array(chosen) if step % 3 else env.sample_actions())


def test_greedy_takes_the_shortest_way():
    env = VectorEnv(12, Rules(stakes=False), seed=5)
    compared = 0
    for _ in range(120):
        chosen = []
        for i in range(env.num_envs):
            s = env.states[i]
            action = choice(env.states[i : i + 1], "greedy")
            if s.phase in (TURN, DISCARD_ONLY) and action < actions.GANG:
                p, caishen = int(s.player), int(s.caishen)
                hand = [count(s.held[p], k) for k in range(34)]
                distances = {}
                for k in range(34):
                    if env.action_mask[i, k]:
                        rest = [c - (j == k) for j, c in enumerate(hand)]
                        distances[k] = naive.distance(rest, int(s.melds[p]), caishen)
                assert distances[action] == min(distances.values())
                compared += 1
            chosen.append(action)
        env.step(np.array(chosen))
    assert compared > 300


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_takes_a_win(name):
    game = game_of("11m 123m 456p 789p 123s 4s 1z", dealer_extra="1z")
    assert "hu" not in of_game(game, name)
    game = game_of("11m 123m 456p 789p 123s 45s", dealer_extra="6s")
    assert of_game(game, name) == "hu"


def test_rule_keeps_eight_pairs_together():
    game = game_of("11m 33m 55p 77p 22s 44s 66s 1z 2m", dealer_extra="1z")
    assert of_game(game, "rule:1") in ("discard 2m", "hu")
    game = game_of("11m 33m 55p 77p 22s 44s 66z 9s 2m", dealer_extra="5m")
    assert of_game(game, "rule:1") in ("discard 2m", "discard 5m", "discard 9s")


def test_rule_does_not_break_a_ready_hand_by_a_gang():
    """111m with 23m beside it: the fourth 1m is worth more in a run."""
    game = game_of("111m 123m 456p 789p 12s 99s", dealer_extra="9p")
    assert "gang" not in of_game(game, "rule:1")


def test_rule_declares_a_gang_that_costs_nothing():
    game = game_of("1111m 456p 789p 123s 45s 9s", dealer_extra="9s")
    assert of_game(game, "rule:1") == "gang 1m"


def test_the_dealer_buys_and_the_others_do_not_top():
    env = VectorEnv(8, seed=1)
    for _ in range(4):
        chosen = [choice(env.states[i : i + 1], "rule:1") for i in range(8)]
        for i, action in enumerate(chosen):
            is_dealer = env.current_player[i] == env.states.dealer[i]
            assert action == (actions.RAISE if is_dealer else actions.PASS)
        env.step(np.array(chosen))


def test_strength_goes_up_from_random_to_greedy_to_rule():
    against_random = duplicate.compare("rule", "random", "1v3", 300, seed=1)
    a, b = against_random.profiles["a"], against_random.profiles["b"]
    assert a.won > 0.8 * (a.won + b.won)
    assert against_random.verdict == "above"
    assert duplicate.compare("rule", "greedy", "1v3", 600, seed=1).verdict == "above"
    assert duplicate.compare("greedy", "random", "1v3", 100, seed=1).verdict == "above"
    assert duplicate.compare("rule", "greedy", "duel", 600, seed=1).verdict == "above"


def test_rule_1_stays_what_it_is():
    """Golden: what `rule:1` chose in games of its own; a change of it is a new version."""
    h = hashlib.sha256()
    for num_players in (2, 3, 4):
        env = VectorEnv(64, Rules(num_players=num_players), seed=2)
        for _ in range(200):
            chosen = np.array([choice(env.states[i : i + 1], "rule:1") for i in range(64)])
            h.update(chosen.astype("<i8").tobytes())
            env.step(chosen)
    assert h.hexdigest()[:16] == RULE_1

