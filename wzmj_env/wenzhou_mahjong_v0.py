"""The AEC environment under its name in PettingZoo's manner: `wenzhou_mahjong_v0.env()` and `.raw_env()`."""

from .aec import env, raw_env

__all__ = ["env", "raw_env"]
