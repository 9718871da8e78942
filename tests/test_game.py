"""Game and Match: copies, bytes, refusals, text."""

import copy
import pickle

import numpy as np
import pytest

from wzmj_env import Game, IllegalActionError, Match, Pattern, Rules, actions, game, tiles
from wzmj_env.state import PHASES


def play(g, seed=0, steps=10**9):
    """Play on by chance; the actions played."""
    rng = np.random.default_rng(seed)
    played = []
    while not g.done and len(played) < steps:
        played.append(int(rng.choice(g.legal_actions())))
        g.step(played[-1])
    return played


def test_a_hand_ends_once_and_pays_to_zero():
    for seed in range(40):
        g = Game(seed=seed)
        play(g, seed)
        assert g.current_player == -1
        assert g.legal_actions() == []
        assert not g.action_mask().any()
        assert g.result.payments.sum() == 0
        assert g.result.payments.dtype == np.int64
        assert g.result.value in (0, 1, 2, 4)
        assert all(isinstance(p, Pattern) for p in g.result.patterns)
        assert (g.result.winner is None) == (g.result.value == 0)
        with pytest.raises(IllegalActionError, match="over"):
            g.step(0)


@pytest.mark.parametrize("duplicate", [Game.copy, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)),
                                       lambda g: Game.from_bytes(g.to_bytes())])  # fmt: skip
@pytest.mark.parametrize("steps", [0, 3, 60, 10**9])
def test_duplicates_go_on_identically(duplicate, steps):
    g = Game(Rules(num_players=3), seed=5)
    play(g, 1, steps)
    other = duplicate(g)
    assert other == g
    assert other.actions == g.actions
    assert other.seed == g.seed
    assert play(other, 2) == play(g, 2)
    assert other.digest() == g.digest()
    assert str(other) == str(g)


def test_a_copy_is_independent():
    g = Game(seed=5)
    other = g.copy()
    before = g.digest()
    play(other, 1)
    assert g.digest() == before


def damaged(data, how):
    data = bytearray(data)
    if how == "magic":
        data[0] ^= 1
    elif how == "cut":
        del data[-1]
    elif how == "longer":
        data.append(0)
    elif how == "empty":
        data.clear()
    else:
        data[how] ^= 4
    return bytes(data)


@pytest.mark.parametrize("how", ["magic", "cut", "longer", "empty", 12, 20, 60, -1, -40])
def test_damaged_bytes_are_refused(how):
    g = Game(seed=5)
    play(g, 1, 20)
    with pytest.raises(ValueError, match=r"bytes"):
        Game.from_bytes(damaged(g.to_bytes(), how))


def forged(g, **changes):
    """Bytes with a right checksum and other contents."""
    import hashlib
    import json

    body = json.loads(g.to_bytes()[len(game.MAGIC) + 36 :])
    body.update(changes)
    for key in [k for k, v in changes.items() if v is ...]:
        del body[key]
    raw = json.dumps(body).encode()
    return game.MAGIC + len(raw).to_bytes(4, "little") + hashlib.sha256(raw).digest() + raw


@pytest.mark.parametrize(
    "changes",
    [
        {"action_version": 99}, {"format": 2}, {"wall": [0] * 136}, {"actions": [75] * 9}, {"actions": [99]},
        {"actions": "x"}, {"dealer": 7}, {"digest": "0" * 16}, {"rules": {"players": 4}}, {"wall": ...}, {"rules": 3},
        {"actions": None}, {"seed": -1}, {"topped": 3},
    ],
)  # fmt: skip
def test_forged_bytes_are_refused(changes):
    g = Game(seed=5)
    play(g, 1, 5)
    with pytest.raises(ValueError):
        Game.from_bytes(forged(g, **changes))


@pytest.mark.parametrize("action", [-1, 76, 2**31, 2**70, 1.0, float("nan"), "3", None, True, np.float32(1), [1]])
def test_what_is_no_action_is_refused_and_changes_nothing(action):
    g = Game(seed=5)
    before, actions_before = g.digest(), g.actions
    with pytest.raises(IllegalActionError):
        g.step(action)
    assert (g.digest(), g.actions) == (before, actions_before)


def test_every_action_outside_the_legal_set_is_refused():
    g = Game(seed=5)
    rng = np.random.default_rng(1)
    while not g.done:
        legal, before = g.legal_actions(), g.digest()
        for action in range(actions.NUM_ACTIONS):
            if action not in legal:
                with pytest.raises(IllegalActionError, match="legal are"):
                    g.step(action)
        assert g.digest() == before
        assert np.flatnonzero(g.action_mask()).tolist() == legal
        g.step(np.int64(rng.choice(legal)))


