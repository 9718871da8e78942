"""`train.worlds`: what imagined worlds say of actions, beside what came of them."""

import numpy as np
import pytest

from agents.search import RULE
from train.vine import CHUNK, Decisions
from train.worlds import CAME, COLUMNS, DECISION, MEAN, NOISE, PRIOR_MEAN, PRIOR_VARIANCE, TAKEN, TRIED, main, measure, row
from wzmj_env import Rules
from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.specs import make_agent

OPEN = Rules(stakes=False)


@pytest.mark.parametrize("spec", ["", "ppo:4p"])
def test_worlds_and_what_came_are_of_the_same_choices(spec):
    """Both are means of the same gain: one over two worlds, the other over the one that was."""
    found = measure(make_agent(spec) if spec else None, OPEN, 1, 2, seed=3)
    assert len(found) > 1000
    assert (found[:, PRIOR_MEAN] <= 0).all()
    assert (found[:, PRIOR_VARIANCE] > 0).all()
    assert (found[:, NOISE] >= 0).all()
    error = (found[:, NOISE].mean() / len(found) + found[:, CAME].var() / len(found)) ** 0.5
    assert abs(found[:, MEAN].mean() - found[:, CAME].mean()) < 5 * error
    assert found[:, CAME].mean() < 0, "the first action is the better one on the whole"
    again = measure(make_agent(spec) if spec else None, OPEN, 1, 2, seed=3)
    assert np.array_equal(found, again)


def test_what_came_is_what_the_same_wall_brings():
    """As playouts of vines from the same states have it."""
    prior = make_agent("ppo:4p")
    found = measure(prior, OPEN, 1, 2, seed=3)
    played = Decisions(OPEN, prior.network.shape.policy_columns, RULE, 3, 0)
    played.play()
    first = NUM_ACTIONS - 1 - played.logits(prior.network)[:, ::-1].argmax(1)  # of equals the last
    rows, of = np.unique(found[:, DECISION].astype(int), return_index=True)
    played.tried[rows, 1], played.tried[rows, 2] = first[rows], found[of, TRIED]
    *_, paid = played.try_out(CHUNK)
    assert len(paid) == len(rows)
    assert np.allclose(found[of, CAME], paid[:, 2] - paid[:, 1])
    assert (found[:, CAME] != 0).sum() > 1000


def test_what_came_true_is_told_from_what_did_not():
    lots = np.random.default_rng(1)
    n, spread, noise = 50_000, 0.04, 0.16
    known = -lots.random(n)
    gain = known + lots.normal(0, spread**0.5, n)
    found = np.zeros((n, COLUMNS))
    found[:, DECISION], found[:, PRIOR_MEAN], found[:, PRIOR_VARIANCE], found[:, CAME] = np.arange(n), known, spread, gain
    found[:, MEAN], found[:, NOISE], found[:, TAKEN] = gain + lots.normal(0, noise**0.5, n), noise, 0.2
    cells = row("all", found).strip("| ").split(" | ")
    assert float(cells[5]) == pytest.approx(spread, abs=0.005)
    assert cells[7:] == ["+0.20 ± 0.00", "0.20"]


def test_the_table_is_printed(capsys):
    assert main(["--decisions", "1", "--worlds", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in out[:1] + out[2:]] == [
        "| behind", "| 0 to 0.05", "| 0.05 to 0.1", "| 0.1 to 0.2", "| 0.2 to 0.4",
        "| 0.4 to inf", "| all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rule"], "no spec of weights"),
        (["ppo:4p", "--worlds", "1"], "--worlds"),
        (["--decisions", "0"], "--decisions"),
        (["--rules", "nowhere.yaml"], "nowhere.yaml"),
        (["ppo:4p", "--rules", "configs/rules/duel_no_stakes.yaml"], "for 4 players, the rules for 2"),
    ],
)
def test_bad_input_is_named(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
