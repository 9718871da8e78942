"""After each step what is derived is recomputed from what is primary; rule numbers one by one; golden digests."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from wzmj_env import Game, Rules, VectorEnv, actions, scoring, tiles
from wzmj_env.hand import count
from wzmj_env.patterns import QUANQIUSHEN_SET
from wzmj_env.state import CLAIM, DISCARD_ONLY, LYING, NOTHING, OVER, ROB, SEAT_UNIT, STAKES_ASKED, TURN

import naive

GOLDEN = Path(__file__).parent / "golden" / "digests.json"
RULES = [Rules(), Rules(num_players=2), Rules(num_players=3), Rules(dead_wall=1), Rules(wind_first=False, unit=7)]


def hands_of(s):
    return [np.array([count(s.held[p], k) for k in range(34)]) for p in range(int(s.num_players))]


def check_state(s):
    """Keys, waits, pengs, caishen ma, tiles and payments of a state follow from its hands, melds, discards and wall."""
    n = int(s.num_players)
    if s.phase == STAKES_ASKED:
        return
    hands = hands_of(s)
    total = np.zeros(34, int)
    for p, hand in enumerate(hands):
        caishen = int(s.caishen)
        natural = [int(c) if k != caishen else 0 for k, c in enumerate(hand)]
        for i in range(4):
            assert s.keys[p, i] == sum(c * 5**j for j, c in enumerate(natural[9 * i : 9 * i + 9]))
        melds = [(scoring.MELD_NAMES[s.meld_what[p, i]], int(s.meld_kind[p, i])) for i in range(s.melds[p])]
        assert {k for w, k in melds if w == "peng"} == {k for k in range(34) if int(s.pengs[p]) >> k & 1}
        assert hand.sum() == 16 - 3 * len(melds) + extra(s, p)
        before = hand.copy()
        if s.phase == TURN and s.player == p:
            before[s.drawn] -= 1
        if before.sum() == 16 - 3 * len(melds):
            waits = naive.waits(before.tolist(), len(melds), caishen) & {k for k in range(34) if before[k] < 4}
            assert waits == {k for k in range(34) if int(s.waits[p]) >> k & 1}
            assert bool(s.caishen_ma[p]) == naive.in_caishen_ma(before.tolist(), caishen, len(melds))
        total += hand
        for what, kind in melds:
            total += np.bincount(naive.meld_tiles(what, kind, caishen), minlength=34)
    for d, fate in zip(s.discards[: s.num_discards], s.fates[: s.num_discards], strict=True):
        total[int(d) % SEAT_UNIT] += fate == LYING
    total += np.bincount(s.wall[int(s.front) : int(s.back) + 1], minlength=34)
    total[s.caishen] += 1
    assert (total == 4).all(), "tiles are conserved"
    assert s.payments[:n].sum() == 0
    assert (s.phase == OVER) == (s.player == NOTHING)
    assert (s.legal.any()) == (s.phase != OVER), "not over: there is a legal action"
    assert (s.tile != NOTHING) == (s.phase in (CLAIM, ROB)) or s.phase == OVER


def extra(s, p):
    """Tiles that seat p conceals beyond sixteen, melds counting three."""
    if s.phase == OVER:
        return int(s.winner == p and not s.patterns & QUANQIUSHEN_SET)
    return int((s.player == p and s.phase in (TURN, DISCARD_ONLY)) or (s.source == p and s.phase == ROB))


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
def test_the_derived_follows_from_the_primary(rules):
    env = VectorEnv(6, rules, seed=21)
    for _ in range(300):
        env.step(env.sample_actions())
        for i in range(env.num_envs):
            check_state(env.states[i])
            if env.terminated[i]:
                check_state(env.final_states[i])


def golden_games():
    """A hash of the digests at every step, a game a line."""
    rows = {}
    for players in (2, 3, 4):
        for seed in range(340 if players == 4 else 330):
            game, h = Game(Rules(num_players=players), seed=seed), hashlib.sha256()
            state = seed
            while not game.done:
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                legal = game.legal_actions()
                game.step(legal[(state >> 33) % len(legal)])
                h.update(game.digest().encode())
            rows[f"{players}-{seed}"] = h.hexdigest()[:16]
    return rows


def test_the_games_of_a_seed_stay_the_same():
    """Golden: regenerate with `python tests/test_engine.py` when the rules, not the layout, have changed."""
    assert golden_games() == json.loads(GOLDEN.read_text())


# --- rules one by one, in tile strings -------------------------------------------------------------------------------


def wall_of(*hands, caishen="7s", draws="", back="", dealer_extra="", players=4):
    """A wall that deals these hands from the dealer round; then the dealer's 17th tile and these draws."""
    left = np.full(34, 4)
    caishen_kind = tiles.parse_kind(caishen)
    left[caishen_kind] -= 1
    fixed = [tiles.parse(hand) for hand in hands]
    rest_draws, rest_back = tiles.parse(dealer_extra + draws), tiles.parse(back)
    for k in [k for hand in fixed for k in hand] + rest_draws + rest_back:
        left[k] -= 1
    assert (left >= 0).all()
    pool = [k for k in range(34) for _ in range(left[k])]
    pool.sort(key=lambda k: (k * 7 + 3) % 34)  # spread, so that hands left open are poor
    for i in range(players):
        if i == len(fixed):
            fixed.append([])
        while len(fixed[i]) < 16:
            fixed[i].append(pool.pop())
    front = [k for hand in fixed for k in hand] + rest_draws
    return front + pool + rest_back[::-1] + [caishen_kind]


