"""Bots as processes: examples, hostile ones, restarts, what they are told, and that nothing of them is left."""

import gc
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest

from wzmj_env import IllegalActionError, Rules, actions, duplicate, process
from wzmj_env.bots import ProcessAgent, ProcessBot
from wzmj_env.clock import Times
from wzmj_env.process import Limits
from wzmj_env.record import Record, Recorder
from wzmj_env.referee import MAX_LEFT, Referee
from wzmj_env.room import Room
from wzmj_env.specs import make_agent

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples" / "bots"
RANDOM_BOT = f"{sys.executable} {EXAMPLES / 'random_bot.py'}"
DUEL = Rules(num_players=2, stakes=False)
QUICK = Times(turn=0.5, short_turn=0.3, claim=0.3, away=2.0)
HOSTILE, HONEST = 0, 1  # places in the lists of agents

# What each mode is blamed for, once at least, where the clock runs: the one or the other of several words.
BLAMED = {
    "sleep": "timeout",
    "exit": "exit",
    "crash": "exit",
    "stop": "timeout",
    "stop group": "timeout",
    "flood": "flood",
    "flood of errors": "timeout",
    "endless line": "oversize",
    "garbage": "garbage",
    "deep": "garbage",
    "illegal": "illegal",
    "forged": "late",
    "double": "late",
    "daemons": "exit",
    "fork and answer no more": "exit",
    "fork on": "processes timeout",  # the one or the other: the superuser has no limit on processes but ours
    "ignore": "timeout",
    "memory": "memory exit",  # whether it is seen to grow or is refused more
    "close": "exit",
    "kill the keeper": "exit timeout",  # its daemon keeps the pipe open
    "stop the keeper": "timeout",
    "starve": "timeout",
    "deaf": "timeout",
    "exit at once": "exit",
    "never ready": "start",
    "garbage at once": "start",
}


