"""The AEC environment: PettingZoo's own tests, and what they leave out."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test

from wzmj_env import Game, IllegalActionError, Match, Rules, wenzhou_mahjong_v0
from wzmj_env.aec import largest_loss

MAKERS = [wenzhou_mahjong_v0.raw_env, wenzhou_mahjong_v0.env]


def play(env, seed=0, steps=10**9):
    """Play on by chance; every `last()` and action, as plain values."""
    rng = np.random.default_rng(seed)
    seen = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        action = None if terminated or truncated else int(rng.choice(np.flatnonzero(info["action_mask"])))
        seen.append((agent, observation["observation"].tobytes(), observation["action_mask"].tobytes(), reward, action))
        env.step(action)
        if len(seen) == steps:
            break
    return seen


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("make", MAKERS)
def test_pettingzoos_own_tests_pass(make, players):
    rules = Rules(num_players=players)
    api_test(make(rules=rules, hands=2), num_cycles=300)
    seed_test(lambda: make(rules=rules, hands=2), num_cycles=300)


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("hands", [1, 4])
def test_rewards_through_last_are_the_payments_in_units(players, hands):
    rules = Rules(num_players=players, unit=5)
    for seed in range(8):
        env = wenzhou_mahjong_v0.env(rules=rules, hands=hands)
        env.reset(seed=seed)
        got = dict.fromkeys(env.possible_agents, 0.0)
        rng = np.random.default_rng(seed)
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            assert type(reward) is float
            assert type(terminated) is bool
            got[agent] += reward
            env.step(None if terminated or truncated else int(rng.choice(np.flatnonzero(info["action_mask"]))))
        results = env.unwrapped.results
        assert len(results) == hands
        total = sum(result.payments for result in results)
        assert [got[agent] * 5 for agent in env.possible_agents] == total.tolist()


def test_an_episode_is_a_match():
    env, match = wenzhou_mahjong_v0.raw_env(hands=5), Match(hands=5, seed=3)
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    while not match.done:
        assert env.agent_selection == f"player_{match.current_player}"
        observation, _, _, _, info = env.last()
        assert np.array_equal(observation["observation"], match.observe(match.current_player))
        assert np.array_equal(info["action_mask"], match.action_mask())
        assert np.array_equal(env.state(), match.state())
        action = int(rng.choice(match.legal_actions()))
        env.step(action)
        match.step(action)
    assert all(env.terminations.values())


def test_masks_are_zero_for_agents_not_to_act_and_info_dicts_stay():
    env = wenzhou_mahjong_v0.raw_env()
    env.reset(seed=1)
    infos = dict(env.infos)
    rng = np.random.default_rng(0)
    while not all(env.terminations.values()):
        for agent in env.agents:
            mask = env.observe(agent)["action_mask"]
            assert env.infos[agent] is infos[agent]
            assert np.array_equal(env.infos[agent]["action_mask"], mask)
            assert mask.any() == (agent == env.agent_selection)
            assert mask.dtype == np.int8
        env.step(int(rng.choice(np.flatnonzero(env.infos[env.agent_selection]["action_mask"]))))
    assert not any(env.infos[agent]["action_mask"].any() for agent in env.agents)


def test_old_observations_do_not_change():
    env = wenzhou_mahjong_v0.env()
    env.reset(seed=2)
    kept = []
    rng = np.random.default_rng(0)
    for _ in range(60):
        observation, _, _, _, info = env.last()
        kept.append((observation, copy.deepcopy(observation)))
        env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
    for now, then in kept:
        assert np.array_equal(now["observation"], then["observation"])
        assert np.array_equal(now["action_mask"], then["action_mask"])


def go_on(env):
    return play(env, 7)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("steps", [0, 5, 70])
def test_copies_pickles_and_other_processes_go_on_identically(make, steps):
    env = make(hands=2)
    env.reset(seed=4)
    play(env, 1, steps) if steps else None
    copied, pickled = copy.deepcopy(env), pickle.dumps(env)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        elsewhere = pool.apply(go_on, (copied,))
    expected = go_on(env)
    assert go_on(copied) == expected
    assert go_on(pickle.loads(pickled)) == expected
    assert elsewhere == expected


def test_seeds_over_several_hands():
    episodes = {}
    for seed in range(4):
        env = wenzhou_mahjong_v0.env(hands=3)
        env.reset(seed=seed)
        first = play(env)
        env.reset()  # the next deals of this seed
        second = play(env)
        env.reset(seed=seed)
        assert play(env) == first
        env.reset()
        assert play(env) == second
        assert first != second
        episodes[seed] = [first, second]
    assert len({str(e) for pair in episodes.values() for e in pair}) == 8
    env.reset(seed=None)
    fresh = wenzhou_mahjong_v0.env()
    fresh.reset()
    assert fresh.unwrapped.agents


def test_reset_options_set_up_the_first_hand():
    wall = Game(seed=77).wall
    env = wenzhou_mahjong_v0.raw_env()
    env.reset(options={"wall": wall, "dealer": 2, "ladder": 1, "bought": True, "topped": [True, False, False, True]})
    game = Game(wall=wall, dealer=2, ladder=1, bought=True, topped=(True, False, False, True))
    assert np.array_equal(env.observe(env.agent_selection)["observation"], game.observe(game.current_player))
    for options in ({"dealr": 1}, {"dealer": 9}, {"wall": [1, 2]}, {"Wall": wall}):
        with pytest.raises(ValueError, match=r"dealer|wall"):
            env.reset(options=options)


@pytest.mark.parametrize("action", [-1, 76, 2**40, 1.5, "3", None, True])
def test_raw_env_refuses_illegal_actions_and_stays(action):
    env = wenzhou_mahjong_v0.raw_env()
    env.reset(seed=1)
    before = env.observe(env.agent_selection)["observation"].copy(), env.agent_selection
    with pytest.raises(IllegalActionError):
        env.step(action)
    assert np.array_equal(env.observe(env.agent_selection)["observation"], before[0])
    assert env.agent_selection == before[1]
    play(env)


@pytest.mark.parametrize("action", [-1, 0, 76, 2**40])
def test_env_ends_the_episode_at_an_illegal_action_with_the_largest_loss(action):
    rules = Rules()
    env = wenzhou_mahjong_v0.env(rules=rules)
    env.reset(seed=1)
    culprit = env.agent_selection
    env.step(action)
    got = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        assert terminated
        got[agent] += reward
        env.step(None)
    assert got == {agent: -largest_loss(rules) if agent == culprit else 0.0 for agent in got}


def test_the_largest_loss_is_a_bound_that_is_reached():  # R8.5, R9.1, R9.2
    assert largest_loss(Rules()) == 4 * 4 * 4 + 3 * 2
    assert largest_loss(Rules(stakes=False)) == 4 * 4 + 3 * 2
    assert largest_loss(Rules(stakes=False, non_dealer_base=9, caishen_bonus=0)) == 36
    assert largest_loss(Rules(caishen_bonus=1000, caishen_bonus_double=0)) == 2 * 16 + 3000
    assert largest_loss(Rules(num_players=2, stakes=False, non_dealer_base=1000)) == 4 * 4 + 3 * 2  # no such pair


def test_a_step_after_the_end_or_before_a_reset_is_refused():
    env = wenzhou_mahjong_v0.raw_env()
    with pytest.raises(IllegalActionError, match="reset"):
        env.step(0)
    env.reset(seed=1)
    play(env)
    with pytest.raises(IllegalActionError, match="reset"):
        env.step(0)


def test_actions_of_the_action_space_are_taken_in_each_form():
    for form in (int, np.int64, np.int8, lambda a: np.array(a)):
        env = wenzhou_mahjong_v0.raw_env()
        env.reset(seed=1)
        action = form(int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[0]))
        assert env.action_space(env.agent_selection).contains(action)
        env.step(action)


def test_ansi_shows_the_table_and_other_modes_are_refused():
    env = wenzhou_mahjong_v0.env(render_mode="ansi")
    env.reset(seed=1)
    assert "seat 0" in env.render()
    with pytest.raises(ValueError, match="render_mode"):
        wenzhou_mahjong_v0.env(render_mode="human")


def test_spaces_are_the_same_objects_and_hold_the_observations():
    env = wenzhou_mahjong_v0.raw_env()
    env.reset(seed=1)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent).contains(env.observe(agent))
    assert env.state_space.contains(env.state())
