"""The arena: tournaments that are killed and go on, results that add up, a report that is inert."""

import csv
import html.parser
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_referee import BLAMED, QUICK, RANDOM_BOT, marked  # noqa: F401

from wzmj_env import Rules, arena, cli, duplicate, ratings, report
from wzmj_env.arena import Plan, Store
from wzmj_env.clock import Times
from wzmj_env.process import Limits
from wzmj_env.record import Record

from test_page import browser  # noqa: F401

DUEL = Rules(num_players=2, stakes=False)


def tournament(folder, plan, *, resume=False, workers=1, units=None):
    """Play, or play on; after `units` of work the keyboard interrupts."""
    folder.mkdir(exist_ok=True)
    store = Store(folder, plan, resume)
    count = 0

    def told(standings, deals):
        nonlocal count
        count += 1
        if count == units:
            raise KeyboardInterrupt

    try:
        complete = arena.run(store, folder, workers=workers, told=told)
        return complete, arena.results(store)
    finally:
        store.close()


def without_time(results):
    """All that is the same each time."""
    results = json.loads(json.dumps(results))
    for agent in results["agents"]:
        if agent["use"]:
            del agent["use"]["seconds"], agent["use"]["longest"]
    return results


def plan(*agents, players=2, deals=40, records=False, **fields):
    return Plan(agents, players, deals, 3, Rules(num_players=players, stakes=False), records=records, **fields)


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 4])
def test_results_are_those_of_the_duplicate_loop_and_add_up(tmp_path, players):
    agents = ("rule", "greedy", "random")
    complete, results = tournament(tmp_path / "a", plan(*agents, players=players))
    assert complete and results["complete"]
    rules = Rules(num_players=players, stakes=False)
    for pair in results["pairs"]:
        c = duplicate.compare(pair["a"], pair["b"], results["format"], 40, seed=3, rules=rules)
        assert (pair["mean"], pair["low"], pair["high"]) == (c.mean, c.low, c.high)
    assert sum(agent["mean"] for agent in results["agents"]) == pytest.approx(0)
    for i, row in enumerate(results["matrix"]):
        assert row[i] is None
        for j, x in enumerate(row):
            assert x is None or x == pytest.approx(-results["matrix"][j][i])
    for agent in results["agents"]:
        assert sum(agent["by_value"].values()) == agent["won"]
        assert sum(agent["payments"].values()) == agent["seats"] == agent["hands"] * players // 2
        assert agent["rating"]["low"] <= agent["rating"]["elo"] <= agent["rating"]["high"]
    assert [agent["agent"] for agent in results["agents"]] == list(agents)


def test_records_change_no_result_and_verify(tmp_path):
    _, plain = tournament(tmp_path / "a", plan("rule", "random", deals=20))
    _, recorded = tournament(tmp_path / "b", plan("rule", "random", deals=20, records=True))
    assert plain["pairs"] == recorded["pairs"]
    hands = 0
    for path in sorted((tmp_path / "b" / "records").iterdir()):
        record = Record(path)
        hands += len(list(record))
        assert record.closed
    assert hands == recorded["hands"] == 40


def test_workers_change_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "UNIT_DEALS_AT_TABLES", 8)
    agents = "rule", "test_duplicate:Dice"
    alone = tournament(tmp_path / "a", plan(*agents, deals=20, records=True))
    beside = tournament(tmp_path / "b", plan(*agents, deals=20, records=True), workers=2)
    assert alone == beside


# --- stopped and resumed ---------------------------------------------------------------------------------------------


def test_an_interrupted_tournament_says_so_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "UNIT_DEALS", 7)
    agents = "rule", "random", "greedy"
    whole = tournament(tmp_path / "whole", plan(*agents))
    complete, results = tournament(tmp_path / "cut", plan(*agents), units=4)
    assert not complete and not results["complete"]
    assert results["units"] == {"done": 4, "missing": 14}
    assert "14 of 18 units of work are not done" in report.page(results)
    assert tournament(tmp_path / "cut", None, resume=True) == whole
    assert tournament(tmp_path / "cut", plan(*agents), resume=True) == whole  # nothing is left to play


