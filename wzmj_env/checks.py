"""Checks of arguments from outside: the value as Python's own type, or a ValueError that names it and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

MAX_NAME = 1000  # characters: room for the spec of a program with its path, since records call an agent by its spec


def check_int(value: Any, name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`; a bool or a float is none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return int(value)


def check_flag(value: Any, name: str) -> bool:
    """True or False; a number is neither."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_name(value: Any, name: str) -> str:
    """A text of 1 to MAX_NAME characters, all of which UTF-8 can write."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME or any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{name} must be a text of 1 to {MAX_NAME} characters, not {short(value)}")
    return value


def short(value: Any) -> str:
    """What a message says of a value from outside: its beginning, in ASCII."""
    try:
        text = ascii(value)
    except ValueError:  # Python refuses to write out an int of very many digits
        return "a number too long to show"
    return text if len(text) <= 60 else text[:60] + "..."


def own_options(options: dict[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    """The options of a reset that are ours, `names`. Others are let pass, as PettingZoo's checks ask; what looks like a slip
    is not."""
    options = dict(options or {})
    for name in options:
        if name not in names and (near := difflib.get_close_matches(str(name).lower(), names, n=1)):
            raise ValueError(f"unknown reset option {name!r} (did you mean {near[0]}?); there are {', '.join(names)}")
    return {name: options[name] for name in names if name in options}
