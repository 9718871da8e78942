"""Hands a second of one core that are played by compiled players and recorded, and that are read and verified again.

    python benchmarks/recording.py [HANDS]
"""

import sys
import tempfile
import time
from pathlib import Path

from wzmj_env import Match, Rules
from wzmj_env.record import Record, Recorder
from wzmj_env.specs import BuiltIn

RULES = Rules()


def play(path: Path, hands: int) -> None:
    """A match of rule players, each asked through its observation."""
    player, match = BuiltIn("rule", RULES), Match(RULES, hands=hands, seed=1)
    with Recorder(path, RULES, ["a", "b", "c", "d"]) as recorder:
        recorder.begin(match)
        while not match.done:
            seat = match.current_player
            recorder.step(int(player.act(match.observe(seat)[None], match.action_mask()[None])[0]))


def read(path: Path) -> int:
    return sum(len(hand.game.actions) for hand in Record(path))


def main(hands: int) -> None:
    folder = Path(tempfile.mkdtemp())
    play(folder / "warm.jsonl", 2)
    read(folder / "warm.jsonl")
    for name in ("match.jsonl", "match.jsonl.gz"):
        start = time.process_time()
        play(folder / name, hands)
        played = time.process_time()
        decisions = read(folder / name)
        verified = time.process_time()
        size = (folder / name).stat().st_size / hands
        print(
            f"{name:<16}{hands / (played - start):>6.0f} hands/s recorded,{hands / (verified - played):>6.0f} verified;"
            f" {decisions / hands:.1f} decisions and {size:,.0f} bytes a hand"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
