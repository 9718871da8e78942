"""Rollouts played by others: each worker of an executor has its slice of the tables and plays a whole rollout at a call.

A piece of work holds all that a slice's rollout depends on: the weights, the tables as they stand, the decisions held over,
the lots. So it does not matter which worker plays it, and the run, which has everything back after each rollout, goes on
exactly from its checkpoint. What a network says of a decision may differ in the last bit with the number of decisions it is
asked about at once, so the number of slices belongs to a run's numbers; who plays them does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from train.runs import make_config
from wzmj_env.executors import Executor, open_executor

if TYPE_CHECKING:
    from train.ppo import Run

PLAYED = ("inputs", "masks", "advice", "actions", "seats", "valid", "rewards", "dones")  # of a rollout, by the worker
TAKEN_ANEW = ("log_probs", "values")  # of decisions held over too

ALONE = {"rollout": "serial", "rollout_workers": 1, "num_minibatches": 1}  # how a worker is configured

Weights = dict[str, np.ndarray]


@dataclass
class Common:
    """What all slices of a rollout share."""

    update: int
    network: Weights
    opponent: Weights | None  # None where no seats are a snapshot's


@dataclass
class Piece:
    """The beginning of a slice's rollout: `N` tables with `P` seats and `T` steps."""

    seats: np.ndarray  # (N, P), who sits where
    states: np.ndarray  # (N,) STATE
    held: dict[str, np.ndarray]  # (P, N, ..), of the decisions held over
    lots: np.ndarray  # (T, N) float32


@dataclass
class Played:
    """What came of it."""

    arrays: dict[str, np.ndarray]
    states: np.ndarray
    counts: np.ndarray


def make_worker(values: dict[str, Any]) -> Run:
    """A run of its own to play in, for a slice. `values`: its configuration."""
    from train import ppo

    with torch.random.fork_rng(devices=[]):  # it may be in the trainer's own process
        return ppo.make_run(make_config(ppo.Config, values, "rollout"))


def play_slice(there: Run, piece: Piece, common: Common) -> Played:
    """In a worker."""
    from train import ppo

    b, tables = there.rollout, there.tables
    there.update = common.update
    _load(there.network, common.network)
    if common.opponent is not None:
        _load(there.opponent, common.opponent)
    tables.seats[:] = piece.seats
    tables.states[:] = piece.states
    for name, held in piece.held.items():
        _array(b, name)[: b.held] = held
    counts = ppo.play(there, torch.from_numpy(piece.lots.copy()))
    arrays = {name: _array(b, name)[b.held :] for name in PLAYED} | {name: _array(b, name) for name in TAKEN_ANEW}
    return Played(arrays, tables.states, counts)


def _array(rollout: Any, name: str) -> np.ndarray:
    values = getattr(rollout, name)
    return values.numpy() if isinstance(values, Tensor) else values


def _weights(network: nn.Module) -> Weights:
    return {name: weights.numpy() for name, weights in network.state_dict().items()}


def _load(network: nn.Module, weights: Weights) -> None:
    network.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})


class Slices:
    """Slices of a run's tables and the executor, which starts with the first rollout, that plays them."""

    def __init__(self, executor: str, workers: int, slices: Sequence[slice], config: dict[str, Any]) -> None:
        self._slices = slices
        self._asked = executor, workers, make_worker, {**config, **ALONE, "num_envs": slices[0].stop - slices[0].start}
        self._executor: Executor | None = None

    def play(self, run: Run, lots: Tensor) -> np.ndarray:
        """As `train.ppo.play`: fill the run's rollout and move its tables. What was counted."""
        if self._executor is None:
            self._executor = open_executor(*self._asked)
        b, states = run.rollout, run.tables.states
        opponent = _weights(run.opponent) if run.config.beside_snapshots else None
        common = Common(run.update, _weights(run.network), opponent)
        pieces = [
            Piece(
                run.tables.seats[own],
                states[own].copy(),
                {name: _array(b, name)[: b.held, own] for name in (*b.KEPT, "valid")},
                lots[:, own].numpy(),
            )
            for own in self._slices
        ]
        counts = np.zeros_like(run.tables.counts)
        for place, played in self._executor.each(play_slice, pieces, common):
            own = self._slices[place]
            for name, values in played.arrays.items():
                _array(b, name)[len(b.valid) - len(values) :, own] = values
            states[own] = played.states
            counts += played.counts
        return counts

    def close(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None
