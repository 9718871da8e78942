"""Records: what is written is read back, whatever is changed is found, whoever is stopped goes on."""

import gzip
import hashlib
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

from wzmj_env import Game, IllegalActionError, Match, Rules, VectorEnv, __version__, record
from wzmj_env.record import BatchRecorder, Record, Recorder, RecordError
from wzmj_env.specs import BuiltIn
from wzmj_env.workers import process_pool

import walls

DATA = Path(__file__).parent / "data"
DUEL = Rules.preset("duel")


def names(rules):
    return ["east", "south", "west", "north"][: rules.num_players]


def first_action(game):
    return game.legal_actions()[0]


def play_out(recorder, table, choose=first_action):
    recorder.begin(table)
    while not table.done:
        recorder.step(choose(table))


def recorded(path, table, choose=first_action, **options):
    with Recorder(path, table.rules, names(table.rules), **options) as recorder:
        play_out(recorder, table, choose)
    return path


def short_hand():
    """A hand that is won with the first seventeen tiles (R7.1)."""
    dealt = [*range(9), *range(9, 15), 33, 33]
    rest = [k for k in range(34) for _ in range(4)]
    for kind in dealt:
        rest.remove(kind)
    wall = dealt[:16] + rest[:16] + dealt[16:] + rest[16:]
    return Game(DUEL, wall=wall, dealer=0)


def ending(game):
    """Which kind of ending a hand had."""
    result = game.result
    if result.winner is None:
        return "drawn after a gang" if result.next_dealer != game.setup["dealer"] else "drawn"
    if "QUANQIUSHEN" in {pattern.name for pattern in result.patterns}:
        return "quanqiushen"
    how = "own draw" if result.loser is None else "robbed" if "ROB_GANG" in {p.name for p in result.patterns} else "claimed"
    return f"{how} {result.value}"


ENDINGS = {
    *("drawn", "drawn after a gang", "quanqiushen", "own draw 2", "own draw 4", "claimed 1", "claimed 2", "claimed 4"),
    "robbed 2",
}


