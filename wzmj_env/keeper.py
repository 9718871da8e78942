"""The keeper of one bot: a small process of its own that starts the bot, bounds it, and leaves nothing of it running.

    python -I -S keeper.py '{"command": [...], "memory": ..., ...}'      (see `process.Limits`)

Standard input and output are the bot's: the keeper neither reads nor writes them. The socket `control` is its tie to the
program that started it: when that closes, however that program has ended, the bot and all it has started are killed.
The keeper is the subreaper of its descendants, so that a bot's children cannot slip away by daemonising.

When the bot has ended it writes one JSON line there: `{"cause": "exit" | "memory" | "processes" | "closed", "status": ...}`.
Nothing but the standard library is imported, and nothing of the package: it has to start within milliseconds.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

WATCH = 0.1  # seconds between two looks at what the bot has started
CHUNK = 1 << 16
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PAGE = os.sysconf("SC_PAGE_SIZE")
ON_LINUX = sys.platform == "linux"
libc = ctypes.CDLL(None, use_errno=True) if ON_LINUX else None


def descendants(pid):
    """The ids of all processes below one, children first. Empty where the system does not tell."""
    found, front = [], [pid]
    while front:
        parent = front.pop()
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", "rb") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                front += children
        except OSError:  # it has ended meanwhile
            continue
    return found


def resident(pids):
    """The bytes of memory that processes hold."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                total += int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            continue
    return total


def kill_all(group):
    """Kill the bot's group and all descendants, and reap them, until none is left."""
    patience = time.monotonic() + 5  # a process in an uninterruptible call cannot be waited for
    while time.monotonic() < patience:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        below = descendants(os.getpid())
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        if not reap_all() and not below:
            return
        time.sleep(0.001)


def reap_all():
    """Reap what has ended; whether children are left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def limit(what, value):
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(what, (value, value))


def become_bot(settings, stderr):
    """In the child: a session of its own, limits, and the bot's program."""
    os.setsid()
    if libc is not None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(stderr, 2)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_DATA, settings["memory"])
    limit(resource.RLIMIT_NPROC, settings["processes"] + settings["running"])
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(sign, signal.SIG_DFL)
    os.closerange(3, 256)  # the control socket, and whatever else was open
    try:
        os.execvp(settings["command"][0], settings["command"])
    except OSError as error:
        os.write(2, f"{settings['command'][0]}: {error.strerror}\n".encode())
        os._exit(127)


def users_tasks():
    """How many processes and threads this user has: RLIMIT_NPROC counts them all."""
    user, tasks = os.getuid(), 0
    for name in os.listdir("/proc") if ON_LINUX else ():
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                tasks += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return tasks


class Errors:
    """What the bot writes on standard error: the first bytes are kept in a file, the rest is read and dropped."""

    def __init__(self, path, most):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644) if path else None
        self.room = most - os.fstat(self.file).st_size if self.file is not None else 0

    def add(self, data):
        if self.room > 0 and self.file is not None:
            os.write(self.file, data[: self.room])
        if 0 < self.room <= len(data) and self.file is not None:
            os.write(self.file, b"\n[standard error is kept up to here]\n")
        self.room -= len(data)


def main():
    settings = json.loads(sys.argv[1])
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # the control pipe alone says when it is over
        signal.signal(sign, signal.SIG_IGN)
    if libc is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    settings["running"] = users_tasks()
    error_read, error_write = os.pipe()
    bot = os.fork()
    if bot == 0:
        become_bot(settings, error_write)
    os.close(error_write)
    for descriptor in (0, 1):  # the bot's alone: its end must be seen as the end of the pipe
        os.close(descriptor)
    errors = Errors(settings["stderr"], settings["stderr_bytes"])
    ended = watch(bot, error_read, errors, settings)
    kill_all(bot)
    while select.select([error_read], [], [], 0)[0] and (data := os.read(error_read, CHUNK)):
        errors.add(data)
    try:
        os.write(settings["control"], json.dumps(ended).encode() + b"\n")
    except OSError:  # nobody is there to be told
        pass


def watch(bot, error_read, errors, settings):
    """Wait until the bot ends, breaks a limit, or the control pipe closes; what happened."""
    control = settings["control"]
    awaited = [control, error_read]
    looked = time.monotonic()
    while True:
        ready, _, _ = select.select(awaited, [], [], WATCH)
        if error_read in ready:
            data = os.read(error_read, CHUNK)
            if data:
                errors.add(data)
            else:
                awaited.remove(error_read)
        if control not in ready and time.monotonic() - looked < WATCH:
            continue
        looked = time.monotonic()
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:  # orphans of the bot's too, which would stay zombies
            if ended[0] == bot:
                return {"cause": "exit", "status": os.waitstatus_to_exitcode(ended[1])}
        if control in ready:
            return {"cause": "closed", "status": None}
        below = descendants(os.getpid())
        if len(below) > settings["processes"]:
            return {"cause": "processes", "status": len(below)}
        if resident(below) > settings["memory"]:
            return {"cause": "memory", "status": settings["memory"]}


if __name__ == "__main__":
    main()
