"""Stable-Baselines3's `VecEnv` over a compiled batch, for MaskablePPO of sb3-contrib."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from ..gym_vector import WenzhouMahjongVector


class SB3VecEnv(VecEnv):
    """What `gymnasium.make_vec` makes, in SB3's words: `env_method("action_masks")` gives the masks that MaskablePPO takes.

    Observations are `(N, C, 34) uint8`, rewards `(N,) float32`. `infos[i]["terminal_observation"]` is what game i showed last.
    """

    def __init__(self, envs: WenzhouMahjongVector) -> None:
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        observations, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, _, infos = self.envs.step(self._actions)
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(terminated).tolist():
            told[i] = {"terminal_observation": infos["final_obs"][i], "TimeLimit.truncated": False}
        return observations, rewards.astype(np.float32), terminated, told

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """A method of the batch, its rows told apart: `action_masks` is the one there is."""
        rows = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [rows[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"the games of a compiled batch have no attributes of their own: {attr_name!r} cannot be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        self.envs.close()
