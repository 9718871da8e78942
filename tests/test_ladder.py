"""The ladder: bots register, play when free, are rated; killed runners leave nothing half done."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from wzmj_env import Rules, cli
from wzmj_env.ladder import Ladder
from wzmj_env.record import Record

DUEL = Rules(num_players=2, stakes=False)


def ladder(path, *specs, rules=DUEL):
    made = Ladder(path, rules, seed=7)
    for spec in specs:
        made.add(f"the {spec}", spec)
    return made


def test_stronger_bots_rise(tmp_path):
    with ladder(tmp_path / "l.db", "random", "rule", "greedy") as running:
        list(running.run(60))
        standings = running.standings()
        assert standings[-1].name == "the random"
        assert [bot.games for bot in standings] == [40, 40, 40]
        assert all(bot.deviation < 8 for bot in standings)


def test_every_game_is_kept_with_its_record(tmp_path):
    with ladder(tmp_path / "l.db", "rule", "greedy", "random", "rule:1", rules=Rules(stakes=False)) as running:
        results = list(running.run(3))
        assert running.games() == results
    for result in results:
        assert sum(result.payments) == 0
        hands = list(Record(tmp_path / "l.db.records" / f"{result.id:09}.jsonl.gz"))
        assert len(hands) == 4
        paid = dict.fromkeys(result.names, 0)
        for hand in hands:
            for name, payment in zip(hand.players, hand.payments.tolist(), strict=True):
                paid[name] += payment
        assert list(paid.values()) == result.payments


def test_a_ladder_opened_again_goes_on(tmp_path):
    with ladder(tmp_path / "a.db", "random", "greedy") as running:
        list(running.run(6))
        whole = running.standings()
    with ladder(tmp_path / "b.db", "random", "greedy") as running:
        list(running.run(2))
    with Ladder(tmp_path / "b.db") as running:
        list(running.run(4))
        assert running.standings() == whole


def test_a_bot_plays_one_game_at_a_time(tmp_path):
    with ladder(tmp_path / "l.db", "random", "greedy", "rule") as one, Ladder(tmp_path / "l.db") as other:
        number, bots = one._take()
        with pytest.raises(ValueError, match="needs 2 free bots, and 1 are free"):
            other._take()
        one._db.execute("DELETE FROM busy WHERE game = ?", (number,))
        assert {bot.id for bot in other._take()[1]} <= {1, 2, 3}
        assert len(bots) == 2


def test_a_killed_runner_leaves_no_half_of_a_game_and_its_bots_free(tmp_path):
    path = tmp_path / "l.db"
    ladder(path, "random", "greedy").close()
    program = (
        "import sys; from wzmj_env.ladder import Ladder\nfor result in Ladder(sys.argv[1]).run(10**6): print('.', flush=True)\n"
    )
    for _ in range(3):
        runner = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
        runner.stdout.readline()
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
        with Ladder(path) as running:
            games = running.games()
            assert games
            assert [bot.games for bot in running.standings()] == [len(games)] * 2
            list(running.run(1))
            assert len(running.games()) == len(games) + 1


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [("", "rule", "a name"), ("x" * 65, "rule", "a name"), ("a\nb", "rule", "a name"), ("the rule", "rule", "taken"),
     ("new", "nobody", "nobody"), ("me", "human", "a person")],
)  # fmt: skip
def test_wrong_bots_are_refused(tmp_path, name, spec, words):
    with ladder(tmp_path / "l.db", "rule") as running, pytest.raises(ValueError, match=words):
        running.add(name, spec)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.db").write_text("text " * 1000)
    with pytest.raises(ValueError, match="not a database"):
        Ladder(tmp_path / "a.db")
    ladder(tmp_path / "b.db").close()
    with pytest.raises(ValueError, match="other rules"):
        Ladder(tmp_path / "b.db", Rules())
    with sqlite3.connect(tmp_path / "b.db") as db:
        db.execute("UPDATE ladder SET version = 9")
    db.close()
    with pytest.raises(ValueError, match="version 9"):
        Ladder(tmp_path / "b.db")


def test_the_command(capsys, tmp_path):
    db = ["--db", str(tmp_path / "l.db")]
    rules = tmp_path / "duel.yaml"
    rules.write_text("num_players: 2\nstakes: false\n")
    assert cli.main(["ladder", "show", *db]) == 2
    assert cli.main(["ladder", "add", "one", "rule", *db, "--rules", str(rules)]) == 0
    assert cli.main(["ladder", "run", *db]) == 2
    assert "needs 2 free bots" in capsys.readouterr().err
    assert cli.main(["ladder", "add", "two", "random", *db]) == 0
    assert cli.main(["ladder", "run", "--games", "3", *db]) == 0
    assert cli.main(["ladder", "show", *db]) == 0
    out = capsys.readouterr().out
    assert "one" in out and "two" in out
