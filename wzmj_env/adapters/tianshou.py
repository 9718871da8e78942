"""Tianshou: the mask goes into the observation, where its Q-learning policies look for it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ..actions import NUM_ACTIONS


class TianshouEnv(gymnasium.Wrapper):
    """A `WenzhouMahjong` whose observation is `{"obs": (C * 34,) float32, "mask": (76,) int8}`.

    DQN and its kin read `mask`; Tianshou's PPO does not look at it. A mask of a hand that is over allows everything, since the
    best action after it is asked for and then not used.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        assert env.observation_space.shape is not None
        size = int(np.prod(env.observation_space.shape))
        self.observation_space = spaces.Dict(
            {"obs": spaces.Box(0, 255, (size,), np.float32), "mask": spaces.MultiBinary(NUM_ACTIONS)}
        )

    def _shown(self, observation: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
        mask = info["action_mask"]
        return {"obs": observation.reshape(-1).astype(np.float32), "mask": mask if mask.any() else np.ones_like(mask)}

    def reset(self, **kwargs: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return self._shown(observation, info), {}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(observation, info), float(reward), terminated, truncated, {}
