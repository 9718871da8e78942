"""A program on a pair of pipes, bounded in all it can do to us: lines in and out, nothing left running. No game in here.

Each program has a keeper (`wzmj_env.keeper`) that starts it in a session of its own with limits on memory and processes,
bounds what is kept of its standard error, and kills all it has started when it ends, when it is closed here, or when
this process ends, be it by SIGKILL. Full on Linux; elsewhere the program's process group is killed, but not children
that have left it, and memory and processes are bounded by rlimits alone.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import keeper

TAG = "WZMJ_BOT"  # environment variable by which a program's descendants are known, should its keeper be killed
CHUNK = 1 << 16
KEEPER_SECONDS = 2.0  # a keeper that has not ended its program by then is helped


@dataclass(frozen=True)
class Limits:
    """What a program may take."""

    memory: int = 2 << 30  # bytes: of data for each process (RLIMIT_DATA), and resident in all its processes together
    processes: int = 64  # at one time, threads of the user's other programs aside
    line: int = 1 << 16  # bytes of a line it writes
    unread: int = 1 << 20  # bytes it may leave unread
    stderr: int = 1 << 16  # bytes of standard error that are kept


class Fault(Exception):
    """The program has done what ends a connection; `cause` is one word."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Process:
    """A running program. `stderr` names the file that its standard error is appended to, None to keep none.

    Reading and writing never wait. `fileno()` is readable when there is something to receive, its end too.
    """

    def __init__(self, command: Sequence[str], limits: Limits | None = None, stderr: Path | None = None) -> None:
        self.limits = limits or Limits()
        self._tag = secrets.token_hex(16)
        self._control, theirs = socket.socketpair()
        settings = {
            "command": list(command),
            "control": theirs.fileno(),
            "memory": self.limits.memory,
            "processes": self.limits.processes,
            "stderr": None if stderr is None else str(stderr),
            "stderr_bytes": self.limits.stderr,
        }
        with theirs:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, TAG: self._tag},
                bufsize=0,
            )
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        self._stdin, self._stdout = self._keeper.stdin.fileno(), self._keeper.stdout.fileno()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        self._unsent = b""
        self._unfinished = b""
        self.cause: str | None = None  # why it ended, once closed: exit, memory, processes, killed, closed
        self.status: int | None = None  # exit status, or minus the signal
        self.closed = False

    def fileno(self) -> int:
        """The descriptor to wait on for something to receive."""
        return self._stdout

    def input_fileno(self) -> int:
        """The descriptor to wait on for room while `is_behind`."""
        return self._stdin

    @property
    def is_behind(self) -> bool:
        """Whether it has left something unread, which `flush` will try to send."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Send, as far as it reads; the rest is kept. Fault `unread` when that is too much, `exit` when it is gone."""
        self._unsent = self._unsent + data if self._unsent else data
        self.flush()
        if len(self._unsent) > self.limits.unread:
            raise Fault("unread")

    def flush(self) -> None:
        """Try to send what is kept. Fault `exit` when the program is gone."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            raise Fault("exit") from None

    def receive(self) -> list[bytes]:
        """The whole lines that are there, at most CHUNK bytes of them. Fault `oversize` for a line without end, `exit`
        when the program is gone."""
        try:
            data = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return []
        if not data:
            raise Fault("exit")
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        if len(self._unfinished) > self.limits.line or any(len(line) > self.limits.line for line in lines):
            raise Fault("oversize")
        return lines

    def close(self, grace: float = 0.0) -> None:
        """End it: its standard input closes, `grace` seconds later it is killed with all that it has started."""
        if self.closed:
            return
        self.closed = True
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        self._keeper.stdin.close()
        if grace > 0:
            self._await_end(time.monotonic() + grace)
        self._keeper.stdout.close()
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        self._control.settimeout(KEEPER_SECONDS)
        try:
            told = self._control.recv(CHUNK)
        except OSError:
            told = b""
        self._control.close()
        if told:
            ended = json.loads(told)
            self.cause, self.status = ended["cause"], ended["status"]
        else:  # the program has stopped or killed its keeper
            self.cause = "killed"
            _kill_tree(self._keeper.pid)
            _kill_tagged(self._tag)
        self._keeper.wait()

    def _await_end(self, until: float) -> None:
        """Read and drop until the end of its output."""
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._stdout], [], [], left)[0]:
                return
            with suppress(BlockingIOError):
                if not os.read(self._stdout, CHUNK):
                    return


def _kill_tree(pid: int) -> None:
    for below in [*keeper.descendants(pid), pid]:
        with suppress(ProcessLookupError):
            os.kill(below, signal.SIGKILL)


def _kill_tagged(tag: str) -> None:
    """Kill every process whose environment holds the tag, until there is none."""
    mark = f"{TAG}={tag}".encode()
    patience = time.monotonic() + KEEPER_SECONDS
    while time.monotonic() < patience and (found := list(_tagged(mark))):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _tagged(mark: bytes) -> list[int]:
    found = []
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        if name.isdigit():
            with suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found
