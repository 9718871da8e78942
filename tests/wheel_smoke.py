"""What the installed wheel must do: `python -I wheel_smoke.py bare|extras GOLDEN`, in an empty folder, with the wheel alone.

`bare`: without extras, where each missing part must say what to install. `extras`: with eval, render and web.
GOLDEN is tests/golden/digests.json: every Python, numpy and numba plays the same games.
"""

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np

import wzmj_env
from wzmj_env import Game, Rules, VectorEnv, cli, ratings, scoring, tiles, wenzhou_mahjong_v0
from wzmj_env.record import Record, Recorder

GAMES = 5
TILES = "11m 123m 456p 789p 123s 456s"
PACKAGE = Path(wzmj_env.__file__).parent


def check_files():
    """The package is the installed one, typed, with its pages and its version; nothing else came with it."""
    assert Path(sys.prefix) in PACKAGE.parents, f"{PACKAGE} does not lie in {sys.prefix}"
    assert importlib.metadata.version("wzmj") == wzmj_env.__version__
    files = [str(file) for file in importlib.metadata.files("wzmj") or ()]
    assert {"wzmj_env/py.typed", "wzmj_env/pages/table.html", "wzmj_env/pages/replay.js"} <= set(files)
    tops = {file.split("/")[0] for file in files if not file.startswith("..")}
    assert tops == {"wzmj_env", f"wzmj-{wzmj_env.__version__}.dist-info"}, tops


def check_golden(golden):
    """As `golden_games` of tests/test_engine.py."""
    for players in (2, 3, 4):
        for seed in range(GAMES):
            game, hasher, state = Game(Rules(num_players=players), seed=seed), hashlib.sha256(), seed
            while not game.done:
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                legal = game.legal_actions()
                game.step(legal[(state >> 33) % len(legal)])
                hasher.update(game.digest().encode())
            assert hasher.hexdigest()[:16] == golden[f"{players}-{seed}"], (players, seed)


def check_environments():
    batch = VectorEnv(16, seed=1)
    for _ in range(50):
        batch.step(batch.sample_actions())
    assert batch.observation.shape[0] == 16
    env = wenzhou_mahjong_v0.env()
    env.reset(seed=1)
    for _ in env.agent_iter():
        _, _, terminated, _, info = env.last()
        env.step(None if terminated else int(np.flatnonzero(info["action_mask"])[0]))
    value = scoring.evaluate(tiles.counts(TILES), [], tiles.RED, self_draw=False)
    assert value is not None and value.value == 2
    assert Game(seed=1).svg().startswith("<svg")


def check_record():
    game = Game(seed=3)
    with Recorder("hand.jsonl", game.rules, list("abcd")) as recorder:
        recorder.begin(game)
        while not game.done:
            recorder.step(game.legal_actions()[0])
    assert [hand.payments for hand in Record("hand.jsonl")]


def command(*arguments):
    """Exit status and all that a command wrote."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = cli.main(list(arguments))
    return status, out.getvalue()


def check_commands():
    for arguments in (
        ("rules",),
        ("play", "--agents", "rule,random", "--hands", "20", "--seed", "1"),
        ("replay", "hand.jsonl", "--verify"),
        ("replay", "hand.jsonl", "--to", "hand.npz"),
        ("replay", "hand.jsonl", "--html", "hand.html"),
        ("explain", "234m 678s 77p 22p 8m", "--caishen", "5z", "--melds", "0:peng 222z,chi 6p4p5p",
         "--discards", "0:3z5m", "2:7m"),
        ("arena", "--agents", "rule,random", "--players", "2", "--deals", "5", "--out", "arena"),
        ("ladder", "add", "one", "rule"),
        ("ladder", "add", "two", "random"),
        ("ladder", "add", "three", "greedy"),
        ("ladder", "add", "four", "rule:1"),
    ):
        status, out = command(*arguments)
        assert status == 0, (arguments, out)
    program = Path(sys.executable).parent / "wzmj"
    assert subprocess.check_output([program, "--version"], text=True) == f"wzmj {wzmj_env.__version__}\n"


def check_hints():
    """Each part that is not installed says which extra holds it."""
    env = wenzhou_mahjong_v0.env(render_mode="rgb_array")
    env.reset(seed=1)
    said = []
    for act in (env.render, lambda: ratings.elo([(0, 1, np.ones(9))], 2), lambda: ratings.after_game([(25, 8)] * 2, [1, -1])):
        try:
            act()
        except (ImportError, ValueError) as error:
            said.append(str(error))
    said.append(command("table", "--port", "0")[1])
    said.append(command("ladder", "run")[1])
    said.append(Path("arena/report.html").read_text())
    for words, extra in zip(said, ("render", "eval", "eval", "web", "eval", "eval"), strict=True):
        assert f"pip install 'wzmj[{extra}]'" in words.replace("&#x27;", "'"), (extra, words)
    for spec in ("ppo:4p", "search:8"):
        status, out = command("play", "--agents", f"{spec},rule", "--hands", "2")
        assert status == 2 and "clone" in out, out


def check_extras():
    env = wenzhou_mahjong_v0.env(render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert picture.ndim == 3 and picture.std() > 0
    assert ratings.elo([(0, 1, np.array([1.0, -1.0, 1.0]))], 2)[0, 0] > 0
    status, out = command("ladder", "run", "--games", "2")
    assert status == 0, out
    assert "<img" in Path("arena/report.html").read_text()
    serve = [sys.executable, "-I", "-m", "wzmj_env.cli", "table", "--port", "0"]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("open ").strip()
        assert urllib.request.urlopen(f"{address}healthz").status == 200
        check_socket(address)
    finally:
        server.terminate()
        server.wait()


def check_socket(address):
    """A table is made, and its socket shows it."""
    from websockets.sync.client import connect

    wanted = {"players": 2, "hands": 1, "entry": 5, "agents": [None, "rule"], "name": "Anna"}
    request = urllib.request.Request(
        f"{address}api/tables", json.dumps(wanted).encode(), {"Content-Type": "application/json", "Origin": address.rstrip("/")}
    )
    seat = json.load(urllib.request.urlopen(request))
    with connect(address.replace("http", "ws") + "ws", origin=address.rstrip("/")) as socket:
        socket.send(json.dumps({"type": "hello", "table": seat["table"], "token": seat["token"]}))
        assert json.loads(socket.recv(timeout=60))["type"] == "view"


if __name__ == "__main__":
    mode, golden = sys.argv[1:]
    os.environ["no_proxy"] = "127.0.0.1"
    check_files()
    check_environments()
    check_golden(json.loads(Path(golden).read_text()))
    check_record()
    check_commands()
    if mode == "bare":
        check_hints()
    else:
        check_extras()