def game_of(*hands, rules=None, **wall):
    rules = rules or Rules(stakes=False)
    return Game(rules, wall=wall_of(*hands, players=rules.num_players, **wall), dealer=0)


def can(game, text):
    return actions.parse(text) in game.legal_actions()


def discardable(game):
    return tiles.text([a for a in game.legal_actions() if a < 34])


JUNK = "147m 258p 369s"  # nine tiles with no pair and no run


def test_lone_winds_go_first():  # R5.1
    game = game_of(JUNK + "1m 4p 1z2z3z 44z", dealer_extra="9s")
    assert discardable(game) == "123z"


def test_lone_west_must_follow_west():  # R5.1
    game = game_of(JUNK + "1m 4p 9p 33z 44z", JUNK + "1m 4p 9p 3z 2z 66z", dealer_extra="3z")
    assert discardable(game) == "147m24589p369s34z"  # no lone wind: three West, a pair of North
    game.step(actions.parse("discard 3z"))
    while game.current_player != 1 or actions.PASS in game.legal_actions():
        game.step(actions.PASS)
    assert discardable(game) == "3z"


def test_wind_first_off_frees_every_discard():  # R12 wind_first
    game = game_of(JUNK + "1m 4p 1z2z3z 44z", dealer_extra="9s", rules=Rules(stakes=False, wind_first=False))
    assert discardable(game) == "147m2458p369s1234z"


@pytest.mark.parametrize(("caishen", "free"), [("7s", True), ("1z", False)])
def test_white_as_no_wind(caishen, free):  # R1.2, R12 white_is_wind
    rules = Rules(stakes=False, white_is_wind=False)
    game = game_of("147m 258p 369s 1m 4p 9p 8p 5z 66z", dealer_extra="9s", caishen=caishen, rules=rules)
    assert (discardable(game) != "5z") == free


def test_caishen_is_never_discarded():  # R3.2
    game = game_of("7s" + JUNK + "1m 4p 9p 8p 66z", dealer_extra="9s")
    assert not can(game, "discard 7s")


def test_stakes_are_asked_dealer_first_and_each_once():  # R8.3, R8.4, R8.6
    game = Game(seed=1, dealer=2)
    asked = []
    while actions.RAISE in game.legal_actions():
        asked.append(game.current_player)
        game.step(actions.RAISE)
    assert asked == [2, 3, 0, 1]
    game = Game(seed=1, dealer=2, bought=True, topped=(True, False, False, False))
    asked = []
    while actions.RAISE in game.legal_actions():
        asked.append(game.current_player)
        game.step(actions.PASS)
    assert asked == [3, 1]


def test_remaining_after_the_deal():  # R2.4
    for players, remaining in ((4, 71), (2, 103)):
        env = VectorEnv(1, Rules(num_players=players, stakes=False), seed=1)
        assert int(env.states.back[0]) - int(env.states.front[0]) + 2 == remaining


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(golden_games(), indent=0) + "\n")
