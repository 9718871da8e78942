"""The networks of the PPO player: logits of the 76 actions and a value, from the planes and, if so configured, the rule
player's advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from agents.advice import ADVICE_SIZE, ADVISER
from wzmj_env.actions import CHI_LOW, GANG, NUM_ACTIONS
from wzmj_env.observe import OBSERVATION_SIZE, PLANE, PLANES, SEAT_COLUMN, STATE_PLANES, STATE_SHAPE, TABLE_COLUMN
from wzmj_env.state import MAX_SEATS
from wzmj_env.tiles import HONOURS, NUM_KINDS, RANKS

MASKED = -1e8  # logit of an illegal action: large and finite, so that entropies and gradients stay finite

# What values are divided by, so that inputs are of the order of 1. Planes and columns not named here are so already.
PLANE_DIVISORS = {"DISCARD_ORDER": 100, "DISCARD_SEAT": 4, "DISCARD_FATE": 6, "QUESTION": 4}
TABLE_DIVISORS = {"NUM_PLAYERS": 4, "REMAINING": 100, "DISCARDS": 100, "GANGS": 4, "LADDER": 4}
SEAT_DIVISORS = {"HAND_SIZE": 16, "DRAWS": 20, "MELDS": 5}

# Planes and columns of the compact inputs: who discarded which tile when, and what became of it, is left out, as are
# planes whose content shows elsewhere.
COMPACT_PLANES = ("HAND", "CAISHEN", "WHITE_AS_FACE", "CHI", "PENG", "DISCARDED", "QUESTION", "DRAWN", "SHOWN_WINDS", "BARRED")
COMPACT_TABLE = (
    *("PHASE_STAKES", "PHASE_TURN", "PHASE_DISCARD", "PHASE_CLAIM", "PHASE_ROB"),
    *("REMAINING", "LADDER", "BOUGHT", "DISCARDS", "GANGS"),
)
COMPACT_SEAT = ("DEALER", "HAND_SIZE", "DRAWS", "MELDS", "TOPPED", "STAKE_DECIDED")

INPUTS = ("all", "compact")
CRITICS = ("shared", "own", "central")
CORRECTS = ("all", "claims")
BODIES = ("dense", "kinds")
ACTIVATIONS = {"relu": F.relu, "silu": F.silu}
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


NUM_CLAIMS = NUM_ACTIONS - CHI_LOW  # actions behind those of a kind
NUM_MARKS = 3
_PLANE_SIZES = {name: size for name, size, _ in (*PLANES, *STATE_PLANES)}


QUESTION_PLANE = sum(_PLANE_SIZES[name] for name in COMPACT_PLANES[: COMPACT_PLANES.index("QUESTION")])


def _planes(names: Sequence[str]) -> list[int]:
    """Places in the flat state of whole planes."""
    return [PLANE[name] * NUM_KINDS + i for name in names for i in range(_PLANE_SIZES[name] * NUM_KINDS)]


def input_columns(inputs: str, central: bool) -> np.ndarray:
    """Places in the flat state, `(I,) int64`, that a network reads: those of the observation first, and behind them, with
    a `central` critic, the hands of the others."""
    if inputs == "all":
        columns = list(range(OBSERVATION_SIZE))
    else:
        columns = _planes(COMPACT_PLANES)
        columns += [PLANE["TABLE"] * NUM_KINDS + TABLE_COLUMN[name] for name in COMPACT_TABLE]
        columns += [(PLANE["SEAT"] + q) * NUM_KINDS + SEAT_COLUMN[name] for q in range(MAX_SEATS) for name in COMPACT_SEAT]
    return np.array(columns + (_planes(["OTHER_HAND"]) if central else []), np.int64)


def input_scale(columns: np.ndarray) -> Tensor:
    """One factor for each input."""
    divisor = np.ones(STATE_SHAPE, np.float32)
    for name, by in PLANE_DIVISORS.items():
        divisor[PLANE[name] : PLANE[name] + _PLANE_SIZES[name]] = by
    for name, by in TABLE_DIVISORS.items():
        divisor[PLANE["TABLE"], TABLE_COLUMN[name]] = by
    for name, by in SEAT_DIVISORS.items():
        divisor[PLANE["SEAT"] : PLANE["SEAT"] + MAX_SEATS, SEAT_COLUMN[name]] = by
    return torch.from_numpy(1 / divisor.reshape(-1)[columns])


@dataclass(frozen=True)
class Shape:
    """What a network is made of; a file of weights carries it.

    `inputs`: `all` of the observation, or the `compact` ones, less than half of it.
    `body`: `dense` layers over all inputs, or `kinds`, a residual net over the kinds with the same weights for every suit,
    of far fewer parameters; it reads the compact inputs.
    `critic`: `shared` is a head on the policy's trunk, `own` a network of its own, `central` one that sees all hands.
    `prior`: the player whose scores are inputs, and whose choice the policy starts from; "" for none.
    `prior_scale`: the logits start as this times the log of a score over the best one.
    `activation`: of the body of kinds: `relu`, most of whose units may fall silent for good, or `silu`.
    `context`: whether a layer of the body of kinds sees the mean over all kinds.
    `corrects`: which actions the network has a say in beside the prior: `all`, or the `claims`, that is all but discards.
    """

    inputs: str = "all"
    hidden: tuple[int, ...] = (256, 256)
    critic: str = "shared"
    critic_hidden: tuple[int, ...] = (256, 256)
    prior: str = ""
    prior_scale: float = 20.0
    corrects: str = "all"
    body: str = "dense"
    activation: str = "relu"
    context: bool = False

    def __post_init__(self) -> None:
        for name in ("hidden", "critic_hidden"):
            sizes = getattr(self, name)
            if not sizes or min(sizes) < 1:
                raise ValueError(f"{name} must be one size a layer, each above 0, not {sizes!r}")
        for name, allowed in (("inputs", INPUTS), ("critic", CRITICS), ("corrects", CORRECTS),
                              ("body", BODIES), ("activation", tuple(ACTIVATIONS))):  # fmt: skip
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.prior not in ("", ADVISER):
            raise ValueError(f"prior must be {ADVISER!r} or '' for none, not {self.prior!r}")
        if self.corrects != "all" and not self.prior:
            raise ValueError("corrects must be 'all' without a prior: there would be no discards")
        if self.body == "kinds" and (self.inputs, self.critic == "shared") != ("compact", False):
            raise ValueError("body 'kinds' needs compact inputs and a critic of its own")
        if self.body != "kinds" and (self.activation, self.context) != ("relu", False):
            raise ValueError("activation and context are of the body 'kinds'")
        if self.body == "kinds" and len(set(self.hidden)) != 1:
            raise ValueError(f"hidden must be one size for all layers of the body 'kinds', not {self.hidden!r}")

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Shape:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fields)

    def plain(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @property
    def columns(self) -> np.ndarray:
        """Inputs of a decision as places in the flat state; those of the observation first: see `input_columns`."""
        return input_columns(self.inputs, self.critic == "central")

    @property
    def policy_columns(self) -> np.ndarray:
        """Those that the policy reads, all of the observation."""
        return input_columns(self.inputs, False)

    @property
    def advice(self) -> int:
        """Inputs from the rule player."""
        return ADVICE_SIZE if self.prior else 0


def _layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def linear(layer: nn.Module, x: Tensor) -> Tensor:
    """A linear layer in the precision of its input."""
    assert isinstance(layer, nn.Linear)
    return F.linear(x, layer.weight.to(x.dtype), None if layer.bias is None else layer.bias.to(x.dtype))


class Trunk(nn.Module):
    """The first columns of the inputs `(B, I) uint8` and the advice `(B, ..) float32` to features `(B, hidden[-1])`.

    Computes in `precision`; weights and what comes out are float32.
    """

    scale: Tensor

    def __init__(self, columns: np.ndarray, advice: int, hidden: Sequence[int], precision: torch.dtype) -> None:
        super().__init__()
        self.inputs, self.precision = len(columns), precision
        self.first = _layer(self.inputs, hidden[0], math.sqrt(2))
        self.advised = nn.Linear(advice, hidden[0], bias=False) if advice else None
        self.rest = nn.ModuleList(_layer(inputs, outputs, math.sqrt(2)) for inputs, outputs in pairwise(hidden))
        self.register_buffer("scale", input_scale(columns), persistent=False)

    def forward(self, inputs: Tensor, advice: Tensor) -> Tensor:
        to = self.precision
        # The weights are scaled instead of the inputs: there are fewer of them than there are numbers in a batch.
        weight = (self.first.weight * self.scale).to(to)
        x = F.linear(inputs[:, : self.inputs].to(to), weight, self.first.bias.to(to))
        if self.advised is not None:
            x = x + linear(self.advised, advice.to(to))
        x = F.relu(x)
        for layer in self.rest:
            x = F.relu(linear(layer, x))
        return x.float()


class Kinds(nn.Module):
    """Compact inputs `(B, I) uint8` and advice, if any, to logits `(B, 76)`: a residual net over the kinds.

    A layer sees of each kind of a suit what the last one made of it and of its two neighbours, of each honour only that;
    with `context` the mean over all kinds too. The three suits share all weights. Facts of the table and the seats reach
    every kind.
    """

    scale: Tensor
    marks: Tensor
    bands: Tensor

    def __init__(self, columns: np.ndarray, shape: Shape, precision: torch.dtype) -> None:
        super().__init__()
        channels, advised = shape.hidden[0], bool(shape.prior)
        self.inputs, self.advised, self.precision = len(columns), advised, precision
        self.activate = ACTIVATIONS[shape.activation]
        self.planes = sum(_PLANE_SIZES[name] for name in COMPACT_PLANES)
        by_kind, facts = self.planes + NUM_MARKS, self.inputs - self.planes * NUM_KINDS
        if advised:
            by_kind, facts = by_kind + 3, facts + NUM_CLAIMS + 1
        self.kinds = _layer(by_kind, channels, math.sqrt(2))
        self.facts = _layer(facts, channels, 1.0)
        self.layers = nn.ModuleList(_layer(3 * channels, channels, 0.5) for _ in shape.hidden)
        self.of_all = nn.ModuleList(nn.Linear(channels, channels, bias=False) for _ in shape.hidden if shape.context)
        self.of_kind = _layer(channels, 2, 0.01)  # its discard and its gang
        self.of_claims = _layer(3 * channels, NUM_CLAIMS, 0.01)
        self.register_buffer("scale", input_scale(columns), persistent=False)
        self.register_buffer("marks", kind_marks(), persistent=False)
        bands = torch.stack([torch.diag(torch.ones(RANKS - abs(i)), i) for i in (-1, 0, 1)])
        self.register_buffer("bands", bands, persistent=False)

    def forward(self, inputs: Tensor, advice: Tensor) -> Tensor:
        n, to, cut = len(inputs), self.precision, self.planes * NUM_KINDS
        by_kind = (inputs[:, :cut] * self.scale[:cut]).to(to).view(n, self.planes, NUM_KINDS)
        facts = (inputs[:, cut : self.inputs] * self.scale[cut:]).to(to)
        planes = [by_kind]
        if self.advised:
            discards, gangs, claims, live, best = advice.to(to).split((NUM_KINDS, NUM_KINDS, NUM_CLAIMS, NUM_KINDS, 1), 1)
            planes.append(torch.stack((discards, gangs, live), 1))
            facts = torch.cat((facts, claims, best), 1)
        x = torch.cat((*planes, self.marks.to(to).expand(n, -1, -1)), 1).transpose(1, 2)
        x = self.activate(linear(self.kinds, x) + linear(self.facts, facts)[:, None])
        channels = x.shape[-1]
        suits, honours = x[:, :HONOURS].reshape(n * HONOURS // RANKS, RANKS * channels), x[:, HONOURS:]
        for i, layer in enumerate(self.layers):
            of_suit, of_honour, bias = self._spread(layer)
            new_suits, new_honours = F.linear(suits, of_suit, bias.repeat(RANKS)), F.linear(honours, of_honour, bias)
            if self.of_all:
                mean = (suits.view(n, HONOURS, channels).sum(1) + honours.sum(1)) / NUM_KINDS
                of_all = linear(self.of_all[i], mean)[:, None]
                new_suits = (new_suits.view(n, HONOURS, channels) + of_all).view(suits.shape)
                new_honours = new_honours + of_all
            suits, honours = suits + self.activate(new_suits), honours + self.activate(new_honours)
        x = torch.cat((suits.view(n, HONOURS, channels), honours), 1)
        asked = by_kind[:, QUESTION_PLANE, None]
        pooled = torch.cat((x.mean(1), x.amax(1), torch.bmm(asked, x).squeeze(1)), -1)
        of_kind = linear(self.of_kind, x)
        return torch.cat((of_kind[..., 0], of_kind[..., 1], linear(self.of_claims, pooled)), -1).float()

    def _spread(self, layer: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        """A layer's weights on (left neighbour, self, right neighbour) as one matrix for a whole suit, which costs more
        multiplications and far fewer movements of memory; those for an honour; the bias."""
        assert isinstance(layer, nn.Linear)
        weights = layer.weight.view(len(layer.weight), 3, -1)
        size = RANKS * len(layer.weight)
        of_suit = torch.einsum("kpq,okc->poqc", self.bands, weights).reshape(size, size)
        return of_suit.to(self.precision), weights[:, 1].to(self.precision), layer.bias.to(self.precision)


def kind_marks() -> Tensor:
    """What tells kinds apart that lie in the same place of a suit, `(NUM_MARKS, 34)`: honour, end, next to an end."""
    marks = torch.zeros(NUM_MARKS, NUM_KINDS)
    for k in range(NUM_KINDS):
        if k >= HONOURS:
            marks[0, k] = 1
        elif (from_end := min(k % RANKS, RANKS - 1 - k % RANKS)) < 2:
            marks[1 + from_end, k] = 1
    return marks


class Network(nn.Module):
    """Inputs `(B, len(shape.columns)) uint8`, masks `(B, 76) int8` and advice `(B, shape.advice) float32` to logits `(B, 76)`,
    illegal ones at `MASKED`, and values `(B,)`."""

    corrected: Tensor

    def __init__(self, shape: Shape | None = None, precision: str = "float32") -> None:
        super().__init__()
        self.shape = shape = shape or Shape()
        dtype = PRECISIONS[precision]
        if shape.body == "kinds":
            self.body = Kinds(shape.policy_columns, shape, dtype)
        else:
            self.trunk = Trunk(shape.policy_columns, shape.advice, shape.hidden, dtype)
            self.actor = _layer(shape.hidden[-1], NUM_ACTIONS, 0.01)
        corrected = torch.ones(NUM_ACTIONS)
        if shape.corrects == "claims":
            corrected[:GANG] = 0
        self.register_buffer("corrected", corrected, persistent=False)
        self.prior_scale = nn.Parameter(torch.tensor(shape.prior_scale)) if shape.prior else None
        self.critic_trunk = None
        if shape.critic != "shared":
            self.critic_trunk = Trunk(shape.columns, shape.advice, shape.critic_hidden, dtype)
        self.critic = _layer((shape.hidden if shape.critic == "shared" else shape.critic_hidden)[-1], 1, 1.0)

    def _logits(self, logits: Tensor, masks: Tensor, advice: Tensor) -> Tensor:
        if self.prior_scale is not None:
            logits = logits * self.corrected + self.prior_scale * advice[:, :NUM_ACTIONS]
        return logits.masked_fill(masks == 0, MASKED)

    def policy(self, inputs: Tensor, masks: Tensor, advice: Tensor) -> Tensor:
        """The logits alone; `shape.policy_columns` are enough."""
        found = self.body(inputs, advice) if self.shape.body == "kinds" else self.actor(self.trunk(inputs, advice))
        return self._logits(found, masks, advice)

    def values(self, inputs: Tensor, advice: Tensor) -> Tensor:
        """The values alone."""
        trunk = self.critic_trunk if self.critic_trunk is not None else self.trunk
        return self.critic(trunk(inputs, advice)).squeeze(-1)

    def forward(self, inputs: Tensor, masks: Tensor, advice: Tensor) -> tuple[Tensor, Tensor]:
        if self.critic_trunk is not None:
            return self.policy(inputs, masks, advice), self.values(inputs, advice)
        features = self.trunk(inputs, advice)
        return self._logits(self.actor(features), masks, advice), self.critic(features).squeeze(-1)

    def policy_weights(self) -> dict[str, Tensor]:
        """All that the policy needs."""
        return {k: v for k, v in self.state_dict().items() if self.shape.critic == "shared" or not k.startswith("critic")}

    def load_policy(self, weights: dict[str, Tensor]) -> None:
        """Take the policy's weights, and a critic's where there are such. RuntimeError where they do not fit."""
        needed = self.policy_weights().keys()
        self.load_state_dict(weights, strict=not needed <= weights.keys() or "critic.bias" in weights)
