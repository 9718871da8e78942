"""The replay page in a real browser: the same scenes and drawings as Python's, keys and buttons, nothing let in."""

import contextlib
import functools
import gzip
import http.server
import json
import shutil
import threading
import time
import xml.etree.ElementTree as ElementTree
from itertools import islice

import pytest
from playwright.sync_api import sync_playwright

from wzmj_env import Game, Match, Rules, actions, cli, page, svg
from wzmj_env.record import Record, Recorder

from test_record import DUEL, first_action, names, recorded, traces
from test_svg import SVG

HOSTILE = [
    *("<svg onload=document.title='pwned'>", "</script><script>document.title='pwned'</script>", "<!--<script>"),
    "'\"&\u202e",
]


def chromium():
    """The browser on this machine; `make test` installs it where it can."""
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    assert found, "these tests need Chromium: apt-get install chromium"
    return found[0]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def tab(browser):
    """A page of the browser; any error, message of the security policy or request to elsewhere fails the test."""
    context = browser.new_context(locale="en-US")
    made = context.new_page()
    wrong = []
    made.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    made.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(made.home) else None)
    made.home, made.wrong = "file://", wrong
    yield made
    assert wrong == []
    context.close()


@contextlib.contextmanager
def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def page_of(tab, path):
    out = path.with_suffix(".html")
    assert cli.main(["replay", str(path), "--html", str(out)]) == 0
    tab.goto(f"file://{out}")
    return tab


def wait(tab, truth, seconds=30):
    """Until an expression is true; the policy of the page forbids the browser's own way of waiting for one."""
    end = time.monotonic() + seconds
    while not tab.evaluate(f"() => {truth}"):
        assert time.monotonic() < end, truth
        tab.wait_for_timeout(20)


def plain(value):
    return json.loads(json.dumps(value))


SCENES = "seat => at.record.hands.map(hand => framesOf(hand).map(frame => sceneOf(frame.state, seat)))"
DRAWN = """([hand, place, seat]) => {
    const drawing = drawTable(sceneOf(framesOf(at.record.hands[hand])[place].state, seat));
    const names = ['href', 'x', 'y', 'width', 'height', 'transform'];
    return [...drawing.querySelectorAll('use')].map(use => names.map(name => use.getAttribute(name)));
}"""


def assert_same_scenes(tab, hands, players):
    for seat in (None, 0, players - 1):
        told = tab.evaluate(SCENES, seat)
        for hand, frames in zip(hands, told, strict=True):
            expected = [plain(game.scene(seat)) for game in hand.positions()]
            assert len(frames) == len(expected)
            for i, (frame, scene) in enumerate(zip(frames, expected, strict=True)):
                assert frame == scene, f"hand {hand.number}, action {i}, seat {seat}"


def test_scenes_are_those_of_python_in_matches(tab, tmp_path):
    def claims_first(game):
        legal = game.legal_actions()
        return next((a for a in (actions.HU, *range(34, 73)) if a in legal), legal[-1])

    for rules in (Rules(), DUEL, Rules(num_players=3, stakes=False)):
        path = recorded(tmp_path / f"{rules.num_players}.jsonl", Match(rules, hands=3, seed=5), claims_first)
        assert_same_scenes(page_of(tab, path), list(Record(path)), rules.num_players)


def test_scenes_are_those_of_python_in_rare_hands(tab, tmp_path):
    """Robbed gangs, quanqiushen, whites in chis and whatever else the referee's games hold."""
    for players in (2, 4):
        path = tmp_path / f"{players}.jsonl"
        chosen = (row for i, row in enumerate(traces()) if row[0].num_players == players and i % 9 == 0)
        kept = list(islice(chosen, 16))
        rules = kept[0][0].rules
        with Recorder(path, rules, names(rules)) as recorder:
            for game, played in kept:
                if game.rules == rules:
                    for action in played:
                        game.step(action)
                    recorder.begin(game)
        hands = list(Record(path))
        assert len(hands) > 2
        assert_same_scenes(page_of(tab, path), hands, players)


def test_drawings_are_those_of_python(tab, tmp_path):
    path = recorded(tmp_path / "a.jsonl", Match(hands=3, seed=8), lambda game: game.legal_actions()[-1])
    page_of(tab, path)
    for number, hand in enumerate(Record(path)):
        for place, game in enumerate(hand.positions()):
            for seat in (None, place % 4):
                root = ElementTree.fromstring(svg.table_svg(game.scene(seat)))
                expected = [[use.get(name) for name in ("href", "x", "y", "width", "height", "transform")]
                            for use in root.iter(f"{SVG}use")]  # fmt: skip
                if place % 7 == 0 or game.done:
                    assert tab.evaluate(DRAWN, [number, place, seat]) == expected


