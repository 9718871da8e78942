"""Learners in actors of Ray, each a `train.ppo` of its own, as torchrun starts them as processes.

    python -m train.learners 2 configs/ppo/quick.yaml [--field value ...]
    python -m train.learners 2 --address 10.0.0.1:6379 --resume runs/quick

What stands behind the number of learners and `--address` goes to `train.ppo`. The first learner writes the run's folder, which
must be a place that its machine has; the others only read the configuration. A learner that is lost ends all of them: the
run goes on from its last checkpoint with `--resume`.
Exit code: that of the first learner; 1 when one was lost; 2: wrong use or bad input.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence

from wzmj_env.checks import check_int
from wzmj_env.executors import connect_ray


class Learner:
    """What runs in an actor."""

    def where(self) -> tuple[str, int]:
        """An address of this machine, and a port that is free."""
        import ray

        with socket.socket() as free:
            free.bind(("", 0))
            return ray.util.get_node_ip_address(), free.getsockname()[1]

    def train(self, number: int, size: int, first: tuple[str, int], arguments: list[str], folder: str) -> int:
        """`train.ppo` as learner `number` of `size`, the first of whom waits for the others at an address."""
        from train.ppo import main

        os.chdir(folder)
        where = {"RANK": number, "WORLD_SIZE": size, "MASTER_ADDR": first[0], "MASTER_PORT": first[1]}
        os.environ |= {name: str(value) for name, value in where.items()}
        return main(arguments)


def run(learners: int, arguments: list[str], address: str = "") -> int:
    """Train with so many learners. The exit code."""
    ray, connected = connect_ray(address, learners, log_to_driver=True)
    actor = ray.remote(num_cpus=1)(Learner)
    actors = [actor.remote() for _ in range(learners)]
    try:
        first = ray.get(actors[0].where.remote())
        left = [a.train.remote(i, learners, first, arguments, os.getcwd()) for i, a in enumerate(actors)]
        codes = []
        while left:
            (done, *_), left = ray.wait(left)
            codes.append(ray.get(done))
        return max(codes)
    except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError) as error:
        print(f"train.learners: a learner was lost; --resume goes on from the last checkpoint\n{error}", file=sys.stderr)
        return 1
    finally:
        for one in actors:
            ray.kill(one)
        if connected:
            ray.shutdown()


def main(argv: Sequence[str] | None = None) -> int:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m train.learners", description=summary, epilog=details, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("learners", type=int, help="how many")
    parser.add_argument("--address", default="", help="of a Ray cluster (default: RAY_ADDRESS, else one of its own)")
    options, rest = parser.parse_known_args(argv)
    try:
        return run(check_int(options.learners, "learners", 1, 1024), rest, options.address)
    except ValueError as error:
        print(f"train.learners: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
