"""The server of tables: matches over the wire, what it refuses, agents that fail, and nothing lost when it is killed."""

import json
import random
import socket
import sqlite3
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from wzmj_env import actions, cli
from wzmj_env.clock import Times
from wzmj_env.lobby import check_person
from wzmj_env.record import Record
from wzmj_env.web import MAX_MESSAGE, SHIPPED, read_message

from tabling import PATIENCE, Player, Process, get, made, post, serving, until

RULE3 = [None, "rule", "rule", "rule"]


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path / "data", pause=5, pace=0) as address:
        yield address


def record_of(data, table):
    return data / "records" / f"{table}.jsonl"


def last_discard(view):
    legal = view["question"]["legal"]
    if actions.HU in legal:
        return actions.HU
    return actions.PASS if actions.PASS in legal else max(a for a in legal if a < actions.GANG)


# --- matches -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [[None, "rule"], [None, "rule", "greedy", "random"]])
def test_a_match_over_the_wire_is_what_its_record_says(server, tmp_path, agents):
    table, token = made(server, agents, hands=2, entry=50)
    player, spectator = Player(server, table, token), Player(server, table)
    player.play(last_discard)
    record = Record(record_of(tmp_path / "data", table))
    hands = list(record)
    assert record.closed and len(hands) == 2 and record.rules.unit == 10
    payments = [hand.payments.tolist() for hand in hands]
    assert player.view["totals"] == payments
    assert [seat["score"] for seat in player.view["seats"]] == [sum(column) for column in zip(*payments, strict=True)]
    spectator.wait(lambda view: view["phase"] == "over")
    assert spectator.view["viewer"] is None and spectator.view["question"] is None
    store = sqlite3.connect(tmp_path / "data" / "tables.db")
    rows = store.execute("SELECT hand, seat, points FROM results WHERE id = ? ORDER BY hand, seat", (table,)).fetchall()
    assert rows == [(h, p, points) for h, row in enumerate(payments) for p, points in enumerate(row)]
    assert store.execute("SELECT ended FROM tables WHERE id = ?", (table,)).fetchone()[0] is not None
    store.close()
    player.close()
    spectator.close()


@pytest.mark.parametrize(("spec", "players"), SHIPPED.items())
def test_shipped_weights_sit_at_tables_of_their_size(server, spec, players):
    table, token = made(server, [None, spec, *["rule"] * (players - 2)])
    player = Player(server, table, token)
    player.play(last_discard)
    assert player.view["played"]["left"] == [] and not player.view["seats"][1]["hosted"]
    player.close()
    other = 6 - players
    status, body = post(server, "/api/tables", {"players": other, "hands": 1, "entry": 5, "name": "A",
                                                "agents": [None, spec, *["rule"] * (other - 2)]})  # fmt: skip
    assert status == 400 and f"{spec} sits at tables of {players} players" in json.loads(body)["error"]