def traces():
    with gzip.open(DATA / "traces.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            stakes = {name: row[name] for name in ("dealer", "ladder", "bought", "topped")}
            yield Game(Rules.from_mapping(row["rules"]), wall=row["wall"], **stakes), row["actions"]


# --- there and back --------------------------------------------------------------------------------------------------


def test_games_of_every_kind_of_ending_are_recorded_and_verify(tmp_path):
    endings = set()
    for i, (game, actions) in enumerate(traces()):
        if i % 3:
            continue
        path = tmp_path / f"{i}.jsonl"
        given = iter(actions)
        recorded(path, game, lambda _, given=given: next(given))
        record = Record(path)
        (hand,) = record
        assert (record.closed, record.cut, record.hands, record.rules) == (True, 0, 1, game.rules)
        assert hand.game == game and hand.game.actions == tuple(actions)
        assert hand.payments.tolist() == game.result.payments.tolist()
        endings.add(ending(game))
    assert endings >= ENDINGS


def record_and_verify(path, first, last):
    """Record games in one file and read them back verified; how they ended."""
    rng = random.Random(first)
    players = [BuiltIn(name) for name in ("random", "greedy", "rule")]
    endings, digests = set(), []
    with Recorder(path, Rules(), names(Rules())) as recorder:
        for n in range(first, last):
            wall, dealer = walls.rigged(rng, 4)[:2] if n % 2 else (None, None)
            game = Game(seed=n, wall=wall, dealer=dealer)
            seated = [rng.choice(players) for _ in range(4)]

            def choose(game, seated=seated):
                seat = game.current_player
                return int(seated[seat].act(game.observe(seat)[None], game.action_mask()[None])[0])

            play_out(recorder, game, choose)
            endings.add(ending(game))
            digests.append(game.digest())
    assert [hand.game.digest() for hand in Record(path)] == digests
    return endings


@pytest.mark.long
def test_ten_thousand_games_recorded_and_verified(tmp_path):
    with process_pool(os.cpu_count()) as pool:
        parts = [pool.submit(record_and_verify, tmp_path / f"{n}.jsonl.gz", n, n + 1000) for n in range(0, 10_000, 1000)]
        endings = set().union(*(part.result() for part in parts))
    for game, actions in traces():  # endings that are too rare for chance
        given = iter(actions)
        path = recorded(tmp_path / "one.jsonl", game, lambda _, given=given: next(given))
        assert [hand.game for hand in Record(path)] == [game]
        path.unlink()
        endings.add(ending(game))
    assert endings >= ENDINGS


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_match_is_recorded_with_its_dealership(tmp_path, suffix):
    match = Match(DUEL, hands=6, seed=3)
    path = recorded(tmp_path / f"match{suffix}", match, seed=3, about={"table": "an open one", "numbers": [1, 2.5, None]})
    record = Record(path)
    hands = list(record)
    assert [hand.carried for hand in hands] == [False] + [True] * 5
    assert sum(hand.payments for hand in hands).tolist() == match.scores.tolist()
    assert [hand.payments.tolist() for hand in hands] == [result.payments.tolist() for result in match.results]
    assert (record.seed, record.about["numbers"], record.players) == (3, [1, 2.5, None], names(DUEL))
    assert list(record) and record.closed  # a second reading is like the first
    for hand in hands:
        assert all(hand.at(len(hand.game.actions)) == hand.game for _ in range(2))


def test_play_seek_back_and_play_again_give_the_same(tmp_path):
    (hand,) = Record(recorded(tmp_path / "a", Game(seed=4)))
    digests = [hand.at(i).digest() for i in range(len(hand.game.actions) + 1)]
    for i in (30, 3, 0, 17, len(digests) - 1, 5):
        game = hand.at(i)
        assert game.digest() == digests[i]
        for j, action in enumerate(hand.game.actions[i:], i + 1):
            game.step(action)
            assert game.digest() == digests[j]


def test_a_hand_can_be_recorded_when_it_has_been_played_or_begun(tmp_path):
    live = recorded(tmp_path / "live", Game(seed=8)).read_bytes()
    played = Game(seed=8)
    while not played.done:
        played.step(first_action(played))
    with Recorder(tmp_path / "later", Rules(), names(Rules())) as recorder:
        recorder.begin(played)
    begun = Game(seed=8)
    for _ in range(20):
        begun.step(first_action(begun))
    recorded(tmp_path / "begun", begun)
    assert (tmp_path / "later").read_bytes() == (tmp_path / "begun").read_bytes() == live


def test_every_line_is_whole_as_soon_as_it_is_played(tmp_path):
    path, game = tmp_path / "a", Game(seed=2)
    with Recorder(path, Rules(), names(Rules())) as recorder:
        recorder.begin(game)
        while not game.done:
            recorder.step(first_action(game))
            record = Record(path)
            (hand,) = record
            assert hand.game == game and record.cut == 0 and not record.closed


def test_reasons_and_notes_are_kept(tmp_path):
    game = Game(seed=2)
    with Recorder(tmp_path / "a", Rules(), names(Rules())) as recorder:
        with pytest.raises(ValueError, match="belongs to a hand"):
            recorder.note(too="early")
        recorder.begin(game, ["w", "x", "y", "z"])
        recorder.step(first_action(game), by="timeout")
        recorder.note(clock=[20, 10])
        while not game.done:
            recorder.step(first_action(game))
        recorder.note(after="the end")
    (hand,) = Record(tmp_path / "a")
    assert hand.by == ["timeout"] + [None] * (len(game.actions) - 1)
    assert hand.notes == [(1, {"clock": [20, 10]}), (len(game.actions), {"after": "the end"})]
    assert hand.players == ["w", "x", "y", "z"]


@pytest.mark.parametrize(("players", "ladder", "others", "house"), [(4, 2, 4, 12), (2, 0, 4, 4), (3, 0, 2, 4), (4, 0, 1, 5)])
def test_whoever_leaves_pays(tmp_path, players, ladder, others, house):  # R10.6
    rules = Rules(num_players=players, unit=5)
    game = Game(rules, seed=1, ladder=ladder)
    with Recorder(tmp_path / "a", rules, names(rules)) as recorder:
        recorder.begin(game)
        recorder.step(first_action(game))
        recorder.leave(1)
    (hand,) = Record(tmp_path / "a")
    assert hand.left == (1,) and not hand.game.done
    due = rules.unit * rules.dealer_ladder[ladder] * 8
    assert hand.payments[1] == -due
    assert {int(x) for seat, x in enumerate(hand.payments) if seat != 1} == {others * rules.unit}
    assert hand.payments.sum() == -house * rules.unit


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"carry": True}, {"skip_forced": True, "carry": True}, {"num_threads": 2}])
def test_chosen_games_of_a_batch_are_recorded(tmp_path, options):
    env = VectorEnv(5, DUEL, seed=11, **options)
    recorders = {i: Recorder(tmp_path / f"{i}", DUEL, names(DUEL), seed=11) for i in (0, 3)}
    batch = BatchRecorder(env, recorders)
    rewards, hands = np.zeros((5, 2)), np.zeros(5, int)
    for _ in range(600):
        batch.step(env.sample_actions())
        rewards += env.rewards
        hands += env.terminated
    for i, recorder in recorders.items():
        recorder.close()
        played = list(Record(tmp_path / f"{i}"))
        assert len(played) >= hands[i] + 1 > 3
        assert played[-1].payments is None
        assert sum(hand.payments for hand in played[:-1]).tolist() == rewards[i].tolist()
        assert [hand.carried for hand in played[1:]] == [options.get("carry", False)] * (len(played) - 1)
    first = next(iter(Record(tmp_path / "0")))
    assert first.game.begun() == Game(DUEL, seed=11)


