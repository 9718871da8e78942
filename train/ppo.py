"""PPO by self-play (Schulman et al. 2017), one file to read from top to bottom, after CleanRL's `ppo.py`.

    python -m train.ppo configs/ppo/quick.yaml [--field value ...]
    python -m train.ppo --resume runs/quick [--field value ...]

One network plays all seats. A table is turn-based, so each seat has a trajectory of its own: the state that follows one
of its decisions is its own next decision, and what is settled in between is that decision's reward, whoever acted last.
A decision that is still open when the rollout ends (the hand goes on and the seat has not been asked again) is held
over to the next one, where its log-probability and value are taken anew: that policy is the one which the clipping
keeps near (the "proximal" policy of Hilton et al. 2022), so that the first ratio is 1 on every sample.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
import yaml
from torch import Tensor, nn
from tqdm import tqdm

from agents.network import Network
from agents.ppo import CHECKPOINT, PPOAgent, first_line, header, read_checkpoint, weights_as_bytes
from train.evaluate import table
from train.runs import (
    Metrics,
    draw_curve,
    fresh_folder,
    make_config,
    plain,
    read_config,
    save_checkpoint,
    write_durably,
)
from wzmj_env import Rules, VectorEnv
from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.duplicate import FORMATS, Comparison, compare
from wzmj_env.observe import OBSERVATION_SIZE
from wzmj_env.players import POLICIES
from wzmj_env.specs import CLONE

EVALUATION_SEED = 2**32  # deals that no training seed below it plays
WEIGHTS = "agent.safetensors"


@dataclass(frozen=True)
class Config:
    """Names as in the paper and in CleanRL."""

    run_dir: str = "runs/ppo"  # when it is there already, -2, -3, ... is put behind
    rules: str = "configs/rules/no_stakes.yaml"
    seed: int = 1
    hidden: tuple[int, ...] = (256, 256)
    num_envs: int = 256
    num_steps: int = 128  # decisions at each table in a rollout
    num_updates: int = 100
    max_minutes: float = 0.0  # stop training after so long, 0 for never
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
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float = 0.0  # stop the epochs of an update beyond this, 0 for never
    reward_scale: float = 0.25  # of one unit
    checkpoint_every: int = 10  # updates
    eval_every: int = 0  # updates between the points of the learning curve, 0 for none
    eval_deals: int = 50  # for each of those points
    final_deals: int = 500  # for the table at the end, 0 for no table
    workers: int = 1  # processes of the evaluation at the end
    torch_threads: int = 1  # two on a busy machine of two cores are many times slower than one
    env_threads: int = 1

    def __post_init__(self) -> None:
        positive = ("num_envs", "num_steps", "num_updates", "num_minibatches", "update_epochs", "checkpoint_every",
                    "eval_deals", "workers", "torch_threads", "env_threads", "learning_rate", "reward_scale",
                    "clip_coef", "max_grad_norm")  # fmt: skip
        for name in positive:
            if not (math.isfinite(value := getattr(self, name)) and value > 0):
                raise ValueError(f"{name} must be above 0, not {value!r}")
        for name in ("max_minutes", "ent_coef", "vf_coef", "target_kl", "eval_every", "final_deals", "seed"):
            if not (math.isfinite(value := getattr(self, name)) and value >= 0):
                raise ValueError(f"{name} must be 0 or more, not {value!r}")
        for name in ("gamma", "gae_lambda"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)!r}")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must be one size a layer, each above 0, not {self.hidden!r}")
        if self.seed >= EVALUATION_SEED:
            raise ValueError(f"seed must be below {EVALUATION_SEED}, not {self.seed}")
        if self.num_envs * self.num_steps < 2 * self.num_minibatches:
            raise ValueError("num_minibatches must leave two decisions or more for each")


class Rollout:
    """Decisions of all tables, `(P + T, N, ...)`: row p < P is the one held over for seat p, then T steps.

    observations (.., S) uint8, masks (.., 76) int8, actions, seats (absolute), log_probs, values,
    valid (a decision stands here), rewards (.., P) of the step, dones (a hand was settled in the step)
    """

    def __init__(self, num_players: int, num_steps: int, num_envs: int) -> None:
        shape = (num_players + num_steps, num_envs)
        self.held = num_players
        self.observations = torch.zeros(*shape, OBSERVATION_SIZE, dtype=torch.uint8)
        self.masks = torch.zeros(*shape, NUM_ACTIONS, dtype=torch.int8)
        self.actions = torch.zeros(shape, dtype=torch.int64)
        self.log_probs = torch.zeros(shape)
        self.values = torch.zeros(shape)
        self.seats = np.zeros(shape, np.int64)
        self.seats[:num_players] = np.arange(num_players)[:, None]
        self.valid = np.ones(shape, np.bool_)
        self.valid[:num_players] = False
        self.rewards = np.zeros((*shape, num_players), np.float32)
        self.dones = np.zeros(shape, np.bool_)

    def hold_over(self, closed: np.ndarray) -> None:
        """Move the decisions that are open to the rows of their seats."""
        rows, tables = np.nonzero(self.valid & ~closed)
        seats = self.seats[rows, tables]
        for kept in (self.observations, self.masks, self.actions):
            kept[seats, tables] = kept[rows, tables]
        self.valid[: self.held] = False
        self.valid[seats, tables] = True


@dataclass
class Run:
    """All that a run is; what a checkpoint holds of it is enough to go on to the bit."""

    config: Config
    env: VectorEnv
    network: Network
    optimizer: torch.optim.Optimizer
    rollout: Rollout
    update: int = 0
    decisions: int = 0
    hands: int = 0
    seconds: float = 0.0
    spent: dict[str, float] = field(default_factory=dict)  # seconds of this update by what they went to

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - start

    def checkpoint(self) -> dict[str, Any]:
        held = slice(0, self.rollout.held)
        env = self.env.state_dict()
        return {
            **header(self.network, self.env.rules.num_players),
            "config": plain(self.config),
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "env": {**env, "states": torch.from_numpy(env["states"])},
            "held": {
                "observations": self.rollout.observations[held].clone(),
                "masks": self.rollout.masks[held].clone(),
                "actions": self.rollout.actions[held].clone(),
                "valid": torch.from_numpy(self.rollout.valid[held].copy()),
            },
            **{name: getattr(self, name) for name in ("update", "decisions", "hands", "seconds")},
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """ValueError when the checkpoint does not fit the configuration or is incomplete."""
        try:
            self.network.load_state_dict(kept["network"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.env.load_state_dict({**kept["env"], "states": kept["env"]["states"].numpy()})
            for name in ("observations", "masks", "actions"):
                getattr(self.rollout, name)[: self.rollout.held] = kept["held"][name]
            self.rollout.valid[: self.rollout.held] = kept["held"]["valid"].numpy()
            for name in ("update", "decisions", "hands", "seconds"):
                setattr(self, name, kept[name])
            torch.set_rng_state(kept["torch_rng"])
        except (KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(f"the checkpoint does not fit this configuration: {first_line(error)}") from None


def make_run(config: Config) -> Run:
    torch.set_num_threads(config.torch_threads)
    torch.manual_seed(config.seed)
    rules = Rules.load(config.rules if Path(config.rules).exists() else CLONE / config.rules)
    env = VectorEnv(
        config.num_envs, rules, seed=config.seed, num_threads=config.env_threads, skip_forced=True
    )
    network = Network(config.hidden)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, eps=1e-5)
    return Run(config, env, network, optimizer, Rollout(rules.num_players, config.num_steps, config.num_envs))


# --- playing ---------------------------------------------------------------------------------------------------------


def log_prob_and_entropy(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Of masked logits: illegal actions have probability 0 and add nothing to the entropy."""
    log_probs = logits.log_softmax(-1)
    entropy = -(log_probs.exp() * log_probs).sum(-1)
    return log_probs.gather(-1, actions[:, None]).squeeze(-1), entropy


