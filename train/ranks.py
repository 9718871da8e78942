"""Learners that train one network together: each has its part of the tables, and gradients are summed over all of them.

`torchrun --nproc-per-node 2 -m train.ppo CONFIG` starts them on one machine, `python -m train.learners 2 CONFIG` in actors of
Ray; in both the environment says who is who, and they talk by gloo. All of them draw the same lots and take the same steps,
so they have the same weights throughout. Arrays of a run keep the shape they have for all tables: a learner's hold nothing
but zeros at the others' tables, so that a sum over learners makes them whole.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

A = TypeVar("A", np.ndarray, Tensor)

PATIENCE = timedelta(days=7)  # the first one evaluates while the others wait


class Ranks:
    """Which of `size` learners this process is. One alone has everything and exchanges nothing."""

    def __init__(self, number: int = 0, size: int = 1) -> None:
        self.number, self.size = number, size

    @property
    def leads(self) -> bool:
        """Whether this one writes, evaluates and reports."""
        return self.number == 0

    def slices(self, n: int, parts: int) -> list[slice]:
        """This learner's tables of `n`, in so many parts of equal size. ValueError when they are not equal."""
        if n % (self.size * parts):
            raise ValueError(f"num_envs must be a multiple of {self.size * parts}, learners times rollout_workers, not {n}")
        each = n // (self.size * parts)
        return [slice(i * each, (i + 1) * each) for i in range(self.number * parts, (self.number + 1) * parts)]

    def sum(self, values: A) -> A:
        """Over all learners, a copy; alone, the values themselves."""
        if self.size == 1:
            return values
        whole = torch.as_tensor(values).clone()
        whole = whole.byte() if whole.dtype == torch.bool else whole
        dist.all_reduce(whole)
        whole = whole.to(torch.as_tensor(values).dtype)
        return whole.numpy() if isinstance(values, np.ndarray) else whole

    def mean(self, values: Tensor) -> Tensor:
        """Over learners."""
        return self.sum(values) / self.size

    def whole(self, tables: np.ndarray, own: slice) -> np.ndarray:
        """Every learner's own records of a `(N,)` array of them."""
        if self.size == 1:
            return tables
        mine = np.zeros_like(tables)
        mine[own] = tables[own]
        return self.sum(mine.view(np.uint8)).view(tables.dtype)

    def share(self, rows: Tensor, mine: Tensor) -> tuple[Tensor, float]:
        """This learner's rows of a minibatch, and the weight of their mean. The mean over learners of weighted means, as
        DDP takes it of gradients, is the mean over all rows. At least one row, if of weight 0."""
        if self.size == 1:
            return rows, 1.0
        own = rows[mine]
        return own if len(own) else rows[:1], self.size * len(own) / len(rows)

    def from_first(self, value: float) -> float:
        """What the first learner has here."""
        return float(self.sum(torch.tensor(value if self.leads else 0.0, dtype=torch.float64)))

    def learner(self, network: nn.Module) -> nn.Module:
        """The network, whose gradients are from now on the mean over learners of each one's."""
        return network if self.size == 1 else DistributedDataParallel(network)


ALONE = Ranks()


def join() -> Ranks:
    """The learners that the environment tells of, as torchrun does it: this process alone where it tells of none."""
    if "WORLD_SIZE" not in os.environ or int(os.environ["WORLD_SIZE"]) == 1:
        return ALONE
    dist.init_process_group("gloo", timeout=PATIENCE)
    return Ranks(dist.get_rank(), dist.get_world_size())


def leave() -> None:
    """End what `join` has begun."""
    if dist.is_initialized():
        dist.destroy_process_group()