PROGRAM = (
    "import sys; from pathlib import Path; sys.path.insert(0, 'tests')\n"
    "from wzmj_env import arena\n"
    "import test_arena\n"
    "arena.UNIT_DEALS_AT_TABLES = 2\n"
    "folder = Path(sys.argv[1])\n"
    "store = arena.Store(folder, None, True)\n"
    "def told(standings, deals): print('.', end='', flush=True)\n"
    "arena.run(store, folder, workers=int(sys.argv[2]), told=told)\n"
)


def killed_and_resumed(tmp_path, monkeypatch, times, mark):
    monkeypatch.setattr(arena, "UNIT_DEALS_AT_TABLES", 2)
    agents = "rule", "greedy", f"cmd:{sys.executable} {os.path.dirname(__file__)}/lowest_bot.py"
    begun = plan(*agents, deals=30, records=True)
    whole = tournament(tmp_path / "whole", begun)
    folder = tmp_path / "killed"
    folder.mkdir()
    Store(folder, begun, False).close()
    rng = random.Random(5)
    killed = 0
    while killed < times:
        workers = rng.choice(("1", "2"))
        running = subprocess.Popen([sys.executable, "-c", PROGRAM, folder, workers], stdout=subprocess.PIPE)
        progress = len(Store(folder, None, True).done())
        for _ in range(progress + rng.choice((0, 1, 2))):
            running.stdout.read(1)  # what was done before is told first
        time.sleep(rng.random() * 0.05)
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stdout.close()
        killed += 1
    complete, results = tournament(folder, None, resume=True)
    assert complete
    assert without_time(results) == without_time(whole[1])
    for path in (folder / "records").iterdir():
        record = Record(path)
        assert len(list(record)) in (4, 2)
        assert record.closed


def test_a_tournament_killed_and_resumed_ends_as_an_undisturbed_one(tmp_path, monkeypatch, marked):  # noqa: F811
    killed_and_resumed(tmp_path, monkeypatch, 2, marked)


@pytest.mark.long
@pytest.mark.parametrize("clock", ["clock", "no clock"])
@pytest.mark.parametrize("mode", BLAMED)
def test_a_tournament_with_a_hostile_bot_ends_in_time_and_blames_it(tmp_path, marked, mode, clock):  # noqa: F811
    bot = f"cmd:{sys.executable} {os.path.dirname(__file__)}/hostile.py '{mode}'"
    limits = {"times": QUICK, "patience": 1.0} if clock == "clock" else {"times": Times.untimed(away=2.0), "patience": 1.0}
    startup = 0.5 if mode in ("never ready", "garbage at once") else 20.0
    begin = time.monotonic()
    limits["limits"] = Limits(memory=1 << 29, processes=20)
    complete, results = tournament(tmp_path / "a", plan(bot, "rule", deals=2, restarts=1, startup=startup, **limits))
    took = time.monotonic() - begin
    assert complete
    use = {agent["agent"]: agent["use"] for agent in results["agents"]}
    assert use["rule"] is None  # a player of this process
    hostile = use[bot]
    blamed = BLAMED[mode] if clock == "clock" else BLAMED[mode].replace("timeout", "silent")
    assert any(hostile["faults"].get(cause) for cause in blamed.split()), hostile
    hands = 4
    waits = hostile["questions"] * 1.0 + hands * 2 * (2.0 + startup if startup < 1 else 2.0)  # limits and lost connections
    assert took < waits + 2


@pytest.mark.long
def test_a_tournament_killed_twenty_times_ends_as_an_undisturbed_one(tmp_path, monkeypatch, marked):  # noqa: F811
    killed_and_resumed(tmp_path, monkeypatch, 20, marked)


