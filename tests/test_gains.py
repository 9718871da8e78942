"""`train.gains`: what weights gain on a compiled player, one choice at a time."""

import numpy as np
import pytest
import torch

from agents.network import Network, Shape
from agents.ppo import PPOAgent
from train.gains import main, measure
from train.vine import CHUNK
from wzmj_env import Rules
from wzmj_env.actions import CHI_LOW, HU, NUM_ACTIONS, PASS
from wzmj_env.players import RULE_2

OPEN = Rules(stakes=False)


def agent(bias=None):
    """The second rule player as weights, with something added to some logits."""
    network = Network(Shape("compact", (8,), "central", (8,), "rule:2", 50.0))
    with torch.no_grad():
        network.actor.weight.zero_()
        for action, more in (bias or {}).items():
            network.actor.bias[action] = more
    return PPOAgent(network, 4)


def test_the_player_itself_differs_where_scores_are_equal_alone():
    """There the player takes the highest action, weights the lowest."""
    actions, gains = measure(agent(), OPEN, RULE_2, 1, seed=3)
    assert 0 < len(actions) == len(gains) < CHUNK / 2
    assert (actions[:, 0] > actions[:, 1]).all()
    assert (gains[:, 1] == 0).all()


def test_one_that_never_takes_a_win_loses_what_the_wins_were_worth():
    actions, gains = measure(agent({HU: -1000.0}), OPEN, RULE_2, 1, seed=3)
    wins = actions[:, 0] == HU
    assert wins.sum() > 50
    assert gains[wins, 0].mean() < -2
    assert (gains[wins, 1] > 100).all()  # what is promised, wrongly


def test_what_is_claimed_always_is_measured_and_is_no_gain():
    claims = dict.fromkeys(range(CHI_LOW, HU), 1000.0)
    actions, gains = measure(agent(claims), OPEN, RULE_2, 1, seed=3)
    claimed = (actions[:, 0] == PASS) & (actions[:, 1] < HU) & (actions[:, 1] >= CHI_LOW)
    assert claimed.sum() > 100
    assert gains[claimed, 0].mean() < 0
    assert (actions < NUM_ACTIONS).all()
    assert np.isfinite(gains).all()


def test_the_table_is_printed(capsys):
    assert main(["ppo:4p", "--decisions", "1000"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("| where they differ | share of decisions |")
    assert [line.split(" | ")[0] for line in out[2:6]] == [
        "| discards", "| gangs of one's own", "| claims, passes, wins, stakes", "| all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["rule"], "'rule' is no spec of weights"),
        (["ppo:nowhere"], "nowhere"),
        (["ppo:4p", "--decisions", "0"], "--decisions must be"),
        (["ppo:4p", "--rules", "nowhere.yaml"], "nowhere.yaml"),
        (["ppo:4p", "--rules", "configs/rules/duel.yaml"], "the weights are for 4 players, the rules for 2"),
    ],
)
def test_bad_input_is_named(arguments, what, capsys):
    assert main(arguments) == 2
    assert what in capsys.readouterr().err
