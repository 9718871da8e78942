"""The words between a table and a bot that is a process: JSON, one message a line. See docs/protocol.md.

The table sends what `Game.events` holds for the bot's seat, as it stands there, `ask` with an id, and a few words about
the session; the bot sends `ready`, answers and `resume`. So what a bot is sent is a function of what its seat may know.
"""

from __future__ import annotations

import json
import math
from typing import Any

from . import actions
from .clock import Question
from .rules import Rules

PROTOCOL_VERSION = 1
NAME_LENGTH = 64  # characters of a bot's name that are kept


class Refused(ValueError):
    """A line that changes nothing; `cause` is one word."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def line(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    return _encode(message).encode() + b"\n"


def hello(rules: Rules, seconds: float) -> bytes:
    """The first line of all; the bot has `seconds` to say `ready`."""
    return line(
        {
            "type": "hello",
            "protocol": PROTOCOL_VERSION,
            "actions": actions.ACTION_VERSION,
            "rules": rules.to_dict(),
            "seconds": seconds,
        }
    )


def ask(number: int, question: Question, legal: list[int], seconds: float) -> bytes:
    """A question; `seconds` is what is left to answer it."""
    return line(
        {
            "type": "ask",
            "id": number,
            "question": question.value,
            "legal": legal,
            "names": [_NAMES[action] for action in legal],
            "seconds": None if math.isinf(seconds) else round(seconds, 3),
        }
    )


_NAMES = [actions.name(action) for action in range(actions.NUM_ACTIONS)]


def read(data: bytes) -> dict[str, Any]:
    """A line of a bot's as a JSON object. Refused: `garbage`."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused("garbage") from None
    if not isinstance(message, dict):
        raise Refused("garbage")
    return message


def bot_name(message: dict[str, Any]) -> str | None:
    """The name in a `ready`, made fit to print; None when the message is no `ready`."""
    if message.get("type") != "ready":
        return None
    name = message.get("name")
    text = name if isinstance(name, str) else "nameless"
    return "".join(c if c.isprintable() else "?" for c in text)[:NAME_LENGTH] or "nameless"


def answered_action(message: dict[str, Any], number: int | None, legal: list[int]) -> int:
    """The action in an answer to question `number`, None when none is open.

    Refused: `garbage` for what is no answer, `late` for one to no open question, `illegal`.
    """
    answer_to, action = message.get("id"), message.get("action")
    if type(answer_to) is not int or type(action) not in (int, str):
        raise Refused("garbage")
    if answer_to != number:
        raise Refused("late")
    if isinstance(action, str):
        try:
            action = actions.parse(action)
        except ValueError:
            raise Refused("illegal") from None
    if action not in legal:
        raise Refused("illegal")
    return int(action)
