"""wzmj: an environment for Wenzhou Mahjong (温州麻将)."""

from wzmj_env._version import __version__

__all__ = ["__version__"]
