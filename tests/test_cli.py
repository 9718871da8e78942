"""The command line: what it prints and its exit status."""

import io
import json
import subprocess
import sys

import pytest

from wzmj_env import cli


def run(capsys, *arguments):
    status = cli.main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_play_prints_every_seat_and_writes_json(capsys, tmp_path):
    file = tmp_path / "results.json"
    status, out, _ = run(capsys, "play", "--agents", "rule,random", "--hands", "50", "--seed", "1", "--json", str(file))
    assert status == 0
    assert "rule" in out and "random" in out and "patterns" in out
    results = json.loads(file.read_text())
    assert results["hands"] == 50
    assert results["rules"]["num_players"] == 2
    rows = results["seats"]
    assert sum(row["mean"] for row in rows) == pytest.approx(0)
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)
    assert sum(row["won"] for row in rows) + results["drawn"] == 50


def test_the_same_seed_plays_the_same(capsys):
    arguments = ("play", "--agents", "random,random,random", "--hands", "20", "--seed", "5")
    assert run(capsys, *arguments) == run(capsys, *arguments)


def test_rules_prints_every_field(capsys, tmp_path):
    status, out, _ = run(capsys, "rules")
    assert status == 0
    assert "dead_wall = 16" in out
    file = tmp_path / "mine.yaml"
    file.write_text("dead_wall: 3\n")
    assert "dead_wall = 3  (default 16)" in run(capsys, "rules", "--rules", str(file))[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("play", "--agents", "rule"), "2 to 4"),
        (("play", "--agents", "rule,,rule"), "no such agent"),
        (("play", "--agents", "rule,nobody"), "nobody"),
        (("play", "--agents", "rule,rule", "--hands", "0"), "--hands"),
        (("play", "--agents", "rule,rule", "--seed", "-1"), "seed"),
        (("play", "--agents", "rule,rule", "--rules", "missing.yaml"), "missing.yaml"),
        (("play", "--agents", "rule,rule", "--hands", "2", "--json", "no/such/folder/x.json"), "no/such"),
        (("rules", "--rules", "missing.yaml"), "missing.yaml"),
        (("bench", "--runs", "0"), "--runs"),
    ],
)
def test_wrong_use_is_one_clear_line_and_status_2(capsys, arguments, words):
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert words in err.strip().splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [(), ("dance",), ("play",), ("play", "--hands", "many")])
def test_unknown_commands_and_options_exit_2(arguments):
    done = subprocess.run([sys.executable, "-m", "wzmj_env.cli", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_whoever_stops_reading_is_no_error():
    done = subprocess.run(f"{sys.executable} -m wzmj_env.cli rules | head -1", shell=True, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.stderr == ""


def test_rows_of_the_bench_measure_something():
    from wzmj_env import bench

    names = [name for name, _, _ in bench.rows(0.01)]
    assert len(names) == len(set(names))
    for name, unit, make in bench.rows(0.01):
        if "16384" not in name:
            figure = bench.measure(name, unit, make(), 1)
            assert figure.value > 0
    text = bench.as_text({"figures": [{"name": "x", "value": 12345.0, "unit": "ns"}]})
    assert text == "x        12,345 ns"


def test_a_person_plays_in_the_terminal(capsys, monkeypatch):
    """Every number is tried in turn: those that are not legal are asked for again."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("fly\n" + "".join(f"{a}\n" for a in range(76)) * 1000))
    status, out, err = run(capsys, "play", "--agents", "human,random", "--hands", "2", "--seed", "1")
    assert status == 0, err
    assert "'fly' is not among" in out
    assert "| remaining " in out and "2 hands, seed 1" in out


def test_input_that_ends_before_the_game(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    status, _, err = run(capsys, "play", "--agents", "human,random", "--hands", "2")
    assert status == 2
    assert "the input has ended" in err
