"""A bot that does at its question what its argument says: `python hostile.py MODE`."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

MODE = sys.argv[1]
FOREVER = 3600


def say(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def sleep_on():
    while True:
        time.sleep(FOREVER)


def daemon(act):
    """A grandchild in a session of its own that ignores SIGTERM."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            act()
        os._exit(0)
    os.wait()


def fork_on():
    while True:
        try:
            if os.fork() == 0:
                sleep_on()
        except OSError:
            time.sleep(0.01)


def flood(file, line):
    while True:
        file.write(line)


def memory():
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)) * 16)


def starve():
    """Threads that work, and no answer."""
    for _ in range(4):
        threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
    sleep_on()


def misbehave(question):
    legal, number = question["legal"], question["id"]
    right = {"id": number, "action": legal[0]}
    illegal = next(a for a in range(76) if a not in legal)
    if MODE == "sleep":
        sleep_on()
    elif MODE == "exit":
        sys.exit(3)
    elif MODE == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif MODE == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif MODE == "stop group":
        os.killpg(0, signal.SIGSTOP)
    elif MODE == "flood":
        flood(sys.stdout, '{"id": 0, "action": 0}\n')
    elif MODE == "flood of errors":
        flood(sys.stderr, "x" * 1000 + "\n")
    elif MODE == "endless line":
        flood(sys.stdout, "x" * 1000)
    elif MODE == "garbage":
        for line in ("", "{", "null", "[]", '"text"', "\x00\xff", '{"id": 1.5, "action": true}', '{"id":' + "9" * 5000 + "}"):
            say(line)
    elif MODE == "deep":
        say("[" * 20_000)
    elif MODE == "illegal":
        for action in (illegal, -1, 10**30, "discard 9z", "fly"):
            say({"id": number, "action": action})
    elif MODE == "forged":
        for other in (number + 1, number - 1, 0, -number):
            say({"id": other, "action": legal[0]})
    elif MODE == "double":
        say(right)
        say(right)
    elif MODE == "daemons":
        daemon(sleep_on)
        sys.exit(0)
    elif MODE == "fork and answer no more":
        subprocess.Popen(["sleep", str(FOREVER)])
        os.kill(os.getpid(), signal.SIGKILL)
    elif MODE == "fork on":
        daemon(fork_on)
        sleep_on()
    elif MODE == "ignore":
        for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(sign, signal.SIG_IGN)
        sleep_on()
    elif MODE == "memory":
        memory()
    elif MODE == "close":
        os.close(1)
        sleep_on()
    elif MODE == "kill the keeper":
        daemon(sleep_on)
        os.kill(os.getppid(), signal.SIGKILL)
        sleep_on()
    elif MODE == "stop the keeper":
        daemon(sleep_on)
        os.kill(os.getppid(), signal.SIGSTOP)
        sleep_on()
    elif MODE == "starve":
        starve()


if MODE == "never ready":
    sleep_on()
if MODE == "exit at once":
    sys.exit(1)
if MODE == "garbage at once":
    say("hello yourself")
    sleep_on()
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        say({"type": "ready", "name": MODE})
        if MODE == "deaf":
            sleep_on()
    elif message["type"] == "ask":
        misbehave(message)
