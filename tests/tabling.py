"""A server of tables for tests, in a thread or as a process, and players that speak its language."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from wzmj_env.host import warm_up
from wzmj_env.web import MAX_MESSAGE, Settings, make_app

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120  # seconds; no limit of the server's


def until(truth, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@contextlib.contextmanager
def serving(data, send_buffer=None, **settings):
    """A server in a thread of this process; its address. `send_buffer`: bytes that the system keeps for a slow reader."""
    warm_up()  # the compiler may take its time
    app = make_app(Settings(data=data, port=0, **settings))
    config = uvicorn.Config(app, port=0, log_level="error", ws="websockets-sansio", ws_max_size=MAX_MESSAGE,
                            ws_per_message_deflate=False, timeout_graceful_shutdown=1)  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the server starts")
        if send_buffer is not None:
            server.servers[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Process:
    """A server as a process of its own."""

    def __init__(self, data, *options):
        self.child = subprocess.Popen(
            [sys.executable, "-m", "wzmj_env.cli", "table", "--port", "0", "--data", str(data), *options],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.address = re.fullmatch(r"open http://(.*)/\n", self.child.stdout.readline())[1]
        until(self.is_ready, "the server is ready")

    def is_ready(self):
        try:
            return get(self.address, "/healthz")[0] == 200
        except OSError:
            return False

    def kill(self):
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.child.stdout.close()


def get(address, path, **headers):
    return ask(urllib.request.Request(f"http://{address}{path}", headers=headers))


def ask(request):
    """Status and body."""
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as said:
            return said.status, said.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def post(address, path, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json"} | headers
    return ask(urllib.request.Request(f"http://{address}{path}", data, headers))


def made(address, agents, hands=1, players=None, entry=5, name="Anna"):
    """A new table; its name and the token of seat 0."""
    table = {"players": players or len(agents), "hands": hands, "entry": entry, "agents": agents, "name": name}
    status, body = post(address, "/api/tables", table)
    assert status == 200, body
    said = json.loads(body)
    return said["table"], said["token"]


class Player:
    """A connection to a table that hears views."""

    def __init__(self, address, table, token=None, **options):
        self._stack = contextlib.ExitStack()
        self.socket = self._stack.enter_context(connect(f"ws://{address}/ws", compression=None, open_timeout=PATIENCE, **options))
        self.view = None
        self.others = []  # messages that are no views
        self.send({"type": "hello", "table": table, "token": token})

    def send(self, message):
        self.socket.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def hear(self, timeout=PATIENCE):
        """Take one message."""
        message = json.loads(self.socket.recv(timeout=timeout))
        if message["type"] == "view":
            self.view, self.seconds = message["view"], message["seconds"]
        else:
            self.others.append(message)
        return message

    def wait(self, truth):
        while self.view is None or not truth(self.view):
            self.hear()

    def answer(self, action):
        self.send({"type": "answer", "id": self.view["question"]["id"], "action": action})

    def play(self, choose=lambda view: view["question"]["legal"][-1], until=lambda view: view["phase"] == "over"):
        """Answer every question and press continue, until a condition holds."""
        answered = pressed = None
        self.wait(lambda view: True)
        while not until(self.view):
            asked = self.view["question"]
            if asked is not None and asked["id"] != answered:
                answered = asked["id"]
                self.answer(choose(self.view))
            elif self.view["phase"] in ("open", "settled") and not self.view["seats"][self.view["viewer"]]["ready"]:
                if pressed != len(self.view["totals"]):
                    pressed = len(self.view["totals"])
                    self.send({"type": "press"})
            self.hear()

    def closed(self, timeout=PATIENCE):
        """Why the server has closed it: the code."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                self.hear(timeout)
            except ConnectionClosed as error:
                return error.rcvd.code if error.rcvd else None
        raise AssertionError("it was not closed")

    def close(self):
        self._stack.close()
