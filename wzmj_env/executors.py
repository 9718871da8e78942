"""Work in pieces, and who does it: this process, processes beside it, or Ray on many machines.

An executor has workers. Each first makes an object of its own, `make(*arguments)`, and then takes one piece of work after
the other: `function(object, piece, *common)`. A piece says all that its result depends on, so that it does not matter who
does it, when, or how often: one whose worker was killed is done again, by another. In another process or on another machine
functions, pieces and results travel as pickles.

`open_executor("ray", ...)` needs the extra `ray`. It joins the cluster of `RAY_ADDRESS` or of `"ray:ADDRESS"` (what
`ray.init(address=...)` takes: `ray:auto`, `ray:10.0.0.1:6379`), one of this process's own else.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor as Futures
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.util import Finalize
from typing import Any

from .workers import process_pool

KINDS = ("serial", "processes", "ray")
LOSSES = 3  # workers in a row that may be lost, or on one piece, before it is given up
STARTS = 5  # of Ray on this machine, for which it allows itself 30 seconds: too few on a busy one
RAY_SETTINGS = {  # of a Ray of this process's own
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # 15 else, and beside any other work its workers would wait
    "RAY_worker_register_timeout_seconds": "600",  # 60 else
}
_CLOSED_BEFORE = 100  # priority of what a process does before it ends


class LostWorkersError(RuntimeError):
    """Workers were lost again and again."""


class Executor(ABC):
    """Use it as a context or close it: its workers end then."""

    @abstractmethod
    def each(self, function: Callable[..., Any], pieces: Sequence[Any], *common: Any) -> Generator[tuple[int, Any], None, None]:
        """`function(object, piece, *common)` of every piece, as (place, result), each as soon as it is done.

        What a function raises is raised here; `LostWorkersError` when workers are lost again and again. KeyboardInterrupt comes
        after the results of what was begun. What is not begun when the iterator is closed is left.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers, after `close()` of their objects where there is one."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def check_executor(kind: str) -> str:
    """The kind of an executor, or ValueError: what is allowed, or which extra is missing."""
    if kind not in KINDS and not (kind.startswith("ray:") and kind != "ray:"):
        raise ValueError(f"executor must be one of {', '.join(KINDS)} or ray:ADDRESS, not {kind!r}")
    if kind.startswith("ray"):
        _import_ray()
    return kind


def open_executor(kind: str, workers: int, make: Callable[..., Any], *arguments: Any) -> Executor:
    """Of one of KINDS or `ray:ADDRESS`. One worker of `processes` is this process itself."""
    check_executor(kind)
    if kind.startswith("ray"):
        return Ray(kind[4:], workers, make, *arguments)
    if kind == "serial" or workers == 1:
        return Serial(make, *arguments)
    return Processes(workers, make, *arguments)


def in_order(done: Generator[tuple[int, Any], None, None]) -> Generator[Any, None, None]:
    """What `Executor.each` gives, in the order of the pieces."""
    early: dict[int, Any] = {}
    wanted = 0
    try:
        for place, result in done:
            early[place] = result
            while wanted in early:
                yield early.pop(wanted)
                wanted += 1
    finally:
        done.close()


def _close(made: Any) -> None:
    if hasattr(made, "close"):
        made.close()


# --- on this machine -------------------------------------------------------------------------------------------------


class Serial(Executor):
    """This process, one piece after the other."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._made = make(*arguments)

    def each(self, function: Callable[..., Any], pieces: Sequence[Any], *common: Any) -> Generator[tuple[int, Any], None, None]:
        for place, piece in enumerate(pieces):
            yield place, function(self._made, piece, *common)

    def close(self) -> None:
        _close(self._made)


class _Pool(Executor):
    _futures: Futures

    @abstractmethod
    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]: ...

    @abstractmethod
    def _renew(self) -> None:
        """Others in place of workers that were lost."""

    def each(self, function: Callable[..., Any], pieces: Sequence[Any], *common: Any) -> Generator[tuple[int, Any], None, None]:
        left = set(range(len(pieces)))
        losses = 0
        begun: dict[Future[Any], int] = {}
        try:
            while left:
                begun = {self._submit(function, pieces[place], *common): place for place in sorted(left)}
                try:
                    for future in as_completed(begun):
                        place, result = begun[future], future.result()
                        left.discard(place)
                        losses = 0
                        yield place, result
                except BrokenProcessPool:
                    losses += 1
                    if losses >= LOSSES:
                        raise LostWorkersError(f"processes have died {losses} times without a result in between") from None
                    self._renew()
        except KeyboardInterrupt:
            running = [future for future, place in begun.items() if place in left and not future.cancel()]
            for future in as_completed(running):
                yield begun[future], future.result()
            raise
        finally:
            for future in begun:
                future.cancel()

    def close(self) -> None:
        self._futures.shutdown(cancel_futures=True)


class Threads(_Pool):
    """Threads of this process, which share one object: for work that leaves Python's lock alone."""

    def __init__(self, workers: int, make: Callable[..., Any], *arguments: Any) -> None:
        self._made = make(*arguments)
        self._futures = ThreadPoolExecutor(workers)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._futures.submit(function, self._made, *arguments)

    def _renew(self) -> None:
        """A thread is lost with its process alone."""

    def close(self) -> None:
        super().close()
        _close(self._made)


