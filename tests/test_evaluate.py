"""`python -m train.evaluate`: its table, its JSON and pictures, its exit codes, and that a killed run goes on."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from train.evaluate import main
from wzmj_env import Rules, duplicate
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
        assert profile.keys() == {
            "seats", "payment", "won", "own_draw", "deal_in", "discards", "by_value", "by_pattern",
        }  # fmt: skip
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
        (["random", "random", "--until", "0"], "until"),
        (["random", "random", "--deals", "2", "--picture", "no/such/x.svg"], "no/such"),
        (["random", "random", "--deals", "2", "--picture", "x.words"], "words"),
        (["--league", "random,ruel,greedy"], "'ruel'"),
        (["random", "random", "--format", "duel", "--rules", str(CLONE / "configs/rules/classic.yaml")], "format"),
        (["random", "random", "--json", "no/such/folder/x.json", "--deals", "2"], "no/such/folder"),
        (["test_duplicate:Liar?answer=75", "random", "--deals", "2"], "illegal action 75"),
    ],
)
def test_bad_input_ends_with_2_and_one_clear_error(arguments, what, capsys):
    assert main(arguments) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("train.evaluate: ")]
    assert len(error) == 1 and what in error[0]


@pytest.mark.parametrize(
    "arguments",
    [[], ["random"], ["a", "b", "--format", "3v3"], ["a", "b", "--deals", "x"],
     ["a", "b", "c"], ["a", "--league", "a,b"], ["--league", "a"], ["--league", "a,a"], ["--league", "a,b", "--above", "0"]],
)
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


# --- leagues, widths, pictures ---------------------------------------------------------------------------------------


def test_a_league_plays_every_two_and_ranks_them(tmp_path, capsys):
    path = tmp_path / "league.json"
    assert main(["--league", f"random,{FIRST},greedy", "--format", "duel", "--deals", "60", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    pairs = [(c["a"], c["b"]) for c in result["comparisons"]]
    assert pairs == [("random", FIRST), ("random", "greedy"), (FIRST, "greedy")]
    for c in result["comparisons"]:
        alone = compare(c["a"], c["b"], "duel", 60)
        assert (c["mean"], c["low"], c["high"]) == (alone.mean, alone.low, alone.high)
    assert next(iter(result["standings"])) == "greedy"
    assert sum(result["standings"].values()) == pytest.approx(0)
    assert "mean over opponents: greedy" in capsys.readouterr().out


def test_until_stops_at_the_width_and_gives_no_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicate, "CHUNK", 20)
    path = tmp_path / "result.json"
    arguments = ["random", "greedy", "--deals", "400", "--json", str(path), "--until"]
    assert main([*arguments, "2.0"]) == 0
    result = json.loads(path.read_text())
    assert (result["until"], result["verdict"]) == (2.0, "exploring")
    assert result["high"] - result["low"] <= 2.0
    assert 20 <= result["deals"] < 400
    fewer = compare("random", "greedy", "1v3", max(result["deals"] - 20, 2))
    assert result["deals"] == 20 or fewer.high - fewer.low > 2.0
    assert main([*arguments, "0.0001"]) == 0  # deals are the limit
    assert json.loads(path.read_text())["deals"] == 400


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_drawn(ending, tmp_path):
    path = tmp_path / f"result.{ending}"
    assert main(["random", "greedy", "--deals", "20", "--picture", str(path)]) == 0
    start = path.read_bytes()[:200]
    assert b"<?xml" in start if ending == "svg" else start.startswith(b"\x89PNG")


# --- runs that go on -------------------------------------------------------------------------------------------------


def _run(out, *more):
    return ["random", FIRST, "--format", "duel", "--deals", "90", "--out", str(out), *more]


def test_what_is_kept_is_not_played_again(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicate, "CHUNK", 30)
    out = tmp_path / "run"
    assert main(_run(out)) == 0
    first = (out / "results.json").read_bytes()
    files = sorted(out.glob("hands-*.npy"))
    assert len(files) == 3
    files[1].write_bytes(files[1].read_bytes()[:-9])  # damaged: played again
    files[2].unlink()
    played = []
    real = duplicate.play_chunk
    monkeypatch.setattr(duplicate, "play_chunk", lambda *a: played.append(a[2:4]) or real(*a))
    assert main(_run(out)) == 0
    assert played == [(30, 60), (60, 90)]
    assert (out / "results.json").read_bytes() == first
    assert (out / "results.svg").exists()


def test_a_folder_of_another_run_is_refused(tmp_path, capsys):
    assert main(_run(tmp_path)) == 0
    assert main(_run(tmp_path, "--seed", "1")) == 2
    assert "holds another run: seed differ" in capsys.readouterr().err
    (tmp_path / "run.json").write_text("[")
    assert main(_run(tmp_path)) == 2


def test_foreign_hands_are_not_taken(tmp_path):
    assert main(_run(tmp_path)) == 0
    first = (tmp_path / "results.json").read_bytes()
    file = next(tmp_path.glob("hands-*.npy"))
    for other in (np.zeros(3), np.array([{"a": 1}], dtype=object)):
        np.save(file, other, allow_pickle=True)
        assert main(_run(tmp_path)) == 0
        assert (tmp_path / "results.json").read_bytes() == first


def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    """kill -9 after each chunk in turn."""
    code = "import sys; from wzmj_env import duplicate; duplicate.CHUNK = 40; from train.evaluate import main; sys.exit(main())"
    arguments = ["test_duplicate:Dice", "greedy", "--format", "duel", "--deals", "160", "--seed", "5"]
    environment = {**os.environ, "PYTHONPATH": f"{CLONE}{os.pathsep}{CLONE / 'tests'}"}

    def start(out):
        command = [sys.executable, "-c", code, *arguments, "--out", str(out)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kills = 0
    for chunks in (1, 2):
        process = start(killed)
        while len(list(killed.glob("hands-*.npy"))) < chunks and process.poll() is None:
            time.sleep(0.005)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    assert kills == 2 and not (killed / "results.json").exists()
    assert start(killed).wait() == 0
    assert start(whole).wait() == 0
    assert (killed / "results.json").read_bytes() == (whole / "results.json").read_bytes()
