"""Checks of arguments from outside: the value as Python's own type, or a ValueError that names it and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np


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
