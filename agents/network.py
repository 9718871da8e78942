"""The network of the PPO player: an MLP over the planes, with one head for the policy and one for the value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.observe import OBSERVATION_SHAPE, OBSERVATION_SIZE, PLANE, PLANES, SEAT_COLUMN, TABLE_COLUMN
from wzmj_env.state import MAX_SEATS

MASKED = -1e8  # logit of an illegal action: large and finite, so that entropies and gradients stay finite

# What values are divided by, so that inputs are of the order of 1. Planes and columns not named here are so already.
PLANE_DIVISORS = {"DISCARD_ORDER": 100, "DISCARD_SEAT": 4, "DISCARD_FATE": 6, "QUESTION": 4}
TABLE_DIVISORS = {"NUM_PLAYERS": 4, "REMAINING": 100, "DISCARDS": 100, "GANGS": 4, "LADDER": 4}
SEAT_DIVISORS = {"HAND_SIZE": 16, "DRAWS": 20, "MELDS": 5}


def input_scale() -> Tensor:
    """One factor for each input, `(OBSERVATION_SIZE,)`."""
    divisor = np.ones(OBSERVATION_SHAPE, np.float32)
    sizes = {name: size for name, size, _ in PLANES}
    for name, by in PLANE_DIVISORS.items():
        divisor[PLANE[name] : PLANE[name] + sizes[name]] = by
    for name, by in TABLE_DIVISORS.items():
        divisor[PLANE["TABLE"], TABLE_COLUMN[name]] = by
    for name, by in SEAT_DIVISORS.items():
        divisor[PLANE["SEAT"] : PLANE["SEAT"] + MAX_SEATS, SEAT_COLUMN[name]] = by
    return torch.from_numpy(1 / divisor).reshape(-1)


def _layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Network(nn.Module):
    """Planes `(B, OBSERVATION_SIZE) uint8` to logits `(B, 76)`, illegal ones at `MASKED`, and values `(B,)`."""

    scale: Tensor

    def __init__(self, hidden: Sequence[int] = (256, 256)) -> None:
        super().__init__()
        self.hidden = tuple(hidden)
        self.first = _layer(OBSERVATION_SIZE, self.hidden[0], math.sqrt(2))
        self.rest = nn.Sequential()
        for inputs, outputs in pairwise(self.hidden):
            self.rest.extend((_layer(inputs, outputs, math.sqrt(2)), nn.ReLU()))
        self.actor = _layer(self.hidden[-1], NUM_ACTIONS, 0.01)
        self.critic = _layer(self.hidden[-1], 1, 1.0)
        self.register_buffer("scale", input_scale(), persistent=False)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        # The weights are scaled instead of the inputs: there are fewer of them than there are numbers in a batch.
        x = F.linear(observations.flatten(1).float(), self.first.weight * self.scale, self.first.bias)
        x = self.rest(F.relu(x))
        logits = self.actor(x).masked_fill(masks == 0, MASKED)
        return logits, self.critic(x).squeeze(-1)
