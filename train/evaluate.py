"""One agent against another over duplicate deals.

    python -m train.evaluate ppo:runs/quick rule --format 1v3 --deals 1000 --seed 1 --json result.json

Prints A's mean payment a hand in units with its 95 % interval, clustered by deal, and what both did.
Exit code 0: done; 1: `--above` asked for more than the interval shows; 2: wrong use or bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from wzmj_env import Rules
from wzmj_env.checks import check_int
from wzmj_env.duplicate import FORMATS, Comparison, Profile, compare
from wzmj_env.game import MAX_SEED

VALUE_NAMES = {1: "soft", 2: "hard", 4: "double"}


def table(comparisons: Sequence[Comparison]) -> str:
    """The results as text, a row each. Rates are of the hands that A sat in, once a seat."""
    head = ("A", "B", "format", "deals", "mean", "95 % interval", "verdict", "A won", "B won", "A fed", "B fed")
    rows = [head]
    for c in comparisons:
        a, b = c.profiles["a"], c.profiles["b"]
        rows.append(
            (
                c.a, c.b, c.format, str(c.deals), f"{c.mean:+.3f}", f"{c.low:+.3f} .. {c.high:+.3f}", c.verdict,
                f"{a.win_rate:.1%}", f"{b.win_rate:.1%}", f"{a.deal_in / a.seats:.1%}", f"{b.deal_in / b.seats:.1%}",
            )
        )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def mixes(c: Comparison) -> str:
    """How both won, as text."""
    lines = [f"{c.hands} hands, {c.drawn / c.hands:.1%} drawn, {c.discards:.1f} discards a hand"]
    for name, profile in zip((c.a, c.b), c.profiles.values(), strict=True):
        share = profile.won / max(c.hands - c.drawn, 1)
        lines.append(f"{name}: won {share:.1%} of the hands won; of these {_shares(profile)}")
    return "\n".join(lines)


def _shares(profile: Profile) -> str:
    won = max(profile.won, 1)
    values = [(name, profile.by_value.get(value, 0)) for value, name in VALUE_NAMES.items()]
    named = [*values, ("own draw", profile.own_draw), *sorted(profile.by_pattern.items(), key=lambda item: -item[1])]
    return ", ".join(f"{name} {n / won:.1%}" for name, n in named)


def main(argv: Sequence[str] | None = None) -> int:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m train.evaluate", description=summary, epilog=details,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("a", metavar="A", help="the agent whose payments are told, such as rule or ppo:runs/quick")
    parser.add_argument("b", metavar="B", help="the agent in the other seats")
    parser.add_argument("--format", choices=FORMATS, default="1v3")
    parser.add_argument("--deals", type=int, default=1000, help="each is played in every seating (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a YAML file (default: all usual, stakes off)")
    parser.add_argument("--processes", type=int, default=1, help="workers beside each other; they change no result")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here")
    parser.add_argument("--above", type=float, help="exit with 1 unless the whole interval lies above this")
    arguments = parser.parse_args(argv)
    try:
        rules = Rules.load(arguments.rules) if arguments.rules else None
        seed = check_int(arguments.seed, "seed", 0, MAX_SEED)
        with tqdm(total=arguments.deals, unit="deal", disable=None) as bar:
            c = compare(arguments.a, arguments.b, arguments.format, arguments.deals, seed=seed, rules=rules,
                        workers=arguments.processes, progress=bar.update)  # fmt: skip
        if arguments.json:
            arguments.json.write_text(json.dumps(c.to_dict(), indent=1) + "\n", encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"train.evaluate: {error}", file=sys.stderr)
        return 2
    print(table([c]))
    print(mixes(c))
    return 1 if arguments.above is not None and not c.low > arguments.above else 0


if __name__ == "__main__":
    sys.exit(main())
