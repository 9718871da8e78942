"""How fast this machine plays: what `wzmj bench` measures.

Every figure is the median of several runs. Rates count decisions, one observation answered by one action, a second of
processor time of one thread, or of wall time where two threads work. Forced decisions, those with one legal action
(about one in eight), are counted; rows that say so skip them and count the others alone.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from . import __version__, engine
from ._jit import njit
from .batch import VectorEnv
from .hand import closing_bits, is_complete, tiles_short, wait_set, whites
from .rules import Rules
from .state import STATE
from .tables import MAX_SETS

RULES = Rules(stakes=False)
GAMES = 1024  # of the compiled loop
HANDS = 4096  # that the questions about hands are asked of
CHILDREN = 3  # processes started for the import and first-step times


@dataclass(frozen=True)
class Figure:
    """One row: what was measured, its median, the unit, and all runs."""

    name: str
    value: float
    unit: str
    runs: tuple[float, ...]


def measure(name: str, unit: str, run: Callable[[], float], runs: int) -> Figure:
    """The median of `runs` calls of `run`, after one that does not count."""
    run()
    values = tuple(run() for _ in range(runs))
    return Figure(name, statistics.median(values), unit, values)


# --- playing ---------------------------------------------------------------------------------------------------------


def _rate(play: Callable[[], int], seconds: float, clock: Callable[[], float] = time.process_time) -> float:
    """Decisions a second of `clock`, `play` being called until `seconds` are over."""
    decisions, start = 0, clock()
    while (spent := clock() - start) < seconds:
        decisions += play()
    return decisions / spent


def compiled_loop(seconds: float, *, policy: str = "random", **options: Any) -> Callable[[], float]:
    """Play inside compiled code, all buffers written at each decision."""
    env = VectorEnv(GAMES, RULES, **options)
    steps = 4 if policy == "rule" else 50
    return lambda: _rate(lambda: env.rollout(steps, policy).decisions, seconds)


def batch_steps(num_envs: int, seconds: float, *, num_threads: int = 1, observe: bool = True) -> Callable[[], float]:
    """`VectorEnv.step` from Python with actions of the compiled random player."""
    env = VectorEnv(num_envs, RULES, num_threads=num_threads, observe=observe)
    calls = max(1, 4096 // num_envs)

    def play() -> int:
        for _ in range(calls):
            env.step(env.sample_actions())
        return calls * num_envs

    return lambda: _rate(play, seconds, time.process_time if num_threads == 1 else time.perf_counter)


def aec_loop(make: str, seconds: float) -> Callable[[], float]:
    """The usual loop of PettingZoo over `raw_env` or `env`, a random legal action each time."""
    from .aec import env as wrapped  # here, for it imports pettingzoo
    from .aec import raw_env

    env: Any = {"env": wrapped, "raw_env": raw_env}[make](rules=RULES)
    rng = np.random.default_rng(0)

    def play() -> int:
        decisions = 0
        env.reset(seed=int(rng.integers(2**31)))
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(rng.random() * len(legal))]))
            decisions += 1
        return decisions

    return lambda: _rate(play, seconds)


# --- parts -----------------------------------------------------------------------------------------------------------


@njit
def _collect(states, held, keys, caishen, sets):
    """One hand a game, before its draw: of the seat after the one to act."""
    for i in range(len(states)):
        s = states[i]
        p = engine.seat_after(s, s.player)
        held[i], keys[i] = s.held[p], s.keys[p]
        caishen[i], sets[i] = s.caishen, MAX_SETS - s.melds[p]


@njit
def _ask_complete(held, keys, caishen, sets, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(sets)):
            found += is_complete(held[i], keys[i], sets[i], caishen[i])
    return found


@njit
def _ask_waits(held, keys, caishen, sets, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(sets)):
            closing = closing_bits(keys[i], whites(held[i], caishen[i]), caishen[i])
            found += wait_set(held[i], keys[i], sets[i], caishen[i], closing) != np.uint64(0)
    return found


@njit
def _ask_distance(held, keys, caishen, sets, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(sets)):
            found += tiles_short(held[i], keys[i], sets[i], caishen[i])
    return found


@njit
def _shuffle_many(states, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            engine.shuffle(states[i])


@njit
def _begin_many(states, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            engine.begin_next_hand(states[i], False)


def hands_of_rule_players() -> tuple[np.ndarray, ...]:
    """Hands met in games of rule players, before their draw: held, keys, caishen and sets of each."""
    env = VectorEnv(HANDS, RULES, observe=False)
    env.rollout(40, "rule")
    held, keys = np.zeros((HANDS, 4), np.uint64), np.zeros((HANDS, 4), np.uint32)
    caishen, sets = np.zeros(HANDS, np.int64), np.zeros(HANDS, np.int64)
    _collect(env.states, held, keys, caishen, sets)
    return held, keys, caishen, sets


def per_item(function: Callable[..., Any], arguments: tuple[Any, ...], items: int, seconds: float) -> Callable[[], float]:
    """Nanoseconds an item of a compiled loop `function(*arguments, rounds)`."""

    def run() -> float:
        rounds = 1
        while True:
            start = time.process_time()
            function(*arguments, rounds)
            spent = time.process_time() - start
            if spent > seconds:
                return spent / rounds / items * 1e9
            rounds *= 2

    return run


FIRST_STEP = """
from time import perf_counter
import numpy, numba
libraries = perf_counter()
import wzmj_env
imported = perf_counter()
game = wzmj_env.Game(seed=1)
game.step(game.legal_actions()[0])
game.observe(0)
stepped = perf_counter()
"""


def child(expression: str) -> float:
    """Seconds that a fresh process reports."""
    done = subprocess.run(
        [sys.executable, "-c", f"{FIRST_STEP}print({expression})"], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


# --- all of it -------------------------------------------------------------------------------------------------------


def rows(seconds: float) -> list[tuple[str, str, Callable[[], Callable[[], float]]]]:
    """Name, unit and maker of every measurement: made one after the other, so that only one lies in memory."""
    table: list[tuple[str, str, Callable[[], Callable[[], float]]]] = [
        ("compiled random play, masks", "decisions/s", lambda: compiled_loop(seconds, observe=False)),
        ("compiled random play, masks, forced decisions skipped", "decisions/s",
         lambda: compiled_loop(seconds, observe=False, skip_forced=True)),
        ("compiled random play, masks and observations", "decisions/s", lambda: compiled_loop(seconds)),
        ("compiled random play, masks, observations and open states", "decisions/s",
         lambda: compiled_loop(seconds, state=True)),
        ("compiled rule players, masks", "decisions/s", lambda: compiled_loop(seconds, policy="rule", observe=False)),
    ]  # fmt: skip
    for observe, what in ((False, "masks"), (True, "masks and observations")):
        for n in (1, 64, 1024, 4096, 16384):
            for threads in (1, 2) if n >= 1024 else (1,):
                with_threads = f", {threads} threads" if threads > 1 else ""
                make = partial(batch_steps, n, seconds, num_threads=threads, observe=observe)
                table.append((f"VectorEnv.step, batch {n}, {what}{with_threads}", "decisions/s", make))
    table += [
        ("AEC raw_env, agent_iter/last/step", "decisions/s", lambda: aec_loop("raw_env", seconds)),
        ("AEC env, agent_iter/last/step", "decisions/s", lambda: aec_loop("env", seconds)),
        ("is a hand complete", "ns", lambda: per_item(_ask_complete, hands_of_rule_players(), HANDS, seconds / 4)),
        ("all waits of a hand", "ns", lambda: per_item(_ask_waits, hands_of_rule_players(), HANDS, seconds / 4)),
        ("distance of a hand", "ns", lambda: per_item(_ask_distance, hands_of_rule_players(), HANDS, seconds / 4)),
        ("shuffle a wall", "ns",
         lambda: per_item(_shuffle_many, (VectorEnv(GAMES, RULES, observe=False).states,), GAMES, seconds / 4)),
        ("shuffle, deal and start a hand", "ns",
         lambda: per_item(_begin_many, (VectorEnv(GAMES, RULES, observe=False).states,), GAMES, seconds / 4)),
    ]  # fmt: skip
    return table


def run(
    runs: int = 5, seconds: float = 0.5, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Every measurement, as plain values for JSON."""
    figures = []
    for name, unit, make in rows(seconds):
        if progress:
            progress(name)
        figures.append(measure(name, unit, make(), runs))
    for name, expression in (
        ("import wzmj_env, beyond numpy and numba", "imported - libraries"),
        ("first step of a warm process, from import on", "stepped - libraries"),
    ):
        if progress:
            progress(name)
        figures.append(measure(name, "s", partial(child, expression), CHILDREN))
    figures.append(Figure("memory of a game", float(STATE.itemsize), "bytes", (float(STATE.itemsize),)))
    return {
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.processor() or platform.machine(),
        "runs": runs,
        "figures": [asdict(figure) for figure in figures],
    }


def as_text(report: dict[str, Any]) -> str:
    """The report as a table."""
    width = max(len(figure["name"]) for figure in report["figures"])
    lines = []
    for figure in report["figures"]:
        value = figure["value"]
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
        lines.append(f"{figure['name']:<{width}}  {shown:>12} {figure['unit']}")
    return "\n".join(lines)