def test_a_batch_that_moved_without_its_recorder_is_noticed(tmp_path):
    env = VectorEnv(2, seed=1)
    env.step(env.sample_actions())
    env.step(env.sample_actions())
    with pytest.raises(ValueError, match="middle of a hand"):
        BatchRecorder(env, {0: Recorder(tmp_path / "a", Rules(), names(Rules()))})
    env.reset(seed=1)
    batch = BatchRecorder(env, {0: Recorder(tmp_path / "b", Rules(), names(Rules()))})
    env.step(env.sample_actions())
    with pytest.raises(ValueError, match=r"moved without its recorder|illegal"):
        batch.step(env.sample_actions())


# --- whatever is changed is found ------------------------------------------------------------------------------------


def test_a_changed_byte_anywhere_is_found(tmp_path):
    game = short_hand()
    data = recorded(tmp_path / "a", game, lambda game: game.legal_actions()[-1]).read_bytes()
    assert game.result.value == 4
    rng = random.Random(1)
    path = tmp_path / "b"
    for i in range(len(data)):
        path.write_bytes(data[:i] + bytes([data[i] ^ rng.randrange(1, 256)]) + data[i + 1 :])
        assert fails_or_is_cut(path), f"byte {i}"


def fails_or_is_cut(path):
    """Whether reading a record shows that it is not what was written. A last newline that is gone is a cut line."""
    try:
        record = Record(path)
        list(record)
    except RecordError:
        return True
    return record.cut > 0


@pytest.mark.parametrize("seed", range(3))
def test_changed_bytes_of_long_records_are_found(tmp_path, seed):
    data = recorded(tmp_path / "a", Match(hands=3, seed=seed)).read_bytes()
    rng, path = random.Random(seed), tmp_path / "b"
    for _ in range(60):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        assert fails_or_is_cut(path)


def test_lines_left_out_doubled_or_exchanged_are_found(tmp_path):
    lines = recorded(tmp_path / "a", Game(seed=1)).read_bytes().splitlines(keepends=True)
    path = tmp_path / "b"
    for changed in (lines[:5] + lines[6:], lines[:6] + lines[5:], [*lines[:5], lines[6], lines[5], *lines[7:]],
                    lines[1:], [*lines, lines[-1]]):  # fmt: skip
        path.write_bytes(b"".join(changed))
        with pytest.raises(RecordError):
            list(Record(path))


def rechained(path, change):
    """Rewrite a record with the lines that `change` makes of its own, all checks made anew."""
    said = [json.loads(line) for line in path.read_text().splitlines()]
    check, lines = b"", []
    for fields in change([{name: x for name, x in line.items() if name != "check"} for line in said]):
        text = fields if isinstance(fields, bytes) else json.dumps(fields, separators=(",", ":")).encode()
        check = hashlib.sha256(check + text).hexdigest()[:16].encode()
        lines.append(text[:-1] + b',"check":"' + check + b'"}\n')
    path.write_bytes(b"".join(lines))
    return path


def of_type(lines, what):
    return next(line for line in lines if line["type"] == what)


