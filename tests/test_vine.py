"""Vines: their playouts against games played one by one through `Game`, and what is learnt from them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.advice import ADVISER, advise
from agents.ppo import CHECKPOINT, read_checkpoint
from train.mirror import mirror_kinds
from train.ppo import Config, learn_vines, make_run, spread, train, vine_loss
from train.runs import draw_curve
from train.vine import HEAT, TRIED, Vines, grow
from wzmj_env import Game, Rules
from wzmj_env.actions import CHI_LOW, GANG, GANG_CLAIM, HU, PASS, PENG, RAISE
from wzmj_env.players import POLICIES
from wzmj_env.specs import BuiltIn

RULES = {"open": Rules(stakes=False), "duel": Rules(num_players=2, stakes=False), "stakes": Rules()}
GROWING = Config(
    hidden=(8,), prior=ADVISER, inputs="compact", critic="central", critic_hidden=(8,), num_envs=8, num_steps=24,
    num_minibatches=2, num_updates=6, vine_updates=4, vine_decisions=256, vine_minibatches=4, checkpoint_every=1, seed=5,
)  # fmt: skip


PLAYER = "rule:1"


def rule_choice(game, rules):
    return BuiltIn(PLAYER, rules).choose(game.copy()._raw)


def played_out(game, rules):
    while not game.done:
        game.step(rule_choice(game, rules))
    return game.result.payments


def network(seed=5, **change):
    run = make_run(replace(GROWING, seed=seed, **change))
    run.close()
    return run.network


@pytest.mark.parametrize("name", RULES)
def test_trials_are_what_games_played_one_by_one_give(name):
    rules = RULES[name]
    columns = GROWING.shape.columns
    tried, checked = set(), 0
    for seed in range(20):
        trials = grow(rules, network(), POLICIES[PLAYER], seed, 0, 40)
        game, at = Game(rules, seed=seed), {}
        while not game.done:
            if len(game.legal_actions()) > 1:
                at[game.state().reshape(-1)[columns].tobytes()] = game.copy()
            game.step(rule_choice(game, rules))
        last = -1
        for i in range(len(trials)):
            before = at.get(trials.inputs[i].numpy().tobytes())
            if before is None or len(before.actions) <= last:
                break  # the next hand has begun
            last = len(before.actions)
            seat, actions = before.current_player, [int(action) for action in trials.tried[i] if action >= 0]
            assert len(set(actions)) == len(actions) > 1
            assert (trials.tried[i, len(actions) :] == -1).all()
            assert actions[0] == rule_choice(before, rules)
            assert np.flatnonzero(trials.masks[i]).tolist() == before.legal_actions()
            assert np.array_equal(trials.advice[i], advise(before.observe(seat)[None], before.action_mask()[None], rules)[0])
            for action, paid in zip(actions, trials.paid[i], strict=False):
                assert action in before.legal_actions()
                trial = before.copy()
                trial.step(action)
                assert paid == played_out(trial, rules)[seat] / rules.unit
                checked += 1
            tried |= {"discard" if action < GANG else "gang" if action < CHI_LOW else action for action in actions[1:]}
    assert checked > 150
    assert {"discard", PASS} <= tried
    if name != "duel":
        assert tried & set(range(CHI_LOW, HU))
    assert (RAISE in tried) == rules.stakes


@pytest.mark.parametrize("sureness", [4.0, 2000.0])
def test_what_is_tried_is_drawn_from_the_policy(sureness):
    """How often the likeliest, the second and the third action of the policy are tried, where there are but discards."""
    player = network(prior_scale=sureness)
    trials = grow(RULES["open"], player, POLICIES[PLAYER], 1, 0, 2000)
    discards = trials.masks[:, CHI_LOW:].sum(1) == 0
    assert discards.any()
    trials = trials[torch.nonzero(discards).squeeze(1)]
    chances = (player.policy(trials.inputs, trials.masks, trials.advice) / HEAT).softmax(-1)
    others = trials.tried[:, 1:]
    assert (chances.gather(1, others.clamp_min(0))[others >= 0] > 0).all()
    taken = trials.tried[:, :1]
    some = 1 - chances.gather(1, taken) ** (TRIED - 1)  # a row is there because a lot fell elsewhere than on what was taken
    for place in chances.argsort(1, descending=True)[:, :3].T[..., None]:
        wanted = (1 - (1 - chances.gather(1, place)) ** (TRIED - 1)) / some
        seen = (others == place).any(1, keepdim=True).float()
        other = place != taken
        assert abs(seen[other].mean() - wanted[other].mean()) < 4 * seen[other].std() / other.sum() ** 0.5 + 1e-3


def test_claims_passes_and_stakes_are_tried_whatever_the_policy():
    trials = grow(RULES["stakes"], network(prior_scale=2000.0), POLICIES[PLAYER], 1, 0, 1000)
    for action in (PASS, RAISE, GANG_CLAIM, PENG):
        legal = trials.masks[:, action] == 1
        tried = (trials.tried == action).any(1)[legal]
        assert 0.05 < tried.float().mean() <= 1


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True))


def test_trials_are_a_function_of_weights_seed_and_number():
    first, second = network(1), network(2, prior_scale=5.0)
    vines = Vines(RULES["open"], first, 2, 3, 100, count=6)
    taken = [vines.take(number, second) for number in (0, 1, 2)]
    vines.close()
    for number, trials, player in zip((0, 1, 2), taken, (first, second, second), strict=True):
        assert same(trials, grow(RULES["open"], player, 2, 3, number, 100))
    assert not same(taken[1], grow(RULES["open"], first, 2, 3, 1, 100))
    assert not same(taken[1], taken[2])
    assert not same(taken[0], grow(RULES["open"], first, 2, 4, 0, 100))


def test_mirrored_trials_say_the_same_of_mirrored_actions():
    plain, mirrored = (Vines(RULES["open"], network(1), 2, 3, 400, 1, mirror).take(0, network(1)) for mirror in (False, True))
    kinds = mirror_kinds()
    assert torch.equal(plain.paid, mirrored.paid)
    turned = 0
    for i in range(400):
        if torch.equal(plain.inputs[i], mirrored.inputs[i]):
            assert all(torch.equal(getattr(plain, name)[i], getattr(mirrored, name)[i]) for name in ("masks", "advice", "tried"))
            continue
        turned += 1
        for before, after in zip(plain.tried[i].tolist(), mirrored.tried[i].tolist(), strict=True):
            if before < 0:
                assert after == before
                continue
            assert mirrored.masks[i, after] == 1
            assert plain.advice[i, before] == mirrored.advice[i, after]
            if before < GANG:
                assert after == kinds[before]
    assert 120 < turned < 280


def test_spread_is_what_numpy_says():
    values = np.random.default_rng(1).normal(size=(50, TRIED))
    counted = np.arange(TRIED) < np.random.default_rng(2).integers(2, TRIED + 1, (50, 1))
    expected = [row[kept].var() * kept.sum() for row, kept in zip(values, counted, strict=True)]
    assert np.allclose(spread(torch.tensor(values), torch.tensor(counted)), expected)


def test_what_an_action_gains_is_learnt():
    """Payments set to 2 for a pass, -2 for all else that was tried and 0 for what was taken: where that was tried, the
    likeliest of the actions becomes to pass."""
    config = replace(GROWING, vine_updates=400, vine_minibatches=2, vine_learning_rate=0.02, hidden=(32,), reward_scale=1.0)
    run = make_run(config)
    trials = grow(RULES["open"], run.network, POLICIES[PLAYER], 3, 0, 256)
    trials.paid = torch.where(trials.tried == PASS, 2.0, -2.0)
    trials.paid[:, 0] = 3.0
    trials.paid[:, 1:] += 3.0
    run.vines.take = lambda number, network: trials
    first, _ = vine_loss(run.network, trials, config)
    for run.update in range(200):
        learn_vines(run)
    loss, squared = vine_loss(run.network, trials, config)
    assert squared < 0.5
    assert loss < first / 4
    logits = run.network.policy(trials.inputs, trials.masks, trials.advice)
    both = logits.gather(1, trials.tried[:, :2])
    passes = trials.tried[:, 1] == PASS
    assert passes.any()
    assert (both[passes, 1] > both[passes, 0]).float().mean() > 0.9
    assert (both[~passes, 1] < both[~passes, 0]).float().mean() > 0.9
    assert (run.network.values(trials.inputs, trials.advice) - 3).abs().mean() < 0.5


def test_a_run_with_vines_goes_on_exactly(tmp_path):
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    train(make_run(GROWING), tmp_path / "whole")
    for stop in (2, 5, 6):  # among the vines and after them
        run = make_run(GROWING)
        if stop > 2:
            run.restore(read_checkpoint(tmp_path / "parts" / CHECKPOINT))
        train(run, tmp_path / "parts", stop_at=stop)
    whole, parts = (read_checkpoint(tmp_path / folder / CHECKPOINT) for folder in ("whole", "parts"))
    assert whole["update"] == parts["update"] == 6
    assert whole["decisions"] == parts["decisions"] > 4 * 256
    for name, weights in whole["learning"].items():
        assert torch.equal(weights, parts["learning"][name])
    assert draw_curve(tmp_path / "parts", ["rule"]).stat().st_size > 1000


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"prior": ""}, "vine_updates need a prior"),
        ({"vine_decisions": 7}, "vine_minibatches must leave"),
        ({"vine_temperature": 0.0}, "vine_temperature must be above 0"),
        ({"vine_rule": "rule:9"}, "vine_rule must be of random, greedy, rule:1"),
        ({"vine_updates": -1}, "vine_updates must be 0 or more"),
    ],
)
def test_vines_that_make_no_sense_are_refused(change, what):
    with pytest.raises(ValueError, match=what):
        replace(GROWING, **change)
