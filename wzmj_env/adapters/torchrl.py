"""TorchRL's `EnvBase` over a compiled batch."""

from __future__ import annotations

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from ..actions import NUM_ACTIONS
from ..gym_vector import WenzhouMahjongVector
from ..observe import OBSERVATION_SIZE


class TorchRLEnv(EnvBase):
    """What `gymnasium.make_vec` makes, as an environment of batch size `(N,)`.

    Keys: `observation (N, C * 34) float32`, `action_mask (N, 76) bool`, `action (N,) int64`, `reward (N, 1) float32`. The
    batch starts ended games anew in the same step, so that a reset of some games shows what they show already. A mask of a
    hand that is over allows everything: `MaskedCategorical` takes no empty one.
    """

    def __init__(self, envs: WenzhouMahjongVector) -> None:
        n = envs.num_envs
        super().__init__(device="cpu", batch_size=torch.Size([n]))
        self.envs = envs
        self._seed: int | None = None
        self.observation_spec = Composite(
            observation=Bounded(0, 255, (n, OBSERVATION_SIZE), dtype=torch.float32),
            action_mask=Binary(shape=(n, NUM_ACTIONS), dtype=torch.bool),
            shape=(n,),
        )
        self.action_spec = Categorical(NUM_ACTIONS, shape=(n,))
        self.reward_spec = Unbounded((n, 1))
        flag = Categorical(2, shape=(n, 1), dtype=torch.bool)
        self.done_spec = Composite(done=flag, terminated=flag.clone(), shape=(n,))

    def _tensors(self, observations: np.ndarray, masks: np.ndarray, terminated: np.ndarray) -> TensorDict:
        ended = torch.from_numpy(terminated)[:, None]
        return TensorDict(
            {
                "observation": torch.from_numpy(observations),
                "action_mask": torch.from_numpy(masks.astype(np.bool_)),
                "done": ended,
                "terminated": ended.clone(),
            },
            batch_size=self.batch_size,
        )

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: object) -> TensorDictBase:
        if tensordict is None or "_reset" not in tensordict:
            self._observations, self._masks = self._shown(*self.envs.reset(seed=self._seed))
            self._seed = None
        return self._tensors(self._observations, self._masks, np.zeros(self.envs.num_envs, np.bool_))

    def _shown(self, observations: np.ndarray, infos: dict) -> tuple[np.ndarray, np.ndarray]:
        return observations.reshape(self.envs.num_envs, -1).astype(np.float32), infos["action_mask"].copy()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        observations, rewards, terminated, _, infos = self.envs.step(tensordict["action"].numpy())
        self._observations, self._masks = self._shown(observations, infos)
        last, masks = self._shown(observations, infos)
        for i in np.flatnonzero(terminated).tolist():
            last[i], masks[i] = infos["final_obs"][i].reshape(-1), 1
        shown = self._tensors(last, masks, terminated)
        shown["reward"] = torch.from_numpy(rewards.astype(np.float32))[:, None]
        return shown

    def _set_seed(self, seed: int | None) -> None:
        self._seed = seed
