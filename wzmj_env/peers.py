"""Other environments beside this one: what `wzmj bench --peers` measures.

The peers' loops are programs in the clone's `benchmarks/`, each with an interpreter that has the peer installed. A run is a
process of its own: ours, the peer's, ours, the peer's, so that both meet the same machine. In each of them a decision is
one observation answered by one action, and rates are per second of processor time of one thread.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
HAS_MODULES = "import importlib.util, sys; sys.exit(None in map(importlib.util.find_spec, sys.argv[1:]))"
TIME_LIMIT = 600  # seconds for one run of a peer: some compile for a minute


class Peer(NamedTuple):
    """A peer's loop, and the loop of ours that does the same work."""

    name: str
    needs: tuple[str, ...]  # modules that its interpreter must have
    program: tuple[str, ...]
    ours: str  # a key of `bench.LOOPS`


PEERS = (
    Peer("riichienv, log off", ("riichienv",), ("riichienv_loop.py", "play"), "masks"),
    Peer("riichienv, encode and mask", ("riichienv",), ("riichienv_loop.py", "encode"), "observations"),
    Peer("pgx sparrow_mahjong, best batch", ("pgx",), ("pgx_loop.py", "sparrow_mahjong"), "batch"),
    Peer("envpool SparrowMahjong, best batch", ("envpool",), ("envpool_loop.py", "SparrowMahjong-v1"), "batch"),
    Peer("envpool ConnectFour, best batch", ("envpool",), ("envpool_loop.py", "ConnectFour-v1"), "batch"),
    Peer("PettingZoo connect_four raw_env", ("pettingzoo", "pygame"), ("connect_four_loop.py", "raw_env"), "raw_env"),
    Peer("PettingZoo connect_four env", ("pettingzoo", "pygame"), ("connect_four_loop.py", "env"), "env"),
)


def interpreter_with(modules: Sequence[str], interpreters: Sequence[str]) -> str | None:
    """The first interpreter in which all `modules` are installed. OSError when one cannot be started."""
    for python in interpreters:
        if subprocess.run([python, "-c", HAS_MODULES, *modules], check=False).returncode == 0:
            return python
    return None


def _rate(command: Sequence[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def compare(
    interpreters: Sequence[str], runs: int, seconds: float, progress: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Every peer that is installed, beside ours: names, medians, and the median of the runs' ratios.

    ValueError when there is no clone beside the package, or a loop fails.
    """
    if not FOLDER.is_dir():
        raise ValueError(f"the peers' loops are in a clone's benchmarks/, and there is none at {FOLDER}")
    rows = []
    for peer in PEERS:
        python = interpreter_with(peer.needs, [*interpreters, sys.executable])
        if python is None:
            if progress:
                progress(f"{peer.name}: left out, {' or '.join(peer.needs)} is not installed")
            continue
        if progress:
            progress(peer.name)
        ours = [sys.executable, "-m", "wzmj_env.bench", peer.ours, str(seconds)]
        theirs = [python, str(FOLDER / peer.program[0]), *peer.program[1:], str(seconds)]
        pairs = [(_rate(ours), _rate(theirs)) for _ in range(runs)]
        mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        rows.append({"peer": peer.name, "ours": peer.ours, "our_rate": mine, "peer_rate": other, "ratio": ratio, "runs": pairs})
    return rows


def as_text(rows: list[dict[str, Any]]) -> str:
    """The comparison as a table."""
    lines = [f"{'peer':<36}{'decisions/s':>12}   {'ours':<14}{'decisions/s':>12}{'ratio':>8}"]
    lines += [
        f"{row['peer']:<36}{row['peer_rate']:>12,.0f}   {row['ours']:<14}{row['our_rate']:>12,.0f}{row['ratio']:>8.1f}"
        for row in rows
    ]
    return "\n".join(lines)
