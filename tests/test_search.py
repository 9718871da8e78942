"""The search player: what it chooses follows from what it sees and from its seed."""

import numpy as np
import pytest
import torch

from agents import search
from agents.advice import ADVISER, advise
from agents.network import Network, Shape
from agents.ppo import PPOAgent
from agents.search import SearchAgent, make
from wzmj_env import Rules, VectorEnv
from wzmj_env.actions import HU
from wzmj_env.specs import BuiltIn, make_agent

NO_STAKES = Rules(stakes=False)


def decisions(rules, tables=40, step_of=12, seed=3):
    """Observations and masks in the middle of hands that the rule player plays."""
    env, rule = VectorEnv(tables, rules, seed=seed, skip_forced=True), BuiltIn("rule", rules)
    for _ in range(step_of):
        env.step(rule.act(env.observation, env.action_mask))
    return env.observation.copy(), env.action_mask.copy()


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("spec", ["search:9", "search:1ms"])
def test_answers_are_legal_in_every_phase(players, spec):
    rules = Rules(num_players=players)
    env, agent = VectorEnv(16, rules, seed=1, carry=True), make_agent(spec)
    for _ in range(15):
        env.step(agent.act(env.observation, env.action_mask))  # an illegal action raises
        for _ in range(3):
            env.step(env.sample_actions())


def test_a_choice_is_a_function_of_observation_and_seed():
    observations, masks = decisions(NO_STAKES)
    agent, order = SearchAgent(16, trust=1e-9), np.random.default_rng(0).permutation(40)
    agent.reset(5)
    together = agent.act(observations, masks)
    assert np.array_equal(agent.act(observations[order], masks[order]), together[order])
    alone = [int(agent.act(observations[i : i + 1], masks[i : i + 1])[0]) for i in range(40)]
    assert alone == together.tolist()
    agent.reset(6)
    assert not np.array_equal(agent.act(observations, masks), together)


def test_nothing_is_chosen_but_candidates_and_without_an_edge_it_is_the_rule_players_choice():
    observations, masks = decisions(NO_STAKES)
    rule = BuiltIn(ADVISER).act(observations, masks)
    chosen = SearchAgent(64, trust=1e9).act(observations, masks)
    behind = advise(observations, masks)[np.arange(len(masks)), chosen]  # log of the score over the best one
    assert (behind == 0).all()
    assert (chosen == rule).sum() > len(masks) / 2  # the others are level
    bold = SearchAgent(64, trust=1e-9).act(observations, masks)
    assert (bold != rule).any()


def test_what_weights_expect_is_where_a_search_begins():
    torch.manual_seed(1)
    network = Network(Shape(hidden=(8,), prior=ADVISER))
    torch.nn.init.normal_(network.actor.weight)
    prior = PPOAgent(network, 4)
    observations, masks = decisions(NO_STAKES)
    likeliest, rule = prior.act(observations, masks), BuiltIn(ADVISER).act(observations, masks)
    open_to_search = likeliest != rule
    sure = SearchAgent(16, prior=prior, trust=1e9).act(observations, masks)
    assert (sure == likeliest)[open_to_search].all()
    assert open_to_search.sum() > 10
    bold = SearchAgent(16, prior=prior, trust=1e-9).act(observations, masks)
    assert (bold != likeliest)[open_to_search].any()
    with pytest.raises(ValueError, match="trained for 4 players"):
        SearchAgent(16, prior=prior).act(*decisions(Rules(num_players=2, stakes=False)))


def test_a_win_that_the_rule_player_takes_is_taken():
    env, agent = VectorEnv(256, NO_STAKES, seed=2, skip_forced=True), make("8")
    rule, asked = BuiltIn(ADVISER), 0
    for _ in range(60):
        chosen = rule.act(env.observation, env.action_mask)
        wins = np.flatnonzero(chosen == HU)
        if len(wins):
            assert (agent.act(env.observation[wins], env.action_mask[wins]) == HU).all()
            asked += len(wins)
        env.step(chosen)
    assert asked > 30


@pytest.mark.parametrize(("more", "trust"), [(-1000.0, 1e9), (0.0, 1e-9)], ids=["by weights", "by worlds"])
def test_a_win_may_be_left_where_weights_tell_what_is_known(more, trust):
    network = Network(Shape(hidden=(8,), prior=ADVISER))
    with torch.no_grad():
        network.actor.weight.zero_()
        network.actor.bias[HU] = more
    env, agent = VectorEnv(256, NO_STAKES, seed=2, skip_forced=True), SearchAgent(8, prior=PPOAgent(network, 4), trust=trust)
    rule, asked, left = BuiltIn(ADVISER), 0, 0
    for _ in range(60):
        chosen = rule.act(env.observation, env.action_mask)
        wins = np.flatnonzero(chosen == HU)
        if len(wins):
            left += (agent.act(env.observation[wins], env.action_mask[wins]) != HU).sum()
            asked += len(wins)
        env.step(chosen)
    assert asked > 30
    assert left == asked if more else 0 < left < asked


@pytest.mark.parametrize(("prior", "spread", "left"), [(-1.0, 1e-3, 0), (-0.01, 100.0, 1)])
def test_what_was_known_before_tells_what_is_dropped(prior, spread, left):
    """After eight worlds, whose noise is large: what was surely worse is not looked at again, what was not known is."""
    observations, masks = decisions(NO_STAKES)
    agent = SearchAgent(64)
    tried = 0
    for planes, mask in zip(observations.reshape(len(masks), -1), masks, strict=True):
        if search.begin(agent._states, planes, mask, np.zeros(0, np.float32), agent._rows, agent._scores, 1.0) > 1:
            rows = agent._rows[:2]
            rows[1, search.PRIOR], rows[1, search.SPREAD] = prior, spread
            tried += search._play_out(agent._states, rows, 0, 8, np.uint64(1)) == left
    assert tried > 20


def test_the_time_given_ends_a_search(monkeypatch):
    played = []
    real = search._play_out

    def count(states, rows, first, last, word):
        played.append(last - first)
        return real(states, rows, first, last, word)

    monkeypatch.setattr(search, "_play_out", count)
    observations, masks = decisions(NO_STAKES, tables=1)
    clock = iter(np.arange(0.0, 1e6, 0.001))
    monkeypatch.setattr(search.time, "perf_counter", lambda: next(clock))
    assert masks.sum() > 1  # else nothing is searched
    make("5ms").act(observations, masks)
    assert 1 <= len(played) <= 6


def test_an_observation_that_cannot_be_is_refused():
    observations, masks = decisions(NO_STAKES)
    observations[7, 0:4] = 0
    with pytest.raises(ValueError, match="observation 7 do not add up"):
        make("8").act(observations, masks)


def test_rules_of_the_table_come_from_a_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text("wind_first: false\nstakes: false\n")
    rules = Rules.load(path)
    env, agent = VectorEnv(8, rules, seed=1), make_agent(f"search:8?rules={path}")
    for _ in range(40):
        env.step(agent.act(env.observation, env.action_mask))


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("search:", "budget"),
        ("search:0", "budget"),
        ("search:5s", "budget"),
        ("search:-3", "budget"),
        ("search:64?rules=nowhere.yaml", "nowhere.yaml"),
        ("search:64?candidates=1", "candidates"),
        ("search:64?depth=1", "depth"),
        ("search:64?prior=nowhere", "nowhere"),
    ],
)
def test_a_wrong_spec_is_refused(spec, what):
    with pytest.raises(ValueError, match=what) as raised:
        make_agent(spec)
    assert repr(spec) in str(raised.value)