@pytest.mark.parametrize(
    ("what", "field", "value", "words"),
    [
        ("record", "format", 2, "format is 2; this program reads 1"),
        ("record", "format", True, "format is True"),
        ("record", "environment", "wenzhou_mahjong_v1", "environment is 'wenzhou_mahjong_v1'"),
        ("record", "observation", 99, "observation is 99"),
        ("record", "actions", "1", "actions is '1'"),
        ("record", "rules_hash", "0" * 16, "hash"),
        ("record", "rules", {"dead_wall": 61}, "dead_wall must be"),
        ("record", "rules", {"bonus": 1}, "unknown rule field"),
        ("record", "rules", None, "expected a mapping"),
        ("record", "players", ["a"], "one for each seat"),
        ("record", "players", ["a", "b", "c", ""], "1 to 1000 characters"),
        ("record", "players", ["a", "b", "c", "\ud800"], "1 to 1000 characters"),
        ("record", "players", ["a", "b", "c", 4], "1 to 1000 characters"),
        ("record", "seed", -1, "seed must be"),
        ("record", "seed", 10**400, "seed must be"),
        ("record", "about", [1], "about must be a mapping"),
        ("record", "wzmj", 3, "wzmj must be a version"),
        ("record", "extra", 1, "replayed it would be"),
        ("hand", "hand", 7, "replayed it would be"),
        ("hand", "wall", [0] * 136, "wall must hold 4 of each kind"),
        ("hand", "wall", [0.0] * 136, "wall must hold kinds"),
        ("hand", "wall", "1m", "must be lists"),
        ("hand", "dealer", 4, "dealer must be"),
        ("hand", "dealer", None, "replayed it would be"),
        ("hand", "dealer", True, "dealer must be"),
        ("hand", "ladder", 1e300, "ladder must be"),
        ("hand", "topped", [1, 2, 3, 4], "topped must be True or False"),
        ("hand", "carried", True, "does not go on from the last one"),
        ("hand", "carried", 0, "carried must be True or False"),
        ("hand", "state", "0" * 16, "replayed it would be"),
        ("decision", "action", 5, "illegal"),
        ("decision", "action", 1.0, "action must be"),
        ("decision", "action", None, "action must be"),
        ("decision", "seat", 3, "replayed it would be"),
        ("decision", "legal", [74], "replayed it would be"),
        ("decision", "state", "0" * 16, "replayed it would be"),
        ("decision", "by", "<script>", "by must be"),
        ("decision", "type", "discard", "cannot stand here"),
        ("decision", "type", ["decision"], "cannot stand here"),
        ("draw", "tile", 34, "replayed it would be"),
        ("draw", "replacement", True, "replayed it would be"),
        ("end", "value", 4, "replayed it would be"),
        ("end", "payments", [3, -1, -1, -1], "replayed it would be"),
        ("close", "hands", 2, "replayed it would be"),
    ],
)  # fmt: skip
def test_what_a_line_says_is_compared_with_the_hand(tmp_path, what, field, value, words):
    path = recorded(tmp_path / "a", Game(seed=1, dealer=0))

    def change(lines):
        of_type(lines, what)[field] = value
        return lines

    with pytest.raises(RecordError, match=words) as caught:
        list(Record(rechained(path, change)))
    assert len(str(caught.value)) < 1000 and "\n" not in str(caught.value)


def test_a_line_said_in_another_way_is_no_line_of_a_record(tmp_path):
    path = recorded(tmp_path / "a", Game(seed=1))
    with pytest.raises(RecordError, match="replayed it would be"):
        list(Record(rechained(path, lambda lines: [json.dumps(line).encode() for line in lines])))


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 60_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"type":"note","note":{"x":NaN}}',
        b'{"type":"note","note":{"x":1e999}}',
        b'{"type":"note","note":{"x":' + b"9" * 50_000 + b"}}",
        b'{"type":"note","note":3}',
        b'{"type":"note","note":{"x":"' + b"y" * 5000 + b'"}}',
        b'{"type":"note","type":"note","note":{}}',
        b"\xff\xfe{}",
        b"null ",
        b'"text"',
        b"{}",
        b'{"type":"close","hands":1}',
        b'{"type":"left","seats":[9]}',
    ],
)
def test_hostile_lines_are_one_clear_error(tmp_path, line):
    path = recorded(tmp_path / "a", Game(seed=1))
    with pytest.raises(RecordError) as caught:
        list(Record(rechained(path, lambda lines: [*lines[:4], line, *lines[4:]])))
    assert len(str(caught.value)) < 1000 and str(caught.value).isascii()


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"{}", b"{}\n", b"\x80\x04K\x01.", b"\x1f\x8b", b"\x1f\x8b" + b"x" * 100, b"PK\x03\x04" * 9, b"a" * 200_000],
)
def test_other_files_are_no_records(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(RecordError, match="a, line 1: "):
        list(Record(tmp_path / "a"))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    with gzip.open(tmp_path / "a", "wb") as file:
        for _ in range(200):
            file.write(b"0" * 1_000_000)
    with pytest.raises(RecordError, match="longer than"):
        Record(tmp_path / "a")


def test_notes_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "MAX_NOTES", 3)
    path = recorded(tmp_path / "a", Game(seed=1))
    note = {"type": "note", "note": {}}
    assert len(next(iter(Record(rechained(path, lambda lines: [*lines[:4], *[note] * 3, *lines[4:]])))).notes) == 3
    with pytest.raises(RecordError, match="cannot stand here"):
        list(Record(rechained(path, lambda lines: [*lines[:4], note, *lines[4:]])))


