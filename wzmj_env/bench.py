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
from multiprocessing import get_context
from threading import BrokenBarrierError
from typing import Any

import numpy as np

from . import __version__, engine
from ._jit import njit
from .batch import VectorEnv
from .hand import closing_bits, is_complete, tiles_short, wait_set, whites
from .rules import Rules
from .state import STATE, TURN, plain
from .tables import MAX_SETS

RULES = Rules(stakes=False)
GAMES = 1024  # of the compiled loop
MANY = 16_384  # of two threads
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


def compiled_loop(
    seconds: float, *, policy: str = "random", games: int = GAMES, clock: Callable[[], float] = time.process_time, **options: Any
) -> Callable[[], float]:
    """Play inside compiled code, all buffers written at each decision."""
    env = VectorEnv(games, RULES, **options)
    steps = 4 if policy.startswith("rule") else 50
    return lambda: _rate(lambda: env.rollout(steps, policy).decisions, seconds, clock)


def batch_steps(
    num_envs: int, seconds: float, *, num_threads: int = 1, clock: Callable[[], float] | None = None, **options: Any
) -> Callable[[], float]:
    """`VectorEnv.step` from Python with actions of the compiled random player."""
    env = VectorEnv(num_envs, RULES, num_threads=num_threads, **options)
    calls = max(1, 4096 // num_envs)

    def play() -> int:
        for _ in range(calls):
            env.step(env.sample_actions())
        return calls * num_envs

    clock = clock or (time.process_time if num_threads == 1 else time.perf_counter)
    return lambda: _rate(play, seconds, clock)


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


BESIDE: dict[str, Callable[..., Callable[[], float]]] = {
    "VectorEnv.step": lambda games, threads, seconds: batch_steps(
        games, seconds, num_threads=threads, clock=time.perf_counter
    ),
    "VectorEnv.rollout": lambda games, threads, seconds: compiled_loop(
        seconds, games=games, num_threads=threads, clock=time.perf_counter
    ),
}


def _play_beside(what: str, seconds: float, barrier: Any, rates: Any) -> None:
    """A process that plays half of the games each time the barrier opens, until it breaks."""
    play = BESIDE[what](MANY // 2, 1, seconds)
    play()
    while True:
        try:
            barrier.wait()
        except BrokenBarrierError:
            return
        rates.put(play())


def threads_beside_processes(what: str, runs: int, seconds: float) -> Figure:
    """Two threads over MANY games as a share of two processes with half of them each, run in turn."""
    context = get_context("spawn")
    barrier, rates = context.Barrier(3), context.Queue()
    processes = [context.Process(target=_play_beside, args=(what, seconds, barrier, rates), daemon=True) for _ in range(2)]
    for process in processes:
        process.start()
    threads = BESIDE[what](MANY, 2, seconds)
    threads()
    shares = []
    for _ in range(runs):
        barrier.wait()
        beside = rates.get() + rates.get()
        shares.append(threads() / beside)
    barrier.abort()
    for process in processes:
        process.join()
    name = f"{what}, two threads over {MANY} games, of what two processes with half of them each do"
    return Figure(name, statistics.median(shares), "share", tuple(shares))


def steps_beside_loop(num_envs: int, runs: int, seconds: float) -> Figure:
    """`VectorEnv.step` from Python as a share of the compiled loop, both with observations, run in turn."""
    steps, loop = batch_steps(num_envs, seconds), compiled_loop(seconds)
    steps(), loop()
    shares = tuple(steps() / loop() for _ in range(runs))
    return Figure(f"VectorEnv.step, batch {num_envs}, of what the compiled loop does", statistics.median(shares), "share", shares)


# What a peer is measured beside: `python -m wzmj_env.bench NAME SECONDS` prints the rate.
LOOPS: dict[str, Callable[[float], Callable[[], float]]] = {
    "masks": lambda seconds: compiled_loop(seconds, observe=False),
    "observations": lambda seconds: compiled_loop(seconds),
    "batch": lambda seconds: batch_steps(GAMES, seconds),
    "raw_env": lambda seconds: aec_loop("raw_env", seconds),
    "env": lambda seconds: aec_loop("env", seconds),
}


# --- parts -----------------------------------------------------------------------------------------------------------


# A hand as compiled code is asked about it; in a record, as in a game's state, it is passed without counting references.
HAND = np.dtype([("held", np.uint64, 4), ("keys", np.uint32, 4), ("caishen", np.int64), ("sets", np.int64)])


@njit
def _collect(states, drawn, hands):
    """Of each game in which a seat has just drawn, its hand; or without `drawn` the next seat's, who has not yet. Their
    number."""
    n = 0
    for i in range(len(states)):
        s = states[i]
        if s.phase == TURN:
            p = np.int64(s.player) if drawn else engine.seat_after(s, np.int64(s.player))
            hands[n].held[:], hands[n].keys[:] = s.held[p], s.keys[p]
            hands[n].caishen, hands[n].sets = s.caishen, MAX_SETS - s.melds[p]
            n += 1
    return n


@njit
def _ask_complete(hands, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(hands)):
            h = hands[i]
            found += is_complete(h.held, h.keys, h.sets, h.caishen)
    return found


@njit
def _ask_waits(hands, rounds):
    found = np.uint64(0)
    for _ in range(rounds):
        for i in range(len(hands)):
            h = hands[i]
            closing = closing_bits(h.keys, whites(h.held, h.caishen), h.caishen)
            found ^= wait_set(h.held, h.keys, h.sets, h.caishen, closing)
    return found


@njit
def _ask_distance(hands, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(hands)):
            h = hands[i]
            found += tiles_short(h.held, h.keys, h.sets, h.caishen)
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


def hands_of_rule_players(drawn: bool) -> np.ndarray:
    """Hands met in games of rule players, with the tile just drawn or without, `(HANDS,) HAND`."""
    env = VectorEnv(4 * HANDS, RULES, observe=False)
    env.rollout(40, "rule")
    hands = np.zeros(4 * HANDS, HAND)
    n = _collect(env.states, drawn, hands.view(np.recarray))
    assert n >= HANDS
    return hands[:HANDS]


def dealt(n: int) -> np.ndarray:
    """The states of `n` games."""
    return plain(VectorEnv(n, RULES, observe=False).states)


def per_item(function: Callable[..., Any], items: np.ndarray, seconds: float) -> Callable[[], float]:
    """Nanoseconds an item of a compiled loop `function(items, rounds)`."""

    def run() -> float:
        rounds = 1
        while True:
            start = time.process_time()
            function(items, rounds)
            spent = time.process_time() - start
            if spent > seconds:
                return spent / rounds / len(items) * 1e9
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
        ("compiled rule:1 players, masks", "decisions/s",
         lambda: compiled_loop(seconds, policy="rule:1", observe=False)),
        ("compiled rule:2 players, masks", "decisions/s",
         lambda: compiled_loop(seconds, policy="rule:2", observe=False)),
    ]  # fmt: skip
    for options, what in (
        ({"observe": False}, "masks"),
        ({"observe": True}, "masks and observations"),
        ({"observe": "counts"}, "masks and counts"),
        ({"observe": True, "dtype": np.float32}, "masks and observations as floats"),
    ):
        for n in (1, 64, 1024, 4096, 16384) if options in ({"observe": False}, {"observe": True}) else (1024,):
            for threads in (1, 2) if n > 1024 else (1,):
                with_threads = f", {threads} threads" if threads > 1 else ""
                make = partial(batch_steps, n, seconds, num_threads=threads, **options)
                table.append((f"VectorEnv.step, batch {n}, {what}{with_threads}", "decisions/s", make))
    table += [
        ("AEC raw_env, agent_iter/last/step", "decisions/s", lambda: aec_loop("raw_env", seconds)),
        ("AEC env, agent_iter/last/step", "decisions/s", lambda: aec_loop("env", seconds)),
        ("is a hand complete", "ns", lambda: per_item(_ask_complete, hands_of_rule_players(True), seconds / 4)),
        ("all waits of a hand", "ns", lambda: per_item(_ask_waits, hands_of_rule_players(False), seconds / 4)),
        ("distance of a hand", "ns", lambda: per_item(_ask_distance, hands_of_rule_players(True), seconds / 4)),
        ("shuffle a wall", "ns", lambda: per_item(_shuffle_many, dealt(GAMES), seconds / 4)),
        ("shuffle, deal and start a hand", "ns", lambda: per_item(_begin_many, dealt(GAMES), seconds / 4)),
    ]
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
    for n in (1024, 4096):
        if progress:
            progress(f"VectorEnv.step, batch {n}, beside the compiled loop")
        figures.append(steps_beside_loop(n, runs, seconds))
    for what in BESIDE:
        if progress:
            progress(f"{what}, two threads beside two processes")
        figures.append(threads_beside_processes(what, runs, seconds))
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


if __name__ == "__main__":
    loop = LOOPS[sys.argv[1]](float(sys.argv[2]))
    loop()
    print(loop())