WALL = [k for k in range(34) for _ in range(4)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"wall": WALL[:-1]}, "136"),
        ({"wall": [*WALL[:-1], 0]}, "four|4 of each"),
        ({"wall": [*WALL[:-1], 34]}, "outside"),
        ({"wall": [*WALL[:-1], -1]}, "outside"),
        ({"wall": [float(k) for k in WALL]}, "136 kinds"),
        ({"wall": "1m"}, "136 kinds"),
        ({"dealer": 4}, "dealer"),
        ({"dealer": -1}, "dealer"),
        ({"dealer": 1.0}, "dealer"),
        ({"ladder": 4}, "ladder"),
        ({"bought": 1}, "bought"),
        ({"topped": (True,)}, "topped"),
        ({"topped": (True, False, False, False), "dealer": 0}, "topped"),
        ({"bought": True, "rules": Rules(stakes=False)}, "stakes off"),
        ({"topped": (False, True, False, False), "rules": Rules(stakes=False)}, "stakes off"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"seed": "7"}, "seed"),
        ({"rules": {"num_players": 4}}, "rules"),
    ],
)  # fmt: skip
def test_impossible_beginnings_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Game(**arguments)


@pytest.mark.parametrize("seat", [-1, 4, 1.0, "0", None, True])
def test_a_seat_out_of_range_is_refused(seat):
    with pytest.raises(ValueError, match="seat must be"):
        Game(seed=1).observe(seat)


def test_seeds_give_walls_and_dealers():
    assert np.array_equal(Game(seed=3).wall, Game(seed=3).wall)
    assert len({Game(seed=s).wall.tobytes() for s in range(50)}) == 50
    assert len({Game(seed=s).current_player for s in range(50)}) == 4
    fresh = Game()
    assert np.array_equal(Game(seed=fresh.seed).wall, fresh.wall)


def test_a_match_carries_dealer_ladder_and_stakes():  # R9.4
    match = Match(Rules(num_players=2), hands=30, seed=4)
    rng = np.random.default_rng(3)
    seen = []
    while not match.done:
        before = len(match.results)
        if match.game.actions == ():
            seen.append(match.game._setup)
        match.step(int(rng.choice(match.legal_actions())))
        assert len(match.results) - before in (0, 1)
    assert len(match.results) == len(seen) == 30
    assert np.array_equal(match.scores, sum(r.payments for r in match.results))
    for result, setup in zip(match.results, seen[1:], strict=False):
        assert setup["dealer"] == result.next_dealer
        assert setup["ladder"] == result.next_ladder
        assert setup["bought"] == result.next_bought
        assert tuple(setup["topped"]) == result.next_topped
    assert any(s["ladder"] > 0 for s in seen)
    assert any(s["bought"] for s in seen)
    assert any(any(s["topped"]) for s in seen)
    with pytest.raises(IllegalActionError):
        match.step(0)


def test_a_copied_match_goes_on_identically():
    match = Match(hands=3, seed=4)
    play(match, 1, 100)
    other = match.copy()
    assert play(match, 2) == play(other, 2)
    assert np.array_equal(match.scores, other.scores)


def test_text_shows_the_table():
    g = Game(Rules(stakes=False), seed=5)
    play(g, 1, 40)
    text = str(g)
    assert f"caishen {tiles.kind_name(int(g.wall[135]))}" in text
    assert text.count("seat") >= 4
    play(g, 1)
    assert "over" in str(g)
    assert "?" not in str(g)


# --- who is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4])
def test_all_who_may_answer_a_tile_are_asked_at_once(players):  # R5.4
    at_once = 0
    for seed in range(60):
        game = Game(Rules(num_players=players), seed=seed)
        rng = np.random.default_rng(seed)
        while not game.done:
            asked = game.asked()
            walk, one_by_one = game.copy(), {}
            phase = walk.phase
            while not walk.done and walk.phase == phase and walk.current_player not in one_by_one:
                one_by_one[walk.current_player] = walk.legal_actions()
                if PHASES[phase] not in ("claim", "rob"):
                    break
                walk.step(actions.PASS)
            assert asked == one_by_one
            assert list(asked) == list(one_by_one)
            at_once += len(asked) > 1
            game.step(int(rng.choice(game.legal_actions())))
        assert game.asked() == {}
    assert at_once > 20 or players == 2
