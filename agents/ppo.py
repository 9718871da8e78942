"""The player that `train.ppo` trains: weights from a file, the most likely action or one drawn from the policy."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from agents.advice import advise
from agents.network import Network, Shape
from wzmj_env.actions import ACTION_VERSION
from wzmj_env.observe import OBSERVATION_VERSION, PLANE, TABLE_COLUMN

CHECKPOINT = "checkpoint.pt"  # in a run's folder
SHIPPED = {name: Path(__file__).parent / "weights" / f"{name}.safetensors" for name in ("4p", "2p")}
METADATA = "wzmj"  # key of the header in a safetensors file; its value is JSON


class PPOAgent:
    """Plays by a network at tables of `num_players`; `sample` draws actions instead of taking the likeliest."""

    def __init__(self, network: Network, num_players: int, *, sample: bool = False, name: str = "ppo") -> None:
        self.name = name
        self.network = network
        self.num_players = num_players
        self.sample = sample
        self.generator = torch.Generator()
        self.columns = network.shape.policy_columns

    @torch.no_grad()
    def logits(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """`(B, 76) float32`, illegal actions far below all others."""
        seats = observations[:, PLANE["TABLE"], TABLE_COLUMN["NUM_PLAYERS"]]
        if (seats != self.num_players).any():
            raise ValueError(f"agent {self.name!r} was trained for {self.num_players} players; here are {seats.max()}")
        advice = advise(observations, masks) if self.network.shape.prior else np.zeros((len(masks), 0), np.float32)
        inputs = torch.from_numpy(observations.reshape(len(masks), -1)[:, self.columns])
        return self.network.policy(inputs, torch.from_numpy(masks), torch.from_numpy(advice)).numpy()

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        logits = self.logits(observations, masks)
        if self.sample:
            chances = torch.from_numpy(logits).softmax(-1)
            return torch.multinomial(chances, 1, generator=self.generator).squeeze(-1).numpy()
        return logits.argmax(-1)

    def reset(self, seed: int) -> None:
        self.generator.manual_seed(seed)


# --- weights in files ------------------------------------------------------------------------------------------------


def header(network: Network, num_players: int) -> dict[str, Any]:
    """What a file of weights says of itself, plain values."""
    return {
        "observation_version": OBSERVATION_VERSION,
        "action_version": ACTION_VERSION,
        "num_players": num_players,
        "network_shape": network.shape.plain(),
    }


def check_versions(found: dict[str, Any], path: Path) -> None:
    """ValueError when a file was written for another layout of observations or actions."""
    for name, version in (("observation_version", OBSERVATION_VERSION), ("action_version", ACTION_VERSION)):
        if found.get(name) != version:
            raise ValueError(f"{path} has {name} {found.get(name)!r}; this program reads {version}")


def weights_as_bytes(network: Network, num_players: int) -> bytes:
    """The policy's weights as a safetensors file; a critic of its own stays behind."""
    return save(network.policy_weights(), {METADATA: json.dumps(header(network, num_players))})


def first_line(error: Exception) -> str:
    """Torch's errors are pages long."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint of `train.ppo`, its versions checked. ValueError when it is none or damaged."""
    try:
        checkpoint = torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint {path}") from None
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, OSError) as error:
        raise ValueError(f"{path} is no readable checkpoint: {first_line(error)}") from None
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("network"), dict):
        raise ValueError(f"{path} is no checkpoint of train.ppo")
    check_versions(checkpoint, path)
    return checkpoint


def _read_weights(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, "pt") as file:
            found = json.loads((file.metadata() or {})[METADATA])
            check_versions(found, path)
            return found, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} holds no weights of train.ppo: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


def load(path: str | Path, *, sample: bool = False) -> PPOAgent:
    """The agent shipped under a name of `SHIPPED`, in a run's folder, a checkpoint or a safetensors file. ValueError
    says what is wrong with it.

    Torch is held to one thread: more cores are better used by more processes.
    """
    path = SHIPPED.get(str(path), Path(path))
    if path.suffix == ".safetensors":
        found, weights = _read_weights(path)
    else:
        found = read_checkpoint(path / CHECKPOINT if path.is_dir() else path)
        weights = found["network"]
    try:
        network = Network(Shape.from_plain(found["network_shape"]))
        network.load_policy(weights)
        agent = PPOAgent(network, int(found["num_players"]), sample=sample, name=f"ppo:{path}")
    except (KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path}: the weights do not fit their description: {first_line(error)}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    torch.set_num_threads(1)
    return agent
