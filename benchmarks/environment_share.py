"""The environment's share of MaskablePPO's wall time through the compiled batch: what is spent inside its calls, in one process.

    python benchmarks/environment_share.py [--tables N] [--rows N] [--updates N] [--width N]

A first update warms up and is not counted. Times are wall times, so that other work on the machine falls on both parts alike.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import gymnasium
from sb3_contrib import MaskablePPO

from wzmj_env import Rules
from wzmj_env.adapters.sb3 import SB3VecEnv


class Timed(SB3VecEnv):
    """The adapter, with the seconds spent in its steps and masks, opponents and copies included."""

    spent = 0.0

    def step_wait(self) -> Any:
        start = time.perf_counter()
        shown = super().step_wait()
        self.spent += time.perf_counter() - start
        return shown

    def env_method(self, *arguments: Any, **keywords: Any) -> list[Any]:
        start = time.perf_counter()
        rows = super().env_method(*arguments, **keywords)
        self.spent += time.perf_counter() - start
        return rows


def measure(tables: int, rows: int, updates: int, width: int) -> dict[str, float]:
    """Train networks of two hidden layers of this width for some updates; seconds in all, and the environment's share."""
    settings: dict[str, Any] = {"opponents": "rule", "rules": Rules(stakes=False)}
    env = Timed(gymnasium.make_vec("wzmj_env/WenzhouMahjong-v0", num_envs=tables, **settings))  # type: ignore[arg-type]
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=rows, batch_size=512, n_epochs=4, gamma=1.0, seed=1, policy_kwargs={"net_arch": [width, width]}
    )
    model.learn(tables * rows)
    env.spent, start = 0.0, time.perf_counter()
    model.learn(updates * tables * rows)
    whole = time.perf_counter() - start
    return {"tables": tables, "width": width, "decisions": updates * tables * rows, "seconds": whole, "share": env.spent / whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=64)
    parser.add_argument("--rows", type=int, default=128, help="decisions a table between updates")
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    print(json.dumps(measure(options.tables, options.rows, options.updates, options.width)))


if __name__ == "__main__":
    main()