# --- whoever is stopped goes on --------------------------------------------------------------------------------------


def cut_places(data, rng, n):
    """Places to cut a record at: the ends of lines, and inside them."""
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    return sorted({*rng.sample(ends[1:-1], n), *(rng.randrange(ends[0], ends[-2]) for _ in range(n))})


def test_a_record_cut_anywhere_is_read_as_far_as_it_goes(tmp_path):
    data = recorded(tmp_path / "a", Match(DUEL, hands=2, seed=1)).read_bytes()
    whole = list(Record(tmp_path / "a"))
    for place in cut_places(data, random.Random(1), 60):
        (tmp_path / "b").write_bytes(data[:place])
        record = Record(tmp_path / "b")
        hands = list(record)
        assert not record.closed
        assert record.cut == place - data[:place].rfind(b"\n") - 1
        assert len(hands) <= 2
        for hand, other in zip(hands, whole, strict=False):
            assert hand.game == other.at(len(hand.game.actions))


@pytest.mark.parametrize("make", [lambda: Game(seed=6), lambda: Game(DUEL, seed=1)])
def test_a_resumed_record_ends_as_an_undisturbed_one(tmp_path, make):
    game = make()
    data = recorded(tmp_path / "a", game).read_bytes()
    for place in cut_places(data, random.Random(2), 20):
        path = tmp_path / "b"
        path.write_bytes(data[:place])
        with Recorder.resume(path) as recorder:
            if recorder.hands == 0:
                recorder.begin(make())
            while (now := recorder.game) is not None and not now.done:
                recorder.step(first_action(now))
        assert path.read_bytes() == data, place
        path.unlink()


def test_a_resumed_record_goes_on_with_the_dealership(tmp_path):
    match = Match(DUEL, hands=2, seed=1)
    recorded(tmp_path / "a", match)
    lines = (tmp_path / "a").read_bytes().splitlines(keepends=True)
    (tmp_path / "a").write_bytes(b"".join(lines[:-1]))
    setup = {name: getattr(match.results[-1], f"next_{name}") for name in ("dealer", "ladder", "bought", "topped")}
    with Recorder.resume(tmp_path / "a") as recorder:
        assert recorder.game is None
        with pytest.raises(ValueError, match="does not go on"):
            recorder.begin(Game(DUEL, seed=9, **setup | {"ladder": (setup["ladder"] + 1) % 4}), carried=True)
        recorder.begin(Game(DUEL, seed=9, **setup), carried=True)
        recorder.leave(0)
    assert [hand.carried for hand in Record(tmp_path / "a")] == [False, True, True]


def test_what_cannot_be_resumed_says_so(tmp_path):
    recorded(tmp_path / "a", Game(seed=1))
    with pytest.raises(RecordError, match="closed"):
        Recorder.resume(tmp_path / "a")
    recorder = Recorder(tmp_path / "b.gz", Rules(), names(Rules()))
    recorder.begin(Game(seed=1))
    recorder.close()
    with pytest.raises(RecordError, match="compressed"):
        Recorder.resume(tmp_path / "b.gz")
    (tmp_path / "c").write_bytes(b'{"type":"rec')
    with pytest.raises(RecordError, match="no whole line"):
        Recorder.resume(tmp_path / "c")


