"""`wzmj replay`: as text, as arrays, verified or not."""

import io
import json
import sys

import numpy as np
import pytest

from wzmj_env import ACTION_VERSION, OBSERVATION_VERSION, Game, Match, Rules, actions, cli, replay
from wzmj_env.record import Record, Recorder

from test_record import DUEL, first_action, play_out, recorded


def run(capsys, *arguments):
    status = cli.main(["replay", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def match(tmp_path):
    return recorded(tmp_path / "match.jsonl", Match(DUEL, hands=3, seed=2), seed=2)


def test_text_tells_every_decision_draw_and_payment(capsys, match):
    status, out, err = run(capsys, match)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "2 players" in lines[0] and "seed 2" in lines[0]
    assert lines[-1] == "3 hands; the record is complete"
    said = [json.loads(line) for line in match.read_text().splitlines()]
    count = {what: sum(line["type"] == what for line in said) for what in ("decision", "draw", "end")}
    assert out.count(" draws ") == count["draw"] > 10
    told = [line for line in lines if line.startswith(("  0 east ", "  1 south "))]
    assert len(told) == count["decision"] + count["draw"] + 2 * count["end"]  # the dealt hands too
    for line in said:
        if line["type"] == "end":
            assert " ".join(f"{x:+d}" for x in line["payments"]) in out


def test_reasons_notes_and_leaving_are_told(capsys, tmp_path):
    hostile = "\x1b[2J<b>\n\u202e"
    with Recorder(tmp_path / "a", DUEL, [hostile, "b"]) as recorder:
        game = Game(DUEL, seed=1)
        recorder.begin(game)
        recorder.step(first_action(game), by="timeout")
        recorder.note(clock="\x1b")
        recorder.leave(0)
    status, out, _ = run(capsys, tmp_path / "a")
    assert status == 0
    assert "(timeout)" in out and "note: {'clock': '\\x1b'}" in out and "leaves" in out and "-8 +4" in out
    assert "\\x1b[2J<b>\\n\\u202e" in out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_verify(capsys, match, tmp_path):
    assert run(capsys, match, "--verify")[0] == 0
    data = match.read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(data[: len(data) // 2])
    status, out, _ = run(capsys, cut, "--verify")
    assert status == 1 and "ends within a line" in out
    cut.write_bytes(data[: data[:-1].rfind(b"\n") + 1])
    status, out, _ = run(capsys, cut, "--verify")
    assert status == 1 and "last line is missing" in out
    cut.write_bytes(data.replace(b'"draw","seat":0', b'"draw","seat":1', 1))
    status, _, err = run(capsys, cut, "--verify")
    assert status == 1 and "not verified" in err and "check differs" in err
    status, _, err = run(capsys, cut)
    assert status == 2 and "check differs" in err and "Traceback" not in err
    assert run(capsys, tmp_path / "missing")[0] == 2


def test_arrays_hold_every_decision(capsys, match, tmp_path):
    file = tmp_path / "out.npz"
    status, out, _ = run(capsys, match, "--to", file)
    assert status == 0 and "3 hands" in out
    with np.load(file, allow_pickle=False) as data:
        arrays = dict(data)
    assert (arrays["observation_version"], arrays["action_version"]) == (OBSERVATION_VERSION, ACTION_VERSION)
    rows = iter(range(len(arrays["actions"])))
    again = Match(DUEL, hands=3, seed=2)
    while not again.done:
        i = next(rows)
        seat, hand = again.current_player, len(again.results)
        assert (arrays["observations"][i] == again.observe(seat)).all()
        assert (arrays["masks"][i] == again.action_mask()).all()
        assert (arrays["seats"][i], arrays["games"][i], arrays["actions"][i]) == (seat, hand, first_action(again))
        again.step(first_action(again))
    assert next(rows, None) is None
    assert {name: (a.dtype, a.shape[1:]) for name, a in arrays.items() if a.ndim} == {
        name: (np.dtype(dtype), shape) for name, (shape, dtype) in replay.ARRAYS.items()
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["match.jsonl", "out.npz"]


def test_a_damaged_record_gives_no_arrays(capsys, match, tmp_path):
    data = match.read_bytes()
    match.write_bytes(data[:-40] + b"x" + data[-39:])
    assert run(capsys, match, "--to", tmp_path / "out.npz")[0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["match.jsonl"]
    assert run(capsys, match, "--to", "out.csv")[0] == 2


def test_a_stopped_record_gives_the_arrays_of_what_is_there(capsys, tmp_path):
    data = recorded(tmp_path / "a", Game(seed=1)).read_bytes()
    (tmp_path / "a").write_bytes(data[: len(data) // 2])
    assert run(capsys, tmp_path / "a", "--to", tmp_path / "b.npz")[0] == 0
    with np.load(tmp_path / "b.npz") as arrays:
        assert 0 < len(arrays["actions"]) == len(next(iter(Record(tmp_path / "a"))).game.actions)


def test_options_not_taken_are_told():
    game = Game(Rules(stakes=False), seed=1)
    legal = game.legal_actions()
    said = replay._chosen(game, legal[0], None)
    assert said.startswith(actions.name(legal[0]))
    assert len(legal) == 1 or "not: " in said


def test_printing_to_a_narrow_terminal_never_fails(match, monkeypatch, tmp_path):
    with Recorder(tmp_path / "a", Rules(), ["财神", "b", "c", "d"]) as recorder:
        play_out(recorder, Game(seed=1))
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert cli.main(["replay", str(tmp_path / "a")]) == 0
    sys.stdout.flush()
    assert b"\\u8d22\\u795e" in raw.getvalue()
