"""The measuring itself: peers in turn with ours, the chart."""

import importlib.util
import sys
from pathlib import Path

import pytest

from wzmj_env import bench, peers

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of peers' loops that take no time."""
    (tmp_path / "good.py").write_text("import sys\nprint('compiling')\nprint(float(sys.argv[2]) * 100)\n")
    (tmp_path / "bad.py").write_text("raise SystemExit('no such game')\n")
    monkeypatch.setattr(peers, "FOLDER", tmp_path)
    return tmp_path


def peer(program, needs=("json",)):
    return peers.Peer("a peer", needs, (program, "play"), "masks")


def test_ours_and_theirs_are_measured_in_turn(folder, monkeypatch):
    monkeypatch.setattr(peers, "PEERS", (peer("good.py"), peer("good.py", needs=("json", "no_such_module"))))
    told = []
    rows = peers.compare([], 2, 0.02, told.append)
    assert told == ["a peer", "a peer: left out, json or no_such_module is not installed"]
    assert len(rows) == 1
    assert rows[0]["peer_rate"] == pytest.approx(2.0)
    assert rows[0]["our_rate"] > 1000
    assert rows[0]["ratio"] in [a / b for a, b in rows[0]["runs"]] or len(rows[0]["runs"]) % 2 == 0
    assert "a peer" in peers.as_text(rows)


def test_a_loop_that_fails_is_named_with_what_it_said(folder, monkeypatch):
    monkeypatch.setattr(peers, "PEERS", (peer("bad.py"),))
    with pytest.raises(ValueError, match=r"(?s)bad\.py.*no such game"):
        peers.compare([], 1, 0.01)


def test_without_a_clone_there_are_no_peers(folder, monkeypatch):
    monkeypatch.setattr(peers, "FOLDER", folder / "nowhere")
    with pytest.raises(ValueError, match="clone's benchmarks"):
        peers.compare([], 1, 0.01)


def test_an_interpreter_needs_all_modules():
    assert peers.interpreter_with(("json", "numpy"), [sys.executable]) == sys.executable
    assert peers.interpreter_with(("json", "no_such_module"), [sys.executable]) is None


def test_every_peer_has_its_program_and_a_loop_of_ours():
    for known in peers.PEERS:
        assert (ROOT / "benchmarks" / known.program[0]).is_file()
        assert known.ours in bench.LOOPS


@pytest.mark.parametrize("name", bench.LOOPS)
def test_our_loops_play(name):
    assert bench.LOOPS[name](0.01)() > 0


def test_threads_and_processes_play_beside_each_other(monkeypatch):
    monkeypatch.setattr(bench, "MANY", 64)
    figure = bench.threads_beside_processes("VectorEnv.step", 2, 0.02)
    assert len(figure.runs) == 2
    assert min(figure.runs) > 0


def chart():
    spec = importlib.util.spec_from_file_location("chart", ROOT / "docs" / "chart.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_chart_shows_every_peer(tmp_path):
    row = {"peer": "a peer", "ours": "masks", "peer_rate": 5e4, "our_rate": 5e6, "ratio": 100.0}
    for name in ("speed.svg", "speed.png"):
        chart().draw({"peers": [row]}, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(ValueError, match="--peers"):
        chart().draw({"figures": []}, tmp_path / "none.svg")
