"""Positions set up from what a person knows, and what `wzmj explain` tells of them."""

import copy
import pickle
import random
from collections import Counter

import numpy as np
import pytest

from wzmj_env import Game, Rules, actions, cli, hand, tiles
from wzmj_env.explain import prospects
from wzmj_env.record import Recorder
from wzmj_env.specs import BuiltIn

HAND = "123m 456p 789s 11z 22z 33z 5p 7z"
MELDS = {0: ["peng 222z", "chi 6p4p5p"], 1: ["concealed 1111m"], 3: ["added 4444z", "gang 9999s"]}
DISCARDS = {0: "3z5m9p", 1: "1z", 2: "77m2p", 3: "5z"}


def parse(text):
    return tiles.parse(text)


def everything(game):
    """All 136 tiles of a position, wherever they are."""
    scene = game.scene()
    found = Counter([scene["caishen"]])
    for p in range(game.num_players):
        found.update(scene["hands"][p])
        for shown, _, _ in scene["melds"][p]:
            found.update(shown)
        found.update(kind for kind, taken in scene["discards"][p] if not taken)
    s = game._states[0]
    found.update(s.wall[s.front : s.back + 1].tolist())
    return found


def test_a_position_holds_what_was_said():
    game = Game.from_position("234m 678s 77p 22p 8m", "5z", melds=MELDS, discards=DISCARDS, seed=1)
    scene = game.scene()
    assert sorted(scene["hands"][0]) == sorted(parse("234m 678s 77p 22p 8m"))
    assert scene["hands"][0][-1] == parse("8m")[0] and scene["drawn"]
    assert [[how for *_, how in melds] for melds in scene["melds"]] == [["peng", "chi"], ["concealed"], [], ["added", "gang"]]
    lying = {p: [kind for kind, taken in scene["discards"][p] if not taken] for p in range(4)}
    assert lying == {p: parse(text) for p, text in DISCARDS.items()}
    assert everything(game) == Counter(dict.fromkeys(range(34), 4))
    assert game.observe(0).shape == game.observe(1).shape


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_rest_comes_from_the_seed_and_the_seat_cannot_tell(players):
    rules = Rules(num_players=players)
    games = [Game.from_position(HAND, "9m", rules=rules, seed=seed) for seed in (1, 1, 2)]
    assert games[0].digest() == games[1].digest() != games[2].digest()
    assert (games[0].observe(0) == games[2].observe(0)).all()
    assert prospects(games[0]) == prospects(games[2])


@pytest.mark.parametrize("seed", range(12))
def test_positions_of_real_games_offer_what_the_games_offer(seed):
    """Tiles, melds and discards of a turn in a real game, said again, give the same actions and scores."""
    rng, compared = random.Random(seed), 0
    game = Game(Rules(stakes=False), seed=seed)
    while not game.done:
        p, scene = game.current_player, game.scene(game.current_player)
        if game.phase == 1 and scene["remaining"] > 20 and not any(meld for melds in scene["melds"] for meld in melds):
            again = Game.from_position(
                scene["hands"][p], scene["caishen"], rules=game.rules, seat=p, dealer=scene["dealer"],
                discards={q: [kind for kind, _ in row] for q, row in enumerate(scene["discards"])}, seed=3,
            )  # fmt: skip
            assert again.legal_actions() == game.legal_actions()
            assert again.scene()["remaining"] == scene["remaining"]
            assert again._states.draws.tolist() == game._states.draws.tolist()
            assert [(x.action, x.score) for x in prospects(again)] == [(x.action, x.score) for x in prospects(game)]
            compared += 1
        legal = game.legal_actions()
        game.step(legal[-1] if actions.PASS in legal else rng.choice([a for a in legal if a < 34]))
    assert compared > 10


def test_a_position_can_be_played_to_its_end():
    for seed in range(20):
        game = Game.from_position("234m 678s 77p 22p 8m", "5z", melds=MELDS, discards=DISCARDS, seed=seed)
        while not game.done:
            game.step(game.legal_actions()[-1])
            assert everything(game) == Counter(dict.fromkeys(range(34), 4))
        assert game.result.payments.sum() == 0


def test_claims():
    said = {"discards": {0: "9m", 1: "9m", 2: "9m"}, "seat": 2}
    game = Game.from_position("45m 77p 123s 456s 789s 22z5z", "1p", claim=(1, "6m"), **{**said, "discards": {0: "9m"}}, seed=1)
    assert game.current_player == 2 and actions.CHI_HIGH in game.legal_actions()
    game = Game.from_position("45m 77p 123s 456s 789s 22z5z", "1p", claim=(0, "7p"), seat=2, seed=1)
    assert actions.PENG in game.legal_actions() and actions.CHI_LOW not in game.legal_actions()
    with pytest.raises(ValueError, match="no claim on 1z"):
        Game.from_position("45m 77p 123s 456s 789s 22z5z", "1p", claim=(0, "1z"), seat=2, seed=1)


def test_after_a_claim_there_is_nothing_but_discards():
    game = Game.from_position("559m 77p 123s 456s 789s", "1p", melds={0: ["peng 111z"]}, after_claim=True,
                              discards={0: "3z"}, seed=1)  # fmt: skip
    assert all(a < 34 for a in game.legal_actions())
    drawn = Game.from_position("559m 77p 123s 456s 789s", "1p", melds={0: ["peng 111z"]}, discards={0: "3z"}, seed=1)
    assert drawn.legal_actions() != game.legal_actions() or actions.HU not in drawn.legal_actions()


