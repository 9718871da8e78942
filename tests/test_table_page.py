"""The page of the table in a real browser: whole matches, played as people do, against what the engine says."""

import itertools
import json

import pytest

from wzmj_env import Rules, actions, lobby, tiles
from wzmj_env.clock import Times
from wzmj_env.specs import make_agent
from wzmj_env.table import OVER, SETTLED, Plan, Table

from tabling import Player, made, post, serving
from test_page import browser, wait  # noqa: F401

PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 860}}
SPAN_NAME = "<img src=x onerror=f()>"
UNIT = 10  # an entry of 50
KINDS = {"chi": range(actions.CHI_LOW, actions.PENG), "peng": [actions.PENG], "hu": [actions.HU], "raise": [actions.RAISE],
         "gang": [actions.GANG_CLAIM, *range(actions.GANG, actions.CHI_LOW)], "pass": [actions.PASS]}  # fmt: skip


@pytest.fixture
def open_tab(browser):  # noqa: F811
    """Opens pages; any error, message of the security policy or request to elsewhere fails the test."""
    contexts, wrong = [], []

    def opened(address, path="/", **options):
        context = browser.new_context(locale="en-US", **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: None if request.url.startswith(f"http://{address}/") else wrong.append(request.url))
        tab.goto(f"http://{address}{path}")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


# --- what is chosen, and what the engine makes of it ---------------------------------------------------------------------


def eagerly(hand, legal):
    """Take what there is; chi low, mid and high in turn of hands, and pass where there are three; raise where it can be."""
    for action in (actions.HU, actions.GANG_CLAIM, actions.PENG, actions.RAISE):
        if action in legal:
            return action
    gangs = [a for a in legal if actions.GANG <= a < actions.CHI_LOW]
    chis = [a for a in legal if actions.CHI_LOW <= a < actions.PENG]
    if gangs or 0 < len(chis) < 3:
        return gangs[0] if gangs else chis[hand % len(chis)]
    return actions.PASS if actions.PASS in legal else max(a for a in legal if a < actions.GANG)


def simulated(folder, players, hands, seed):
    """The match that eager play in seat 0 and rule players make under a seed; what was chosen of each kind."""
    table = Table(Plan(Rules(num_players=players, unit=UNIT), (None, *["rule"] * (players - 1)), hands), folder / f"{seed}.jsonl",
                  seed=seed)  # fmt: skip
    agents = [make_agent("rule") for _ in range(players)]
    table.sit(0, "A", 0)
    table.regain(0, 0)
    table.press(0, 0)
    chosen = set()
    while table.phase != OVER:
        if table.phase == SETTLED:
            table.press(0, 0)
        seat, asked = next((p, s.asked) for p, s in enumerate(table.seats) if s.asked is not None)
        if seat == 0:
            action = eagerly(len(table.played), asked.legal)
            chosen |= {kind for kind, ids in KINDS.items() if action in ids} | ({action} if action >= actions.CHI_LOW else set())
        else:
            observation, mask = table.observation(seat)
            action = int(agents[seat].act(observation[None], mask[None])[0])
        table.answer(seat, asked.number, action, 0)
    table.path.unlink()
    return table, chosen


def seed_with(folder, players, hands, wanted):
    for seed in range(400):
        table, chosen = simulated(folder, players, hands, seed)
        if wanted <= chosen:
            return seed, table
    raise AssertionError("no seed shows it all")


# --- playing in the page -------------------------------------------------------------------------------------------------


def view_of(tab):
    return tab.evaluate("at.view")


def start(tab, players, hands, name="Anna", agents="rule"):
    tab.fill("#name", name)
    tab.select_option("#players", str(players))
    tab.fill("#hands", str(hands))
    tab.fill("#entry", str(UNIT * 5))
    for i in range(players - 1):
        tab.locator("#others select").nth(i).select_option(agents)
    tab.click("#create")
    tab.click("#start")


def by_mouse(tab, i):
    button = tab.locator("#hand button").nth(i)
    button.click()
    assert "selected" in button.get_attribute("class")
    button.click(button="right")


def by_keys(tab, i):
    for _ in range(i + 1):
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")


def by_button(tab, i):
    tab.locator("#hand button").nth(i).click()
    tab.click("#discard")


def by_touch(tab, i):
    button = tab.locator("#hand button").nth(i)
    button.tap()
    button.tap()


def do(tab, view, action, discard):
    """Carry out a choice as a person would."""
    if action >= actions.GANG:
        tab.locator(f'#actions button[data-action="{action}"]').click()
    else:
        discard(tab, len(view["scene"]["hands"][0]) - 1 - view["scene"]["hands"][0][::-1].index(action))