@pytest.mark.parametrize(
    ("given", "resume", "words"),
    [
        (plan("rule", "random"), False, "there is a tournament"),
        (plan("rule", "greedy"), True, "begun with other agents"),
        (plan("rule", "random", deals=41, times=Times(turn=3)), True, "begun with other deals, times"),
    ],
)
def test_another_tournament_in_the_folder_is_refused(tmp_path, given, resume, words):
    Store(tmp_path, plan("rule", "random"), False).close()
    with pytest.raises(ValueError, match=words):
        Store(tmp_path, given, resume)


def test_nothing_to_resume_and_no_database_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no tournament"):
        Store(tmp_path, None, True)
    (tmp_path / "arena.db").write_text("not a database at all, just text " * 100)
    with pytest.raises(ValueError, match="not a database"):
        Store(tmp_path, None, True)


def test_a_plan_survives_its_json():
    for one in (plan("rule", "random"), plan("rule", "random", times=Times.untimed(), patience=3.0, records=True)):
        assert Plan.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) == one


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"agents": ("rule",)}, "2 to 1000 different"),
        ({"agents": ("rule", "rule")}, "different"),
        ({"agents": ("rule", "nobody")}, "nobody"),
        ({"agents": ("rule", "human")}, "a person"),
        ({"players": 3}, "players must be one of 2, 4"),
        ({"players": 4}, "rules are for 2"),
        ({"deals": 1}, "deals"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_plans_are_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        Plan(**{"agents": ("rule", "random"), "players": 2, "rules": DUEL, **fields})


# --- processes -------------------------------------------------------------------------------------------------------


def test_what_programs_used_and_did_wrong_is_told(tmp_path, marked):  # noqa: F811
    agents = f"cmd:{RANDOM_BOT} {'long' * 50}", f"cmd:{sys.executable} tests/hostile.py exit"
    times = Times(turn=5, short_turn=5, claim=5, away=5)
    _, results = tournament(tmp_path / "a", plan(*agents, deals=2, times=times, restarts=0, records=True))
    good, bad = (next(a for a in results["agents"] if a["agent"] == spec) for spec in agents)
    assert good["use"]["faults"] == {} and good["use"]["questions"] >= 0
    assert bad["use"]["faults"]["exit"] == 2
    assert bad["use"]["faults"]["left"] == results["left"] == results["hands"] == 4
    assert (good["mean"], bad["mean"]) == (4, -8)  # R10.6: half of the charge is the house's
    assert (tmp_path / "a" / "errors").is_dir()


# --- ratings ---------------------------------------------------------------------------------------------------------


def test_ratings_find_the_strengths_that_made_the_results():
    rng = np.random.default_rng(1)
    strength = np.array([0.0, 0.5, 1.5])
    scores = []
    for a in range(3):
        for b in range(a + 1, 3):
            chance = 1 / (1 + np.exp(strength[b] - strength[a]))
            scores.append((a, b, np.where(rng.random(4000) < chance, 1.0, -1.0)))
    rows = ratings.elo(scores, 3)
    wanted = (strength - strength.mean()) * ratings.ELO
    assert np.allclose(rows[:, 0], wanted, atol=15)
    assert ((rows[:, 1] < wanted) & (wanted < rows[:, 2])).all()


def test_ratings_do_not_depend_on_the_order():
    x, y, z = (np.random.default_rng(i).normal(size=50) for i in range(3))
    forth = ratings.elo([(0, 1, x), (0, 2, y), (1, 2, z)], 3)
    back = ratings.elo([(2, 1, -z), (2, 0, -y), (1, 0, -x)], 3)
    assert np.allclose(forth[:, 0], back[:, 0], atol=1e-3)


def test_one_who_wins_all_has_a_finite_rating():
    assert np.isfinite(ratings.elo([(0, 1, np.ones(100))], 2)).all()


def test_without_the_extra_there_is_a_hint_and_a_report_all_the_same(tmp_path, monkeypatch):
    for module in ("choix", "matplotlib.figure", "openskill.models"):
        monkeypatch.setitem(sys.modules, module, None)
    _, results = tournament(tmp_path / "a", plan("rule", "random"))
    assert results["ratings_hint"] == "ratings need choix, which is not installed: pip install 'wzmj[eval]'"
    assert all(agent["rating"] is None for agent in results["agents"])
    page = report.page(results)
    assert "pip install &#x27;wzmj[eval]&#x27;" in page and "<img" not in page
    with pytest.raises(ValueError, match="openskill"):
        ratings.after_game([(25, 8)] * 2, [1, -1])


# --- the report ------------------------------------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arena")
    return folder, tournament(folder, plan("rule", "greedy", "random"))[1]


def test_the_report_is_whole_and_needs_nothing_beside_it(played):
    folder, results = played
    report.write(folder, results)
    assert json.loads((folder / "results.json").read_text())["pairs"] == results["pairs"]
    with open(folder / "standings.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == ["rule", "greedy", "random"]
    parser = Tags()
    parser.feed((folder / "report.html").read_text())
    assert parser.tags.count("img") == 5
    sources = [value for name, value in parser.attributes if name in ("src", "href")]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)


def test_hostile_names_are_text(played):
    name = "<svg onload=alert(1)>\"'&$\\frac{1}{0}$" + "x" * 500
    results = json.loads(json.dumps(played[1]))
    for agent in results["agents"]:
        agent["agent"] = name
        agent["by_value"] = {int(k): v for k, v in agent["by_value"].items()}
    results["plan"]["agents"] = [name, "=1+1", "../../etc/passwd"]
    page = report.page(results)
    parser = Tags()
    parser.feed(page)
    assert set(parser.tags) <= {"html", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td", "img"}
    assert not [name for name, _ in parser.attributes if name.startswith("on")]
    assert "<svg" not in page
    assert "'=1+1" in report._csv([["=1+1"]])


@pytest.mark.parametrize("name", ["rule", "<svg onload=document.title='pwned'>"])
def test_the_report_opens_in_a_browser(played, tmp_path, browser, name):  # noqa: F811
    _, results = played
    results = {**results, "agents": [{**agent, "agent": name} for agent in results["agents"]]}
    report.write(tmp_path, results)
    wrong = []
    tab = browser.new_page(viewport={"width": 1000, "height": 800})
    tab.on("console", lambda message: wrong.append(message.text))
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    tab.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(request.url))
    tab.goto((tmp_path / "report.html").as_uri())
    widths = tab.evaluate("[...document.images].map(image => image.complete && image.naturalWidth)")
    assert len(widths) == 5 and all(widths)
    assert tab.title() == "wzmj arena"
    assert name in tab.locator("table").first.inner_text()
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wrong == []
    tab.close()


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command(capsys, tmp_path):
    out = str(tmp_path / "out")
    arguments = ["arena", "--agents", "rule,random", "--players", "2", "--deals", "6", "--out", out]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "rule" in printed and "report.html" in printed
    assert (tmp_path / "out" / "report.html").exists()
    assert cli.main(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert cli.main(["arena", "--out", out, "--resume"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--agents"),
        (("--agents", "rule"), "2 to 1000"),
        (("--agents", "rule,random", "--turn", "0"), "turn"),
        (("--agents", "rule,random", "--workers", "0"), "--workers"),
        (("--agents", "rule,random", "--memory", "1"), "--memory"),
        (("--agents", "rule,random", "--patience", "-1"), "--patience"),
        (("--resume",), "no tournament"),
    ],
)
def test_wrong_use_of_the_command(capsys, tmp_path, arguments, words):
    assert cli.main(["arena", "--out", str(tmp_path), *arguments]) == 2
    assert words in capsys.readouterr().err
