"""`python -m train.evaluate`: its table, its JSON, its exit codes."""

import json
import os
import subprocess
import sys

import pytest

from train.evaluate import main
from wzmj_env import Rules
from wzmj_env.duplicate import compare
from wzmj_env.specs import CLONE

FIRST = "test_specs:Bot"


def test_the_json_says_what_was_measured(tmp_path, capsys):
    path = tmp_path / "result.json"
    arguments = ["random", FIRST, "--format", "2v2", "--deals", "40", "--seed", "3", "--json", str(path)]
    assert main(arguments) == 0
    result = json.loads(path.read_text())
    c = compare("random", FIRST, "2v2", 40, seed=3)
    assert (result["mean"], result["low"], result["high"]) == (c.mean, c.low, c.high)
    assert (result["deals"], result["hands"], result["format"], result["seed"]) == (40, 240, "2v2", 3)
    assert (result["a"], result["b"], result["verdict"]) == ("random", FIRST, c.verdict)
    assert result["rules"] == Rules(stakes=False).to_dict()
    for profile in result["profiles"].values():
        assert profile.keys() == {"seats", "payment", "won", "own_draw", "deal_in", "by_value", "by_pattern"}
    out = capsys.readouterr().out
    assert f"{c.mean:+.3f}" in out and FIRST in out and "240 hands" in out


@pytest.mark.parametrize(("format", "players"), [("duel", 2), ("1v2", 3), ("1v3", 4)])
def test_each_format_has_its_table(format, players, tmp_path):
    path = tmp_path / "result.json"
    assert main(["random", "random", "--format", format, "--deals", "5", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    assert result["rules"]["num_players"] == players
    assert result["hands"] == 5 * players


def test_rules_from_a_file(tmp_path):
    path, rules = tmp_path / "result.json", tmp_path / "rules.yaml"
    rules.write_text("unit: 5\nstakes: true\n")
    assert main(["random", "random", "--deals", "5", "--json", str(path), "--rules", str(rules)]) == 0
    assert json.loads(path.read_text())["rules"] == Rules(unit=5).to_dict()


def test_above_is_a_check(tmp_path):
    same = [FIRST, FIRST, "--format", "duel", "--deals", "5"]
    assert main([*same, "--above", "-0.5"]) == 0
    assert main([*same, "--above", "0"]) == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["random", "ruel"], "'ruel'"),
        (["random", "ppo:nothing"], "nothing"),
        (["random", "random", "--deals", "1"], "deals"),
        (["random", "random", "--seed", "-1"], "seed"),
        (["random", "random", "--processes", "0"], "workers"),
        (["random", "random", "--rules", "none.yaml"], "none.yaml"),
        (["random", "random", "--format", "duel", "--rules", str(CLONE / "configs/rules/classic.yaml")], "format"),
        (["random", "random", "--json", "no/such/folder/x.json", "--deals", "2"], "no/such/folder"),
        (["test_duplicate:Liar?answer=75", "random", "--deals", "2"], "illegal action 75"),
    ],
)
def test_bad_input_ends_with_2_and_one_clear_error(arguments, what, capsys):
    assert main(arguments) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("train.evaluate: ")]
    assert len(error) == 1 and what in error[0]


@pytest.mark.parametrize("arguments", [[], ["random"], ["a", "b", "--format", "3v3"], ["a", "b", "--deals", "x"]])
def test_wrong_use_ends_with_2(arguments):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2


def test_it_runs_as_a_program_with_processes():
    command = [sys.executable, "-m", "train.evaluate", "random", FIRST, "--deals", "4", "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": "tests"}
    done = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "95 % interval" in done.stdout
