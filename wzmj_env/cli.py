"""The command line: `wzmj play | replay | bench | rules | warmup`. Exit 0 done, 1 the check asked for failed, 2 wrong use."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._version import __version__
from .checks import check_int
from .files import whole_file

DONE, FAILED, WRONG_USE = 0, 1, 2


def write_json(path: str | Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    with whole_file(path) as file:
        file.write(json.dumps(value, indent=1).encode() + b"\n")


def _rules(path: str | None, num_players: int) -> Any:
    from .rules import Rules

    if path is None:
        return Rules(num_players=num_players)
    rules = Rules.load(path)
    if rules.num_players != num_players:
        raise ValueError(f"{path} is for {rules.num_players} players, but {num_players} agents are given")
    return rules


def play(options: argparse.Namespace) -> int:
    """Play hands between agents in fixed seats and print what each got."""
    import numpy as np
    from tqdm import tqdm

    from . import duplicate
    from .game import check_seed
    from .specs import split_specs

    specs = split_specs(options.agents)
    if not 2 <= len(specs) <= 4:
        raise ValueError(f"--agents names {len(specs)} agents; 2 to 4 can play")
    hands = check_int(options.hands, "--hands", 2, duplicate.MAX_DEALS)
    seed = check_seed(options.seed)
    rules = _rules(options.rules, len(specs))
    seating = np.arange(len(specs))[None]
    with tqdm(total=hands, unit="hand", disable=True if "human" in specs else None, file=sys.stderr) as bar:
        played = duplicate.play(specs, seating, 0, hands, seed=seed, rules=rules, progress=bar.update)
    rows = []
    for seat, spec in enumerate(specs):
        payments = duplicate.deal_means(played, seating, seat)
        low, high = duplicate.interval(payments)
        rows.append({"seat": seat, "agent": spec, "mean": float(payments.mean()), "low": low, "high": high,
                     **vars(duplicate.profile(played, seating, seat))})  # fmt: skip
    drawn = int((played["winner"] < 0).sum())
    print(f"{hands} hands, seed {seed}, {drawn} drawn; units a hand, 95 % interval")
    print(f"{'seat':<5}{'agent':<20}{'mean':>9}  {'interval':<20}{'won':>8}{'soft':>7}{'hard':>7}{'double':>8}")
    for row in rows:
        by_value = row["by_value"]
        print(
            f"{row['seat']:<5}{row['agent']:<20}{row['mean']:>+9.3f}  {_span(row['low'], row['high']):<20}"
            f"{row['won'] / hands:>8.1%}{by_value.get(1, 0):>7}{by_value.get(2, 0):>7}{by_value.get(4, 0):>8}"
        )
    patterns: dict[str, int] = {}
    for row in rows:
        for name, n in row["by_pattern"].items():
            patterns[name] = patterns.get(name, 0) + n
    print("patterns: " + ", ".join(f"{name} {n}" for name, n in sorted(patterns.items(), key=lambda x: -x[1])))
    if options.json:
        write_json(options.json, {"seed": seed, "hands": hands, "drawn": drawn, "rules": rules.to_dict(), "seats": rows})
    return DONE


def _span(low: float, high: float) -> str:
    return f"{low:+.3f} .. {high:+.3f}"


def bench(options: argparse.Namespace) -> int:
    """Measure the speeds of this machine."""
    from . import bench as benchmark

    runs = check_int(options.runs, "--runs", 1, 1000)
    report = benchmark.run(runs, options.seconds, lambda name: print(f"measuring: {name}", file=sys.stderr))
    print(benchmark.as_text(report))
    if options.json:
        write_json(options.json, report)
    return DONE


def show_rules(options: argparse.Namespace) -> int:
    """Print the rules in force: each field, its value, what it may be and what it means."""
    from .rules import Rules

    rules = Rules.load(options.rules) if options.rules else Rules()
    for name, sentence in Rules.sentences().items():
        value = getattr(rules, name)
        mark = "" if value == getattr(Rules(), name) else f"  (default {getattr(Rules(), name)})"
        print(f"{name} = {value}{mark}\n    {sentence} {Rules.allowed(name).capitalize()}.")
    print(f"hash {rules.hash}")
    return DONE


def warmup(options: argparse.Namespace) -> int:
    """Compile everything now, so that later processes start at once."""
    from .warm import compile_all

    start = time.perf_counter()
    folder = compile_all()
    where = f"kept in {folder}" if folder else "but nowhere to keep it: set WZMJ_CACHE_DIR to a writable folder"
    print(f"compiled in {time.perf_counter() - start:.1f} s, {where}")
    return DONE


def replay(options: argparse.Namespace) -> int:
    """Print a record, verify it, or turn it into arrays or a page. It is played again and every line compared."""
    from .record import Record, RecordError
    from .replay import as_text, ending_text, write_arrays

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names
    if options.to and not options.to.endswith(".npz"):
        raise ValueError(f"--to writes an .npz file, not {options.to}")
    if options.verify:
        try:
            record = Record(options.file)
            decisions = sum(len(hand.game.actions) for hand in record)
        except RecordError as error:
            print(f"not verified: {error}", file=sys.stderr)
            return FAILED
        print(f"{record.hands} hands and {decisions} decisions verified; {ending_text(record)}")
        if not record.closed:
            return FAILED
    record = Record(options.file)
    if options.to:
        decisions = write_arrays(record, options.to)
        print(f"{decisions} decisions of {record.hands} hands in {options.to}; {ending_text(record)}")
    elif not options.verify:
        for line in as_text(record):
            print(line)
    return DONE


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser("wzmj", description="Wenzhou Mahjong: play, measure, look up the rules.")
    top.add_argument("--version", action="version", version=f"wzmj {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")

    command = commands.add_parser("play", help=play.__doc__, description=play.__doc__)
    command.add_argument("--agents", required=True, help="2 to 4 agents, seat by seat: rule,random,rule,random")
    command.add_argument("--hands", type=int, default=1000, help="how many hands (default 1000)")
    command.add_argument("--seed", type=int, default=None, help="of the walls and players (default: entropy)")
    command.add_argument("--rules", metavar="FILE", help="a rules file (default: classic)")
    command.add_argument("--json", metavar="FILE", help="write the results there too")
    command.set_defaults(run=play)

    command = commands.add_parser("bench", help=bench.__doc__, description=bench.__doc__)
    command.add_argument("--runs", type=int, default=5, help="runs a figure is the median of (default 5)")
    command.add_argument("--seconds", type=float, default=0.5, help="length of a run (default 0.5)")
    command.add_argument("--json", metavar="FILE", help="write the figures there too")
    command.set_defaults(run=bench)

    command = commands.add_parser("rules", help=show_rules.__doc__, description=show_rules.__doc__)
    command.add_argument("--rules", metavar="FILE", help="a rules file (default: classic)")
    command.set_defaults(run=show_rules)

    command = commands.add_parser("replay", help=replay.__doc__, description=replay.__doc__)
    command.add_argument("file", metavar="FILE", help="a record")
    command.add_argument("--verify", action="store_true", help="only tell whether it is complete and all of it is right")
    command.add_argument("--to", metavar="FILE.npz", help="write observations, masks, actions, seats and games there")
    command.set_defaults(run=replay)

    command = commands.add_parser("warmup", help=warmup.__doc__, description=warmup.__doc__)
    command.set_defaults(run=warmup)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except BrokenPipeError:  # whoever reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at its end
        return DONE
    except (ValueError, OSError) as error:
        print(f"wzmj {options.command}: {error}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print(f"wzmj {options.command}: stopped", file=sys.stderr)
        return FAILED
    return status


if __name__ == "__main__":
    sys.exit(main())
