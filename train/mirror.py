"""Decisions with 1 to 9 of every suit exchanged for 9 to 1, and chi low for chi high: the game is the same (see
`tests/test_symmetry.py`), so that each teaches twice."""

from __future__ import annotations

import numpy as np

from agents.advice import ADVICE
from wzmj_env.actions import CHI_HIGH, CHI_LOW, GANG, NUM_ACTIONS
from wzmj_env.observe import PLANE, PLANES, STATE_PLANES
from wzmj_env.tiles import COPIES, HONOURS, NUM_KINDS, RANKS

NEW_FATES = np.arange(256, dtype=np.uint8)  # of discards: 1 taken for chi low, 3 for chi high
NEW_FATES[[1, 3]] = 3, 1
FACTS = ("TABLE", "SEAT", "ANSWERS")  # planes whose columns are not kinds


def mirror_kinds(last: int = RANKS) -> np.ndarray:
    """The new name of each kind, `(34,)`: of a tile, or of a run by its lowest tile, which is at most `last`."""
    kinds = np.arange(NUM_KINDS)
    suits = kinds[:HONOURS]
    kinds[:HONOURS] = np.where(suits % RANKS < last, suits - suits % RANKS + last - 1 - suits % RANKS, suits)
    return kinds


def mirror_actions() -> np.ndarray:
    """The new id of each action, `(76,)`."""
    actions, kinds = np.arange(NUM_ACTIONS), mirror_kinds()
    actions[:GANG], actions[GANG:CHI_LOW] = kinds, GANG + kinds
    actions[[CHI_LOW, CHI_HIGH]] = CHI_HIGH, CHI_LOW
    return actions


def mirror_state() -> np.ndarray:
    """The new place of each number in the flat state, `(STATE_SIZE,)`."""
    places: list[np.ndarray] = []
    for name, size, _ in (*PLANES, *STATE_PLANES):
        kinds = np.arange(NUM_KINDS) if name in FACTS else mirror_kinds(RANKS - 2 if name == "CHI" else RANKS)
        places += [(len(places) + i) * NUM_KINDS + kinds for i in range(size)]
    return np.concatenate(places)


def mirror_advice() -> np.ndarray:
    """The new place of each column of an advice, `(ADVICE_SIZE,)`."""
    new = {"RATIO": mirror_actions(), "LIVE": mirror_kinds(), "BEST": np.arange(1)}
    starts = np.cumsum([0, *ADVICE.values()])
    return np.concatenate([start + new[name] for start, name in zip(starts, ADVICE, strict=False)])


def mirror_columns(columns: np.ndarray) -> np.ndarray:
    """Of inputs that are `columns` of the flat state: the new place of each, `(len(columns),)`."""
    place = {column: i for i, column in enumerate(columns.tolist())}
    return np.array([place[column] for column in mirror_state()[columns].tolist()])


def mirror_inputs(inputs: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A copy `(N, len(columns)) uint8` of mirrored decisions; `columns` of the flat state, but for its answers."""
    found = inputs[:, mirror_columns(columns)]  # a mirroring is its own inverse
    fates = np.flatnonzero(np.isin(columns // NUM_KINDS, PLANE["DISCARD_FATE"] + np.arange(COPIES)))
    if len(fates):
        found[:, fates] = NEW_FATES[found[:, fates]]
    return found