class Processes(_Pool):
    """Spawned processes. When one is killed all are made anew, and what they had begun is done again."""

    def __init__(self, workers: int, make: Callable[..., Any], *arguments: Any) -> None:
        self._asked = workers, _make, make, *arguments
        self._futures = process_pool(*self._asked)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return self._futures.submit(_call, function, *arguments)
        except BrokenProcessPool as error:  # while others were submitted
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def _renew(self) -> None:
        self._futures.shutdown()
        self._futures = process_pool(*self._asked)


_made: Any = None  # in a worker process


def _make(make: Callable[..., Any], *arguments: Any) -> None:
    global _made
    _made = make(*arguments)
    Finalize(None, _close, (_made,), exitpriority=_CLOSED_BEFORE)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_made, *arguments)


# --- on many machines ------------------------------------------------------------------------------------------------


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ValueError("executor ray needs Ray, which is not installed: pip install 'wzmj[ray]'") from None


def connect_ray(address: str, workers: int, *, log_to_driver: bool = False) -> tuple[Any, bool]:
    """The module ray, connected to the cluster of `address`, else of `RAY_ADDRESS`, else one of its own with room for the
    workers; and whether this call has made the connection, so that who made it ends it. `log_to_driver`: print here what
    the workers print."""
    ray = _import_ray()
    if ray.is_initialized():
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS", "")
    options = {"log_to_driver": log_to_driver, "logging_level": logging.ERROR}
    if address:
        try:
            ray.init(address=address, **options)
        except ConnectionError as error:
            raise ValueError(f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}") from None
        return ray, True
    for name, value in RAY_SETTINGS.items():
        os.environ.setdefault(name, value)
    for left in reversed(range(STARTS)):
        try:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **options)
            break
        except Exception as error:  # of no other class
            if "timed out" not in str(error) or not left:
                raise
            ray.shutdown()
    return ray, True


class RayWorker:
    """What runs in an actor. `path`: where its makers import modules from."""

    def __init__(self, path: Sequence[str]) -> None:
        sys.path += [folder for folder in path if folder not in sys.path]

    def make(self, make: Callable[..., Any], *arguments: Any) -> None:
        self.made = make(*arguments)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(self.made, *arguments)

    def close(self) -> None:
        if hasattr(self, "made"):
            _close(self.made)


class Ray(Executor):
    """Actors of Ray of one core each, one piece at a time for each. One that is lost is replaced, its piece done again; the
    others go on, also where there is no room for another or not yet for all."""

    def __init__(self, address: str, workers: int, make: Callable[..., Any], *arguments: Any) -> None:
        self._ray, self._connected = connect_ray(address, workers)
        self._asked = make, *arguments
        self._actor = self._ray.remote(num_cpus=1)(RayWorker)  # to which Ray leaves one thread of OpenMP
        self._starting: dict[Any, Any] = {}  # actors by what tells that they are ready
        self._idle: deque[Any] = deque()
        self._busy: dict[Any, tuple[Any, int]] = {}  # actors and places by what they will answer
        self._lost_starts = 0  # in a row
        for _ in range(workers):
            self._hire()

    def _hire(self) -> None:
        actor = self._actor.remote(sys.path)
        self._starting[actor.make.remote(*self._asked)] = actor

    def each(self, function: Callable[..., Any], pieces: Sequence[Any], *common: Any) -> Generator[tuple[int, Any], None, None]:
        shared = [self._ray.put(value) for value in common]  # once, and from there once to each machine
        waiting = deque(range(len(pieces)))
        losses = [0] * len(pieces)
        mine: set[Any] = set()
        interrupted: KeyboardInterrupt | None = None
        while waiting or mine:
            while waiting and self._idle:
                actor, place = self._idle.popleft(), waiting.popleft()
                answer = actor.call.remote(function, pieces[place], *shared)
                self._busy[answer] = actor, place
                mine.add(answer)
            try:
                (done, *_), _ = self._ray.wait([*self._busy, *self._starting])
            except KeyboardInterrupt as error:
                if interrupted:
                    raise
                interrupted = error
                waiting.clear()
                continue
            place = self._busy[done][1] if done in self._busy else -1
            lost, result = self._answer(done)
            if done not in mine:
                continue
            mine.discard(done)
            if not lost:
                yield place, result
                continue
            losses[place] += 1
            if losses[place] >= LOSSES:
                raise LostWorkersError(f"piece {place} has lost its worker {LOSSES} times")
            if not interrupted:
                waiting.appendleft(place)
        if interrupted:
            raise interrupted

    def _answer(self, done: Any) -> tuple[bool, Any]:
        """Of an actor that has got ready or done a piece: whether it is lost, and is replaced; else what it says."""
        errors = self._ray.exceptions
        starts = done in self._starting
        actor = self._starting.pop(done) if starts else self._busy.pop(done)[0]
        try:
            answer = self._ray.get(done)
        except (errors.RayActorError, errors.ObjectLostError, errors.OutOfMemoryError) as error:
            self._ray.kill(actor)
            self._lost_starts += starts
            if self._lost_starts >= LOSSES:
                raise LostWorkersError(f"workers do not start: {error}") from None
            self._hire()
            return True, None
        except errors.RayTaskError as error:
            self._idle.append(actor)
            raise error.cause from None
        self._lost_starts = 0
        self._idle.append(actor)
        return False, answer

    def close(self) -> None:
        """End the actors, and the connection if it was made for them."""
        if not self._ray.is_initialized():
            return
        if closing := [actor.close.remote() for actor in self._idle]:
            self._ray.wait(closing, num_returns=len(closing), timeout=60)
        for actor in (*self._idle, *self._starting.values(), *(actor for actor, _ in self._busy.values())):
            self._ray.kill(actor)
        if self._connected:
            self._ray.shutdown()
