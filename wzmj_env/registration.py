"""Registers the environments with Gymnasium and PettingZoo, without importing either.

Both find environments of other packages in no way but a call of their `register`. It is made at once where they are imported
already, else as soon as they are: programs that use neither do not wait for them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

GYMNASIUM_ID = "wzmj_env/WenzhouMahjong-v0"
PETTINGZOO_ID = "wzmj_env/wenzhou_mahjong-v0"


def _with_gymnasium(gymnasium: Any) -> None:
    gymnasium.register(
        GYMNASIUM_ID,
        entry_point="wzmj_env.gym:WenzhouMahjong",
        vector_entry_point="wzmj_env.gym_vector:WenzhouMahjongVector",
    )


def _with_pettingzoo(pettingzoo: Any) -> None:
    if hasattr(pettingzoo, "register"):  # from 1.27 on
        pettingzoo.register("aec", PETTINGZOO_ID, "wzmj_env.wenzhou_mahjong_v0:env")


class _Watcher(MetaPathFinder):
    """Asks the other finders for a module that is watched for, and has a function called once it was imported."""

    def __init__(self, watched: dict[str, Callable[[ModuleType], None]]) -> None:
        self.watched = watched

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        then = self.watched.pop(name, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_then(module: ModuleType) -> None:
                execute(module)
                then(module)

            spec.loader.exec_module = execute_then  # type: ignore[method-assign]
        return spec


def register() -> None:
    """Register now with the libraries that are imported, later with the others."""
    waiting: dict[str, Callable[[Any], None]] = {}
    for name, function in (("gymnasium", _with_gymnasium), ("pettingzoo", _with_pettingzoo)):
        if name in sys.modules:
            function(sys.modules[name])
        else:
            waiting[name] = function
    if waiting:
        sys.meta_path.insert(0, _Watcher(waiting))