def test_a_compressed_record_cut_anywhere_keeps_its_settled_hands(tmp_path):
    match = Match(DUEL, hands=4, seed=1)
    path = tmp_path / "a.gz"
    settled = []
    with Recorder(path, DUEL, names(DUEL)) as recorder:
        recorder.begin(match)
        while not match.done:
            recorder.step(first_action(match))
            settled += [path.stat().st_size] * (len(match.results) - len(settled))
    data = path.read_bytes()
    assert len(data) * 2 < len(gzip.decompress(data))
    for place in range(settled[0], len(data), 41):
        (tmp_path / "b").write_bytes(data[:place])
        record = Record(tmp_path / "b")
        hands = [hand for hand in record if hand.payments is not None]
        assert sum(size <= place for size in settled) <= len(hands) <= 4
        assert record.cut > 0
    (tmp_path / "b").write_bytes(data[:100] + bytes([data[100] ^ 255]) + data[101:])
    with pytest.raises(RecordError):
        list(Record(tmp_path / "b"))


def test_an_unfinished_hand_leaves_a_record_open(tmp_path):
    with Recorder(tmp_path / "a", Rules(), names(Rules())) as recorder:
        recorder.begin(Game(seed=1))
    record = Record(tmp_path / "a")
    assert [hand.payments for hand in record] == [None] and not record.closed
    with pytest.raises(RuntimeError), Recorder(tmp_path / "b", Rules(), names(Rules())):
        raise RuntimeError
    record = Record(tmp_path / "b")
    assert list(record) == [] and not record.closed


# --- wrong use -------------------------------------------------------------------------------------------------------


def test_wrong_use_is_named(tmp_path):
    path = tmp_path / "a"
    recorder = Recorder(path, Rules(), names(Rules()))
    with pytest.raises(FileExistsError):
        Recorder(path, Rules(), names(Rules()))
    with pytest.raises(ValueError, match="call begin"):
        recorder.step(3)
    with pytest.raises(ValueError, match="of rules"):
        recorder.begin(Game(DUEL))
    with pytest.raises(ValueError, match="a Game or a Match"):
        recorder.begin(3)
    with pytest.raises(ValueError, match="does not go on"):
        recorder.begin(Game(), carried=True)
    game = Game(seed=1)
    recorder.begin(game)
    with pytest.raises(ValueError, match="not over"):
        recorder.begin(Game())
    before = path.read_bytes(), game.digest()
    with pytest.raises(IllegalActionError):
        recorder.step(70)
    with pytest.raises(ValueError, match="by must be"):
        recorder.step(first_action(game), by="\n")
    with pytest.raises(ValueError, match="JSON"):
        recorder.note(x={1, 2})
    with pytest.raises(ValueError, match="at most"):
        recorder.note(x="y" * 5000)
    assert (path.read_bytes(), game.digest()) == before
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="is closed"):
        recorder.note(x=1)
    match = Match(DUEL, hands=2, seed=1)
    while not match.results:
        match.step(match.legal_actions()[0])
    with pytest.raises(ValueError, match="first hand"):
        Recorder(tmp_path / "b", DUEL, names(DUEL)).begin(match)


@pytest.mark.parametrize(
    "arguments",
    [{"players": "abcd"}, {"players": ["a"] * 3}, {"players": ["a", "b", "c", "x" * 1001]}, {"rules": None}, {"seed": 1.5},
     {"about": {"x": float("nan")}}, {"about": {3: 1}}, {"about": {"x": "y" * 20_000}}, {"fsync": 1}],
)  # fmt: skip
def test_wrong_arguments_leave_no_file(tmp_path, arguments):
    with pytest.raises(ValueError):
        Recorder(tmp_path / "a", **{"rules": Rules(), "players": names(Rules())} | arguments)
    assert not list(tmp_path.iterdir())


def test_names_are_texts_and_never_files(tmp_path):
    hostile = ["<svg onload=alert(1)>", "../../etc/passwd", "\x1b[31m\n", '"},{"x":"']
    with Recorder(tmp_path / "a", Rules(), hostile, fsync=True) as recorder:
        recorder.begin(Game(seed=1))
        recorder.leave(0)
    record = Record(tmp_path / "a")
    assert [hand.players for hand in record] == [hostile] and record.players == hostile
    assert record.program == __version__
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_ends_the_record_with_whole_lines_before(tmp_path):
    game = Game(seed=1)
    recorder = Recorder(tmp_path / "a", Rules(), names(Rules()))
    recorder.begin(game)

    class Full:
        def write(self, data):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    recorder._file.close()
    recorder._file = Full()
    with pytest.raises(OSError, match="No space"):
        recorder.step(first_action(game))
    with pytest.raises(ValueError, match="is closed"):
        recorder.step(first_action(game))
    assert [hand.game.actions for hand in Record(tmp_path / "a")] == [()]
