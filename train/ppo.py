"""PPO (Schulman et al. 2017), one file to read from top to bottom, after CleanRL's `ppo.py`.

    python -m train.ppo configs/ppo/quick.yaml [--field value ...]
    python -m train.ppo --resume runs/quick [--field value ...]

Workers of an executor can play the rollouts (`rollout`), and several learners can train together (`train.ranks`).

One network plays all seats of a table, or some of them beside the rule player or frozen snapshots of itself. A table is
turn-based, so each seat has a trajectory of its own: the state that follows one of its decisions is its own next decision,
and what is settled in between is that decision's reward, whoever acted last. A decision that is still open when the
rollout ends (the hand goes on and the seat has not been asked again) is held over to the next one, where its
log-probability and value are taken anew: that policy is the one which the clipping keeps near (the "proximal" policy of
Hilton et al. 2022), so that the first ratio is 1 on every sample.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
import yaml
from torch import Tensor, nn
from tqdm import tqdm

from agents.advice import ADVICE_SIZE, ADVISER, UNITS_A_LOGIT
from agents.network import MASKED, PRECISIONS, Network, Shape
from agents.ppo import CHECKPOINT, PPOAgent, first_line, header, read_checkpoint, weights_as_bytes
from train.evaluate import table
from train.memory import keep_freed_memory
from train.ranks import ALONE, Ranks, join, leave
from train.rollouts import Slices
from train.runs import (
    Metrics,
    draw_curve,
    fresh_folder,
    make_config,
    plain,
    read_config,
    save_checkpoint,
    write_curve,
)
from train.tables import BY_VALUE, COMPILED, DISCARDS, HANDS, LEARNER, PAID_BESIDE, SEATS_BESIDE, SNAPSHOT, Tables, draw
from train.vine import Trials, Vines
from wzmj_env import Rules
from wzmj_env.actions import NUM_ACTIONS, PASS
from wzmj_env.duplicate import FORMATS, Comparison, compare
from wzmj_env.executors import check_executor
from wzmj_env.files import write_whole
from wzmj_env.players import POLICIES
from wzmj_env.specs import CLONE

EVALUATION_SEED = 2**32  # deals that no training seed below it plays
SHOWN = {"won": "hands/won", "entropy": "losses/entropy", "error": "losses/gain_error"}  # beside the progress bar
WEIGHTS, BEST = "agent.safetensors", "best.safetensors"


@dataclass(frozen=True)
class Config:
    """Names as in the paper and in CleanRL."""

    run_dir: str = "runs/ppo"  # when it is there already, -2, -3, ... is put behind
    rules: str = "configs/rules/no_stakes.yaml"
    seed: int = 1
    # the network: see `agents.network.Shape`
    inputs: str = "all"  # or compact
    hidden: tuple[int, ...] = (256, 256)
    critic: str = "shared"  # or own, or central: it sees all hands
    critic_hidden: tuple[int, ...] = (256, 256)
    prior: str = ""  # "rule:2": a learnt correction of the rule player
    prior_scale: float = 20.0
    corrects: str = "all"  # or claims: discards stay the prior's
    body: str = "dense"  # or kinds
    activation: str = "relu"  # or silu, of the body of kinds
    context: bool = False  # layers of the body of kinds see the mean over all kinds too
    precision: str = "float32"  # or bfloat16, several times faster where the processor has AMX
    # who sits where
    num_envs: int = 256
    beside_rule: float = 0.0  # share of the tables at which a rule player has the other seats
    rule: str = "rule:1"  # which one; the first costs half of the second's time
    beside_snapshots: float = 0.0  # share of the tables at which frozen snapshots have the other seats
    pool_size: int = 8  # snapshots kept, the oldest dropped
    snapshot_every: int = 20  # updates
    # who plays
    rollout: str = "serial"  # this process, or processes, ray, ray:ADDRESS: see `wzmj_env.executors`
    rollout_workers: int = 1  # each with an equal slice of the tables
    # the course of the run
    num_steps: int = 128  # decisions at each table in a rollout
    num_updates: int = 100
    imitate_updates: int = 0  # at first: play as the rule player, learn its choices and what they are worth
    vine_updates: int = 0  # then: learn what actions gain when the rule player goes on from there, see `train.vine`
    vine_decisions: int = 65536  # at which actions are tried in each of those
    vine_rule: str = "rule:1"  # the player of these games
    vine_mirror: bool = True  # half of them with 1 to 9 exchanged for 9 to 1
    vine_minibatches: int = 256
    vine_learning_rate: float = 2e-3  # falls linearly to 0 over them
    vine_temperature: float = UNITS_A_LOGIT  # units that a difference of 1 in the logits stands for
    max_minutes: float = 0.0  # stop training after so long, 0 for never
    # learning
    learning_rate: float = 3e-4
    anneal_lr: bool = True  # linearly to 0 over num_updates
    gamma: float = 1.0
    gae_lambda: float = 0.95
    num_minibatches: int = 8
    update_epochs: int = 3
    norm_adv: bool = True
    clip_coef: float = 0.2
    clip_vloss: bool = False
    ent_coef: float = 0.01
    ent_claims: float = 1.0  # times ent_coef where one may pass: answers to a discard, and stakes
    anneal_ent: bool = False  # linearly to 0 over num_updates
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float = 0.0  # stop the epochs of an update beyond this, 0 for never
    reward_scale: float = 0.25  # of one unit
    average: float = 0.0  # of the weights over updates, as a decay: what is evaluated and kept; 0 for the last ones
    # what is written
    checkpoint_every: int = 10  # updates
    eval_every: int = 0  # updates between the points of the learning curve, 0 for none
    eval_deals: int = 50  # for each of those points
    eval_against: tuple[str, ...] = ("random", "greedy", "rule")  # the best point against the last one is kept
    final_deals: int = 500  # for the table at the end, 0 for no table
    workers: int = 1  # processes of the evaluation at the end
    torch_threads: int = 1  # two on a busy machine of two cores are many times slower than one

    def __post_init__(self) -> None:
        positive = ("num_envs", "num_steps", "num_updates", "num_minibatches", "update_epochs", "checkpoint_every",
                    "eval_deals", "workers", "rollout_workers", "torch_threads", "learning_rate", "reward_scale", "pool_size",
                    "snapshot_every", "clip_coef", "max_grad_norm", "prior_scale", "vine_minibatches", "vine_learning_rate",
                    "vine_temperature")  # fmt: skip
        for name in positive:
            if not (math.isfinite(value := getattr(self, name)) and value > 0):
                raise ValueError(f"{name} must be above 0, not {value!r}")
        for name in ("max_minutes", "ent_coef", "ent_claims", "vf_coef", "target_kl", "eval_every", "final_deals", "seed",
                     "imitate_updates", "vine_updates"):  # fmt: skip
            if not (math.isfinite(value := getattr(self, name)) and value >= 0):
                raise ValueError(f"{name} must be 0 or more, not {value!r}")
        for name in ("gamma", "gae_lambda", "average", "beside_rule", "beside_snapshots"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)!r}")
        if self.beside_rule + self.beside_snapshots > 1:
            raise ValueError("beside_rule and beside_snapshots must be at most 1 together")
        for name, allowed in (("precision", PRECISIONS), ("prior", ("", ADVISER))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {getattr(self, name)!r}")
        for field_name, names in (("eval_against", self.eval_against), ("rule", (self.rule,)), ("vine_rule", (self.vine_rule,))):
            for name in names:
                if name not in POLICIES:
                    raise ValueError(f"{field_name} must be of {', '.join(POLICIES)}, not {name!r}")
        if self.seed >= EVALUATION_SEED:
            raise ValueError(f"seed must be below {EVALUATION_SEED}, not {self.seed}")
        if self.num_envs * self.num_steps < 2 * self.num_minibatches:
            raise ValueError("num_minibatches must leave two decisions or more for each")
        if self.vine_decisions < 2 * self.vine_minibatches:
            raise ValueError("vine_minibatches must leave two decisions or more for each")
        if self.vine_updates and not self.prior:
            raise ValueError("vine_updates need a prior: it says where to begin")
        check_executor(self.rollout)
        _ = self.shape

    @property
    def shape(self) -> Shape:
        """Of the network."""
        return Shape(self.inputs, self.hidden, self.critic, self.critic_hidden, ADVISER if self.prior else "", self.prior_scale,
                     self.corrects, self.body, self.activation, self.context)  # fmt: skip


class Rollout:
    """Decisions of all tables, `(P + T, N, ...)`: row p < P is the one held over for seat p, then T steps.

    inputs (.., len(shape.columns)) uint8, masks (.., 76) int8, advice (.., A) float32, actions, seats (absolute), log_probs,
    values, valid (a learner's decision stands here), rewards (.., P) of the step, dones (a hand was settled in it)
    """

    KEPT = ("inputs", "masks", "advice", "actions")  # of a decision that is held over

    def __init__(self, num_players: int, num_steps: int, num_envs: int, inputs: int, advice: int) -> None:
        shape = (num_players + num_steps, num_envs)
        self.held = num_players
        self.inputs = torch.zeros(*shape, inputs, dtype=torch.uint8)
        self.masks = torch.zeros(*shape, NUM_ACTIONS, dtype=torch.int8)
        self.advice = torch.zeros(*shape, advice)
        self.actions = torch.zeros(shape, dtype=torch.int64)
        self.log_probs = torch.zeros(shape)
        self.values = torch.zeros(shape)
        self.seats = np.zeros(shape, np.int64)
        self.seats[:num_players] = np.arange(num_players)[:, None]
        self.valid = np.zeros(shape, np.bool_)
        self.rewards = np.zeros((*shape, num_players), np.float32)
        self.dones = np.zeros(shape, np.bool_)

    def hold_over(self, closed: np.ndarray) -> None:
        """Move the decisions that are open to the rows of their seats."""
        rows, tables = np.nonzero(self.valid & ~closed)
        seats = self.seats[rows, tables]
        for name in self.KEPT:
            kept = getattr(self, name)
            kept[seats, tables] = kept[rows, tables]
        self.valid[: self.held] = False
        self.valid[seats, tables] = True


def seats_of(config: Config, num_players: int) -> np.ndarray:
    """Who sits where, `(N, P) int64`, see `train.tables`. Where others sit, one seat or half of them learn, by turns."""
    seats = np.full((config.num_envs, num_players), LEARNER, np.int64)
    beside_rule = round(config.num_envs * config.beside_rule)
    beside_any = beside_rule + round(config.num_envs * config.beside_snapshots)
    for i in range(beside_any):
        learners = [i % num_players]
        if i // num_players % 2 and num_players > 2:
            learners.append((i + 1 + i // (2 * num_players) % (num_players - 1)) % num_players)
        seats[i] = POLICIES[config.rule] if i < beside_rule else SNAPSHOT
        seats[i, learners] = LEARNER
    return seats


@dataclass
class Run:
    """All that a run is; what a checkpoint holds of it is enough to go on to the bit."""

    config: Config
    tables: Tables
    network: Network
    optimizer: torch.optim.Optimizer
    rollout: Rollout
    vines: Vines
    averaged: Network  # what is evaluated and kept
    opponent: Network  # at the seats of snapshots
    ranks: Ranks  # the learners
    own: slice  # this one's tables
    slices: Slices | None  # of those, which workers play; None where this process plays all as one
    learner: nn.Module  # the network, with gradients from all learners
    pool: list[dict[str, Tensor]] = field(default_factory=list)
    update: int = 0
    decisions: int = 0
    hands: int = 0
    seconds: float = 0.0
    best: float = -math.inf  # mean payment of the best point of the learning curve
    spent: dict[str, float] = field(default_factory=dict)  # seconds of this update by what they went to

    @property
    def rules(self) -> Rules:
        return self.tables.rules

    @property
    def imitating(self) -> bool:
        return self.update < self.config.imitate_updates

    @property
    def growing(self) -> bool:
        """Whether this update learns from vines."""
        return 0 <= self.update - self.config.imitate_updates < self.config.vine_updates

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - start

    def agent(self) -> PPOAgent:
        """What the run has come to."""
        return PPOAgent(self.averaged, self.rules.num_players)

    def close(self) -> None:
        """End what works beside this process."""
        self.vines.close()
        if self.slices is not None:
            self.slices.close()

    def checkpoint(self) -> dict[str, Any]:
        """Of all learners' tables; each of them must ask for it."""
        held = slice(0, self.rollout.held)
        self.tables.states[:] = self.ranks.whole(self.tables.states, self.own)
        tables = self.tables.state_dict()
        return {
            **header(self.network, self.rules.num_players),
            "config": plain(self.config),
            "network": self.averaged.state_dict(),
            "learning": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "pool": self.pool,
            "vines": self.vines.network.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "tables": {**tables, "states": torch.from_numpy(tables["states"])},
            "held": {
                **{name: self.ranks.sum(getattr(self.rollout, name)[held]).clone() for name in Rollout.KEPT},
                "valid": torch.from_numpy(self.ranks.sum(self.rollout.valid[held]).copy()),
            },
            **{name: getattr(self, name) for name in ("update", "decisions", "hands", "seconds", "best")},
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """ValueError when the checkpoint does not fit the configuration or is incomplete."""
        try:
            self.averaged.load_state_dict(kept["network"])
            self.network.load_state_dict(kept["learning"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.tables.load_state_dict({**kept["tables"], "states": kept["tables"]["states"].numpy()})
            for name in Rollout.KEPT:
                getattr(self.rollout, name)[: self.rollout.held, self.own] = kept["held"][name][:, self.own]
            self.rollout.valid[: self.rollout.held, self.own] = kept["held"]["valid"].numpy()[:, self.own]
            self.pool = list(kept["pool"])
            self.vines.network.load_state_dict(kept["vines"])
            for name in ("update", "decisions", "hands", "seconds", "best"):
                setattr(self, name, kept[name])
            torch.set_rng_state(kept["torch_rng"])
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(f"the checkpoint does not fit this configuration: {first_line(error)}") from None


def make_run(config: Config, ranks: Ranks = ALONE) -> Run:
    torch.set_num_threads(config.torch_threads)
    torch.manual_seed(config.seed)
    rules = Rules.load(config.rules if Path(config.rules).exists() else CLONE / config.rules)
    network = Network(config.shape, config.precision)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
    columns = config.shape.columns
    advice = ADVICE_SIZE if config.prior or config.imitate_updates else 0
    own = ranks.slices(config.num_envs, config.rollout_workers)
    as_one = config.rollout == "serial" and config.rollout_workers == ranks.size == 1
    return Run(
        config,
        Tables(rules, seats_of(config, rules.num_players), columns, config.seed,
               POLICIES[ADVISER] if config.corrects == "claims" else -1),
        network,
        optimizer,
        Rollout(rules.num_players, config.num_steps, config.num_envs, len(columns), advice),
        Vines(rules, network, POLICIES[config.vine_rule], config.seed, config.vine_decisions, config.vine_updates,
              config.vine_mirror),
        averaged=copy.deepcopy(network),
        opponent=copy.deepcopy(network),
        ranks=ranks,
        own=slice(own[0].start, own[-1].stop),
        slices=None if as_one else Slices(config.rollout, config.rollout_workers, own, plain(config)),
        learner=ranks.learner(network),
    )


# --- playing ---------------------------------------------------------------------------------------------------------


def log_prob_and_entropy(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Of masked logits: illegal actions have probability 0 and add nothing to the entropy."""
    log_probs = logits.log_softmax(-1)
    entropy = -(log_probs.exp() * log_probs).sum(-1)
    return log_probs.gather(-1, actions[:, None]).squeeze(-1), entropy


def rule_logits(advice: Tensor, masks: Tensor, scale: float) -> Tensor:
    """The rule player as a policy: better scores are likelier."""
    return (scale * advice[:, :NUM_ACTIONS]).masked_fill(masks == 0, MASKED)


def policy_in_play(run: Run, inputs: Tensor, masks: Tensor, advice: Tensor) -> tuple[Tensor, Tensor | None]:
    """Logits, and values where they come with them."""
    if run.imitating:
        return rule_logits(advice, masks, run.config.prior_scale), None
    if run.config.critic == "shared":
        return run.network(inputs, masks, advice)
    return run.network.policy(inputs, masks, advice), None


def draw_opponent(run: Run) -> None:
    """Seats of snapshots are played by one of the pool for a rollout, the newest weights before there is any."""
    if run.config.beside_snapshots:
        number = int(torch.randint(max(len(run.pool), 1), ()))
        run.opponent.load_state_dict(run.pool[number] if run.pool else run.network.state_dict())


@torch.no_grad()
def play(run: Run, lots: Tensor) -> np.ndarray:
    """A rollout at all tables of `run`, `lots` being `(T, N)`. What was counted."""
    b, tables = run.rollout, run.tables
    tables.counts[:] = 0
    with run.timed("policy"):
        held = tuple(torch.from_numpy(b.valid[: b.held]).nonzero(as_tuple=True))
        logits, values = policy_in_play(run, b.inputs[held], b.masks[held], b.advice[held])
        b.log_probs[held], _ = log_prob_and_entropy(logits, b.actions[held])
        b.values[held] = run.network.values(b.inputs[held], b.advice[held]) if values is None else values
    for t in range(b.held, len(b.actions)):
        inputs, masks, advice = b.inputs[t], b.masks[t], b.advice[t]
        with run.timed("observe"):
            tables.show(inputs.numpy(), masks.numpy(), b.seats[t], b.valid[t], advice.numpy())
        with run.timed("policy"):
            logits, values = policy_in_play(run, inputs, masks, advice)
            if values is not None:
                b.values[t] = values
        with run.timed("snapshots"):
            others = torch.from_numpy(~b.valid[t]).nonzero().squeeze(-1)
            if len(others):
                logits[others] = run.opponent.policy(inputs[others], masks[others], advice[others])
        with run.timed("policy"):
            lot = lots[t - b.held].numpy()
            draw(logits.numpy(), masks.numpy(), lot, b.actions[t].numpy(), b.log_probs[t].numpy())
        with run.timed("play"):
            tables.play(b.actions[t].numpy(), b.rewards[t], b.dones[t])
    if run.imitating or run.config.critic != "shared":
        with run.timed("values"):
            for t in range(b.held, len(b.actions)):
                b.values[t] = run.network.values(b.inputs[t], b.advice[t])
    return tables.counts


def collect(run: Run) -> dict[str, float]:
    """Fill the rollout. What happened, once a hand."""
    b = run.rollout
    draw_opponent(run)
    lots = torch.rand(run.config.num_steps, run.config.num_envs)
    if run.slices is None:
        counted = play(run, lots)
    else:
        with run.timed("rollout"):
            counted = run.slices.play(run, lots)
    b.rewards[b.held :] *= run.config.reward_scale
    counts = run.ranks.sum(counted).tolist()
    hands = counts[HANDS]
    run.hands += hands
    shares = [n / max(hands, 1) for n in counts[BY_VALUE : BY_VALUE + 4]]
    return {
        "hands/settled": hands,
        "hands/won": 1 - shares[0] if hands else 0.0,
        "hands/soft": shares[1],
        "hands/hard": shares[2],
        "hands/double": shares[3],
        "hands/discards": counts[DISCARDS] / max(hands, 1),
        "hands/beside_rule": counts[PAID_BESIDE] / max(counts[SEATS_BESIDE], 1),  # units, the policy drawing lots
        "compiled_decisions": counts[COMPILED],
    }


def seat_advantages(b: Rollout, gamma: float, gae_lambda: float) -> tuple[np.ndarray, np.ndarray]:
    """Generalised advantage estimates (Schulman et al. 2016) along each seat's own decisions, walking back in time.

    `(P + T, N)` advantages, and which decisions are closed: by the seat's next one or by the end of the hand.
    """
    values = b.values.numpy()
    advantages = np.zeros_like(values)
    closed = np.zeros_like(b.valid)
    # For each table and seat, what lies behind the step looked at:
    rewards = np.zeros(b.rewards.shape[1:], np.float32)  # up to its next decision
    next_value, next_advantage = np.zeros_like(rewards), np.zeros_like(rewards)  # of that one, 0 past the end
    known = np.zeros(rewards.shape, np.bool_)  # whether there is one, or the hand ends
    for t in reversed(range(len(values))):
        over = b.dones[t]
        rewards[over] = next_value[over] = next_advantage[over] = 0
        known[over] = True
        rewards += b.rewards[t]
        tables = np.flatnonzero(b.valid[t])
        at = tables, b.seats[t, tables]
        delta = rewards[at] + gamma * next_value[at] - values[t, tables]
        closed[t, tables] = known[at]
        advantages[t, tables] = np.where(known[at], delta + gamma * gae_lambda * next_advantage[at], 0)
        rewards[at], known[at] = 0, True
        next_value[at], next_advantage[at] = values[t, tables], advantages[t, tables]
    return advantages, closed


# --- learning --------------------------------------------------------------------------------------------------------


@dataclass
class Batch:
    """Decisions, one a row."""

    inputs: Tensor
    masks: Tensor
    advice: Tensor
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor

    def __getitem__(self, rows: Tensor) -> Batch:
        return Batch(**{name: values.index_select(0, rows) for name, values in vars(self).items()})

    def __len__(self) -> int:
        return len(self.actions)


def decisions_of(b: Rollout, advantages: np.ndarray) -> Batch:
    """All rows of a rollout, without a copy."""
    return Batch(
        b.inputs.flatten(0, 1), b.masks.flatten(0, 1), b.advice.flatten(0, 1), b.actions.flatten(), b.log_probs.flatten(),
        b.values.flatten(), torch.from_numpy(advantages).flatten(),
    )  # fmt: skip


def value_loss(new_values: Tensor, batch: Batch, config: Config) -> Tensor:
    returns = batch.advantages + batch.values
    squared = (new_values - returns) ** 2
    if config.clip_vloss:
        change = (new_values - batch.values).clamp(-config.clip_coef, config.clip_coef)
        squared = torch.max(squared, (batch.values + change - returns) ** 2)
    return 0.5 * squared.mean()


def imitation_loss(network: nn.Module, batch: Batch, config: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """Cross-entropy with the rule player as a policy, and the loss of the values; what to log."""
    logits, new_values = network(batch.inputs, batch.masks, batch.advice)
    target = rule_logits(batch.advice, batch.masks, config.prior_scale)
    log_probs, entropy = log_prob_and_entropy(logits, batch.actions)
    cross_entropy = -(target.softmax(-1) * logits.log_softmax(-1)).sum(-1).mean()
    of_values = value_loss(new_values, batch, config)
    logged = {
        "ratio": (log_probs - batch.log_probs).detach().exp(),
        "losses/policy": cross_entropy.detach(),
        "losses/value": of_values.detach(),
        "losses/entropy": entropy.detach().mean(),
        "losses/approx_kl": (batch.log_probs - log_probs).detach().mean(),
        "losses/agreement": (logits.argmax(-1) == target.argmax(-1)).float().mean(),
    }
    return cross_entropy + config.vf_coef * of_values, logged


def ppo_loss(
    network: nn.Module, batch: Batch, config: Config, ent_coef: float, together: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a minibatch, and what to log. `together`: the advantages of all learners' part in it."""
    logits, new_values = network(batch.inputs, batch.masks, batch.advice)
    new_log_probs, entropy = log_prob_and_entropy(logits, batch.actions)
    log_ratio = new_log_probs - batch.log_probs
    ratio = log_ratio.exp()

    advantages = batch.advantages
    if config.norm_adv:
        together = advantages if together is None else together
        advantages = (advantages - together.mean()) / (together.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = torch.max(-advantages * ratio, -advantages * clipped).mean()

    of_values = value_loss(new_values, batch, config)
    claims = (batch.masks[:, PASS] > 0).float()
    entropy_loss = entropy.mean()
    bonus = (entropy * (1 + (config.ent_claims - 1) * claims)).mean()
    loss = policy_loss - ent_coef * bonus + config.vf_coef * of_values
    with torch.no_grad():
        logged = {
            "ratio": ratio.detach(),
            "losses/policy": policy_loss.detach(),
            "losses/value": of_values.detach(),
            "losses/entropy": entropy_loss.detach(),
            "losses/entropy_claims": (entropy * claims).sum() / claims.sum().clamp_min(1),
            "losses/approx_kl": (ratio - 1 - log_ratio).mean(),  # http://joschu.net/blog/kl-approx.html
            "losses/clip_fraction": ((ratio - 1).abs() > config.clip_coef).float().mean(),
        }
    return loss, logged


def left(run: Run, anneal: bool) -> float:
    """How much of a quantity that falls to 0 over the run, its vines aside, is left."""
    first = run.config.vine_updates
    return 1 - max(0, run.update - first) / max(1, run.config.num_updates - first) if anneal else 1.0


def step(run: Run, loss: Tensor) -> None:
    """Move the weights against the gradient of a loss."""
    run.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(run.network.parameters(), run.config.max_grad_norm)
    run.optimizer.step()


def set_learning_rate(run: Run, learning_rate: float) -> None:
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate


def learn(run: Run, batch: Batch, rows: Tensor) -> dict[str, float]:
    """The epochs of one update, on some rows of the batch."""
    config, ranks = run.config, run.ranks
    learning_rate = config.learning_rate * left(run, config.anneal_lr)
    ent_coef = config.ent_coef * left(run, config.anneal_ent)
    set_learning_rate(run, learning_rate)
    sums: dict[str, float] = {}
    minibatches = 0
    for _ in range(config.update_epochs):
        for part in rows[torch.randperm(len(rows))].tensor_split(config.num_minibatches):
            table = part % config.num_envs
            own, weight = ranks.share(part, (run.own.start <= table) & (table < run.own.stop))
            if run.imitating:
                loss, logged = imitation_loss(run.learner, batch[own], config)
            else:
                loss, logged = ppo_loss(run.learner, batch[own], config, ent_coef, batch.advantages[part])
            step(run, loss * weight)
            minibatches += 1
            for name, value in logged.items():
                if value.ndim == 0:
                    sums[name] = sums.get(name, 0.0) + value.item() * weight
        if config.target_kl and ranks.mean(logged["losses/approx_kl"] * weight) > config.target_kl:
            break
    names, logged_sums = list(sums), ranks.mean(torch.tensor(list(sums.values()), dtype=torch.float64)).tolist()
    advantages = batch.advantages[rows]
    returns = advantages + batch.values[rows]
    return {
        **{name: value / minibatches for name, value in zip(names, logged_sums, strict=True)},
        "losses/explained_variance": float(1 - advantages.var() / returns.var().clamp_min(1e-12)),
        "learning_rate": learning_rate,
    }


def vine_loss(network: nn.Module, trials: Trials, config: Config) -> tuple[Tensor, Tensor]:
    """Of the logits as payments, up to the mean of each decision, and of the values as payments of the rule player; the
    first alone, in units squared."""
    logits, values = network(trials.inputs, trials.masks, trials.advice)
    counted = trials.tried >= 0
    wrong = logits.gather(1, trials.tried.clamp_min(0)) * config.vine_temperature - trials.paid
    squared = spread(wrong, counted).mean()
    of_values = (values - config.reward_scale * trials.paid[:, 0]) ** 2
    return config.reward_scale**2 * squared + 0.5 * config.vf_coef * of_values.mean(), squared.detach()


def spread(values: Tensor, counted: Tensor) -> Tensor:
    """Sums of squares about the mean of those counted, row by row."""
    mean = (values * counted).sum(1, keepdim=True) / counted.sum(1, keepdim=True)
    return ((values - mean).square() * counted).sum(1)


def learn_vines(run: Run) -> tuple[int, dict[str, float]]:
    """One pass over fresh trials; at how many decisions, and what to log."""
    config = run.config
    number = run.update - config.imitate_updates
    with run.timed("play"):
        trials = run.vines.take(number, run.network)
    learning_rate = config.vine_learning_rate * (1 - number / config.vine_updates)
    set_learning_rate(run, learning_rate)
    error = 0.0
    with run.timed("learn"):
        for rows in torch.randperm(len(trials)).tensor_split(config.vine_minibatches):
            own, weight = run.ranks.share(rows, torch.arange(len(rows)) % run.ranks.size == run.ranks.number)
            loss, squared = vine_loss(run.learner, trials[own], config)
            step(run, loss * weight)
            error += squared.item() * weight / config.vine_minibatches
        keep_average(run)
    counted = trials.tried >= 0
    return len(trials), {
        "vines/tried": counted.float().sum(1).mean().item(),
        "losses/gain_error": run.ranks.mean(torch.tensor(error, dtype=torch.float64)).item(),
        "losses/gain_variance": spread(trials.paid, counted).mean().item(),
        "learning_rate": learning_rate,
    }


@torch.no_grad()
def keep_average(run: Run) -> None:
    """Move the averaged weights on."""
    share = 1 - run.config.average
    for kept, new in zip(run.averaged.parameters(), run.network.parameters(), strict=True):
        kept.lerp_(new, share)


def keep_snapshot(run: Run) -> None:
    """Put a copy of the weights into the pool."""
    config = run.config
    if config.beside_snapshots and run.update % config.snapshot_every == 0:
        run.pool.append({name: weights.clone() for name, weights in run.network.state_dict().items()})
        del run.pool[: -config.pool_size]


def learn_rollout(run: Run) -> tuple[int, dict[str, float]]:
    """Play, estimate, learn. From how many decisions, and what to log."""
    played = collect(run)
    with run.timed("advantages"):
        advantages, closed = seat_advantages(run.rollout, run.config.gamma, run.config.gae_lambda)
        batch = decisions_of(run.rollout, run.ranks.sum(advantages))
        batch.values = run.ranks.sum(batch.values)
        rows = torch.from_numpy(np.flatnonzero(run.ranks.sum(closed)))
    with run.timed("learn"):
        learnt = learn(run, batch, rows)
        keep_average(run)
    with run.timed("hold over"):
        run.rollout.hold_over(closed)
    return len(rows), {**played, **learnt}


def one_update(run: Run) -> dict[str, Any]:
    """From vines or from a rollout. The row of metrics."""
    start = time.perf_counter()
    run.spent = {}
    decisions, logged = learn_vines(run) if run.growing else learn_rollout(run)
    seconds = time.perf_counter() - start
    run.update += 1
    run.decisions += decisions
    keep_snapshot(run)
    return {
        "update": run.update,
        "decisions": run.decisions,
        "hands": run.hands,
        "decisions_per_second": decisions / seconds,
        **logged,
        **{f"time/{what}": spent / seconds for what, spent in run.spent.items()},
    }


# --- the run ---------------------------------------------------------------------------------------------------------


def measure(agent: Any, opponent: str, deals: int, rules: Rules, workers: int = 1) -> Comparison:
    """One seat of the agent against the opponent in all others."""
    format = next(name for name, seats in FORMATS.items() if seats == (1, rules.num_players - 1))
    return compare(agent, opponent, format, deals, seed=EVALUATION_SEED, rules=rules, workers=workers)


def evaluate(run: Run, folder: Path) -> dict[str, list[float]]:
    """A point of the learning curve. The best one's weights are kept."""
    agent, config = run.agent(), run.config
    found = {}
    for name in config.eval_against:
        c = measure(agent, name, config.eval_deals, run.rules)
        found[f"eval/{name}"] = [c.mean, c.low, c.high]
    if found and c.mean > run.best:
        run.best = c.mean
        write_whole(folder / BEST, weights_as_bytes(run.averaged, run.rules.num_players))
    return found


def train(run: Run, folder: Path, stop_at: int | None = None) -> None:
    """Updates until the configured number, or `stop_at`, or the time is up. Leaves a checkpoint of the end."""
    config, leads = run.config, run.ranks.leads
    metrics = Metrics(folder, run.update) if leads else None
    last = config.num_updates if stop_at is None else stop_at
    limit = 60 * config.max_minutes or math.inf
    start = time.perf_counter() - run.seconds
    with closing(run), tqdm(total=last, initial=run.update, unit="update", disable=None if leads else True) as bar:
        while run.update < last and run.seconds < limit:
            row = one_update(run)
            if leads and config.eval_every and run.update % config.eval_every == 0:
                row.update(evaluate(run, folder))
            run.seconds = run.ranks.from_first(time.perf_counter() - start)
            if metrics is not None:
                metrics.write({**row, "seconds": run.seconds})
            if run.update % config.checkpoint_every == 0 or run.update == last or run.seconds >= limit:
                kept = run.checkpoint()
                if leads:
                    save_checkpoint(folder / CHECKPOINT, kept)
                    write_curve(folder, config.eval_against)
            shown = {name: f"{row[key]:.2f}" for name, key in SHOWN.items() if key in row}
            bar.set_postfix(shown, decisions=f"{run.decisions / 1e6:.2f}M")
            bar.update()
    if metrics is None:
        return
    metrics.close()
    if run.update < last:
        print(f"max_minutes: stopped after {run.update} of {last} updates", file=sys.stderr)


def report(run: Run, folder: Path) -> None:
    """The weights alone, the table against the built-in players, its JSON, and the picture."""
    rules, config = run.rules, run.config
    write_whole(folder / WEIGHTS, weights_as_bytes(run.averaged, rules.num_players))
    results = []
    for name in config.eval_against if config.final_deals else ():
        results.append(measure(f"ppo:{folder / WEIGHTS}", name, config.final_deals, rules, config.workers))
    if results:
        print(table(results))
        write_whole(folder / "results.json", json.dumps([c.to_dict() for c in results], indent=1))
    print(f"learning curve: {draw_curve(folder, config.eval_against)}")


def read_arguments(argv: Sequence[str]) -> tuple[Config, Path | None, dict[str, Any]]:
    """The configuration, the folder to resume or None, and its checkpoint. ValueError on bad input, SystemExit(2)
    where the command line itself is wrong."""
    parser = argparse.ArgumentParser("python -m train.ppo", add_help=False, allow_abbrev=False)
    parser.add_argument("--resume", metavar="RUN_DIR", help="go on from the last checkpoint of a run")
    first = argv[:1] if argv and not argv[0].startswith("-") else []
    known, rest = parser.parse_known_args(argv[len(first) :])
    if first and known.resume:
        raise ValueError("give a CONFIG or --resume RUN_DIR, not both: a run keeps its configuration")
    checkpoint: dict[str, Any] = {}
    config = Config()
    if known.resume:
        path = Path(known.resume) / CHECKPOINT
        checkpoint = read_checkpoint(path)
        config = make_config(Config, checkpoint.get("config", {}), str(path))
    elif first:
        config = read_config(Config, Path(first[0]))
    elif not {"-h", "--help"} & set(rest):
        raise ValueError("give a CONFIG, such as configs/ppo/quick.yaml, or --resume RUN_DIR")
    config = tyro.cli(Config, prog="python -m train.ppo CONFIG", description=__doc__, default=config, args=rest)
    return config, Path(known.resume) if known.resume else None, checkpoint


def main(argv: Sequence[str] | None = None) -> int:
    try:
        config, folder, checkpoint = read_arguments(sys.argv[1:] if argv is None else argv)
        keep_freed_memory()
        ranks = join()
        run = make_run(config, ranks)
        if checkpoint:
            run.restore(checkpoint)
        if folder is None:
            folder = fresh_folder(Path(config.run_dir)) if ranks.leads else Path(config.run_dir)
            if ranks.leads:
                write_whole(folder / "config.yaml", yaml.safe_dump(plain(config), sort_keys=False))
    except (ValueError, OSError) as error:
        print(f"train.ppo: {error}", file=sys.stderr)
        return 2
    if ranks.leads:
        print(f"run: {folder}")
    try:
        train(run, folder)
        if ranks.leads:
            report(run, folder)
    except KeyboardInterrupt:
        print(f"\nstopped; python -m train.ppo --resume {folder} goes on from the last checkpoint", file=sys.stderr)
        return 130
    finally:
        leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
