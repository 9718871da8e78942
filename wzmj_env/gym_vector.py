"""The Gymnasium environment in its compiled batched form: what `gymnasium.make_vec` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .actions import NUM_ACTIONS
from .checks import check_flag, own_options
from .game import HAND_OPTIONS, check_rules, check_seed
from .gym import each_opponent, observation_space
from .players import POLICIES
from .rules import Rules
from .seated import SeatedEnv


class WenzhouMahjongVector(VectorEnv):
    """`num_envs` tables as `wzmj_env.gym.WenzhouMahjong`, whose arguments these are; opponents are built-in players.

    Game i is game i of `wzmj_env.VectorEnv(seed=seed)`, whatever `num_envs` and `num_threads`. A game that ends starts anew in
    the same step (`AutoresetMode.SAME_STEP`): its last observation and info are in `infos["final_obs"]` and
    `infos["final_info"]`. Rewards are `(N,) float64`. Masks, `(N, 76) int8`, are `infos["action_mask"]`, and `action_masks()`.
    With `copy=False` observations and masks are buffers that the next step rewrites.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        opponents: str | Sequence[str] = "rule",
        rules: Rules | None = None,
        *,
        seat: int = 0,
        illegal: str = "terminate",
        carry: bool = False,
        num_threads: int = 1,
        copy: bool = True,
    ) -> None:
        rules = check_rules(rules)
        others = each_opponent(opponents, rules.num_players)
        names = [name for name in others if isinstance(name, str) and name in POLICIES]
        if len(names) < len(others):
            raise ValueError(
                f"opponents of a compiled batch are {', '.join(POLICIES)}, not {opponents!r}: others play in"
                " make_vec(..., vectorization_mode='sync')"
            )
        carry = check_flag(carry, "carry")
        self._copies = check_flag(copy, "copy")
        self.games = SeatedEnv(
            num_envs, names, rules, seat=seat, illegal=illegal, seed=None, num_threads=num_threads, carry=carry
        )
        self.num_envs = self.games.num_envs
        self.single_observation_space = observation_space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a hand in every game: hand 0 under a seed given, else each game's next one."""
        if given := own_options(options, HAND_OPTIONS):
            raise ValueError(f"reset options {', '.join(given)} are of one table; a batch takes none")
        seed = None if seed is None else check_seed(seed)
        super().reset(seed=seed)
        self.games.reset(seed)
        return self._observations(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        games = self.games
        games.step(actions)
        rewards = games.rewards[:, games.seat].astype(np.float64)
        infos = self._infos()
        if games.terminated.any():
            self._add_finals(infos)
        return self._observations(), rewards, games.terminated.copy(), np.zeros(self.num_envs, np.bool_), infos

    def _observations(self) -> np.ndarray:
        assert self.games.observation is not None
        return self.games.observation.copy() if self._copies else self.games.observation

    def _infos(self) -> dict[str, Any]:
        mask = self.games.action_mask
        return {"action_mask": mask.copy() if self._copies else mask, "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _add_finals(self, infos: dict[str, Any]) -> None:
        """What was last seen of the games that ended, in the form that Gymnasium's own batches give it."""
        games = self.games
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(games.terminated).tolist():
            observations[i] = games.final_observation(i, games.seat)
        ended = games.terminated.copy()
        infos["final_obs"], infos["_final_obs"] = observations, ended
        infos["final_info"] = {"action_mask": np.zeros((self.num_envs, NUM_ACTIONS), np.int8), "_action_mask": ended.copy()}
        infos["_final_info"] = ended.copy()

    def action_masks(self) -> np.ndarray:
        """The legal actions of every game, `(N, 76) bool`."""
        return self.games.action_mask.astype(np.bool_)

    def close_extras(self, **kwargs: Any) -> None:
        if hasattr(self, "games"):  # not where the arguments were refused
            self.games.close()
