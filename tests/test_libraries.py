"""Adapters for other libraries: their own checks, what rows and masks they hand on, and the examples, run small."""

import importlib
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FlattenObservation
from stable_baselines3.common.env_checker import check_env
from tianshou.env import DummyVectorEnv
from torchrl.envs.utils import check_env_specs

from wzmj_env import Rules
from wzmj_env.adapters.sb3 import SB3VecEnv
from wzmj_env.adapters.tianshou import TianshouEnv
from wzmj_env.adapters.torchrl import TorchRLEnv
from wzmj_env.gym import WenzhouMahjong
from wzmj_env.gym_vector import WenzhouMahjongVector

NO_STAKES = Rules(stakes=False)


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend("examples")
    return importlib.import_module


# --- Stable-Baselines3 -----------------------------------------------------------------------------------------------


def test_sb3s_check_passes_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(FlattenObservation(WenzhouMahjong("rule")), skip_render_check=False)


def test_sb3_is_shown_what_the_batch_shows():
    inner, envs = SB3VecEnv(WenzhouMahjongVector(6, "random", NO_STAKES)), WenzhouMahjongVector(6, "random", NO_STAKES)
    inner.seed(3)
    observations = inner.reset()
    expected, infos = envs.reset(seed=3)
    ended = 0
    for _ in range(150):
        masks = np.stack(inner.env_method("action_masks"))
        assert np.array_equal(observations, expected)
        assert np.array_equal(masks, infos["action_mask"] == 1)
        actions = masks.argmax(axis=1)
        observations, rewards, dones, told = inner.step(actions)
        expected, paid, terminated, _, infos = envs.step(actions)
        assert np.array_equal(rewards, paid.astype(np.float32))
        assert np.array_equal(dones, terminated)
        for i in range(6):
            assert ("terminal_observation" in told[i]) == dones[i]
            if dones[i]:
                assert np.array_equal(told[i]["terminal_observation"], infos["final_obs"][i])
                ended += 1
    assert ended > 5
    assert len(inner.env_method("action_masks", indices=[1, 4])) == 2
    with pytest.raises(AttributeError, match="seat"):
        inner.set_attr("seat", 1)


# --- Tianshou --------------------------------------------------------------------------------------------------------


def test_tianshou_finds_masks_in_the_observation():
    envs = DummyVectorEnv([lambda: TianshouEnv(WenzhouMahjong("random", NO_STAKES))] * 3)
    envs.seed(1)
    shown, _ = envs.reset()
    alone = WenzhouMahjong("random", NO_STAKES)
    alone.reset(seed=1)  # Tianshou seeds by such a reset, and resets again
    observation, info = alone.reset()
    assert np.array_equal(shown[0]["obs"], observation.reshape(-1))
    assert np.array_equal(shown[0]["mask"], info["action_mask"])
    env = TianshouEnv(WenzhouMahjong("random", NO_STAKES))
    shown, _ = env.reset(seed=1)
    terminated = False
    while not terminated:
        assert env.observation_space.contains(shown)
        shown, _, terminated, _, _ = env.step(int(shown["mask"].argmax()))
    assert shown["mask"].all()


# --- TorchRL ---------------------------------------------------------------------------------------------------------


def test_torchrls_check_passes():
    env = TorchRLEnv(WenzhouMahjongVector(3, "random", NO_STAKES, illegal="terminate"))
    check_env_specs(env)


def test_torchrl_is_shown_what_the_batch_shows():
    env, envs = TorchRLEnv(WenzhouMahjongVector(5, "random", NO_STAKES)), WenzhouMahjongVector(5, "random", NO_STAKES)
    env.set_seed(4)
    expected, infos = envs.reset(seed=4)

    def lowest(observation, action_mask):
        return action_mask.int().argmax(-1)

    rows = env.rollout(150, lowest, break_when_any_done=False)
    ended = 0
    for t in range(150):
        assert np.array_equal(rows["observation"][:, t].numpy(), expected.reshape(5, -1))
        assert np.array_equal(rows["action_mask"][:, t].numpy(), infos["action_mask"] == 1)
        expected, rewards, terminated, _, infos = envs.step(rows["action"][:, t].numpy())
        after = rows["next"][:, t]
        assert np.array_equal(after["reward"][:, 0].numpy(), rewards.astype(np.float32))
        assert np.array_equal(after["terminated"][:, 0].numpy(), terminated)
        for i in np.flatnonzero(terminated):
            assert np.array_equal(after["observation"][i].numpy(), infos["final_obs"][i].reshape(-1))
            ended += 1
    assert ended > 5


# --- examples --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sb3_maskable_ppo", ["--tables", "4", "--rows", "64"]),
        ("sb3_maskable_ppo", ["--tables", "1", "--rows", "128", "--single"]),
        ("tianshou_dqn", ["--tables", "2"]),
        ("torchrl_ppo", ["--tables", "4", "--rows", "64"]),
    ],
)
def test_an_example_trains_and_is_measured(name, arguments, example, capsys):
    torch.set_num_threads(1)
    found = example(name).main([*arguments, "--steps", "512", "--deals", "4"])
    assert found.deals == 4
    assert found.hands == 16
    assert "against three rule players, 4 deals:" in capsys.readouterr().out


def test_the_share_of_the_environment_is_measured(monkeypatch):
    monkeypatch.syspath_prepend("benchmarks")
    found = importlib.import_module("environment_share").measure(4, 32, 1, 32)
    assert 0 < found["share"] < 1
    assert gymnasium.spec("wzmj_env/WenzhouMahjong-v0")