@pytest.fixture
def marked(monkeypatch):
    """All processes started in a test carry a mark; in the end none is left, and no descriptor."""
    resource_tracker.ensure_running()  # of multiprocessing: it runs, and keeps a descriptor, as long as this process lives
    mark = secrets.token_hex(8)
    monkeypatch.setenv("WZMJ_TEST_MARK", mark)
    gc.collect()  # what earlier tests have left must not be closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    yield mark
    assert process._tagged(f"WZMJ_TEST_MARK={mark}".encode()) == []
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
    assert not [pid for pid in children() if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"]


def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def hostile(mode):
    return ProcessAgent(f"{sys.executable} {HERE / 'hostile.py'} {mode!r}")


def room(agents, rules=DUEL, *, times=QUICK, patience=1.0, startup=20.0, restarts=1, **options):
    options.setdefault("goodbye", 0.1)
    options.setdefault("limits", Limits(memory=1 << 29, processes=20))
    return Room(agents, rules, Referee(times, patience=patience, restarts=restarts), startup=startup, **options)


def total(bots):
    return sum((bot.faults for bot in bots.values()), start=type(next(iter(bots.values())).faults)())


# --- honest bots -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [RANDOM_BOT, f"node {EXAMPLES / 'random_bot.js'}"])
def test_the_examples_play_without_a_fault(command, marked):
    rules = Rules()
    with room([ProcessAgent(command)] * 4, rules, times=Times()) as table:
        hands = list(table.play(np.arange(4)[None], 0, 12, 5))
        assert not total(table.bots)
        assert {bot.name for bot in table.bots.values()} == {"random"}
        assert sum(bot.questions for bot in table.bots.values()) > 300
    assert all(hand.game.done and not hand.played.left for hand in hands)
    assert all(hand.played.payments == hand.game.result.payments.tolist() for hand in hands)


def test_the_python_example_is_five_lines():
    assert len((EXAMPLES / "random_bot.py").read_text().splitlines()) == 5


def test_duplicate_deals_with_a_process():
    seating = duplicate.seatings("duel", 2)
    hands = duplicate.play([f"cmd:{RANDOM_BOT}", "rule"], seating, 3, 6, seed=4, rules=DUEL)
    assert hands.shape == (3, 2)
    assert (hands["payments"].sum(-1) == 0).all()
    assert not hands["left"].any()
    same = duplicate.play(["random", "rule"], seating, 3, 6, seed=4, rules=DUEL)
    assert np.array_equal(hands["dealer"], same["dealer"])


class Lowest:
    """One table at a time."""

    def __init__(self):
        self.seen = []

    def act(self, observation, mask, info):
        assert observation.shape == (52, 34)
        assert np.flatnonzero(mask).tolist() == info["legal"]
        return info["legal"][0]


def test_a_class_that_is_asked_table_by_table_plays_as_any_agent():
    seating = duplicate.seatings("duel", 2)
    one_by_one = duplicate.play(["test_referee:Lowest", "greedy"], seating, 0, 8, rules=DUEL)
    batched = duplicate.play(["test_specs:Bot", "greedy"], seating, 0, 8, rules=DUEL)
    assert np.array_equal(one_by_one, batched)


def test_a_room_plays_what_the_duplicate_loop_plays():
    agents = [make_agent("rule"), make_agent("greedy")]
    seating = duplicate.seatings("2v2", 4)
    rules = Rules(stakes=False)
    wanted = duplicate.play_chunk(agents, seating, 4, 8, 3, rules)
    for hand in Room(agents, rules).play(seating, 4, 8, 3):
        assert hand.played.payments == wanted[hand.deal - 4, hand.seating]["payments"].tolist()


def test_an_agent_of_this_process_that_answers_nonsense_is_named():
    with pytest.raises(IllegalActionError, match="Liar"):
        list(Room([make_agent("test_duplicate:Liar?answer=-1"), make_agent("rule")], DUEL).play(np.arange(2)[None], 0, 1, 0))


# --- hostile bots ----------------------------------------------------------------------------------------------------


def play_hostile(mode, **options):
    if mode in ("never ready", "garbage at once"):
        options["startup"] = 0.5
    with room([hostile(mode), make_agent("rule")], **options) as table:
        hands = list(table.play(np.array([[HOSTILE, HONEST]]), 0, 1, 1))
        return hands, total(table.bots)


def check_blame(hands):
    for hand in hands:
        assert hand.game.done or hand.played.left
        assert set(hand.played.left) <= {0}  # the seat of the hostile one
        if hand.played.left:
            assert hand.played.payments == [-8, 4]  # R10.6


@pytest.mark.parametrize("mode", BLAMED)
def test_a_hostile_bot_is_survived_and_blamed(mode, marked):
    hands, faults = play_hostile(mode)
    check_blame(hands)
    assert any(faults[cause] for cause in BLAMED[mode].split()), faults


@pytest.mark.long
@pytest.mark.parametrize("mode", BLAMED)
def test_a_hostile_bot_is_survived_and_blamed_without_a_clock(mode, marked):
    hands, faults = play_hostile(mode, times=Times.untimed(away=2.0))
    check_blame(hands)
    assert any(faults[cause] for cause in BLAMED[mode].replace("timeout", "silent").split()), faults


def test_an_honest_bot_beside_hostile_ones_is_not_blamed(marked):
    agents = [hostile("flood"), ProcessAgent(RANDOM_BOT), hostile("exit"), hostile("double")]
    with room(agents, Rules(stakes=False), times=Times(turn=5, short_turn=5, claim=5, away=2)) as table:
        for hand in table.play(np.arange(4)[None], 0, 2, 1):
            assert 1 not in hand.played.left
        assert not table.bots[1, 0].faults
        assert total(table.bots)


def test_who_has_left_hand_after_hand_is_not_started_again(marked):
    with room([hostile("exit"), make_agent("rule")], restarts=0) as table:
        hands = list(table.play(np.array([[0, 1]]), 0, MAX_LEFT + 2, 1))
        faults = table.bots[0, 0].faults
    assert [hand.played.left for hand in hands] == [(0,)] * (MAX_LEFT + 2)
    assert (faults["exit"], faults["left"]) == (MAX_LEFT, MAX_LEFT + 2)


def test_refused_lines_are_told_and_change_nothing(marked):
    """A bot that answers wrongly first and rightly then plays on."""
    program = (
        "import json, sys\n"
        "for m in map(json.loads, sys.stdin):\n"
        "    if m['type'] == 'hello': print('{\"type\": \"ready\"}', flush=True)\n"
        "    if m['type'] == 'ask': last = m; print(json.dumps({'id': m['id'], 'action': 75}), flush=True)\n"
        "    if m['type'] == 'refused': print(json.dumps({'id': last['id'], 'action': last['names'][0]}), flush=True)\n"
    )
    agent = ProcessAgent("python")
    agent.command = [sys.executable, "-c", program]
    with room([agent, make_agent("rule")], times=Times()) as table:
        (hand,) = table.play(np.array([[0, 1]]), 0, 1, 1)
        bot = table.bots[0, 0]
        assert bot.faults == {"illegal": bot.questions}
        assert bot.name == "nameless"
    assert hand.game.done


def test_hosting_ends_when_the_bot_says_so(marked):
    """A bot that sleeps through two turns, then says that it is back, and plays the rest itself."""
    program = (
        "import json, sys, time\n"
        "for m in map(json.loads, sys.stdin):\n"
        "    if m['type'] == 'hello': print('{\"type\": \"ready\"}', flush=True); hosted = False\n"
        "    if m['type'] == 'hosting': hosted = True; print('{\"type\": \"resume\"}', flush=True)\n"
        "    if m['type'] == 'ask' and (hosted or m['question'] != 'turn'):\n"
        "        print(json.dumps({'id': m['id'], 'action': m['legal'][-1]}), flush=True)\n"
    )
    agent = ProcessAgent("python")
    agent.command = [sys.executable, "-c", program]
    slow = make_agent("test_referee:Slow")
    with room([agent, slow], times=Times(turn=0.5, short_turn=0.3, claim=5)) as table:
        list(table.play(np.array([[0, 1]]), 0, 1, 1))
        bot = table.bots[0, 0]
        assert (bot.faults["timeout"], bot.faults["hosted"]) == (2, 1)
        assert bot.questions > 3


class Slow(Lowest):
    """Takes its time, so that a hosted bot can say that it is back before its next turn."""

    def act(self, observation, mask, info):
        time.sleep(0.1)
        return info["legal"][-1]


def test_standard_error_is_kept_up_to_a_bound(marked, tmp_path):
    with room([hostile("flood of errors"), make_agent("rule")], errors=tmp_path, limits=Limits(stderr=5000)) as table:
        list(table.play(np.array([[0, 1]]), 0, 1, 1))
    text = (tmp_path / "agent-0-0.txt").read_text()
    assert text.startswith("x" * 1000 + "\n")
    assert text.endswith("[standard error is kept up to here]\n")
    assert len(text) < 5100


def test_a_program_and_all_it_started_die_with_the_table_that_is_killed(marked):
    program = (
        "import sys, numpy as np; sys.path.insert(0, 'tests')\n"
        "from test_referee import *\n"
        "table = room([hostile('daemons'), hostile('ignore')], times=Times())\n"
        "bot = ProcessBot(hostile('stop'), DUEL); bot.start()\n"
        "table.referee.restarts = 1000\n"
        "print('on', flush=True)\n"
        "list(table.play(np.array([[1, 0]]), 0, 1, 1))\n"
    )
    arena = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=HERE.parent)
    assert arena.stdout.readline() == b"on\n"
    mark = f"WZMJ_TEST_MARK={marked}".encode()
    while len(process._tagged(mark)) < 5:  # itself, keepers, bots
        assert arena.poll() is None
        time.sleep(0.02)
    arena.send_signal(signal.SIGKILL)
    arena.wait()
    arena.stdout.close()
    while process._tagged(mark):  # the test's own time limit is the limit
        time.sleep(0.02)


