"""Compile ahead of use: every entry that Game, VectorEnv, the AEC and the Gymnasium environments call."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from . import aec, duplicate, explain, gym, gym_vector, hand, host, record, room, scoring, tiles
from ._jit import cache_dir
from .batch import VectorEnv
from .game import Game, Match
from .rules import Rules
from .specs import make_agent


def compile_all() -> Path | None:
    """Run each entry once, so that its compiled code is on disk; the folder it lies in, None when there is none."""
    game = Game(Rules(), seed=0)
    while not game.done:
        game.observe(0)
        game.state()
        game.action_mask()
        game.step(game.legal_actions()[0])
    game.digest()
    game.resample(0, seed=0)
    str(game)
    with tempfile.TemporaryDirectory() as folder:
        with record.Recorder(Path(folder) / "hand", game.rules, list("abcd")) as recorder:
            recorder.begin(game)
        assert len(list(record.Record(recorder.path))) == 1
    explain.prospects(Game.from_position("123m 456p 789s 11z 22z 33z 5p 7z", caishen="9m"))
    assert game.result is not None
    Match(seed=0)
    env = VectorEnv(2, state=True)
    env.step(env.sample_actions())
    env.rollout(1)
    env.load_state_dict(env.state_dict())
    concealed = tiles.counts("11m 123m 456p 789p 123s 456s").astype(np.int64)
    scoring.evaluate(concealed, [], tiles.RED, self_draw=True)
    hand.complete(concealed, 0, tiles.RED)
    hand.distance(concealed, 0, tiles.RED)
    concealed[0] -= 1
    hand.waits(concealed, 0, tiles.RED)
    hand.improving(concealed, 0, tiles.RED)
    duplicate.compare("rule", "random", "1v3", 2)
    list(room.Room([make_agent("rule"), make_agent("random")], Rules()).play(np.array([[0, 1, 0, 1]]), 0, 1, 0))
    host.warm_up()
    env_loop = aec.raw_env()
    env_loop.reset(seed=0)
    env_loop.step(int(env_loop.last()[0]["action_mask"].argmax()))
    env_loop.state()
    table = gym.WenzhouMahjong()
    _, info = table.reset(seed=0)
    table.step(int(info["action_mask"].argmax()))
    table.reset()
    batch = gym_vector.WenzhouMahjongVector(2)
    batch.step(batch.action_masks().argmax(axis=1))
    return cache_dir()
