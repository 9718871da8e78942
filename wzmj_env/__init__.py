"""wzmj: an environment for Wenzhou Mahjong (温州麻将)."""

from . import actions, hand, scoring, tiles
from ._version import __version__
from .actions import ACTION_VERSION
from .batch import VectorEnv
from .game import Game, IllegalActionError, Match, Result
from .observe import OBSERVATION_VERSION
from .patterns import Pattern
from .rules import Rules

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
]