@pytest.mark.long
def test_nothing_is_left_over_five_hundred_games(marked):
    agents = [ProcessAgent(RANDOM_BOT), hostile("exit"), hostile("double"), hostile("daemons")]
    with room(agents, Rules(stakes=False), restarts=2) as table:
        for number, _ in enumerate(table.play(np.arange(4)[None], 0, 500, 1)):
            for bot in table.bots.values():
                bot.hands_left = 0  # so that it goes on for ever
            if number == 20:
                few = len(os.listdir("/proc/self/fd")), len(process._tagged(f"WZMJ_TEST_MARK={marked}".encode()))
        assert len(os.listdir("/proc/self/fd")) <= few[0] + 8
        assert len(process._tagged(f"WZMJ_TEST_MARK={marked}".encode())) <= few[1] + 8


@pytest.mark.long
def test_a_bot_that_does_nothing_wrong_never_loses_on_time_under_load(marked):
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    try:
        with room([ProcessAgent(RANDOM_BOT)] * 4, Rules(stakes=False), times=Times()) as table:
            deal = 0
            while sum(bot.questions for bot in table.bots.values()) < 10_000:
                list(table.play(np.arange(4)[None], deal, deal + 1, 1))
                deal += 1
            assert not total(table.bots)
    finally:
        for busy in load:
            busy.kill()
            busy.wait()


# --- what a bot is told ----------------------------------------------------------------------------------------------


class Listener(ProcessBot):
    """A bot without a process that plays given actions and keeps every byte that it would have been sent."""

    def __init__(self, rules, script):
        super().__init__(ProcessAgent(sys.executable), rules, now=lambda: 0.0)
        self.script, self.sent = script, b""
        self.r, self.w = os.pipe()
        self.is_ready = True

    @property
    def process(self):
        return self if self.sent is not None else None

    @process.setter
    def process(self, value):
        pass

    is_behind = False

    def fileno(self):
        return self.r

    def send(self, data):
        self.sent += data
        if b'"type":"ask"' in data:
            os.write(self.w, b".")

    def receive(self):
        os.read(self.r, 1)
        return self.script.pop(0)

    def stop(self, grace=0.0):
        for descriptor in (self.r, self.w):
            os.close(descriptor)