def test_two_people_meet_by_the_link(server):
    table, token = made(server, [None, None], name="Anna")
    status, body = post(server, "/api/sit", {"table": table, "name": "<b>Bo</b>"})
    assert status == 200
    second = json.loads(body)
    assert second["seat"] == 1 and second["token"] != token
    assert post(server, "/api/sit", {"table": table, "name": "C"})[0] == 400
    players = [Player(server, table, token), Player(server, table, second["token"])]
    threads = [threading.Thread(target=player.play, args=(last_discard,)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert players[0].view["totals"] == players[1].view["totals"]
    assert [seat["name"] for seat in players[0].view["seats"]] == ["Anna", "<b>Bo</b>"]
    for player in players:
        player.close()


def test_a_second_connection_replaces_the_first_and_a_reload_goes_on(server):
    table, token = made(server, RULE3)
    first = Player(server, table, token)
    first.play(last_discard, lambda view: view["question"] is not None and view["question"]["kind"] == "turn")
    second = Player(server, table, token)
    second.wait(lambda view: view["question"] is not None)
    assert second.view == first.view
    assert first.closed() == 4001
    second.play(last_discard)
    second.close()


def test_a_hint_is_the_rule_players_choice(server):
    table, token = made(server, [None, "rule"])
    player = Player(server, table, token)

    def by_hint(view):
        player.send({"type": "hint", "id": view["question"]["id"]})
        while not player.others or player.others[-1]["id"] != view["question"]["id"]:
            player.hear()
        return player.others[-1]["action"]

    player.play(by_hint)
    assert len(player.others) > 3 and all(said["type"] == "hint" for said in player.others)
    player.close()


def test_leaving_over_the_wire_is_charged_once(server, tmp_path):
    table, token = made(server, RULE3, hands=3, entry=50)
    player = Player(server, table, token)
    player.play(last_discard, lambda view: view["phase"] == "playing")
    for _ in range(3):
        player.send({"type": "leave"})
    player.wait(lambda view: view["phase"] == "over")
    assert [seat["score"] for seat in player.view["seats"]] == [-80, 10, 10, 10] and player.view["house"] == 50
    assert sum(hand.left is not None for hand in Record(record_of(tmp_path / "data", table))) == 1
    player.close()


# --- attacks (FINDINGS 24, 25) -------------------------------------------------------------------------------------------


def test_what_a_table_cannot_be_is_refused(server):
    good = {"players": 2, "hands": 1, "entry": 5, "agents": [None, "rule"], "name": "A"}
    wrong = [
        *({"entry": entry} for entry in (7, 0, "5", None)),
        *({"players": players} for players in (5, True)),
        *({"hands": hands} for hands in (0, 10**9)),
        *({"agents": agents} for agents in (["rule", "rule"], [None], "rule", [None, "cmd:touch /tmp/x"], [None, "os:getcwd"])),
        *({"name": name} for name in ("", "x" * 25, "a\u202eb", "a\nb", 5, None)),
    ]
    for change in wrong:
        status, body = post(server, "/api/tables", good | change)
        assert status == 400 and json.loads(body)["error"], change
    for body in (b"", b"[", b"[]", b"null", b"[" * 1000, b'{"a":' * 300 + b"1" + b"}" * 300, b"\xff", b'{"players":{"a":1}}'):
        assert post(server, "/api/tables", body)[0] == 400
    assert post(server, "/api/tables", b" " * 10_000)[0] == 413
    assert post(server, "/api/tables", good, **{"content-type": "text/plain"})[0] == 415
    assert post(server, "/api/sit", {"table": "../../etc/passwd", "name": "A"})[0] == 400
    assert json.loads(get(server, "/healthz")[1])["tables"] == 0
    assert [get(server, path)[0] for path in ("/t/../../etc/passwd", "/records/a", "/api/tables", "/x")] == [404, 404, 405, 404]


def test_foreign_origins_and_hosts_are_refused(server):
    good = {"players": 2, "hands": 1, "entry": 5, "agents": [None, "rule"], "name": "A"}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"http://{server}.evil.example"):
        assert post(server, "/api/tables", good, origin=origin)[0] == 403
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{server}/ws", origin=origin)
    assert post(server, "/api/tables", good, origin=f"http://{server}")[0] == 200
    assert get(server, "/", host="evil.example")[0] == 400
    assert get(server, "/")[0] == 200


def hostile(server, *messages):
    """The code with which a connection is closed that says this first."""
    with connect(f"ws://{server}/ws", compression=None) as wire:
        with pytest.raises(ConnectionClosed) as closed:
            for message in messages:
                wire.send(message)
            for _ in range(1000):
                wire.recv(timeout=PATIENCE)
        return closed.value.rcvd.code


def test_wrong_messages_end_their_connection_alone(server):
    table, token = made(server, RULE3)
    player = Player(server, table, token)
    player.play(last_discard, lambda view: view["question"] is not None)
    hello = json.dumps({"type": "hello", "table": table})
    assert hostile(server, "x" * (MAX_MESSAGE + 1)) == 1009
    assert hostile(server, hello, "x" * 100_000) == 1009
    for wrong in ("", "null", "[]", "[" * 2000, '{"a":' * 200 + "1" + "}" * 200, '{"type":{"a":1}}', "\u0000", "1e999"):
        assert hostile(server, wrong) == 4000
        assert hostile(server, hello, wrong) == 4000
    assert hostile(server, b"\x00\xff") in (4000, 1007)
    assert hostile(server, hello, b"{}") in (4000, 1003)
    assert hostile(server, *[hello] * 300) == 4008
    for forged in ("x", "", "0" * 43, token[:-1], token + "a", 7, ["a"], "\ud800"):
        assert hostile(server, json.dumps({"type": "hello", "table": table, "token": forged})) == 4003
    other, _ = made(server, RULE3)
    assert hostile(server, json.dumps({"type": "hello", "table": other, "token": token})) == 4003
    for name in ("nothing", None, 5, "../x"):
        assert hostile(server, json.dumps({"type": "hello", "table": name})) == 4003
    player.play(last_discard)
    assert player.view["phase"] == "over" and player.view["house"] == 0
    player.close()


def test_forged_late_and_foreign_answers_change_nothing(server, tmp_path):
    table, token = made(server, [None, "rule"])
    player, spectator = Player(server, table, token), Player(server, table)
    player.play(last_discard, lambda view: view["question"] is not None)
    number, legal = player.view["question"]["id"], player.view["question"]["legal"]
    forged = [
        {"type": "answer", "id": "9-9", "action": legal[0]}, {"type": "answer", "id": number, "action": 76},
        {"type": "answer", "id": number, "action": True}, {"type": "answer", "id": 7, "action": legal[0]}, {"type": "answer"},
        {"type": "nonsense"}, {"type": None}, {"type": "hint", "id": "x"}, {},
    ]  # fmt: skip
    for message in forged:
        player.send(message)
        while not player.others:
            player.hear()
        assert player.others.pop()["type"] == "refused", message
    for message in (
        {"type": "answer", "id": number, "action": legal[0]},
        {"type": "press"},
        {"type": "leave"},
        {"type": "cancel_hosting"},
    ):
        spectator.send(message)
        while not spectator.others:
            spectator.hear()
        assert spectator.others.pop()["type"] == "refused"
    (hand,) = Record(record_of(tmp_path / "data", table))
    seen = len(hand.game.actions)
    player.answer(legal[-1])
    player.answer(legal[-1])  # a double click
    player.play(last_discard)
    (hand,) = Record(record_of(tmp_path / "data", table))
    assert hand.game.actions[seen] == legal[-1]
    for connection in (player, spectator):
        connection.close()


def test_names_and_messages_are_checked():
    assert check_person("  王 <svg onload=x()> ") == "王 <svg onload=x()>"
    for name in ("", "   ", "\ud800", "a\u200b", "x" * 25, b"a", None):
        with pytest.raises(ValueError, match="name"):
            check_person(name)
    assert read_message('{"type":"press","a":[null,"x"]}') == {"type": "press", "a": [None, "x"]}


def stalled_reader(server, table):
    """A spectator that says hello and then reads nothing."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    host, port = server.split(":")
    wire.connect((host, int(port)))
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    wire.sendall(f"GET /ws HTTP/1.1\r\nHost: {server}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 f"Sec-WebSocket-Key: {key}\r\n"
                 "Sec-WebSocket-Version: 13\r\n\r\n".encode())  # fmt: skip
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):  # what comes before it is lost
        answer += wire.recv(1)
    hello = json.dumps({"type": "hello", "table": table}).encode()
    wire.sendall(bytes([0x81, 0x80 | len(hello)]) + bytes(4) + hello)  # masked with zeros
    return wire


def viewers(server):
    return json.loads(get(server, "/healthz")[1])["viewers"]


def test_a_reader_that_stalls_costs_nobody_anything(server):
    table, token = made(server, RULE3, hands=3)
    stalled = stalled_reader(server, table)
    player = Player(server, table, token)
    until(lambda: viewers(server) == 2, "both are there")
    player.play(last_discard)
    assert len(player.view["totals"]) == 3
    player.close()
    stalled.close()


def test_a_reader_that_stalls_is_sent_away_and_the_table_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("wzmj_env.web.SLOW_SECONDS", 0.2)
    with serving(tmp_path / "data", send_buffer=4096, pause=5, pace=0) as address:
        table, token = made(address, RULE3, hands=3)
        stalled = stalled_reader(address, table)
        player = Player(address, table, token)
        until(lambda: viewers(address) == 2, "both are there")
        player.play(last_discard)
        until(lambda: viewers(address) == 1, "the stalled one is sent away")
        assert len(player.view["totals"]) == 3
        player.close()
        stalled.close()


# --- agents --------------------------------------------------------------------------------------------------------------


class Failing:
    """Agents that do what they should not, as `test_web:failing?how=...`."""

    name = "failing"

    def __init__(self, how):
        self.how = how

    def reset(self, seed):
        pass

    def act(self, observations, masks):
        if self.how == "hang":
            time.sleep(10**6)
        if self.how == "raise":
            raise RuntimeError("no idea")
        return masks.argmin(1)  # illegal


def failing(how):
    return Failing(how)


@pytest.mark.parametrize("how", ["hang", "raise", "illegal"])
def test_agents_that_fail_are_held_to_the_clock_and_stop_nobody(tmp_path, how):
    spec = f"test_web:failing?how={how}"
    times = Times(turn=0.3, short_turn=0.2, claim=0.2, away=1.0)
    with serving(tmp_path / "data", agents=(spec,), times=times, pause=1, pace=0) as server:
        table, token = made(server, [None, spec])
        other, other_token = made(server, RULE3)
        player, beside = Player(server, table, token), Player(server, other, other_token)
        thread = threading.Thread(target=beside.play, args=(last_discard,))
        thread.start()
        player.play(last_discard)
        thread.join()
        if how == "hang":  # hosted, and the hand is played out
            assert player.view["played"]["left"] == [] and player.view["seats"][1]["hosted"]
        else:  # a lost connection that does not come back
            assert player.view["played"]["left"] == [1]
        assert beside.view["phase"] == "over"
        player.close()
        beside.close()


def test_a_program_plays_at_a_table(tmp_path):
    import sys
    from pathlib import Path

    bot = f"cmd:{sys.executable} {Path(__file__).parent.parent / 'examples' / 'bots' / 'random_bot.py'} {'long' * 50}"
    with serving(tmp_path / "data", agents=(bot,), pause=1, pace=0.05) as server:
        table, token = made(server, [None, bot], hands=2)
        player = Player(server, table, token)
        player.play(last_discard)
        assert len(player.view["totals"]) == 2 and player.view["played"]["left"] == []
        by = {who for hand in Record(record_of(tmp_path / "data", table)) for who in hand.by}
        assert by == {None}
        player.close()


# --- killed --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.long)])
def test_a_server_that_is_killed_goes_on_where_it_was(tmp_path, kills):
    chance = random.Random(kills)
    data = tmp_path / "data"
    options = ("--pace", "0", "--pause", "5")
    server = Process(data, *options)
    table, token = made(server.address, RULE3, hands=100)
    waiting, waiting_token = made(server.address, [None, None])
    settled = []
    for _ in range(kills):
        player = Player(server.address, table, token)
        left = chance.randrange(5, 60)
        answered = 0

        def enough(view, left=left):
            nonlocal answered
            answered += view["question"] is not None
            return answered > left or view["phase"] == "over"

        player.play(last_discard, enough)
        settled = player.view["totals"]
        server.kill()
        server = Process(data, *options)
    player = Player(server.address, table, token)
    player.wait(lambda view: True)
    assert player.view["totals"][: len(settled)] == settled
    assert player.view["phase"] in ("playing", "settled")
    before = len(player.view["totals"])
    player.play(last_discard, lambda view: len(view["totals"]) > before)
    idle = Player(server.address, waiting, waiting_token)
    idle.wait(lambda view: view["phase"] == "open" and view["viewer"] == 0)
    player.send({"type": "leave"})
    player.wait(lambda view: view["phase"] == "over")
    record = Record(record_of(data, table))
    payments = [hand.payments.tolist() for hand in record]
    assert record.closed and player.view["totals"] == payments
    store = sqlite3.connect(data / "tables.db")
    rows = store.execute("SELECT points FROM results WHERE id = ? ORDER BY hand, seat", (table,)).fetchall()
    assert [points for (points,) in rows] == [points for row in payments for points in row]
    store.close()
    server.kill()


def test_wrong_use_of_the_command_is_named(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert cli.main(["table", "--port", port, "--data", str(tmp_path / "a")]) == 2
    assert "in use" in capsys.readouterr().err
    for wrong, words in ((["--port", "70000"], "--port"), (["--agent", "nobody"], "nobody"), (["--agent", "human"], "human"),
                         (["--turn", "0"], "turn"), (["--rules", "missing.yaml"], "missing.yaml")):  # fmt: skip
        assert cli.main(["table", "--data", str(tmp_path / "b"), *wrong]) == 2
        assert words in capsys.readouterr().err


def test_health_is_told_when_ready(server):
    until(lambda: get(server, "/healthz")[0] == 200, "ready")
    status, body = get(server, "/t/0123456789abcdef")
    assert status == 200 and b"default-src 'none'" in body
