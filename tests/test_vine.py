"""Vines: pairs of playouts against games played one by one through `Game`, and what is learnt from them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.advice import ADVISER, advise
from agents.ppo import CHECKPOINT, read_checkpoint
from train.ppo import Config, learn_vines, make_run, train, vine_loss
from train.runs import draw_curve
from train.vine import SHARE, Vines, grow
from wzmj_env import Game, Rules
from wzmj_env.actions import CHI_LOW, GANG, HU, PASS, RAISE
from wzmj_env.specs import BuiltIn

RULES = {"open": Rules(stakes=False), "duel": Rules(num_players=2, stakes=False), "stakes": Rules()}
GROWING = Config(
    hidden=(8,), prior=ADVISER, inputs="compact", critic="central", critic_hidden=(8,), num_envs=8, num_steps=24,
    num_minibatches=2, num_updates=6, vine_updates=4, vine_pairs=256, vine_minibatches=4, checkpoint_every=1, seed=5,
)  # fmt: skip


def rule_choice(game, rules):
    return BuiltIn(ADVISER, rules).choose(game.copy()._raw)


def played_out(game, rules):
    while not game.done:
        game.step(rule_choice(game, rules))
    return game.result.payments


@pytest.mark.parametrize("name", RULES)
def test_a_pair_is_what_two_games_played_one_by_one_give(name):
    rules = RULES[name]
    columns = GROWING.shape.columns
    tried, checked = set(), 0
    for seed in range(20):
        pairs = grow(rules, columns, seed, 0, 40)
        game, at = Game(rules, seed=seed), {}
        while not game.done:
            if len(game.legal_actions()) > 1:
                at[game.state().reshape(-1)[columns].tobytes()] = game.copy()
            game.step(rule_choice(game, rules))
        paid, last = game.result.payments, -1
        for i in range(len(pairs)):
            before = at.get(pairs.inputs[i].numpy().tobytes())
            if before is None or len(before.actions) <= last:
                break  # the next hand has begun
            last = len(before.actions)
            seat, chosen, other = before.current_player, int(pairs.chosen[i]), int(pairs.other[i])
            assert chosen == rule_choice(before, rules) != other
            assert np.flatnonzero(pairs.masks[i]).tolist() == before.legal_actions()
            assert other in before.legal_actions()
            advice = advise(before.observe(seat)[None], before.action_mask()[None], rules)[0]
            assert np.array_equal(pairs.advice[i], advice)
            if other < CHI_LOW and before.phase:
                assert advice[other] >= np.log(SHARE) - 1e-6
            trial = before.copy()
            trial.step(other)
            gain = (played_out(trial, rules)[seat] - paid[seat]) / rules.unit
            assert (pairs.gains[i], pairs.paid[i]) == (gain, paid[seat] / rules.unit)
            tried.add("discard" if other < GANG else "gang" if other < CHI_LOW else other)
            checked += 1
    assert checked > 60
    assert {"discard", PASS} <= tried
    if name != "duel":
        assert tried & set(range(CHI_LOW, HU))
    assert (RAISE in tried) == rules.stakes


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True))


def test_pairs_are_a_function_of_seed_and_number():
    columns = GROWING.shape.columns
    vines = Vines(RULES["open"], columns, 3, 100, count=6)
    taken = [vines.take(number) for number in (0, 1, 5, 2)]
    vines.close()
    for number, pairs in zip((0, 1, 5, 2), taken, strict=True):
        assert same(pairs, grow(RULES["open"], columns, 3, number, 100))
    assert not same(taken[0], taken[1])
    assert not same(taken[0], grow(RULES["open"], columns, 4, 0, 100))


def test_what_an_action_gains_is_learnt():
    """Gains set to 2 for a pass and -2 for all else: the likeliest action becomes to pass where that was tried."""
    config = replace(GROWING, vine_updates=400, vine_minibatches=2, vine_learning_rate=0.02, hidden=(32,), reward_scale=1.0)
    run = make_run(config)
    pairs = grow(RULES["open"], config.shape.columns, 3, 0, 256)
    pairs.gains = torch.where(pairs.other == PASS, 2.0, -2.0)
    pairs.paid = torch.full_like(pairs.paid, 3.0)
    run.vines.take = lambda number: pairs
    first, _ = vine_loss(run.network, pairs, config)
    for run.update in range(200):
        learn_vines(run)
    loss, squared = vine_loss(run.network, pairs, config)
    assert squared < 1
    assert loss < first / 4
    logits = run.network.policy(pairs.inputs, pairs.masks, pairs.advice)
    both = logits.gather(1, torch.stack((pairs.chosen, pairs.other), 1))
    passes = pairs.other == PASS
    assert passes.any()
    assert (both[passes, 1] > both[passes, 0]).float().mean() > 0.9
    assert (both[~passes, 1] < both[~passes, 0]).float().mean() > 0.9
    assert (run.network.values(pairs.inputs, pairs.advice) - 3).abs().mean() < 0.5


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
        ({"vine_pairs": 7}, "vine_minibatches must leave"),
        ({"vine_temperature": 0.0}, "vine_temperature must be above 0"),
        ({"vine_updates": -1}, "vine_updates must be 0 or more"),
    ],
)
def test_vines_that_make_no_sense_are_refused(change, what):
    with pytest.raises(ValueError, match=what):
        replace(GROWING, **change)
