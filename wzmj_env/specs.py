"""Agents by name, the same words wherever an agent is named: `random`, `rule:1`, `ppo:runs/quick`, `bots:make?depth=2`.

An agent chooses for many tables at once and gets nothing but what the seat to act may know. A built-in one carries the
id of its compiled policy as well, so that it can be played without leaving compiled code; asked like any other agent,
it plays on a state made of the observation, in which nothing stands that its seat does not know.
"""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ._jit import njit
from .bots import Human, ProcessAgent, SingleAgent
from .checks import check_name
from .game import tiles_remaining
from .imagine import read_view
from .observe import OBSERVATION_SIZE
from .players import POLICIES, choose
from .render import table_text
from .rules import Rules
from .state import new_states, plain

CLONE = Path(__file__).resolve().parent.parent  # holds agents/ where this package lies in its repository
PROCESS = "cmd:"
FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
ALLOWED = (
    f"allowed are {', '.join(POLICIES)}, search:WORLDS or search:50ms (a decision), ppo:PATH (a run's folder or weights of"
    " train.ppo), module:factory?key=value&key=value, cmd:program args, and human"
)


class Agent(Protocol):
    """What an agent of whatever make can do."""

    name: str

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """A legal action for each table, `(B,)` integers, from `(B, C, 34) uint8` and `(B, 76) int8`."""

    def reset(self, seed: int) -> None:
        """Start the agent's own randomness anew."""


class BuiltIn:
    """A compiled player: compiled code asks `players.choose` with its `policy` instead of `act`.

    Rules that no observation shows are taken from `rules`, by default the usual ones.
    """

    def __init__(self, name: str, rules: Rules | None = None) -> None:
        self.name = name
        self.policy: int = POLICIES[name]
        self._known = new_states(1, rules or Rules())

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        actions = np.zeros(len(masks), np.int64)
        flat = np.ascontiguousarray(observations).reshape(len(masks), OBSERVATION_SIZE)
        _act_on_views(self._known, flat, masks, self.policy, actions)
        return actions

    def choose(self, states: np.ndarray) -> int:
        """The action of the seat to act in the one game in `states`: what `act` answers, quicker. `random` draws from
        the game's own stream."""
        return int(_choose(states, self.policy))

    def reset(self, seed: int) -> None:
        self._known.policy[0] = np.uint64(seed)


def make_agent(spec: str) -> Agent:
    """The agent that a spec names. ValueError names the spec, what is wrong with it and what is allowed."""
    if not isinstance(spec, str):
        raise ValueError(f"agent {spec!r}: a spec is a text; {ALLOWED}")
    if spec in POLICIES:
        return BuiltIn(spec)
    target, _, query = spec.partition("?")
    try:
        if spec.startswith(PROCESS):
            agent: Any = ProcessAgent(spec.removeprefix(PROCESS))
        elif spec == Human.name:
            agent = Human(view_text)
        elif target.startswith("ppo:"):
            agent = _from_clone("agents.ppo").load(target.removeprefix("ppo:"), **_arguments(query))
        elif target.startswith("search:"):
            agent = _from_clone("agents.search").make(target.removeprefix("search:"), **_arguments(query))
        elif FACTORY.fullmatch(target):
            module, factory = target.split(":")
            agent = _made_by(module, factory, _arguments(query))
        else:
            raise ValueError(f"no such agent; {ALLOWED}")
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise ValueError(f"agent {spec!r}: {error}") from error
    if _takes_one_table(agent):
        agent = SingleAgent(agent)
    if not callable(getattr(agent, "act", None)) or not callable(getattr(agent, "reset", None)):
        raise ValueError(f"agent {spec!r}: what it made has no act(observations, masks) and reset(seed), nor"
                         " act(observation, mask, info)")  # fmt: skip
    agent.name = check_name(spec, "the spec of an agent")
    return agent


def split_specs(text: str) -> list[str]:
    """Specs in one text, separated by commas; one that holds a comma itself stands in double quotes.

    >>> split_specs('rule,"cmd:bot --weights 1,2"')
    ['rule', 'cmd:bot --weights 1,2']
    """
    return next(csv.reader([text], skipinitialspace=True), [])


def _takes_one_table(agent: Any) -> bool:
    """Whether this is a player of one table: `act(observation, mask, info)`."""
    try:
        signature = inspect.signature(agent.act)
        signature.bind(None, None, None)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _arguments(query: str) -> dict[str, Any]:
    """`key=value&key=value` as keyword arguments: Python literals where they are such, else texts."""
    arguments: dict[str, Any] = {}
    for part in query.split("&") if query else ():
        key, equals, text = part.partition("=")
        if not equals or not key.isidentifier() or key in arguments:
            raise ValueError(f"{part!r} is no key=value, or its key stands twice")
        try:
            arguments[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            arguments[key] = text
    return arguments


def _from_clone(module: str) -> Any:
    """A module of the repository this package lies in, from whatever folder the program is run."""
    if not (CLONE / "agents").is_dir():
        raise ValueError(f"it needs the folder agents/ of a clone of wzmj, and there is none at {CLONE / 'agents'}")
    if str(CLONE) not in sys.path:
        sys.path.append(str(CLONE))
    return importlib.import_module(module)


def _made_by(module: str, factory: str, arguments: dict[str, Any]) -> Any:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # as `python -m` does: agents may lie in the folder one works in
    try:
        make = getattr(importlib.import_module(module), factory)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise
        raise ValueError(f"no module {module!r}; {ALLOWED}") from None
    except AttributeError:
        raise ValueError(f"module {module!r} has no {factory!r}") from None
    return make(**arguments)


@njit
def _choose(states, policy):
    return choose(states[0], policy)


@njit
def _act_on_views(known, observations, masks, policy, actions):
    for i in range(len(masks)):
        read_view(observations[i], masks[i], known[0])
        actions[i] = choose(known[0], policy)


@njit
def _read_view(known, planes, mask):
    read_view(planes, mask, known[0])


def view_text(observation: np.ndarray, mask: np.ndarray) -> str:
    """The table as text, from what one seat knows: it is seat 0 here, the next in turn seat 1, and so on."""
    known = new_states(1, Rules())
    planes = np.ascontiguousarray(observation).reshape(OBSERVATION_SIZE)
    _read_view(known, planes, mask)
    return table_text(known[0], int(tiles_remaining(plain(known))), 0)