@torch.no_grad()
def collect(run: Run) -> dict[str, float]:
    """Fill the rollout by self-play. What happened, once a hand."""
    b, env = run.rollout, run.env
    with run.timed("policy"):
        held = tuple(torch.from_numpy(b.valid[: b.held]).nonzero(as_tuple=True))
        logits, b.values[held] = run.network(b.observations[held], b.masks[held])
        b.log_probs[held], _ = log_prob_and_entropy(logits, b.actions[held])
    by_value = np.zeros(5, np.int64)
    discards = 0
    for t in range(b.held, len(b.actions)):
        with run.timed("buffer"):
            b.observations[t] = torch.from_numpy(env.observation).flatten(1)
            b.masks[t] = torch.from_numpy(env.action_mask)
            b.seats[t] = env.current_player
        with run.timed("policy"):
            logits, b.values[t] = run.network(b.observations[t], b.masks[t])
            b.actions[t] = torch.multinomial(logits.softmax(-1), 1).squeeze(-1)
            b.log_probs[t], _ = log_prob_and_entropy(logits, b.actions[t])
        with run.timed("env"):
            env.step(b.actions[t].numpy())
        with run.timed("buffer"):
            b.rewards[t] = env.rewards * run.config.reward_scale
            b.dones[t] = env.terminated
            by_value += np.bincount(env.final_states.value[env.terminated], minlength=5)
            discards += int(env.final_states.num_discards[env.terminated].sum())
    hands = int(by_value.sum())
    run.hands += hands
    shares = by_value / max(hands, 1)
    return {
        "hands/settled": hands,
        "hands/won": 1 - float(shares[0]) if hands else 0.0,
        "hands/soft": float(shares[1]),
        "hands/hard": float(shares[2]),
        "hands/double": float(shares[4]),
        "hands/discards": discards / max(hands, 1),
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
    """Closed decisions, one a row."""

    observations: Tensor
    masks: Tensor
    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor

    def __getitem__(self, rows: Tensor) -> Batch:
        return Batch(**{name: values[rows] for name, values in vars(self).items()})

    def __len__(self) -> int:
        return len(self.actions)


def closed_decisions(b: Rollout, advantages: np.ndarray, closed: np.ndarray) -> Batch:
    rows = torch.from_numpy(np.flatnonzero(closed))
    everything = Batch(
        b.observations.flatten(0, 1), b.masks.flatten(0, 1), b.actions.flatten(), b.log_probs.flatten(),
        b.values.flatten(), torch.from_numpy(advantages).flatten(),
    )  # fmt: skip
    return everything[rows]


def ppo_loss(network: Network, batch: Batch, config: Config) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a minibatch, and what to log."""
    logits, new_values = network(batch.observations, batch.masks)
    new_log_probs, entropy = log_prob_and_entropy(logits, batch.actions)
    log_ratio = new_log_probs - batch.log_probs
    ratio = log_ratio.exp()

    advantages = batch.advantages
    if config.norm_adv:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = torch.max(-advantages * ratio, -advantages * clipped).mean()

    returns = batch.advantages + batch.values
    squared = (new_values - returns) ** 2
    if config.clip_vloss:
        change = (new_values - batch.values).clamp(-config.clip_coef, config.clip_coef)
        squared = torch.max(squared, (batch.values + change - returns) ** 2)
    value_loss = 0.5 * squared.mean()

    entropy_loss = entropy.mean()
    loss = policy_loss - config.ent_coef * entropy_loss + config.vf_coef * value_loss
    with torch.no_grad():
        logged = {
            "ratio": ratio.detach(),
            "losses/policy": policy_loss.detach(),
            "losses/value": value_loss.detach(),
            "losses/entropy": entropy_loss.detach(),
            "losses/approx_kl": (ratio - 1 - log_ratio).mean(),  # http://joschu.net/blog/kl-approx.html
            "losses/clip_fraction": ((ratio - 1).abs() > config.clip_coef).float().mean(),
        }
    return loss, logged


def learn(run: Run, batch: Batch) -> dict[str, float]:
    """The epochs of one update."""
    config = run.config
    fraction = 1 - run.update / config.num_updates if config.anneal_lr else 1.0
    for group in run.optimizer.param_groups:
        group["lr"] = config.learning_rate * fraction
    sums: dict[str, float] = {}
    minibatches = 0
    for _ in range(config.update_epochs):
        for rows in torch.randperm(len(batch)).tensor_split(config.num_minibatches):
            loss, logged = ppo_loss(run.network, batch[rows], config)
            run.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(run.network.parameters(), config.max_grad_norm)
            run.optimizer.step()
            minibatches += 1
            for name, value in logged.items():
                if value.ndim == 0:
                    sums[name] = sums.get(name, 0.0) + value.item()
        if config.target_kl and logged["losses/approx_kl"] > config.target_kl:
            break
    returns = batch.advantages + batch.values
    return {
        **{name: value / minibatches for name, value in sums.items()},
        "losses/explained_variance": float(1 - batch.advantages.var() / returns.var().clamp_min(1e-12)),
        "learning_rate": config.learning_rate * fraction,
    }


def one_update(run: Run) -> dict[str, Any]:
    """Play, estimate, learn. The row of metrics."""
    start = time.perf_counter()
    run.spent = {}
    played = collect(run)
    with run.timed("advantages"):
        advantages, closed = seat_advantages(run.rollout, run.config.gamma, run.config.gae_lambda)
        batch = closed_decisions(run.rollout, advantages, closed)
    with run.timed("learn"):
        learnt = learn(run, batch)
    with run.timed("buffer"):
        run.rollout.hold_over(closed)
    seconds = time.perf_counter() - start
    run.update += 1
    run.decisions += len(batch)
    return {
        "update": run.update,
        "decisions": run.decisions,
        "hands": run.hands,
        "decisions_per_second": len(batch) / seconds,
        **played,
        **learnt,
        **{f"time/{what}": spent / seconds for what, spent in run.spent.items()},
    }


# --- the run ---------------------------------------------------------------------------------------------------------


def opponents() -> list[str]:
    """The built-in players, each in its newest version."""
    return [name for name in POLICIES if ":" not in name]


def measure(agent: Any, opponent: str, deals: int, rules: Rules, workers: int = 1) -> Comparison:
    """One seat of the agent against the opponent in all others."""
    format = next(name for name, seats in FORMATS.items() if seats == (1, rules.num_players - 1))
    return compare(agent, opponent, format, deals, seed=EVALUATION_SEED, rules=rules, workers=workers)


def train(run: Run, folder: Path, stop_at: int | None = None) -> None:
    """Updates until the configured number, or `stop_at`, or the time is up. Leaves a checkpoint of the end."""
    config, rules = run.config, run.env.rules
    metrics = Metrics(folder, run.update)
    last = config.num_updates if stop_at is None else stop_at
    limit = 60 * config.max_minutes or math.inf
    start = time.perf_counter() - run.seconds
    with tqdm(total=last, initial=run.update, unit="update", disable=None) as bar:
        while run.update < last and run.seconds < limit:
            row = one_update(run)
            if config.eval_every and run.update % config.eval_every == 0:
                agent = PPOAgent(run.network, rules.num_players)
                for name in opponents():
                    c = measure(agent, name, config.eval_deals, rules)
                    row[f"eval/{name}"] = [c.mean, c.low, c.high]
            run.seconds = time.perf_counter() - start
            metrics.write({**row, "seconds": run.seconds})
            if run.update % config.checkpoint_every == 0 or run.update == last or run.seconds >= limit:
                save_checkpoint(folder / CHECKPOINT, run.checkpoint())
            bar.set_postfix(won=f"{row['hands/won']:.0%}", entropy=f"{row['losses/entropy']:.2f}",
                            decisions=f"{run.decisions / 1e6:.2f}M")  # fmt: skip
            bar.update()
    metrics.close()
    if run.update < last:
        print(f"max_minutes: stopped after {run.update} of {last} updates", file=sys.stderr)


def report(run: Run, folder: Path) -> None:
    """The weights alone, the table against the built-in players, its JSON, and the picture."""
    rules, config = run.env.rules, run.config
    write_durably(folder / WEIGHTS, weights_as_bytes(run.network, rules.num_players))
    results = []
    for name in opponents() if config.final_deals else ():
        results.append(measure(f"ppo:{folder / WEIGHTS}", name, config.final_deals, rules, config.workers))
    if results:
        print(table(results))
        write_durably(folder / "results.json", json.dumps([c.to_dict() for c in results], indent=1).encode())
    print(f"learning curve: {draw_curve(folder, opponents())}")


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
        run = make_run(config)
        if folder is None:
            folder = fresh_folder(Path(config.run_dir))
            write_durably(folder / "config.yaml", yaml.safe_dump(plain(config), sort_keys=False).encode())
        else:
            run.restore(checkpoint)
    except (ValueError, OSError) as error:
        print(f"train.ppo: {error}", file=sys.stderr)
        return 2
    print(f"run: {folder}")
    try:
        train(run, folder)
        report(run, folder)
    except KeyboardInterrupt:
        print(f"\nstopped; python -m train.ppo --resume {folder} goes on from the last checkpoint", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