def test_keys_and_buttons_step_through_hands_and_views(tab, tmp_path):
    match = Match(DUEL, hands=2, seed=2)
    page_of(tab, recorded(tmp_path / "a.jsonl", match))
    (first, _) = Record(tmp_path / "a.jsonl")
    steps = len(first.game.actions)
    place = tab.locator("#count")
    assert place.inner_text() == f"1 / {steps + 1}"
    for i, action in enumerate(first.game.actions):
        assert tab.locator("#actions .chosen").count() == 1
        shown = tab.locator("#actions li").count()
        assert shown == len(first.at(i).legal_actions())
        assert tab.evaluate("actionName(framesOf(at.record.hands[0])[at.place].decision.action)") == tab.locator(
            "#actions .chosen").inner_text()  # fmt: skip
        assert action == tab.evaluate("framesOf(at.record.hands[0])[at.place].decision.action")
        tab.keyboard.press("ArrowRight") if i % 2 else tab.click("#forward")
    assert place.inner_text() == f"{steps + 1} / {steps + 1}"
    assert "hand is over" in tab.locator("#asked").inner_text()
    drawn = tab.locator("#table").inner_html()
    tab.keyboard.press("Home")
    assert tab.locator("#table").inner_html() != drawn
    tab.keyboard.press("End")
    assert tab.locator("#table").inner_html() == drawn
    tab.keyboard.press("PageDown")
    assert tab.locator("#hand").input_value() == "1"
    tab.keyboard.press("End")
    for p, points in enumerate(match.scores.tolist()):
        assert tab.locator("#players li").nth(p).inner_text().endswith(f"{points:+d}")
    tab.keyboard.press("1")
    assert tab.locator("#seat").input_value() == "1"
    tab.keyboard.press("o")
    assert tab.locator("#seat").input_value() == ""
    tab.click("#language")
    assert tab.title() == "温州麻将回放" and "明牌" in tab.locator("#seat").inner_text()
    for key in ("PageDown", "3", "ArrowLeft", "ArrowLeft", "x"):
        tab.keyboard.press(key)
    assert tab.locator("#table svg").count() == 1


def test_a_seats_view_shows_nothing_that_it_may_not_know(tab, tmp_path):
    path = recorded(tmp_path / "a.jsonl", Match(hands=2, seed=8), lambda game: game.legal_actions()[-1])
    page_of(tab, path)
    tab.keyboard.press("1")
    while True:
        scene, seat = tab.evaluate("(() => { const f = framesSeen(at.record.hands[at.hand], 1)[at.place];"
                                   " return [sceneOf(f.state, 1), f.decision && f.decision.seat]; })()")  # fmt: skip
        if scene["phase"] in ("claim", "rob"):
            assert seat == 1
        assert (tab.locator("#actions li").count() > 0) == (seat == 1)
        before = tab.locator("#count").inner_text()
        tab.keyboard.press("ArrowRight")
        if tab.locator("#count").inner_text() == before:
            break


def test_names_are_inert(tab, tmp_path):
    game = Game(seed=1)
    with Recorder(tmp_path / "a.jsonl", Rules(), HOSTILE) as recorder:
        recorder.begin(game)
        recorder.step(first_action(game), by="timeout")
        recorder.note(said="</script><img src=x onerror=alert(1)>")
        recorder.leave(2)
    page_of(tab, tmp_path / "a.jsonl")
    tab.keyboard.press("End")
    shown = tab.locator("#players").inner_text()
    assert all(name[:20] in shown for name in HOSTILE[:3])
    assert "onerror=alert(1)" in tab.locator("#note").inner_text()
    assert "has left" in tab.locator("#asked").inner_text()
    assert tab.locator("body img").count() == 0 and "pwned" not in tab.title()
    assert tab.locator("script:not([type])").count() == 1
    assert HOSTILE[0] not in (tmp_path / "a.html").read_text()


