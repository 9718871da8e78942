"""The server of tables: HTTP and WebSocket around a `Host`. What comes in is small, flat, rare and from our own page.

    GET  /            the page; /t/ID the same for one table
    GET  /healthz     200 when ready
    GET  /api/options what a table may be
    POST /api/tables  {players, hands, entry, agents, name}    a new table and a seat at it: {table, seat, token}
    POST /api/sit     {table, name, seat}                      a seat at a table: {table, seat, token}
    WS   /ws          first {type: hello, table, token}; then messages as in docs/table.md
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
import websockets  # noqa: F401  (uvicorn asks for it when it serves: a lack of it is told at once)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from .clock import Times
from .host import Host, Viewer, warm_up
from .lobby import MAX_PERSON, Lobby
from .page import table_page
from .rules import Rules
from .specs import CLONE, make_agent
from .table import MAX_ENTRY, MAX_HANDS, PAUSE, UNITS, Refused

MAX_MESSAGE = 2048  # bytes of a message or body
MAX_FIELDS = 10  # of a message
RATE, BURST = 30.0, 100.0  # messages a second of one connection, and how many at once
MAKE_RATE, MAKE_BURST = 10.0, 100.0  # tables and seats a second of one address, and how many at once
HELLO_SECONDS = 10.0
SLOW_SECONDS = 10.0  # a reader that has read nothing for so long is sent away
PING_SECONDS = 20.0
MAX_CONNECTIONS = 4000
LOCAL = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
BUILT_IN = ("rule", "greedy", "random")
SHIPPED = {"ppo:4p": 4, "ppo:2p": 2}  # weights of the repository, and the players of the tables at which they can sit
BAD, REPLACED, UNKNOWN, FAST, SLOW, STOPPED = 4000, 4001, 4003, 4008, 4009, 4010  # codes of closing

FRAMES = "frame-ancestors 'none'"  # the rest of the page's policy stands in it

log = logging.getLogger("wzmj.table")


@dataclass(frozen=True)
class Settings:
    """Of a server. `names`: further host names under which browsers may reach it; `agents`: further specs to be seated."""

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path = Path("tables")
    names: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)
    times: Times = field(default_factory=Times)
    pause: float = PAUSE
    pace: float = 0.6


class Bucket:
    """At most `rate` a second on the average, `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.left, self.at = burst, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


def read_message(data: str | bytes) -> dict[str, Any]:
    """A small, flat JSON object. ValueError for anything else."""
    if len(data) > MAX_MESSAGE:
        raise ValueError(f"a message has at most {MAX_MESSAGE} bytes")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("this is no JSON") from None
    if not isinstance(message, dict) or len(message) > MAX_FIELDS:
        raise ValueError(f"a message is an object of at most {MAX_FIELDS} fields")
    for value in message.values():
        flat = value if isinstance(value, list) else [value]
        if len(flat) > MAX_FIELDS or not all(x is None or isinstance(x, (str, int, float)) for x in flat):
            raise ValueError("the fields of a message are texts, numbers and short lists of them")
    return message


class Headers:
    """Adds what every answer says about itself."""

    FIXED = (
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
    )

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self.FIXED]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def own_origin(headers: Any) -> bool:
    """Whether a request comes from our own page, or from no page at all."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class Server:
    """The handlers of one server."""

    def __init__(self, settings: Settings, ready: Callable[[], None] | None = None) -> None:
        self.settings, self._ready = settings, ready
        self.agents = seatable(settings.agents)
        self.page = table_page()
        self.host: Host | None = None
        self._makers: dict[str, Bucket] = {}
        self._connections = 0

    @asynccontextmanager
    async def life(self, app: Starlette) -> AsyncIterator[None]:
        s = self.settings
        warm_up(s.rules)
        now = asyncio.get_running_loop().time()
        lobby = Lobby(s.data, now=now, agents=self.agents, only=SHIPPED, rules=s.rules, times=s.times, pause=s.pause)
        self.host = Host(lobby, s.pace)
        if self._ready is not None:
            self._ready()
        try:
            yield
        finally:
            self.host.close()

    async def show_page(self, request: Request) -> Response:
        return HTMLResponse(self.page, headers={"content-security-policy": FRAMES})

    async def health(self, request: Request) -> Response:
        assert self.host is not None
        return JSONResponse({"status": "ready", **self.host.counts()})

    async def options(self, request: Request) -> Response:
        return JSONResponse(
            {"agents": self.agents, "only": SHIPPED, "players": [2, 3, 4], "max_hands": MAX_HANDS, "max_entry": MAX_ENTRY,
             "entry_step": UNITS, "max_name": MAX_PERSON, "stakes": self.settings.rules.stakes}
        )  # fmt: skip

    # --- seats ---

    async def make(self, request: Request) -> Response:
        def work(host: Host, body: dict[str, Any]) -> dict[str, Any]:
            name = host.lobby.create(body.get("players"), body.get("hands"), body.get("entry"), body.get("agents"))
            try:
                return self._sit(host, name, None, body.get("name"))
            except ValueError:
                host.lobby.drop(name)
                raise

        return await self._do(request, work)

    async def sit(self, request: Request) -> Response:
        return await self._do(request, lambda host, body: self._sit(host, body.get("table"), body.get("seat"), body.get("name")))

    def _sit(self, host: Host, name: Any, seat: Any, person: Any) -> dict[str, Any]:
        seat, token = host.lobby.sit(name, seat, person, host.now())
        host.change(name)
        return {"table": name, "seat": seat, "token": token}

    async def _do(self, request: Request, work: Callable[[Host, dict[str, Any]], dict[str, Any]]) -> Response:
        assert self.host is not None
        if not own_origin(request.headers):
            return _error("this page is not ours", 403)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _error("send JSON", 415)
        if not self._may_make(request.client.host if request.client else ""):
            return _error("too much at once: try again soon", 429)
        data = b""
        async for chunk in request.stream():
            data += chunk
            if len(data) > MAX_MESSAGE:
                return _error(f"a body has at most {MAX_MESSAGE} bytes", 413)
        try:
            return JSONResponse(work(self.host, read_message(data)))
        except ValueError as error:
            return _error(str(error), 400)

    def _may_make(self, address: str) -> bool:
        if len(self._makers) > MAX_CONNECTIONS:
            self._makers.clear()
        return self._makers.setdefault(address, Bucket(MAKE_RATE, MAKE_BURST)).take()

    # --- connections ---

    async def connect(self, ws: WebSocket) -> None:
        if not own_origin(ws.headers) or self._connections >= MAX_CONNECTIONS:
            await ws.close(1008)
            return
        self._connections += 1
        viewer: Viewer | None = None
        try:
            await ws.accept()
            viewer = await self._greet(ws)
            if viewer is not None:
                await self._serve(ws, viewer)
        except (WebSocketDisconnect, OSError):
            pass
        finally:
            self._connections -= 1
            if viewer is not None and self.host is not None:
                self.host.part(viewer)
            with suppress(Exception):
                await ws.close(1000)

    async def _greet(self, ws: WebSocket) -> Viewer | None:
        assert self.host is not None
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = read_message(await ws.receive_text())
            if hello.get("type") != "hello":
                raise ValueError("the first message is hello")
        except (ValueError, KeyError) as error:
            await ws.close(BAD, str(error))
            return None
        try:
            return self.host.join(hello.get("table", ""), hello.get("token"))
        except Refused as error:
            await ws.close(UNKNOWN, str(error))
            return None

    async def _serve(self, ws: WebSocket, viewer: Viewer) -> None:
        reading = asyncio.create_task(self._read(ws, viewer))
        writing = asyncio.create_task(self._write(ws, viewer))
        done, waiting = await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        code, why = BAD, ""
        for task in done:
            error = task.exception()
            if error is None:
                code, why = task.result()
            elif not isinstance(error, (WebSocketDisconnect, OSError)):
                log.error("connection: %r", error)
        with suppress(Exception):
            async with asyncio.timeout(1):
                await ws.close(code, why)

    async def _read(self, ws: WebSocket, viewer: Viewer) -> tuple[int, str]:
        """Take messages until one breaks the rules of talking."""
        assert self.host is not None
        bucket = Bucket(RATE, BURST)
        while True:
            try:
                text = await ws.receive_text()
            except KeyError:
                return BAD, "messages are texts"
            if not bucket.take():
                return FAST, "too many messages"
            try:
                message = read_message(text)
            except ValueError as error:
                return BAD, str(error)
            if viewer.ended is not None:
                return REPLACED, viewer.ended
            try:
                self.host.hear(viewer, message)
            except Refused as error:
                viewer.reply({"type": "refused", "why": str(error), "id": _text(message.get("id"))})

    async def _write(self, ws: WebSocket, viewer: Viewer) -> tuple[int, str]:
        """Send what there is to send, as long as it is read."""
        while True:
            await viewer.wake.wait()
            if viewer.ended is not None:
                return (REPLACED if viewer.ended == "replaced" else STOPPED), viewer.ended
            for text in viewer.take():
                try:
                    async with asyncio.timeout(SLOW_SECONDS):  # wait_for may swallow a cancellation
                        await ws.send_text(text)
                except TimeoutError:
                    return SLOW, "too slow"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error(why: str, status: int) -> Response:
    return JSONResponse({"error": why}, status)


def seatable(further: tuple[str, ...]) -> list[str]:
    """The specs that may be seated: built-in players, shipped weights where they are, and what the host names."""
    found = list(BUILT_IN)
    if find_spec("torch") is not None:
        found += [spec for spec in SHIPPED if _weights(spec).exists()]
    for spec in further:
        if spec == "human":
            raise ValueError("human plays in a terminal, not at a table: take a seat in the browser")
        make_agent(spec)  # says what is wrong with it
        if spec not in found:
            found.append(spec)
    return found


def _weights(spec: str) -> Path:
    return CLONE / "agents" / "weights" / f"{spec.partition(':')[2]}.safetensors"


def make_app(settings: Settings, ready: Callable[[], None] | None = None) -> Starlette:
    """The application; `ready` is called when it can be used."""
    server = Server(settings, ready)
    everywhere = settings.host in EVERYWHERE and not settings.names
    hosts = ["*"] if everywhere else [*LOCAL, "[::1]", settings.host, *settings.names]
    return Starlette(
        routes=[
            Route("/", server.show_page),
            Route("/t/{name}", server.show_page),
            Route("/healthz", server.health),
            Route("/api/options", server.options),
            Route("/api/tables", server.make, methods=["POST"]),
            Route("/api/sit", server.sit, methods=["POST"]),
            WebSocketRoute("/ws", server.connect),
        ],
        middleware=[Middleware(Headers), Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
        lifespan=server.life,
    )


def serve(settings: Settings) -> None:
    """Serve until interrupted. OSError when the address cannot be listened at."""
    settings.data.mkdir(parents=True, exist_ok=True)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        shown = "127.0.0.1" if settings.host in EVERYWHERE else settings.host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{listening.getsockname()[1]}/"
        print("getting ready: the first start compiles for a minute or more", file=sys.stderr, flush=True)
        app = make_app(settings, lambda: print(f"open {address}", flush=True))
        config = uvicorn.Config(
            app, log_level="warning", ws="websockets-sansio", ws_max_size=MAX_MESSAGE, ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PING_SECONDS, ws_per_message_deflate=False, server_header=False, timeout_graceful_shutdown=2,
        )  # fmt: skip
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