def play(tab, discards, choose=eagerly, until=lambda view: view["phase"] == "over"):
    """Answer all questions in the page until a condition holds; the settlements that were shown."""
    shown = []
    for discard in itertools.cycle(discards):
        wait(tab, "at.view !== null && (question() !== null || find('settlement').open)", 120)
        view = view_of(tab)
        if view["phase"] in ("settled", "over") and len(shown) < len(view["totals"]):
            shown.append(settled(tab, view))
        if until(view):
            return shown
        if view["phase"] == "settled":
            tab.click("#continue")
            wait(tab, "!find('settlement').open", 60)
        elif view["question"] is not None:
            assert_dimmed(tab, view)
            do(tab, view, choose(len(view["totals"]), view["question"]["legal"]), discard)
            wait(tab, f"at.view.question?.id !== {json.dumps(view['question']['id'])}", 60)
    raise AssertionError


def settled(tab, view):
    """The settlement as the panel shows it: the points of its lines, payments and scores."""
    lines = [int(cell) for cell in tab.locator("#settled .lines td.number").all_inner_texts()]
    rows = tab.locator("#settled .sums tr:has(td)").all()
    sums = [[int(cell.replace("−", "-")) for cell in row.locator("td.number").all_inner_texts()] for row in rows]
    return lines, [payment for payment, _ in sums], [score for _, score in sums]


def assert_dimmed(tab, view):
    """Tiles that may not be discarded are dimmed and say why."""
    if view["question"]["kind"] == "turn":
        dim = tab.evaluate("[...document.querySelectorAll('#hand .dim')].map(b => [Number(b.dataset.kind), b.title])")
        assert {kind for kind, _ in dim} == {int(k) for k in view["question"]["forbidden"]}
        assert all(title for _, title in dim)


def assert_as_played(shown, table):
    scores = [0] * len(table.scores)
    for (lines, payments, totals), end in zip(shown, table.played, strict=True):
        scores = [a + b for a, b in zip(scores, end["payments"], strict=True)]
        assert lines == [line["points"] for line in [*end["wins"], *end["caishen"]]]
        assert payments == end["payments"] and totals == scores
    assert scores == table.scores


@pytest.mark.parametrize(
    ("players", "hands", "wanted"),
    [
        (2, 4, {actions.CHI_LOW, actions.CHI_MID, actions.CHI_HIGH, "peng", "raise", "gang", "hu"}),
        (4, 2, {"chi", "peng", "raise", "pass", "hu"}),
    ],
)
def test_a_whole_match_is_played_in_the_browser(open_tab, tmp_path, monkeypatch, players, hands, wanted):
    seed, table = seed_with(tmp_path, players, hands, wanted)
    monkeypatch.setattr(lobby.secrets, "randbelow", lambda _: seed)
    with serving(tmp_path / "data", pause=600, pace=0.05) as server:
        tab = open_tab(server, **DESKTOP)
        start(tab, players, hands)
        play(tab, [by_mouse, by_keys, by_button], until=lambda view: view["scene"] and len(view["scene"]["discards"][0]) >= 2)
        before = view_of(tab)
        tab.reload()
        wait(tab, "at.view !== null && question() !== null")
        assert view_of(tab) == before
        assert_as_played(play(tab, [by_mouse, by_keys, by_button]), table)
        assert tab.locator("#again").is_visible() and not tab.locator("#continue").is_visible()
        tab.evaluate("find('language').click()")
        assert tab.title() == "温州麻将" and "本场结束" in tab.locator("#settled").inner_text()


def covered(tab):
    """What a player needs while his clock runs, and cannot see without scrolling: elements outside the window or under others."""
    return tab.evaluate("""() => {
        scrollTo(0, 0);
        return [...document.querySelectorAll("#clock, #ask, #actions button, #hand button")].filter((element) => {
            const box = element.getBoundingClientRect();
            if (element.id === "clock" && element.textContent === "") return false;
            return !element.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
        }).map((element) => element.outerHTML.slice(0, 80));
    }""")