def test_a_record_is_opened_by_file_and_by_link(tab, tmp_path):
    recorded(tmp_path / "a.jsonl", Match(DUEL, hands=3, seed=1))
    data = (tmp_path / "a.jsonl").read_bytes()
    packed = gzip.compress(data)
    files = {"whole.gz": packed, "cut.gz": packed[: len(packed) * 2 // 3], "cut.jsonl": data[: len(data) // 2], "a.jsonl": data}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "page.html").write_text(page.replay_page())
    tab.goto(f"file://{tmp_path}/page.html")
    assert tab.locator("#main").is_hidden()
    for name in files:
        tab.set_input_files("#file", tmp_path / name)
        wait(tab, "at.record !== null")
        whole = "cut" not in name
        assert tab.evaluate("at.record.hands.length") == 3 if whole else 1 <= tab.evaluate("at.record.hands.length") <= 3
        assert (tab.locator("#problem").inner_text() == "") == whole
        tab.evaluate("at.record = null")
    with served(tmp_path) as home:
        tab.home = home
        tab.goto(f"{home}page.html?record=a.jsonl")
        wait(tab, "at.record !== null")
        tab.evaluate("at.record = null")
        tab.fill("#link", "whole.gz")
        tab.press("#link", "Enter")
        wait(tab, "at.record !== null")
        tab.fill("#link", "http://127.0.0.1:9/else.jsonl")
        tab.press("#link", "Enter")
        wait(tab, "find('problem').textContent !== ''")
    assert any("Content Security Policy" in text for text in tab.wrong)
    tab.wrong.clear()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no whole line"),
        (b"[" * 100_000 + b"\n", "line 1"),
        (b"{}\n", "no header"),
        (b'{"type":"record","format":2}\n', "format is 2"),
        (b"null\n", "no JSON object"),
        (b'{"type":"hand"}\n', "no header"),
    ],
)
def test_what_is_no_record_is_named(tab, tmp_path, content, words):
    (tmp_path / "a.jsonl").write_bytes(content)
    (tmp_path / "page.html").write_text(page.replay_page())
    tab.goto(f"file://{tmp_path}/page.html")
    tab.set_input_files("#file", tmp_path / "a.jsonl")
    wait(tab, "find('problem').textContent !== ''")
    assert words in tab.locator("#problem").inner_text()
    assert tab.locator("#main").is_hidden()


def test_hostile_lines_are_named_and_show_nothing(tab, tmp_path):
    lines = recorded(tmp_path / "a.jsonl", Game(DUEL, seed=1)).read_text().splitlines()
    (tmp_path / "page.html").write_text(page.replay_page())
    tab.goto(f"file://{tmp_path}/page.html")
    hand = next(i for i, line in enumerate(lines) if '"hand"' in line[:20])
    changes = [
        (hand, {"wall": ["<b>"] * 136}), (hand, {"dealer": 1e9}), (hand, {"topped": "no"}), (hand, {"players": [1, 2]}),
        (hand + 1, {"seat": 7}), (hand + 1, {"legal": [10**9]}), (hand + 1, {"action": "x"}), (hand + 1, {"type": "__proto__"}),
        (hand + 1, {"type": "draw", "tile": -1}), (len(lines) - 2, {"payments": [None, 1]}),
    ]  # fmt: skip
    for i, change in changes:
        changed = lines.copy()
        changed[i] = json.dumps(json.loads(lines[i]) | change)
        (tmp_path / "b.jsonl").write_text("\n".join(changed) + "\n")
        tab.evaluate("find('problem').textContent = ''")
        tab.set_input_files("#file", tmp_path / "b.jsonl")
        wait(tab, "find('problem').textContent !== '' || at.record !== null")
        assert tab.locator("#problem").inner_text().startswith(f"line {i + 1}: "), change
        tab.set_input_files("#file", [])


def test_the_page_needs_nothing_from_elsewhere():
    text = page.replay_page()
    assert "default-src 'none'" in text and "unsafe" not in text
    assert "{{" not in text and text.count("<script") == 3
    assert {part.split('"')[0] for part in text.split("http")[1:]} <= {"://www.w3.org/2000/svg", "-equiv="}


def test_html_is_written_for_records_that_verify(capsys, tmp_path):
    path = recorded(tmp_path / "a.jsonl", Game(seed=1))
    assert cli.main(["replay", str(path), "--html", str(tmp_path / "a.html")]) == 0
    path.write_bytes(path.read_bytes().replace(b'"seat":1', b'"seat":2', 1))
    assert cli.main(["replay", str(path), "--html", str(tmp_path / "b.html")]) == 2
    assert not (tmp_path / "b.html").exists()
    packed = recorded(tmp_path / "c.jsonl.gz", Game(seed=1))
    packed.write_bytes(packed.read_bytes()[:-30])
    assert cli.main(["replay", str(packed), "--html", str(tmp_path / "c.html")]) == 0
    assert '\\"type\\":\\"record\\"' in (tmp_path / "c.html").read_text()
