"""Processes that work for this one, and end with it however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from . import keeper


def process_pool(workers: int, begin: Callable[..., Any] | None = None, *arguments: Any) -> ProcessPoolExecutor:
    """An executor of spawned processes, each of which first calls `begin(*arguments)`. They leave interruptions to this
    process, and on Linux are killed when it dies: else they would wait for work for ever."""
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin, (os.getpid(), begin, arguments))


def _begin(parent: int, begin: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(keeper.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if begin is not None:
        begin(*arguments)
