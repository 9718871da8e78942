"""wzmj: an environment for Wenzhou Mahjong (温州麻将)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import actions, hand, scoring, tiles
from ._version import __version__
from .actions import ACTION_VERSION
from .batch import VectorEnv
from .game import Game, IllegalActionError, Match, Result
from .observe import OBSERVATION_VERSION
from .patterns import Pattern
from .registration import register
from .rules import Rules

if TYPE_CHECKING:
    from . import wenzhou_mahjong_v0

__all__ = [
    "ACTION_VERSION",
    "OBSERVATION_VERSION",
    "Game",
    "IllegalActionError",
    "Match",
    "Pattern",
    "Result",
    "Rules",
    "VectorEnv",
    "__version__",
    "actions",
    "hand",
    "scoring",
    "tiles",
    "wenzhou_mahjong_v0",
]


def __getattr__(name: str) -> Any:
    """`wenzhou_mahjong_v0` is imported when it is first asked for: PettingZoo takes its time."""
    if name == "wenzhou_mahjong_v0":
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register()
del register
