"""RLlib's adapter and example. Run by `make test-rllib`, in the environment that examples/rllib-requirements.txt describes."""

import importlib

import numpy as np

from wzmj_env import Rules
from wzmj_env.adapters.rllib import RLlibEnv
from wzmj_env.gym import WenzhouMahjong


def test_rllib_finds_masks_in_the_observation():
    env, alone = RLlibEnv(WenzhouMahjong("random", Rules())), WenzhouMahjong("random", Rules())
    shown, _ = env.reset(seed=2)
    observation, info = alone.reset(seed=2)
    terminated = False
    while not terminated:
        assert env.observation_space.contains(shown)
        assert np.array_equal(shown["observations"], observation.reshape(-1))
        assert np.array_equal(shown["action_mask"], info["action_mask"])
        action = int(info["action_mask"].argmax())
        shown, reward, terminated, _, _ = env.step(action)
        observation, expected, _, _, info = alone.step(action)
        assert reward == expected


def test_the_example_trains_and_is_measured(monkeypatch, capsys):
    monkeypatch.syspath_prepend("examples")
    found = importlib.import_module("rllib_ppo").main(["--steps", "256", "--batch", "256", "--tables", "2", "--deals", "4"])
    assert found.hands == 16
    assert "against three rule players, 4 deals:" in capsys.readouterr().out