class Script:
    """An agent of this process that plays given actions."""

    name = "script"

    def __init__(self, script):
        self.script = script

    def act(self, observations, masks):
        return np.array([self.script.pop(0)])


def scripts(game):
    """The actions of each seat in a game that has been played."""
    walk, by_seat = game.begun(), [[] for _ in range(game.num_players)]
    for action in game.actions:
        by_seat[walk.current_player].append(action)
        walk.step(action)
    return by_seat


def bytes_told(game, seat):
    """What a bot in this seat is sent in the course of a game as it was played, up to where it stands."""
    by_seat = scripts(game)
    bot = Listener(game.rules, by_seat[seat])
    seats = [Script(script) for script in by_seat]
    seats[seat] = bot
    try:
        Referee(now=lambda: 0.0).play(game.begun(), seats)
    except IndexError:  # the script is at its end, the game is not
        pass
    finally:
        bot.stop()
    return bot.sent


@pytest.mark.parametrize("rules", [Rules(), DUEL, Rules(num_players=3)], ids=["4", "2", "3"])
def test_what_a_bot_is_sent_is_the_same_whatever_it_cannot_know(rules):
    """Hidden tiles swapped: byte for byte the same, in every phase."""
    from test_resample import games

    phases, compared = set(), 0
    for game in games(rules, 12, first=100):
        for seat in range(rules.num_players):
            told = bytes_told(game, seat)
            other = game.resample(seat, 9)
            assert bytes_told(other, seat) == told
            phases.add(game.phase)
            compared += other.digest() != game.digest()
    assert compared > 10
    assert len(phases) >= 3


def test_what_a_bot_is_told_is_what_events_tell():
    from test_resample import games

    compared = 0
    for game in games(Rules(), 6, first=200):
        for seat in range(4):
            lines = [json.loads(line) for line in bytes_told(game, seat).splitlines()]
            if not lines:  # it has not been asked yet
                continue
            compared += 1
            assert lines[0] == {"type": "hand", "seat": seat}
            for line in lines:
                if line["type"] == "ask":
                    assert line.pop("names") == [actions.name(action) for action in line["legal"]]
                    assert line.pop("seconds") == (20.0 if line.pop("question") == "turn" else 10.0)
                    del line["id"]
            wanted = game.events(seat)
            if not game.done:  # what came after its last question waits for its next one
                wanted = wanted[: len(lines) - 1]
            assert lines[1:] == wanted
    assert compared > 10


def test_a_bot_started_again_is_told_the_hand_anew_byte_for_byte(marked, tmp_path):
    """It writes what it reads into a file and exits at its third question."""
    program = (
        "import json, sys\n"
        "log = open(sys.argv[1], 'a'); asked = 0\n"
        "log.write('start\\n')\n"
        "for line in sys.stdin:\n"
        "    log.write(line); log.flush(); m = json.loads(line)\n"
        "    if m['type'] == 'hello': print('{\"type\": \"ready\"}', flush=True)\n"
        "    if m['type'] == 'ask':\n"
        "        asked += 1\n"
        "        if asked == 3: sys.exit()\n"
        "        print(json.dumps({'id': m['id'], 'action': m['legal'][0]}), flush=True)\n"
    )
    agent = ProcessAgent("python")
    agent.command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with room([agent, make_agent("rule")], times=Times(), restarts=2) as table:
        (hand,) = table.play(np.array([[0, 1]]), 0, 1, 1)
        assert table.bots[0, 0].faults["exit"] == 3
    assert hand.played.left == (0,)
    first, second, _ = (tmp_path / "log").read_text().split("start\n")[1:]
    told = [line for line in first.splitlines() if '"ask"' not in line]
    again = [line for line in second.splitlines() if '"ask"' not in line]
    assert len(told) > 5
    assert again[: len(told)] == told


def test_a_recorded_hand_says_who_chose(marked, tmp_path):
    agents = [hostile("sleep"), make_agent("rule")]
    with room(agents) as table, Recorder(tmp_path / "a.jsonl", DUEL, ["a", "b"]) as recorder:
        (played,) = table.play(np.array([[0, 1]]), 0, 1, 1, recorder)
    (hand,) = Record(tmp_path / "a.jsonl")
    assert hand.game == played.game
    assert {"timeout", "hosting", None} >= set(hand.by) >= {"timeout", "hosting"}


def test_a_recorded_hand_that_was_left_pays_by_the_rule(marked, tmp_path):
    with room([hostile("exit"), make_agent("rule")]) as table, Recorder(tmp_path / "a.jsonl", DUEL, ["a", "b"]) as recorder:
        (played,) = table.play(np.array([[0, 1]]), 0, 1, 1, recorder)
    (hand,) = Record(tmp_path / "a.jsonl")
    assert hand.left == played.played.left == (0,)
    assert hand.payments.tolist() == played.played.payments
