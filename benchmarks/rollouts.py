"""Rollouts of the learner by one worker and by two, of the same total, in turn: how much faster two are, and what travels.

    python -m benchmarks.rollouts --executor ray --rounds 5 configs/ppo/quick.yaml

A round plays one rollout by one worker and one by two, each of all tables of the configuration, and one by this process
without an executor; all workers live throughout, so each round meets the same machine. Before that one rollout each is
played and not counted. In the same rounds one and two workers count to a number: what two are worth on this machine just
then, with nothing shared and nothing sent; near 2 on an idle one. Prints the decisions a second, the median of the rounds'
ratios, and the bytes of a call and its answer. Exit code 1 when the rollouts are not the same decisions, or two workers
are not `--least` times one.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from train import rollouts
from train.ppo import Config, Run, collect, make_run
from train.runs import read_config
from wzmj_env.executors import Executor, connect_ray, open_executor

STEPS = 10**7  # a third of a second


def played(run: Run) -> float:
    """Seconds of one rollout, always the same lots."""
    torch.manual_seed(1)
    start = time.perf_counter()
    collect(run)
    return time.perf_counter() - start


def count(_: object, steps: int) -> None:
    for _ in range(steps):
        pass


def counted(executor: Executor) -> float:
    """Seconds of counting in two pieces."""
    start = time.perf_counter()
    list(executor.each(count, [STEPS, STEPS]))
    return time.perf_counter() - start


def sizes(run: Run) -> tuple[int, int, int]:
    """Bytes of the weights, of what is sent with each slice, and of what comes back, pickled."""
    sent: list[tuple[int, int, int]] = []
    each = rollouts.play_slice

    def noted(there: Any, piece: Any, common: Any) -> Any:
        answer = each(there, piece, common)
        sent.append(tuple(len(pickle.dumps(x, protocol=5)) for x in (common, piece, answer)))
        return answer

    rollouts.play_slice = noted
    try:
        collect(run)
    finally:
        rollouts.play_slice = each
    return sent[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--executor", default="ray")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 when two are not so many times one")
    options = parser.parse_args()
    config = read_config(Config, options.config)
    decisions = config.num_envs * config.num_steps
    if options.executor.startswith("ray"):
        connect_ray(options.executor[4:], 6)  # for all workers, of which two at most work at a time
    one, two = (make_run(replace(config, rollout=options.executor, rollout_workers=n)) for n in (1, 2))
    alone = make_run(config)
    runs = {"this process": alone, "1 worker": one, "2 workers": two}
    counters = [open_executor(options.executor, n, object) for n in (1, 2)]
    for run in runs.values():
        played(run)
    for executor in counters:
        counted(executor)
    same = torch.equal(alone.rollout.actions, one.rollout.actions) and torch.equal(one.rollout.actions, two.rollout.actions)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    worth = []
    for number in range(options.rounds):
        worth.append(counted(counters[0]) / counted(counters[1]))
        for name in list(runs) if number % 2 else reversed(list(runs)):
            seconds[name].append(played(runs[name]))
    for open_one in (*runs.values(), *counters):
        open_one.close()
    for name, taken in seconds.items():
        print(f"{name:<14}{decisions / statistics.median(taken):>12,.0f} decisions/s")
    ratios = {name: [a / b for a, b in zip(seconds[name], seconds["2 workers"], strict=True)] for name in runs}
    for name in ("1 worker", "this process"):
        found = ratios[name]
        print(f"two workers, times {name}: {statistics.median(found):.2f} ({min(found):.2f} .. {max(found):.2f})")
    print(f"two that count, times one: {statistics.median(worth):.2f} ({min(worth):.2f} .. {max(worth):.2f})")
    weights, piece, answer = sizes(make_run(replace(config, rollout_workers=2)))
    half = decisions // 2
    print(f"one call a slice and rollout of {half} decisions: {weights} bytes of weights to each machine, {piece} bytes sent")
    print(f"({piece / half:.1f} a decision), {answer} bytes back ({answer / half:.1f} a decision)")
    print("the same decisions by all" if same else "NOT the same decisions")
    return 0 if same and statistics.median(ratios["1 worker"]) >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
