"""Many tables at once: each with one scripted player who answers after a second and three rule players.

    python benchmarks/table_load.py --tables 200 --minutes 10

It starts a server of its own and reports how long the server takes from an answer to the next view, beside the echo of the
same connection measured in the same seconds, the server's memory as it goes, and how many hands were played. `--stalled`
adds as many spectators that never read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from websockets.asyncio.client import connect

TOO_MANY = 429  # HTTP: the server makes so many tables a second and no more
THINKING = 1.0  # seconds until a player answers
PAGE = resource.getpagesize()


class Figures:
    def __init__(self) -> None:
        self.answers: list[float] = []  # seconds
        self.echoes: list[float] = []
        self.hands = self.errors = 0
        self.memory: list[int] = []  # bytes, as it went


def made(address: str) -> tuple[str, str]:
    body = {"players": 4, "hands": 100, "entry": 5, "agents": [None, "rule", "rule", "rule"], "name": "load"}
    request = urllib.request.Request(
        f"http://{address}/api/tables", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    while True:
        try:
            with urllib.request.urlopen(request) as said:
                told = json.load(said)
            return told["table"], told["token"]
        except urllib.error.HTTPError as error:
            if error.code != TOO_MANY:
                raise
            time.sleep(0.2)


def choice(legal: list[int]) -> int:
    """Hu, else pass, else the highest discard."""
    return 73 if 73 in legal else 74 if 74 in legal else max(a for a in legal if a < 34)


async def player(address: str, table: str, token: str, until: float, figures: Figures) -> None:
    async with connect(f"ws://{address}/ws", compression=None) as wire:
        await wire.send(json.dumps({"type": "hello", "table": table, "token": token}))
        answered: str | None = None
        sent = echoed = None
        pressed = -1
        while (left := until - time.monotonic()) > 0:
            try:
                message = json.loads(await asyncio.wait_for(wire.recv(), left))
            except TimeoutError:
                return
            now = time.monotonic()
            if message["type"] == "echo" and echoed is not None:
                figures.echoes.append(now - echoed)
                echoed = None
                continue
            if message["type"] != "view":
                figures.errors += 1
                continue
            view = message["view"]
            question = view["question"]
            if sent is not None and (question is None or question["id"] != answered):
                figures.answers.append(now - sent)
                sent = None
            if view["phase"] in ("open", "settled") and pressed != len(view["totals"]):
                pressed = len(view["totals"])
                figures.hands += view["phase"] == "settled"
                await wire.send('{"type":"press"}')
            elif view["phase"] == "over":
                return
            elif question is not None and question["id"] != answered:
                answered = question["id"]
                await asyncio.sleep(THINKING)
                sent = echoed = time.monotonic()
                await wire.send('{"type":"echo","n":1}')
                await wire.send(json.dumps({"type": "answer", "id": answered, "action": choice(question["legal"])}))


async def stalled(address: str, table: str, until: float) -> None:
    """A spectator that never reads: its socket's buffers fill up."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    writer.write(
        f"GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    hello = json.dumps({"type": "hello", "table": table}).encode()
    writer.write(bytes([0x81, 0x80 | len(hello)]) + bytes(4) + hello)
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    writer.close()


async def watch(pid: int, until: float, figures: Figures) -> None:
    while time.monotonic() < until:
        figures.memory.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE)
        await asyncio.sleep(max(1.0, min(10.0, until - time.monotonic())))


async def run(address: str, pid: int, tables: int, seconds: float, stalls: int) -> Figures:
    figures = Figures()
    names = [await asyncio.to_thread(made, address) for _ in range(tables)]
    until = time.monotonic() + seconds
    tasks = [player(address, *names[i], until, figures) for i in range(tables)]
    tasks += [stalled(address, names[i % tables][0], until) for i in range(stalls)]
    for result in await asyncio.gather(watch(pid, until, figures), *tasks, return_exceptions=True):
        if isinstance(result, BaseException):
            figures.errors += 1
            print(f"error: {result!r}", file=sys.stderr)
    return figures


def row(name: str, values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=100)
    return f"{name:<28}{1000 * statistics.median(values):>9.1f}{1000 * cuts[98]:>9.1f}{1000 * max(values):>9.1f}{len(values):>10}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--stalled", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        server = subprocess.Popen(
            [sys.executable, "-m", "wzmj_env.cli", "table", "--port", "0", "--data", data, "--pause", "5"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stdout is not None
        match = re.fullmatch(r"open http://(.*)/\n", server.stdout.readline())
        assert match is not None, "the server did not start"
        try:
            figures = asyncio.run(run(match[1], server.pid, options.tables, 60 * options.minutes, options.stalled))
        finally:
            server.terminate()
            server.wait()
    what = f"{options.tables} tables, {options.minutes:g} minutes, {options.stalled} stalled"
    print(f"{what}; {figures.hands} hands, {figures.errors} errors")
    print(f"{'milliseconds':<28}{'median':>9}{'99 %':>9}{'most':>9}{'count':>10}")
    print(row("answer to the next view", figures.answers))
    print(row("echo", figures.echoes))
    memory = [size >> 20 for size in figures.memory]
    print(f"memory of the server: {memory[len(memory) // 4]} MiB after a quarter, {memory[-1]} at the end, {max(memory)} at most")


if __name__ == "__main__":
    main()