def test_without_a_beginning_some_things_are_refused(tmp_path):
    game = Game.from_position(HAND, "9m", seed=1)
    for ask in (game.begun, game.to_bytes, lambda: game.events(0), lambda: game.resample(0, 1), lambda: pickle.dumps(game)):
        with pytest.raises(ValueError, match="set up from a position"):
            ask()
    with Recorder(tmp_path / "a", Rules(), list("abcd")) as recorder, pytest.raises(ValueError, match="from a position"):
        recorder.begin(game)
    other = copy.deepcopy(game)
    other.step(other.legal_actions()[0])
    assert other != game == game.copy()
    with pytest.raises(ValueError, match="set up from a position"):
        other.to_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hand": "123m"}, "holds 3 tiles"),
        ({"hand": "1111m1m 456p 789s 11z 22z 33z"}, "5 tiles 1m"),
        ({"hand": HAND + "x"}, "neither a number"),
        ({"hand": [99] * 17}, "no kind 99"),
        ({"caishen": "8z"}, "there is no 8z"),
        ({"caishen": 34}, "caishen must be"),
        ({"caishen": "1z", "hand": "111z 11m 456p 789s 22z 33z 55p"}, None),
        ({"caishen": "1z", "hand": "1111z 1m 456p 789s 22z 33z 55p"}, "5 tiles 1z"),
        ({"seat": 4}, "seat must be"),
        ({"dealer": 1}, "too few tiles"),
        ({"melds": {1: ["peng 123m"]}}, "no peng"),
        ({"melds": {1: ["chi 124m"]}}, "no chi"),
        ({"melds": {1: ["chi 123z"]}}, "no chi"),
        ({"melds": {1: ["chi 789m"]}}, "no chi"),
        ({"melds": {1: ["peng 999m"]}}, "the caishen is in no meld"),
        ({"melds": {1: ["kong 1111m"]}}, "a meld is one of"),
        ({"melds": {1: [""]}}, "a meld is one of"),
        ({"melds": {1: ["peng "]}}, "no peng"),
        ({"melds": {9: ["peng 111m"]}}, "seat 9"),
        ({"melds": {1: ["peng 777p"] * 6}}, "at most 5"),
        ({"discards": {0: "1"}}, "without a suit"),
        ({"discards": {"0": "1z"}}, "seat '0'"),
        ({"claim": (0, "1z")}, "holds 17 tiles|another seat"),
        ({"claim": (5, "1z")}, "claim must be"),
        ({"after_claim": 1}, "after_claim must be"),
        ({"ladder": 9}, "ladder must be"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(change, words):
    said = {"hand": HAND, "caishen": "9m"} | change
    if words is None:
        assert Game.from_position(**said).legal_actions()
        return
    with pytest.raises(ValueError, match=words):
        Game.from_position(**said)


def test_prospects_are_the_rule_players_choice():
    for seed in range(30):
        game = Game(Rules(stakes=False), seed=seed)
        player = BuiltIn("rule", game.rules)
        for _ in range(40):
            if game.done:
                break
            seen = prospects(game)
            assert sorted(x.action for x in seen) == game.legal_actions()
            if len(seen) > 1:
                choice = int(player.act(game.observe(game.current_player)[None], game.action_mask()[None])[0])
                assert seen[0].action == choice
            game.step(seen[0].action)


def test_what_a_discard_leaves_is_counted_from_scratch():
    game = Game.from_position("1234m 456p 789s 99p 5s 44p 5p 8p", "9m", seed=1)
    own = tiles.counts("1234m 456p 789s 99p 5s 44p 5p 8p").astype(np.int64)
    caishen = tiles.parse_kind("9m")
    for prospect in prospects(game):
        if prospect.distance is not None:
            left = own.copy()
            left[prospect.action] -= 1
            assert prospect.distance == hand.distance(left, 0, caishen)
            assert list(prospect.accepting) == hand.improving(left, 0, caishen)
            assert prospect.live == sum(4 - own[k] - (k == caishen) for k in prospect.accepting)


def test_explain(capsys):
    arguments = ["explain", "123m 77p 22p 8m 678s", "--caishen", "5z", "--melds", "0:peng 222z,chi 6p4p5p", "1:concealed 1111m"]
    assert cli.main([*arguments, "--discards", "0:3z5m", "2:7m"]) == 2  # there are five 1m
    assert "5 tiles 1m" in capsys.readouterr().err
    arguments[1] = "234m 77p 22p 8m 678s"
    assert cli.main([*arguments, "--discards", "0:3z5m", "2:7m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "tiles short" in lines[1] and lines[2].split() == ["action", "score", "short", "live", "accepting"]
    scores = [float(line[14:23]) for line in lines[3:]]
    assert scores == sorted(scores, reverse=True) and len(scores) > 3
    assert cli.main(["explain", "45m 77p 123s 456s 789s 22z5z", "--caishen", "1p", "--claim", "0:7p", "--seat", "2"]) == 0
    assert "peng" in capsys.readouterr().out
    for wrong in (["--claim", "x"], ["--discards", "0:1z", "0:2z"], ["--melds", "7:peng 111z"], ["--players", "9"]):
        assert cli.main(["explain", "45m 77p 123s 456s 789s 22z5z", "--caishen", "1p", *wrong]) == 2