def test_a_phone_on_its_side_shows_what_is_asked(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        tab = open_tab(server, **PHONE | {"viewport": {"width": 844, "height": 390}})
        start(tab, 4, 1)
        play(tab, [by_touch], until=lambda view: view["question"]["kind"] == "turn")
        assert covered(tab) == []


def test_why_only_winds_may_be_discarded_is_said_unasked(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        tab = open_tab(server)
        start(tab, 4, 8)
        play(tab, [by_mouse], until=lambda view: {"lone", "follow"} & set((view["question"] or {}).get("forbidden", {}).values()))
        assert "lone wind or dragon" in tab.locator("#reason").inner_text()
        tab.locator("#hand button:not(.dim)").first.click()
        assert tab.locator("#reason").inner_text() == ""


def test_players_of_one_name_are_told_apart(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        tab = open_tab(server)
        start(tab, 3, 1)
        wait(tab, "at.view?.scene")
        assert tab.locator(".seat b").all_inner_texts() == ["rule 2", "rule 1", "Anna"]


def test_a_hand_on_a_phone(open_tab, tmp_path, monkeypatch):
    seed, table = seed_with(tmp_path, 4, 1, {"chi"})
    monkeypatch.setattr(lobby.secrets, "randbelow", lambda _: seed)
    with serving(tmp_path / "data", pause=600, pace=0.05) as server:
        tab = open_tab(server, **PHONE)
        start(tab, 4, 1)
        for many in (0, 1, 4):
            play(
                tab,
                [by_touch],
                until=lambda view, many=many: view["phase"] == "over" or len(view["scene"]["discards"][0]) >= many,
            )
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            boxes = "[...document.querySelectorAll('#actions button, #hand button')].map(b => b.getBoundingClientRect())"
            small = tab.evaluate(f"{boxes}.filter(r => r.width < 30 || r.height < 38 || r.right > innerWidth + 1).length")
            assert small == 0
            for height in (PHONE["viewport"]["height"], 560):
                tab.set_viewport_size({"width": 390, "height": height})
                assert covered(tab) == []
            tab.set_viewport_size(PHONE["viewport"])
        assert_as_played(play(tab, [by_touch]), table)


def test_running_out_of_time_hosting_and_taking_over(open_tab, tmp_path):
    with serving(tmp_path / "data", times=Times(turn=1.5, short_turn=1.0, claim=0.5), pause=600, pace=0.1) as server:
        tab = open_tab(server, **DESKTOP)
        start(tab, 2, 1)
        wait(tab, "at.view?.question?.kind === 'turn'")
        assert tab.locator("#clock").inner_text() in ("1", "2")
        wait(tab, "at.view.seats[0].hosted || find('settlement').open", 60)
        if not view_of(tab)["seats"][0]["hosted"]:
            pytest.fail("the hand was over before two turns ran out")
        assert tab.locator("#hosting").is_visible()
        tab.click("#cancel-hosting")
        wait(tab, "!at.view.seats[0].hosted || find('settlement').open")
        assert not tab.locator("#hosting").is_visible() or view_of(tab)["phase"] != "playing"


def test_names_are_shown_as_text_and_a_spectator_sees_no_hand(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        table, token = made(server, [None, None, "rule"], name=SPAN_NAME)
        second = json.loads(post(server, "/api/sit", {"table": table, "name": "</b><script>x"})[1])["token"]
        spectator = open_tab(server, f"/t/{table}")
        wait(spectator, "at.view !== null")
        assert SPAN_NAME in spectator.locator("#chairs").inner_text()
        players = [Player(server, table, token), Player(server, table, second)]
        for player in players:
            player.send({"type": "press"})
        wait(spectator, "at.view.phase === 'playing'")
        assert SPAN_NAME in spectator.locator("#board").inner_text()
        wait(spectator, "find('news').textContent !== ''")
        assert spectator.locator("#hand button").count() == 0 and spectator.locator("#board img").count() == 0
        assert not spectator.locator("#actions button").count() and spectator.locator("#leave").is_hidden()
        for player in players:
            player.close()


def test_people_meet_leave_and_pay(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        first = open_tab(server, **DESKTOP)
        start(first, 2, 2, agents="")
        wait(first, "at.view !== null")
        link = first.locator("#link").input_value()
        second = open_tab(server, link.removeprefix(f"http://{server}"), **PHONE)
        second.fill("#join-name", "Bo")
        second.click("#join button")
        second.click("#start")
        wait(first, "at.view.phase === 'playing'")
        third = open_tab(server, link.removeprefix(f"http://{server}"))
        wait(third, "at.view !== null && at.view.viewer === null")
        first.click("#leave")
        assert "80" in first.locator("#leaving-text").inner_text()
        first.click("#leave-yes")
        for tab in (first, second, third):
            wait(tab, "find('settlement').open")
            assert settled(tab, view_of(tab))[1] == [-80, 40]


def test_a_hint_marks_what_the_rule_player_would_do(open_tab, tmp_path):
    with serving(tmp_path / "data", pace=0) as server:
        tab = open_tab(server)
        start(tab, 2, 1)
        play(tab, [by_mouse], until=lambda view: view["question"]["kind"] == "turn")
        tab.click("#hint")
        wait(tab, "document.querySelector('.hinted') !== null")
        hinted = tab.evaluate("at.hinted")
        assert hinted in view_of(tab)["question"]["legal"]
        if hinted < actions.GANG:
            assert tab.locator("#hand .hinted").first.get_attribute("aria-label") == tiles.NAMES_EN[hinted]
        assert not tab.evaluate("at.sound")
