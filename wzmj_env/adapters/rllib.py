"""RLlib: mask and planes in one observation, under the keys that its masking modules ask for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ..actions import NUM_ACTIONS


class RLlibEnv(gymnasium.Wrapper):
    """A `WenzhouMahjong` whose observation is `{"observations": (C * 34,) float32, "action_mask": (76,) float32}`."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        assert env.observation_space.shape is not None
        size = int(np.prod(env.observation_space.shape))
        self.observation_space = spaces.Dict(
            {
                "observations": spaces.Box(0, 255, (size,), np.float32),
                "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.float32),
            }
        )

    def _shown(self, observation: np.ndarray, info: dict[str, Any]) -> dict[str, np.ndarray]:
        return {
            "observations": observation.reshape(-1).astype(np.float32),
            "action_mask": info["action_mask"].astype(np.float32),
        }

    def reset(self, **kwargs: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        observation, info = self.env.reset(**kwargs)
        return self._shown(observation, info), {}

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(observation, info), float(reward), terminated, truncated, {}
