"""How a policy that an example has trained does against three rule players, over duplicate deals."""

from collections.abc import Callable

import numpy as np

from wzmj_env.duplicate import Comparison, compare


class Learnt:
    """A policy as an agent: `act` answers for many tables, `(B, C, 34) uint8` and `(B, 76) int8` to `(B,)` actions."""

    def __init__(self, name: str, act: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.name = name
        self.act = act

    def reset(self, seed: int) -> None:
        """It draws no lots."""


def against_rule(name: str, act: Callable[[np.ndarray, np.ndarray], np.ndarray], deals: int) -> Comparison:
    """Play, print the mean payment a hand with its 95 % interval, return all that was found."""
    found = compare(Learnt(name, act), "rule", "1v3", deals, seed=1)
    span = f"{found.low:+.3f} .. {found.high:+.3f}"
    print(f"{name} against three rule players, {deals} deals: {found.mean:+.3f} ({span}) units a hand")
    return found
