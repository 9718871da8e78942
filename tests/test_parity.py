"""The same games whatever compiles, counts or schedules them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import digests

SCRIPT = Path(digests.__file__)


def run_script(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent.parent), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_games_are_the_same_without_jit():
    assert run_script(3, 3, 150, NUMBA_DISABLE_JIT="1") == digests.play(3, 3, 150)


def test_games_are_the_same_with_bounds_checking():
    assert run_script(4, 20, 2_000, NUMBA_BOUNDSCHECK="1") == digests.play(4, 20, 2_000)


def test_games_are_the_same_in_another_process():
    for players in (2, 3, 4):
        assert run_script(5, 8, 400, players) == digests.play(5, 8, 400, players)
