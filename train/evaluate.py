"""Agents against each other over duplicate deals.

    python -m train.evaluate ppo:runs/quick rule --format 1v3 --deals 1000 --seed 1 --json result.json
    python -m train.evaluate --league random,greedy,rule --format 2v2 --deals 1000 --out runs/league

Prints A's mean payment a hand in units with its 95 % interval, clustered by deal, and what both did. A league plays every
two of its agents against each other. With `--out` what is played is kept in that folder, and the same command goes on
where it was stopped; the results lie there as JSON and as a picture. `--until 0.1` stops as soon as the interval is so
narrow: for exploring, without a verdict.
Exit code 0: done; 1: `--above` asked for more than the interval shows; 2: wrong use or bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from wzmj_env import Rules, duplicate
from wzmj_env.checks import check_int
from wzmj_env.cli import write_json
from wzmj_env.duplicate import FORMATS, MAX_DEALS, Comparison, Profile, cut, play_chunks, summarise, table_for
from wzmj_env.executors import check_executor
from wzmj_env.files import whole_file
from wzmj_env.game import MAX_SEED
from wzmj_env.specs import make_agent

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
    speed = f"{profile.discards:.1f} discards before a win"
    return ", ".join([*(f"{name} {n / won:.1%}" for name, n in named), speed])


# --- playing, and keeping what is played -----------------------------------------------------------------------------


class Folder:
    """The chunks of hands of a run, kept in files that are written whole. ValueError when it holds another run's."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        file = path / "run.json"
        if not file.exists():
            write_json(file, run)
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise ValueError(f"{file} is no description of a run") from None
        different = [name for name in run if not isinstance(found, dict) or found.get(name) != run[name]]
        if different:
            raise ValueError(f"{path} holds another run: {', '.join(different)} differ; give another folder")

    def _file(self, pair: str, chunk: tuple[int, int]) -> Path:
        return self.path / f"hands-{pair}-{chunk[0]}-{chunk[1]}.npy"

    def get(self, pair: str, chunk: tuple[int, int], num_seatings: int) -> np.ndarray | None:
        """The hands of a chunk, None when they are not there whole."""
        try:
            hands: np.ndarray = np.load(self._file(pair, chunk), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        fits = hands.dtype == duplicate.HAND and hands.shape == (chunk[1] - chunk[0], num_seatings)
        return hands if fits else None

    def put(self, pair: str, chunk: tuple[int, int], hands: np.ndarray) -> None:
        with whole_file(self._file(pair, chunk)) as file:
            np.save(file, np.asarray(hands), allow_pickle=False)


def play_pair(
    a: str,
    b: str,
    format: str,
    deals: int,
    *,
    seed: int,
    rules: Rules | None,
    workers: int,
    executor: str = "processes",
    until: float | None = None,
    folder: Folder | None = None,
    pair: str = "0-1",
    progress: duplicate.Progress | None = None,
) -> Comparison:
    """`duplicate.compare`, but what `folder` keeps is not played again, and with `until` it ends as soon as the interval,
    looked at after each chunk, is that wide or less."""
    rules, seating = table_for(format, rules)
    chunks = cut(0, deals)
    kept = {chunk: folder.get(pair, chunk, len(seating)) if folder else None for chunk in chunks}
    missing = [chunk for chunk in chunks if kept[chunk] is None]
    played = play_chunks([a, b], seating, missing, seed=seed, rules=rules, workers=workers, executor=executor)
    parts: list[np.ndarray] = []
    for chunk in chunks:
        hands = kept[chunk]
        if hands is None:
            hands = next(played)
            if folder:
                folder.put(pair, chunk, hands)
        parts.append(hands)
        if progress is not None:
            progress(len(hands))
        if until is not None:
            low, high = duplicate.interval(duplicate.deal_means(np.concatenate(parts), seating, 0))
            if high - low <= until:
                break
    played.close()
    return summarise(a, b, format, np.concatenate(parts), seed, rules, until)


# --- a picture -------------------------------------------------------------------------------------------------------


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Means with their intervals, and the values that both won with, as a picture of the type that `path` ends with."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = np.arange(len(comparisons))[::-1]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 1.6 + 0.7 * len(rows)), layout="constrained")
    means = np.array([c.mean for c in comparisons])
    ends = np.array([[c.mean - c.low, c.high - c.mean] for c in comparisons]).T
    left.errorbar(means, rows, xerr=np.maximum(ends, 0), fmt="o", capsize=4)
    left.axvline(0, color="black", linewidth=0.8)
    left.set_yticks(rows, [f"{c.a}\nagainst {c.b} ({c.format})" for c in comparisons])
    left.set(title="A's payment a hand, duplicate deals", xlabel="units (95 % interval)")
    names, widths = [], []
    for c in comparisons:
        for name, profile in zip((c.a, c.b), c.profiles.values(), strict=True):
            names.append(name)
            widths.append([profile.by_value.get(value, 0) / profile.seats for value in VALUE_NAMES])
    places, start = np.arange(len(names))[::-1], np.zeros(len(names))
    for label, width in zip(VALUE_NAMES.values(), np.array(widths).T, strict=True):
        right.barh(places, width, left=start, label=label)
        start = start + width
    right.set_yticks(places, names)
    right.set(title="hands won, by value", xlabel="share of the hands it sat in")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


# --- the program -----------------------------------------------------------------------------------------------------


def standings(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """The mean payment a hand of each agent of a league over all its opponents, the best first. In formats of unequal
    sides it counts at the seats it had: see `Profile.payment`."""
    payments: dict[str, list[float]] = {}
    for c in comparisons:
        for name, profile in zip((c.a, c.b), c.profiles.values(), strict=True):
            payments.setdefault(name, []).append(profile.payment)
    means = {name: float(np.mean(own)) for name, own in payments.items()}
    return dict(sorted(means.items(), key=lambda item: -item[1]))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m train.evaluate", description=summary, epilog=details,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("agents", metavar="A B", nargs="*", help="A, whose payments are told, and B in the other seats")
    parser.add_argument("--league", metavar="A,B,C", help="instead: each two of these against each other")
    parser.add_argument("--format", choices=FORMATS, default="1v3")
    parser.add_argument("--deals", type=int, default=1000, help="each is played in every seating (default 1000)")
    parser.add_argument("--until", type=float, metavar="WIDTH", help="stop when the interval is so narrow; no verdict")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a YAML file (default: all usual, stakes off)")
    parser.add_argument("--processes", type=int, default=1, help="workers beside each other; they change no result")
    parser.add_argument("--executor", default="processes", help="of them: processes (default), serial, ray or ray:ADDRESS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result here")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the result here, .svg, .png or .pdf")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep everything here, and go on from what is there")
    parser.add_argument("--above", type=float, help="exit with 1 unless the whole interval lies above this")
    return parser


def _names(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> list[str]:
    names: list[str] = arguments.league.split(",") if arguments.league else arguments.agents
    if arguments.league:
        if arguments.agents or arguments.above is not None:
            parser.error("--league stands instead of A and B, and without --above")
        if len(names) < 2 or len(set(names)) < len(names):
            parser.error("--league needs two or more different agents")
    elif len(names) != 2:
        parser.error(f"two agents are needed, A and B, not {len(names)}")
    return names


def evaluate(names: Sequence[str], arguments: argparse.Namespace) -> list[Comparison]:
    """Play what the command line asks for."""
    rules = Rules.load(arguments.rules) if arguments.rules else None
    seed = check_int(arguments.seed, "seed", 0, MAX_SEED)
    deals = check_int(arguments.deals, "deals", 2, MAX_DEALS)
    workers = check_int(arguments.processes, "workers", 1, 1024)
    executor = check_executor(arguments.executor)
    if arguments.until is not None and not arguments.until > 0:
        raise ValueError(f"until must be a width above 0, not {arguments.until}")
    played_by, _ = table_for(arguments.format, rules)
    for name in names:
        make_agent(name)  # a wrong spec ends the run before anything is played
    folder = None
    if arguments.out:
        run = {"agents": list(names), "format": arguments.format, "seed": seed, "rules": played_by.to_dict()}
        folder = Folder(arguments.out, json.loads(json.dumps(run)))  # as it reads back
    pairs = list(combinations(range(len(names)), 2))
    with tqdm(total=deals * len(pairs), unit="deal", disable=None) as bar:
        return [
            play_pair(names[i], names[j], arguments.format, deals, seed=seed, rules=rules, workers=workers,
                      executor=executor, until=arguments.until, folder=folder, pair=f"{i}-{j}", progress=bar.update)
            for i, j in pairs
        ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    names = _names(arguments, parser)
    try:
        comparisons = evaluate(names, arguments)
        ranked = standings(comparisons)
        league = {"standings": ranked, "comparisons": [c.to_dict() for c in comparisons]}
        result = league if arguments.league else comparisons[0].to_dict()
        for path in (arguments.json, arguments.out and arguments.out / "results.json"):
            if path:
                write_json(path, result)
        for path in (arguments.picture, arguments.out and arguments.out / "results.svg"):
            if path:
                draw(comparisons, path)
    except (ValueError, OSError, ImportError) as error:
        print(f"train.evaluate: {error}", file=sys.stderr)
        return 2
    print(table(comparisons))
    for c in comparisons:
        print(mixes(c))
    if arguments.league:
        print("mean over opponents: " + ", ".join(f"{name} {mean:+.3f}" for name, mean in ranked.items()))
    return 1 if arguments.above is not None and not comparisons[0].low > arguments.above else 0


if __name__ == "__main__":
    sys.exit(main())
