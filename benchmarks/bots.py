"""How fast bots play: processes by questions a second, players of this process by hands a second, recorded and not.

python benchmarks/bots.py --seconds 5 --bot "python examples/bots/random_bot.py"
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from wzmj_env import Rules, duplicate
from wzmj_env.bots import ProcessAgent
from wzmj_env.record import Recorder
from wzmj_env.room import Room
from wzmj_env.specs import make_agent

RULES = Rules(stakes=False)
SEATS = np.arange(4)[None]


def processor_time() -> float:
    """Seconds that this process and those of its children that have ended have computed."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def questions(bot: str, seconds: float) -> tuple[float, float, float]:
    """Questions a second that one table of four processes answers, the longest answer in seconds, and the seconds of
    processor time that a question takes in table and bots together, their start included."""
    with Room([ProcessAgent(bot)] * 4, RULES) as room:
        list(room.play(SEATS, 0, 5, 1))  # starts the programs, compiles
        room.reset_use()
        computed = processor_time()
        start, deal = time.perf_counter(), 5
        while (spent := time.perf_counter() - start) < seconds:
            deal += len(list(room.play(SEATS, deal, deal + 1, 1)))
        bots = room.bots.values()
        assert not any(one.faults for one in bots)
        asked = sum(one.questions for one in bots)
        longest = max(one.longest for one in bots)
    return asked / spent, longest, (processor_time() - computed) / asked


def recorded_hands(agent: str, seconds: float) -> float:
    """Hands a second of four players of this process, each hand recorded."""
    room = Room([make_agent(agent)] * 4, RULES)
    with (
        tempfile.TemporaryDirectory() as folder,
        Recorder(Path(folder) / "hands.jsonl", RULES, [agent] * 4) as recorder,
    ):
        list(room.play(SEATS, 0, 5, 1, recorder))
        start, hands = time.perf_counter(), 0
        while (spent := time.perf_counter() - start) < seconds:
            hands += len(list(room.play(SEATS, 5 + hands, 25 + hands, 1, recorder)))
    return hands / spent


def unrecorded_hands(agent: str, seconds: float) -> float:
    """Hands a second of four compiled players."""
    agents = [make_agent(agent)] * 2
    seating = duplicate.seatings("2v2", 4)
    duplicate.play_chunk(agents, seating, 0, 5, 1, RULES)
    start, hands = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < seconds:
        hands += duplicate.play_chunk(agents, seating, 5 + hands, 55 + hands, 1, RULES).size
    return hands / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--bot", default="python examples/bots/random_bot.py")
    parser.add_argument("--agent", default="rule")
    options = parser.parse_args()
    for tables in (1, 2):
        with ProcessPoolExecutor(tables, get_context("spawn")) as executor:
            done = list(executor.map(questions, [options.bot] * tables, [options.seconds] * tables))
        rate, longest, computed = sum(row[0] for row in done), max(row[1] for row in done), max(row[2] for row in done)
        print(
            f"processes, {tables} tables at once: {rate:,.0f} questions/s, longest answer {longest * 1000:.1f} ms,"
            f" {computed * 1e6:.0f} us of processor time a question"
        )
    print(f"{options.agent}, recorded: {recorded_hands(options.agent, options.seconds):,.0f} hands/s")
    print(f"{options.agent}, unrecorded: {unrecorded_hands(options.agent, options.seconds):,.0f} hands/s")


if __name__ == "__main__":
    main()
