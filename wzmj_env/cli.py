"""The command line: `wzmj play | table | arena | ladder | replay | explain | bench | rules | warmup`.

Exit 0 done, 1 the check asked for failed, 2 wrong use.
"""

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
from .files import write_whole

DONE, FAILED, WRONG_USE = 0, 1, 2
MAX_SECONDS = 3600


def write_json(path: str | Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_whole(path, json.dumps(value, indent=1) + "\n")


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
    from . import peers

    runs = check_int(options.runs, "--runs", 1, 1000)
    if not 0 < options.seconds <= MAX_SECONDS:
        raise ValueError(f"--seconds must be above 0 and at most {MAX_SECONDS}, not {options.seconds}")

    def tell(name: str) -> None:
        print(f"measuring: {name}", file=sys.stderr)

    report = benchmark.run(runs, options.seconds, tell)
    print(benchmark.as_text(report))
    if options.peers is not None:
        report["peers"] = peers.compare(options.peers, runs, options.seconds, tell)
        print(peers.as_text(report["peers"]))
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
    if options.html:
        from .page import write_page

        record = Record(options.file)
        print(f"{write_page(options.html, record)} hands in {options.html}; {ending_text(record)}")
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
    elif not options.verify and not options.html:
        for line in as_text(record):
            print(line)
    return DONE


def arena(options: argparse.Namespace) -> int:
    """Every agent against every other over duplicate deals, with a report; --resume goes on with one that was stopped."""
    from tqdm import tqdm

    from . import arena as tournament
    from . import report
    from .executors import check_executor
    from .rules import Rules
    from .specs import split_specs

    workers = check_int(options.workers, "--workers", 1, 1024)
    check_executor(options.executor)
    plan = None
    if options.agents is not None:
        agents = split_specs(options.agents)
        rules = Rules(stakes=False, num_players=options.players) if options.rules is None else Rules.load(options.rules)
        plan = tournament.Plan(
            tuple(agents), options.players, options.deals, options.seed, rules, records=not options.no_records,
            **_clock_options(options),
        )  # fmt: skip
    elif not options.resume:
        raise ValueError("--agents names the agents, such as --agents rule,greedy,random")
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    store = tournament.Store(folder, plan, options.resume)
    try:
        pairs = len(store.plan.agents) * (len(store.plan.agents) - 1) // 2
        with tqdm(total=pairs * store.plan.deals, unit="deal", disable=None, file=sys.stderr) as bar:

            def told(standings: tournament.Standings, deals: int) -> None:
                bar.set_postfix_str(standings.best(), refresh=False)
                bar.update(deals)

            complete = tournament.run(store, folder, workers=workers, executor=options.executor, told=told)
        results = tournament.results(store)
    finally:
        store.close()
    report.write(folder, results)
    for agent in results["agents"]:
        rating = f"{agent['rating']['elo']:>+7.0f}" if agent["rating"] else ""
        faults = agent["use"]["faults"] if agent["use"] else {}
        blamed = "  faults: " + ", ".join(f"{cause} {n}" for cause, n in faults.items()) if faults else ""
        print(f"{agent['agent']:<28}{agent['mean']:>+9.3f}  {_span(agent['low'], agent['high']):<20}{rating}{blamed}")
    if results["ratings_hint"]:
        print(results["ratings_hint"], file=sys.stderr)
    print(f"report in {folder / 'report.html'}")
    if not complete:
        print(f"stopped: {results['units']['missing']} units of work are missing and left out; --resume goes on", file=sys.stderr)
        return FAILED
    return DONE


def _clock_options(options: argparse.Namespace) -> dict[str, Any]:
    """The times and limits of bots that are processes."""
    from .clock import Times
    from .process import Limits

    if options.no_clock:
        times = Times.untimed(away=options.away)
    else:
        times = Times(options.turn, options.short_turn, options.claim, options.away)
    megabytes = check_int(options.memory, "--memory", 16, 1 << 20)
    return {
        "times": times,
        "patience": _seconds(options.patience, "--patience"),
        "startup": _seconds(options.startup, "--startup"),
        "restarts": options.restarts,
        "limits": Limits(memory=megabytes << 20, processes=check_int(options.processes, "--processes", 1, 1 << 16)),
    }


def _seconds(value: float, name: str) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be a number of seconds above 0, not {value}")
    return value


def table(options: argparse.Namespace) -> int:
    """Tables for people, with each other and with agents, in a browser; restored from DIR when started again."""
    from .clock import Times
    from .rules import Rules

    try:
        from .web import Settings, serve
    except ImportError as error:
        raise ValueError(f"the table needs {error.name}: pip install 'wzmj[web]'") from None
    settings = Settings(
        host=options.host,
        port=check_int(options.port, "--port", 0, 65535),
        data=Path(options.data),
        names=tuple(options.name),
        agents=tuple(options.agent),
        rules=Rules.load(options.rules) if options.rules else Rules(),
        times=Times(options.turn, options.short_turn, options.claim, options.away),
        pause=_seconds(options.pause, "--pause"),
        pace=options.pace,
    )
    serve(settings)
    return DONE


def ladder(options: argparse.Namespace) -> int:
    """Bots register, play when they are free, and are rated after each game."""
    from tqdm import tqdm

    from .ladder import Ladder
    from .referee import Referee
    from .rules import Rules

    if options.action == "show" and not Path(options.db).exists():
        raise ValueError(f"there is no ladder {options.db}; wzmj ladder add makes one")
    rules = Rules.load(options.rules) if options.rules else None
    with Ladder(options.db, rules, options.seed) as running:
        if options.action == "add":
            running.add(options.name, options.agent)
        elif options.action == "run":
            games = check_int(options.games, "--games", 1, 10**9)
            for _ in tqdm(running.run(games, Referee()), total=games, unit="game", disable=None, file=sys.stderr):
                pass
        if options.action != "add":
            print(f"{'':<4}{'name':<20}{'rating':>8}{'mean':>8}{'+-':>7}{'games':>7}  agent")
            for place, bot in enumerate(running.standings(), 1):
                faults = "".join(f", {cause} {n}" for cause, n in bot.use.faults.items())
                print(
                    f"{place:<4}{bot.name:<20}{bot.rating:>8.2f}{bot.mean:>8.2f}{bot.deviation:>7.2f}{bot.games:>7}"
                    f"  {bot.spec}{faults}"
                )
    return DONE


def explain(options: argparse.Namespace) -> int:
    """Tell for each legal action of a position its score by the rule player, what it leaves and which live tiles help."""
    from .explain import as_text
    from .game import Game
    from .tiles import parse_kind

    claim = None
    if options.claim:
        seat, _, tile = options.claim.partition(":")
        claim = _seat(seat, "--claim"), parse_kind(tile)
    game = Game.from_position(
        options.hand,
        options.caishen,
        rules=_rules(options.rules, options.players),
        seat=options.seat,
        dealer=options.dealer,
        melds={seat: text.split(",") for seat, text in _by_seat(options.melds, "--melds").items()},
        discards=_by_seat(options.discards, "--discards"),
        claim=claim,
        after_claim=options.after_claim,
        ladder=options.ladder,
        seed=0,  # draws what the seat cannot see, on which nothing told here depends
    )
    for line in as_text(game):
        print(line)
    return DONE


def _by_seat(given: Sequence[str], name: str) -> dict[int, str]:
    """`SEAT:WHAT` for every seat that has something."""
    found: dict[int, str] = {}
    for text in given:
        seat, _, what = text.partition(":")
        if _seat(seat, name) in found:
            raise ValueError(f"{name} has seat {seat} twice")
        found[int(seat)] = what.strip()
    return found


def _seat(text: str, name: str) -> int:
    if text not in ("0", "1", "2", "3"):
        raise ValueError(f"{name} takes SEAT:WHAT with a seat from 0 to 3, not {text!r}")
    return int(text)


def _add_clock(command: argparse.ArgumentParser, who: str) -> None:
    """The times of R10."""
    command.add_argument("--turn", type=float, default=20.0, help="seconds of a turn (default 20)")
    command.add_argument("--short-turn", type=float, default=10.0, help="of a turn after one that ran out (default 10)")
    command.add_argument("--claim", type=float, default=10.0, help="of a claim or stake (default 10)")
    command.add_argument("--away", type=float, default=90.0, help=f"for {who} to be back (default 90)")


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

    command = commands.add_parser("table", help=table.__doc__, description=table.__doc__)
    command.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1: this machine alone)")
    command.add_argument("--port", type=int, default=8000, help="the port (default 8000; 0: any that is free)")
    command.add_argument("--data", metavar="DIR", default="tables", help="for records, results and seats (default tables)")
    command.add_argument("--name", action="append", default=[], help="a host name under which browsers may reach it; repeatable")
    command.add_argument("--agent", action="append", default=[], help="one more agent that may be seated, as a spec; repeatable")
    command.add_argument("--rules", metavar="FILE", help="a rules file; players and unit are chosen at each table")
    _add_clock(command, "a lost connection")
    command.add_argument("--pause", type=float, default=20.0, help="between hands, if not all press continue (default 20)")
    command.add_argument("--pace", type=float, default=0.6, help="seconds that agents take at least for a turn (default 0.6)")
    command.set_defaults(run=table)

    command = commands.add_parser("arena", help=arena.__doc__, description=arena.__doc__)
    command.add_argument("--agents", help='2 or more, such as rule,greedy,"cmd:python bot.py"')
    command.add_argument("--players", type=int, choices=(2, 4), default=4, help="seats: 4, two against two (default), or 2")
    command.add_argument("--deals", type=int, default=100, help="of each pair, each in every seating (default 100)")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--rules", metavar="FILE", help="a rules file (default: classic, stakes off)")
    command.add_argument("--out", metavar="DIR", required=True, help="the folder of the report, the records and what is kept")
    command.add_argument("--resume", action="store_true", help="go on with the tournament in DIR")
    command.add_argument("--workers", type=int, default=1, help="processes beside each other; they change no result")
    command.add_argument("--executor", default="processes", help="of them: processes (default), serial, ray or ray:ADDRESS")
    command.add_argument("--no-records", action="store_true", help="keep no record of each hand: several times faster")
    _add_clock(command, "a process that has died")
    command.add_argument("--startup", type=float, default=20.0, help="for a process to be ready (default 20)")
    command.add_argument("--restarts", type=int, default=3, help="of a process in one hand (default 3)")
    command.add_argument("--no-clock", action="store_true", help="no limit on turns, claims and stakes but --patience")
    command.add_argument("--patience", type=float, default=60.0, help="of silence after which a process has left (default 60)")
    command.add_argument("--memory", type=int, default=2048, help="MiB that a process and what it starts may take (default 2048)")
    command.add_argument("--processes", type=int, default=64, help="that a process may start (default 64)")
    command.set_defaults(run=arena)

    command = commands.add_parser("ladder", help=ladder.__doc__, description=ladder.__doc__)
    actions = command.add_subparsers(dest="action", required=True, metavar="action")
    action = actions.add_parser("add", help="register a bot")
    action.add_argument("name", help="as it stands on the ladder")
    action.add_argument("agent", help="its spec, such as rule or 'cmd:python bot.py'")
    for name, words in (("run", "play games"), ("show", "print the standings")):
        action = actions.add_parser(name, help=words)
        if name == "run":
            action.add_argument("--games", type=int, default=10, help="how many (default 10)")
    for action in actions.choices.values():
        action.add_argument("--db", metavar="FILE", default="ladder.db", help="the ladder (default ladder.db)")
        action.add_argument("--rules", metavar="FILE", help="of a ladder that is made now (default: classic, stakes off)")
        action.add_argument("--seed", type=int, default=0, help="of a ladder that is made now")
    command.set_defaults(run=ladder)

    command = commands.add_parser("bench", help=bench.__doc__, description=bench.__doc__)
    command.add_argument("--runs", type=int, default=5, help="runs a figure is the median of (default 5)")
    command.add_argument("--seconds", type=float, default=0.5, help="length of a run (default 0.5)")
    command.add_argument("--json", metavar="FILE", help="write the figures there too")
    command.add_argument("--peers", nargs="*", metavar="PYTHON", help="then other environments, those installed here"
                         " or for one of these interpreters, in turn with ours (see benchmarks/)")  # fmt: skip
    command.set_defaults(run=bench)

    command = commands.add_parser("rules", help=show_rules.__doc__, description=show_rules.__doc__)
    command.add_argument("--rules", metavar="FILE", help="a rules file (default: classic)")
    command.set_defaults(run=show_rules)

    command = commands.add_parser("replay", help=replay.__doc__, description=replay.__doc__)
    command.add_argument("file", metavar="FILE", help="a record")
    command.add_argument("--verify", action="store_true", help="only tell whether it is complete and all of it is right")
    command.add_argument("--to", metavar="FILE.npz", help="write observations, masks, actions, seats and games there")
    command.add_argument("--html", metavar="FILE.html", help="write a page there that shows the record in a browser")
    command.set_defaults(run=replay)

    command = commands.add_parser("explain", help=explain.__doc__, description=explain.__doc__)
    command.add_argument("hand", metavar="HAND", help="own concealed tiles, such as 123m456p55z; the last one was just drawn")
    command.add_argument("--caishen", required=True, metavar="TILE", help="the wild kind, such as 5p")
    command.add_argument("--players", type=int, default=4, help="how many play (default 4)")
    command.add_argument("--seat", type=int, default=0, help="own seat (default 0)")
    command.add_argument("--dealer", type=int, default=0, help="the dealer's seat (default 0)")
    command.add_argument("--ladder", type=int, default=0, help="index of the dealer's base (default 0)")
    command.add_argument("--melds", nargs="+", default=[], metavar="SEAT:MELDS", help="such as '1:peng 222z,chi 345p'")
    command.add_argument("--discards", nargs="+", default=[], metavar="SEAT:TILES", help="in order, such as 0:31z2m 1:9s")
    command.add_argument("--claim", metavar="SEAT:TILE", help="asked about this tile, which that seat has just discarded")
    command.add_argument("--after-claim", action="store_true", help="to discard after chi or peng: no tile was drawn")
    command.add_argument("--rules", metavar="FILE", help="a rules file (default: classic)")
    command.set_defaults(run=explain)

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
