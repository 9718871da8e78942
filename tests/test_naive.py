"""The slow twin against recorded games, listed hands, a second algorithm and the rules one by one."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest

import walls
from naive import (
    CHI_HIGH,
    CHI_LOW,
    CHI_MID,
    GANG,
    HU,
    KINDS,
    OWN_GANG,
    PASS,
    PENG,
    RAISE,
    WHITE,
    NaiveGame,
    brute_force,
    chi_ways,
    distance,
    evaluate,
    improving,
    in_caishen_ma,
    is_complete,
    live_waits,
    waits,
)

DATA = Path(__file__).parent / "data"
HANDS = json.loads((DATA / "hands.json").read_text())


def tiles(text: str) -> list[int]:
    """The kinds of "123m 55z", in the order written."""
    kinds, digits = [], []
    for c in text.replace(" ", ""):
        if c.isdigit():
            digits.append(int(c) - 1)
        else:
            kinds += [d + {"m": 0, "p": 9, "s": 18, "z": 27}[c] for d in digits]
            digits = []
    return kinds


def tile(text: str) -> int:
    (kind,) = tiles(text)
    return kind


def counts(text: str) -> list[int]:
    hand = Counter(tiles(text))
    return [hand[k] for k in range(KINDS)]


def meld(text: str) -> tuple[str, int]:
    what, of = text.split()
    return what, min(tiles(of))


# -- recorded games and listed hands -------------------------------------------------------------------------


def trace_rows():
    with gzip.open(DATA / "traces.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def test_replays_every_recorded_game():
    rows = trace_rows()
    assert len(rows) == 874
    for row in rows:
        rules = {k: tuple(v) if isinstance(v, list) else v for k, v in row["rules"].items()}
        game = NaiveGame(rules, row["wall"], row["dealer"], row["ladder"], row["bought"], row["topped"])
        where = f"seed {row['seed']} rules {rules}"
        for i, (seat, legal, action) in enumerate(
            zip(row["players"], row["legals"], row["actions"], strict=True)
        ):
            assert game.current_player == seat, f"{where} step {i}"
            assert game.legal() == legal, f"{where} step {i}"
            game.step(action)
            game.check()
        assert game.done, where
        want, got = row["result"], game.result
        assert got["value"] == want["tier"], where
        assert got["patterns"] == sorted(want["patterns"]), where
        assert list(got["next_topped"]) == want["next_topped"], where
        for name in ("winner", "loser", "payments", "next_dealer", "next_ladder", "next_bought"):
            assert got[name] == want[name], f"{where} {name}"


@pytest.mark.parametrize("judge", [evaluate, brute_force])
def test_listed_hands(judge):
    assert HANDS
    for row in HANDS:
        flags = {k: row[k] for k in ("heavenly", "earthly", "caishen_ma", "white_home_face") if k in row}
        got = judge(
            counts(row["concealed"]),
            [meld(m) for m in row["melds"]],
            tile(row["caishen"]),
            self_draw=row["how"] == "self_draw",
            rob=row["how"] == "rob",
            **flags,
        )
        want = None if row["value"] is None else (row["value"], sorted(row["patterns"]))
        assert got == want, row


# -- two algorithms on random hands --------------------------------------------------------------------------


def random_hand(rng, *, size_less=0):
    """(counts, melds, caishen) of 17 - 3m - size_less tiles: half of them built to be wins or nearly."""
    while True:
        caishen = rng.randrange(34)
        left = Counter(dict.fromkeys(range(KINDS), 4))
        left[caishen] -= 1
        melds, used = [], []
        n_melds = rng.choice((0, 0, 0, 1, 2, 3, 4, 5))

        def take(kinds, left=left):
            wanted = Counter(kinds)
            if any(left[k] < n for k, n in wanted.items()):
                return False
            left.subtract(wanted)
            return True

        def some_set(rng=rng):
            if rng.random() < 0.5:
                low = rng.randrange(27)
                return [low, low + 1, low + 2] if low % 9 <= 6 else some_set()
            return [rng.randrange(34)] * 3

        for _ in range(100):
            if len(melds) == n_melds:
                break
            kinds = some_set()
            if kinds[0] != kinds[1]:
                if take([WHITE if k == caishen else k for k in kinds]):
                    melds.append(("chi", kinds[0]))
            elif kinds[0] != caishen:
                what = rng.choice(("peng", "gang", "added", "concealed"))
                if take([kinds[0]] * (3 if what == "peng" else 4)):
                    melds.append((what, kinds[0]))
        size = 17 - 3 * len(melds) - size_less
        style = rng.choice(("random", "sets", "sets", "triplets", "pairs"))
        if style != "random":
            for _ in range(60):
                if style == "pairs":
                    kinds = [rng.randrange(34)] * 2
                else:
                    kinds = some_set() if style == "sets" else [rng.randrange(34)] * 3
                    if size - len(used) == 2:
                        kinds = kinds[:1] * 2
                if len(used) + len(kinds) <= size and take(kinds):
                    used += kinds
        rest = list(left.elements())
        rng.shuffle(rest)
        while len(used) < size:
            used.append(rest.pop())
            left[used[-1]] -= 1
        if style != "random":
            wilds = rng.choices((0, 1, 2, 3), (4, 4, 3, 1))[0]
            for i in rng.sample(range(size), min(wilds, size)):  # some tiles become caishen, some faces white
                if left[caishen]:
                    left[used[i]] += 1
                    left[caishen] -= 1
                    used[i] = caishen
            for i, kind in enumerate(used):
                if kind == caishen and left[WHITE] and rng.random() < 0.4:
                    left[kind] += 1
                    left[WHITE] -= 1
                    used[i] = WHITE
        hand = Counter(used)
        if hand[caishen] <= 3:
            return [hand[k] for k in range(KINDS)], melds, caishen


def test_recursion_and_substitution_agree():
    rng = random.Random(7)
    seen, threes, sizes = Counter(), 0, Counter()
    while sum(seen.values()) < 4000:
        hand, melds, caishen = random_hand(rng)
        if hand[caishen] == 3:
            threes += 1
            if threes > 120:  # a substitution of three tries 7,140 hands
                continue
        how = rng.choice(({"self_draw": True}, {"self_draw": False}, {"self_draw": False, "rob": True}))
        how = {**how, "white_home_face": rng.random() < 0.5}
        if how["self_draw"] and hand[caishen]:
            how["caishen_ma"] = rng.random() < 0.2
        got = evaluate(hand, melds, caishen, **how)
        assert got == brute_force(hand, melds, caishen, **how), (hand, melds, caishen, how)
        assert (got is not None) == is_complete(hand, len(melds), caishen)
        assert (got is not None) == (distance(hand, len(melds), caishen) == 0)
        seen[got is not None] += 1
        sizes[len(melds), hand[caishen], got is not None] += 1
    assert min(seen.values()) > 1000
    assert {(m, g, True) for m in range(6) for g in range(3)} <= set(sizes)


def test_distance_is_what_must_be_drawn():
    rng = random.Random(8)
    ready = 0
    for _ in range(150):
        hand, melds, caishen = random_hand(rng, size_less=1)
        m = len(melds)
        far = distance(hand, m, caishen)
        assert far >= 1
        completing = waits(hand, m, caishen)
        assert (far == 1) == bool(completing)
        ready += far == 1
        better = improving(hand, m, caishen)
        assert better, "some tile always helps"
        if far == 1:
            assert better == completing
        for kind in rng.sample(range(KINDS), 4):
            more = list(hand)
            more[kind] += 1
            assert distance(more, m, caishen) in (far, far - 1)
            assert (distance(more, m, caishen) == far - 1) == (kind in better)
    assert 20 < ready < 140


def test_distance_of_one_is_one_exchange():
    rng = random.Random(9)
    for _ in range(60):
        hand, melds, caishen = random_hand(rng)
        m = len(melds)
        exchanged = any(
            waits([n - (k == out) for k, n in enumerate(hand)], m, caishen)
            for out in range(KINDS)
            if hand[out]
        )
        assert exchanged == (distance(hand, m, caishen) <= 1)


def test_distance_suit_by_suit_is_the_same():
    rng = random.Random(10)
    for _ in range(400):
        hand, melds, caishen = random_hand(
            rng, size_less=rng.choice((0, 0, 1, 2)) if rng.random() < 0.5 else 0
        )
        assert walls.quick_distance(hand, len(melds), caishen) == distance(hand, len(melds), caishen)


def test_distance_of_short_hands():
    assert distance(counts(""), 5, 0) == 2
    assert distance(counts("5p"), 5, 0) == 1
    assert distance(counts("1m"), 5, 0) == 1
    assert distance(counts("11m"), 4, 0) == 3  # two caishen: three tiles still to come
    assert distance(counts(""), 0, 0) == 17


def test_waits_formal_and_live():
    hand = counts("1111m 234567m 222p 333p")  # 1m, 4m or 7m would make the pair, and no 1m is left
    assert waits(hand, 0, tile("7z")) >= {tile("1m"), tile("4m"), tile("7m")}
    unseen = [0] * KINDS
    assert tile("1m") not in live_waits(hand, 0, tile("7z"), unseen)
    unseen[tile("4m")] = 3
    assert tile("4m") not in live_waits(hand, 0, tile("7z"), unseen)
    assert tile("7m") in live_waits(hand, 0, tile("7z"), unseen)


# -- many games ----------------------------------------------------------------------------------------------

HAPPENINGS = {
    "ALL_TRIPLETS",
    "CAISHEN_HOME",
    "EARTHLY",
    "HARD_EIGHT_PAIRS",
    "HEAVENLY",
    "NO_CAISHEN",
    "QUANQIUSHEN",
    "SELF_DRAW",
    "SINGLE_WAIT",
    "SOFT",
    "SOFT_EIGHT_PAIRS",
    "THREE_CAISHEN",
    "THREE_CAISHEN_COMPLETE",
    "buy_pass",
    "buy_raise",
    "top_pass",
    "top_raise",
    "caishen_points_on_draw",
    "chi_low",
    "chi_mid",
    "chi_high",
    "claims_2_over_1",
    "drawn_with_gang",
    "drawn_without_gang",
    "follow_wind",
    "lone_wind",
    "forced_caishen",
    "gang_added",
    "gang_claimed",
    "gang_concealed",
    "gang_barred_by_wall",
    "ladder_at_the_top",
    "ladder_kept",
    "ladder_raised",
    "ladder_reset",
    "late_peng_barred",
    "ma_barred",
    "ma_draw",
    "peng",
    "quan_bars_other_claims",
    "white_claimed_by_chi",
    "white_used_in_chi",
}


def test_rigged_games_reach_everything_and_conserve_tiles():
    total = Counter()
    for i in range(12 * len(walls.SCENARIOS)):
        rng = random.Random(i)
        rules = walls.random_rules(rng)
        name = list(walls.SCENARIOS)[i % len(walls.SCENARIOS)]
        wall, dealer, styles = walls.rigged_cast(rng, rules["num_players"], name)
        game = NaiveGame(rules, wall, dealer, **walls.random_stakes(rng, rules, dealer))
        game.check()
        walls.play(game, rng, styles, each=NaiveGame.check)
        total.update(game.coverage)
    assert set(total) >= HAPPENINGS, HAPPENINGS - set(total)


@pytest.mark.parametrize("name", walls.SCENARIOS)
@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_scenarios_lay_whole_walls(name, num_players):
    for seed in range(10):
        wall, dealer = walls.SCENARIOS[name](random.Random(seed), num_players)
        assert sorted(wall) == sorted(list(range(KINDS)) * 4)
        assert 0 <= dealer < num_players
        assert (wall, dealer) == walls.SCENARIOS[name](random.Random(seed), num_players)


# -- the rules, one by one -----------------------------------------------------------------------------------

FILLER = "147m 258p 158s 1122334z"  # sixteen tiles that claim little and wait for nothing


def position(*hands, caishen="9s", melds=None, phase="turn", shown="", rules=None, draws=(1, 1, 1, 1)):
    """A game in the middle: seat 0, the dealer, is in turn and the given tiles are in the hands (tiles are
    not conserved).
    """
    n = len(hands)
    wall = sorted(list(range(KINDS)) * 4)
    wall.remove(tile(caishen))
    game = NaiveGame({"num_players": n, "stakes": False, **(rules or {})}, [*wall, tile(caishen)])
    game.hands = [Counter(tiles(hand)) for hand in hands]
    game.melds = [[meld(m) for m in (melds or {}).get(seat, ())] for seat in range(n)]
    game.discards = [[1, kind, None] for kind in tiles(shown)]
    game.events = [("discard", 1, kind) for kind in tiles(shown)]
    for seat in [*range(1, n), 0]:
        game.events += [("draw", seat, tiles(hands[seat])[-1])] * draws[seat]
    game.phase = phase
    return game


def ask_after(game, discard: str):
    """Discards; returns the questions."""
    game.step(tile(discard))
    return game.questions if not game.done and game.phase == "claims" else {}


FIVE_MELDS = ["chi 123p", "peng 222z", "gang 3333s", "chi 456s", "chi 789p"]
WIN_BUT_5P = "123m 456m 789m 22p 345s 46p"  # sixteen tiles; 5p completes it


def test_number_of_tiles_and_the_deal():  # R2.2, R2.3, R2.4
    rng = random.Random(0)
    for n, remaining in ((4, 71), (3, 87), (2, 103)):
        wall, _ = walls.SCENARIOS["shuffled"](rng, n)
        game = NaiveGame({"num_players": n}, wall, dealer=1)
        assert game.remaining == remaining
        assert game.caishen == wall[135]
        assert game.hands[1] == Counter(wall[:16] + [wall[16 * n]])
        assert game.hands[2 % n] == Counter(wall[16:32])


def test_replacement_draw_comes_from_the_back():  # R2.3
    game = position("1111m 258p 158s 1122334z", FILLER, FILLER, FILLER)
    game.step(OWN_GANG + tile("1m"))
    assert game.events[-1] == ("replace", 0, game.wall[134])


def test_caishen_is_never_discarded():  # R3.2
    game = position("1p9s", FILLER, phase="discard", melds={0: FIVE_MELDS})
    assert game.legal() == [tile("1p")]


def test_two_caishen_must_give_one():  # R3.3
    game = position("9s9s", WIN_BUT_5P, FILLER, FILLER, phase="discard", melds={0: FIVE_MELDS})
    assert game.legal() == [tile("9s")]
    assert ask_after(game, "9s") == {1: [HU]}
    game.step(HU)
    assert game.result["winner"] == 1
    assert game.result["patterns"] == ["SOFT"]  # it counts as a caishen in the winner's hand
    assert game.result["payments"][1] > 3  # 1 × base a seat, and its caishen points


def test_two_caishen_drawn_may_win():  # R3.3
    game = position("9s9s", FILLER, melds={0: FIVE_MELDS})
    assert game.legal() == [tile("9s"), HU]


def test_white_fills_the_place_of_the_face():  # R3.4
    hand = Counter(tiles("4p6p5z"))
    face = tile("5p")
    assert chi_ways(hand, tile("4p"), face) == {CHI_LOW: (tile("4p"), [WHITE, tile("6p")])}
    assert set(chi_ways(hand, WHITE, face)) == {CHI_MID}
    assert set(chi_ways(Counter(tiles("46p")), tile("5p"), face)) == set()
    assert chi_ways(Counter(tiles("5p6p")), tile("4p"), face) == {}  # the face itself is caishen
    assert chi_ways(Counter(tiles("4p6p5z")), WHITE, WHITE) == {}


def test_no_hu_and_no_gang_after_a_claim():  # R4.2
    hand = "5555p 67p 11z 678s"
    melds = {0: FIVE_MELDS[:2]}
    assert {HU, OWN_GANG + tile("5p")} <= set(position(hand, FILLER, melds=melds).legal())
    after_claim = position(hand, FILLER, phase="discard", melds=melds).legal()
    assert after_claim == sorted(set(tiles(hand)))


def test_own_gangs_and_the_wall():  # R4.3
    hand, melds = "1111m 2p 36s 1133667z", {0: ["peng 222p"]}
    gangs = {OWN_GANG + tile("1m"), OWN_GANG + tile("2p")}
    assert gangs <= set(position(hand, FILLER, melds=melds).legal())
    short = position(hand, FILLER, melds=melds, draws=(44, 43))
    assert short.remaining == 16
    assert not gangs & set(short.legal())
    longer = position(hand, FILLER, melds=melds, draws=(44, 43), rules={"dead_wall": 15})
    assert gangs <= set(longer.legal())


def test_drawn_hand_at_sixteen():  # R4.4
    game = position("1m2p", FILLER, draws=(44, 43), melds={0: FIVE_MELDS})
    assert game.remaining == 16
    game.step(tile("1m"))
    while not game.done:
        game.step(PASS)
    assert game.result["winner"] is None
    assert game.result["value"] == 0


def test_lone_west_must_follow_west():  # R5.1
    hand = "123m 456m 789m 22p 1z2z3z 5p 6p 7p"
    assert position(hand, FILLER, shown="3z").legal() == [tile("3z")]
    assert position(hand, FILLER, shown="3z1z").legal() == [tile("1z"), tile("3z")]
    assert position(hand, FILLER, shown="4z").legal() == [tile("1z"), tile("2z"), tile("3z")]
    assert tile("2p") in position(hand, FILLER, rules={"wind_first": False}).legal()


def test_pairs_of_winds_are_not_lone():  # R5.1
    game = position("123m 456m 789m 33z 44z 5z5z 6p 7p", FILLER, shown="3z", phase="discard")
    assert len(game.legal()) == 14


@pytest.mark.parametrize(
    ("white_is_wind", "caishen", "bound"),
    [(True, "9s", True), (False, "9s", False), (False, "1z", True), (True, "5z", False)],
)
def test_white_as_a_wind(white_is_wind, caishen, bound):  # R1.2
    game = position(
        "123m 456m 789m 22p 66s 5z 67p",
        FILLER,
        caishen=caishen,
        phase="discard",
        rules={"white_is_wind": white_is_wind},
    )
    assert (game.legal() == [WHITE]) == bound


GIVER = "5p" + "9m" * 16


def test_all_answers_stand_together():  # R5.2
    game = position(GIVER, "123m 456m 34p 67p 555p 789s", FILLER, phase="discard")
    assert ask_after(game, "5p") == {1: [CHI_LOW, CHI_MID, CHI_HIGH, PENG, GANG, HU]}
    assert game.legal() == [CHI_LOW, CHI_MID, CHI_HIGH, PENG, GANG, HU, PASS]


def test_only_the_next_player_may_chi():  # R5.2
    chi = "147m 158s 46p 11223344z"
    assert ask_after(position(GIVER, FILLER, chi, FILLER, phase="discard"), "5p") == {}
    assert ask_after(position(GIVER, chi, FILLER, FILLER, phase="discard"), "5p") == {1: [CHI_MID]}
    assert ask_after(position(GIVER, chi, phase="discard"), "5p") == {1: [CHI_MID]}  # R2.1


def test_hu_over_peng_over_chi():  # R5.3
    def game():
        g = position(GIVER, "147m 158s 46p 11223344z", "147m 158s 55p 11223344z", WIN_BUT_5P, phase="discard")
        assert ask_after(g, "5p") == {1: [CHI_MID], 2: [PENG], 3: [HU]}
        return g

    g = game()
    for action in (CHI_MID, PENG, HU):
        g.step(action)
    assert g.result["winner"] == 3
    g = game()
    for action in (CHI_MID, PENG, PASS):
        g.step(action)
    assert (g.turn, g.melds[2]) == (2, [("peng", tile("5p"))])
    g = game()
    for action in (CHI_MID, PASS, PASS):
        g.step(action)
    assert (g.turn, g.melds[1]) == (1, [("chi", tile("4p"))])


def test_double_wins_before_the_nearer():  # R5.3
    double = "111m 222m 666s 44m 777s 55p"
    game = position(GIVER, WIN_BUT_5P, double, FILLER, phase="discard")
    questions = ask_after(game, "5p")
    assert HU in questions[1]
    assert HU in questions[2]
    game.step(HU)
    assert game.legal() == [PENG, HU, PASS]  # R5.4
    game.step(HU)
    assert (game.result["winner"], game.result["value"], game.result["loser"]) == (2, 4, 0)


def test_nearest_among_equals():  # R5.3
    game = position(GIVER, FILLER, WIN_BUT_5P, WIN_BUT_5P, phase="discard")
    ask_after(game, "5p")
    game.step(HU)
    game.step(HU)
    assert game.result["winner"] == 2


@pytest.mark.parametrize("answer", [PASS, CHI_MID])
@pytest.mark.parametrize("passed_peng", [True, False])
def test_no_late_peng(answer, passed_peng):  # R5.5
    hand = "14m 158s 4556p 1122334z"
    game = position(GIVER, hand, WIN_BUT_5P, phase="discard", rules={"passed_peng": passed_peng})
    assert ask_after(game, "5p") == {1: [CHI_MID, PENG], 2: [HU]}
    game.step(answer)
    assert (PENG in game.claim_answers(1)) == (not passed_peng)
    game.events.append(("chi claimed", 1, 0))  # his own chi does not free
    assert (PENG in game.claim_answers(1)) == (not passed_peng)
    game.hands[1][tile("5p")] += 1
    game.hands[1][tile("1m")] -= 1
    assert GANG in game.claim_answers(1)  # a gang is not barred
    game.events.append(("replace", 1, 0))
    assert PENG in game.claim_answers(1)


def test_a_gang_is_robbed():  # R5.6
    game = position("123m 456m 789m 2233p 5p", WIN_BUT_5P, FILLER, FILLER, melds={0: ["peng 555p"]})
    game.step(OWN_GANG + tile("5p"))
    assert game.phase == "rob"
    assert game.legal() == [HU, PASS]
    game.step(HU)
    assert game.result["winner"] == 1
    assert game.result["loser"] == 0
    assert game.result["patterns"] == ["NO_CAISHEN", "ROB_GANG"]
    assert game.melds[0] == [("peng", tile("5p"))]


def test_a_gang_not_robbed_is_completed():  # R5.6
    game = position("123m 456m 789m 2233p 5p", WIN_BUT_5P, FILLER, FILLER, melds={0: ["peng 555p"]})
    game.step(OWN_GANG + tile("5p"))
    game.step(PASS)
    assert game.melds[0] == [("added", tile("5p"))]
    assert game.events[-1][0] == "replace"


def test_a_concealed_gang_cannot_be_robbed():  # R4.3
    game = position("123m 456m 789m 2233p 5555p", WIN_BUT_5P, FILLER, FILLER)
    game.step(OWN_GANG + tile("5p"))
    assert game.phase == "turn"


@pytest.mark.parametrize(
    ("hand", "melds", "caishen", "ma"),
    [
        ("123m 456m 789m 222p 345s 9p", 0, "9p", True),
        ("123m 456m 789m 222p 35s 9p9p", 0, "9p", True),  # one in the run, one set aside
        ("123m 456m 789m 222p 55s 9p9p", 0, "9p", True),  # 55s and a wild are a set
        ("123m 456m 789m 22p 3477s 9p", 0, "9p", False),
        ("9p", 5, "9p", True),
        ("46s 5z 9p", 4, "5s", False),
        ("46s 5z 5s", 4, "5s", True),  # white as the face
        ("1p", 5, "9p", False),
    ],
)
def test_caishen_ma(hand, melds, caishen, ma):  # R5.7
    assert in_caishen_ma(counts(hand), tile(caishen), melds) == ma


def test_caishen_ma_wins_by_own_draw_only():  # R5.7, R7.16
    ma = "123m 456m 789m 222p 345s 9s"
    game = position("5z" + "9m" * 16, ma, FILLER, FILLER, phase="discard")
    assert 1 not in ask_after(game, "5z")
    own = position(ma + "7z", FILLER)
    assert HU in own.legal()
    own.step(HU)
    assert own.result["patterns"] == ["SELF_DRAW"]


def test_single_wait_but_not_out_of_caishen_ma():  # R7.3, R7.16
    single = position("1m9s", FILLER, melds={0: FIVE_MELDS})  # drew the caishen
    single.step(HU)
    assert single.result["patterns"] == ["SINGLE_WAIT"]
    ma = position("9s1m", FILLER, melds={0: FIVE_MELDS})  # drew the 1m
    ma.step(HU)
    assert (ma.result["value"], ma.result["patterns"]) == (2, ["SELF_DRAW"])


def test_quanqiushen():  # R5.8, R7.4, R9.2
    peng = "147m 158s 55p 11223344z"
    game = position("5p9s", peng, FILLER, FILLER, melds={0: FIVE_MELDS})
    assert ask_after(game, "5p") == {}  # nobody may peng: the hand is over
    assert game.result["winner"] == 0
    assert game.result["loser"] is None
    assert game.result["patterns"] == ["QUANQIUSHEN"]
    assert game.result["payments"] == [18, -6, -6, -6]  # 4 × 1 and 1 caishen × 2 from each
    spoiled = position("5p9s", WIN_BUT_5P, FILLER, FILLER, melds={0: FIVE_MELDS})
    assert ask_after(spoiled, "5p") == {1: [HU]}
    spoiled.step(HU)
    assert spoiled.result["winner"] == 1


DISCARD, OWN = {"self_draw": False}, {"self_draw": True}


@pytest.mark.parametrize("judge", [evaluate, brute_force])
@pytest.mark.parametrize(
    ("rule", "hand", "melds", "caishen", "how", "want"),
    [
        ("R6.4", "147m 258p 369s 1122334z 7m", [], "9m", DISCARD, None),
        ("R7.1", "999m 147p 258s 1122334z 7m", [], "9m", {**OWN, "heavenly": True}, (4, ["HEAVENLY"])),
        ("R7.2", "11m 123m 456p 789p 123s 456s", [], "9m", {**DISCARD, "earthly": True}, (4, ["EARTHLY"])),
        ("R7.3", "11m", FIVE_MELDS, "9s", DISCARD, (4, ["SINGLE_WAIT"])),
        ("R7.5", "1122m 3344p 5566s 7777s 1z", [], "9m", DISCARD, (4, ["HARD_EIGHT_PAIRS"])),
        ("R7.5", "1122m 3344p 5566s 7777s 9m", [], "9m", DISCARD, (4, ["HARD_EIGHT_PAIRS"])),
        ("R7.5", "1122m 3344p 5566s 7s1z 9m9m 2z", [], "9m", DISCARD, (4, ["HARD_EIGHT_PAIRS"])),
        ("R7.12", "1122m 3344p 5566s 777s 1z 9m", [], "9m", DISCARD, (2, ["SOFT_EIGHT_PAIRS"])),
        ("R7.6", "123m 456m 789m 22p 345s 999p", [], "9p", DISCARD, (4, ["THREE_CAISHEN_COMPLETE"])),
        ("R7.7", "111m 222p 333s 44z 777s 66z 9p", [], "9p", DISCARD, (4, ["ALL_TRIPLETS"])),
        ("R7.8", "123m 456m 789m 22p 345s 77s 9p", [], "9p", OWN, (2, ["SELF_DRAW"])),
        ("R7.9", "123m 456m 789m 22p 789s 46s 5z", [], "5s", DISCARD, (2, ["NO_CAISHEN"])),
        ("R7.10", "123m 456m 789m 22p 345s 789p", [], "9p", DISCARD, (2, ["CAISHEN_HOME"])),
        ("R7.10", "123m 456m 78p5z 22p 345s 789p", [], "9p", DISCARD, (1, ["SOFT"])),
        (
            "R7.10",
            "123m 456m 78p5z 22p 345s 789p",
            [],
            "9p",
            {**DISCARD, "white_home_face": True},
            (2, ["CAISHEN_HOME"]),
        ),
        ("R7.11", "123m 456m 789m 22p 345s 77s 9p", [], "9p", {**DISCARD, "rob": True}, (2, ["ROB_GANG"])),
        ("R7.13", "147m 258p 369s 11234z 999p", [], "9p", DISCARD, (2, ["THREE_CAISHEN"])),
        ("R7.14", "123m 456m 789m 22p 345s 77s 9p", [], "9p", DISCARD, (1, ["SOFT"])),
    ],
)
def test_value(judge, rule, hand, melds, caishen, how, want):
    assert judge(counts(hand), [meld(m) for m in melds], tile(caishen), **how) == want, rule


@pytest.mark.parametrize(
    ("hand", "melds", "caishen", "how"),
    [
        ("11m", [], 0, DISCARD),
        ("11111m 23m 456p 789p 1234s", [], 33, DISCARD),
        ("1111m 123m 456p 789p 123s 4s", [], 0, DISCARD),
        ("11m", [("chi", 7), *[("peng", k) for k in (9, 10, 11, 12)]], 33, DISCARD),
        ("11m", [("peng", k) for k in (33, 9, 10, 11, 12)], 33, DISCARD),
        ("11m", [("peng", k) for k in (8, 9, 10, 11, 12)], 33, {"self_draw": True, "rob": True}),
        ("11m", [("gang", k) for k in (0, 9, 10, 11, 12)], 33, DISCARD),
    ],
)
def test_impossible_hands_are_refused(hand, melds, caishen, how):
    for judge in (evaluate, brute_force):
        with pytest.raises(ValueError, match=r"."):
            judge(counts(hand), melds, caishen, **how)


def stakes_game(**given):
    wall, _ = walls.SCENARIOS["shuffled"](random.Random(3), 4)
    return NaiveGame({}, wall, dealer=2, **given)


def test_stakes_are_asked_before_any_tile():  # R8.3, R8.4, R8.6
    game = stakes_game()
    asked = []
    while game.phase == "stakes":
        asked.append(game.current_player)
        assert game.legal() == [PASS, RAISE]
        game.step(RAISE if game.current_player in (2, 0) else PASS)
    assert asked == [2, 3, 0, 1]
    assert game.bought
    assert game.topped == [True, False, False, False]
    assert (game.base(2, 0), game.base(2, 1), game.base(0, 1)) == (4, 2, 1)  # R8.5


def test_stakes_once_taken_are_not_asked():  # R8.3, R8.4
    game = stakes_game(bought=True, topped=(True, False, False, False), ladder=3)
    assert game.current_player == 3
    assert game.base(2, 0) == 16
    with pytest.raises(ValueError, match="stakes"):
        wall, _ = walls.SCENARIOS["shuffled"](random.Random(3), 4)
        NaiveGame({"stakes": False}, wall, bought=True)


def test_heavenly_before_any_other_act():  # R7.1, R7.8
    deal = walls.Deal(random.Random(0), 4, caishen=tile("9s"), dealer=0)
    deal.give(0, *tiles("1111m 234p 567p 789p 234s 7z"))
    deal.replace(0, tile("7z"))
    wall, _ = deal.wall()
    game = NaiveGame({"stakes": False}, wall)
    assert HU not in game.legal()
    game.step(OWN_GANG + tile("1m"))
    game.step(HU)
    assert game.result["patterns"] == ["NO_CAISHEN", "SELF_DRAW"]
    deal = walls.Deal(random.Random(0), 4, caishen=tile("9s"), dealer=0)
    deal.give(0, *tiles("111m 234p 567p 789p 234s 77z"))
    game = NaiveGame({}, deal.wall()[0])
    for _ in range(4):
        game.step(PASS)  # stake decisions are no acts
    game.step(HU)
    assert game.result["patterns"] == ["HEAVENLY"]


def test_dealer_who_wins_stays():  # R9.1, R9.3, R9.4
    game = position("123m 456m 789m 22p 345s 789p", FILLER, FILLER, FILLER)
    game.ladder, game.bought, game.topped = 1, True, [False, False, True, False]
    game.step(HU)
    assert game.result["payments"] == [2 * (4 + 8 + 4), -8, -16, -8]
    assert game.result["next_dealer"] == 0
    assert game.result["next_ladder"] == 2
    assert game.result["next_bought"] is True
    assert game.result["next_topped"] == (False, False, True, False)


def test_ladder_stays_on_its_last_value():  # R8.2
    game = position("123m 456m 789m 22p 345s 789p", FILLER, FILLER, FILLER, rules={"dealer_ladder": (2, 4)})
    game.ladder = 1
    game.step(HU)
    assert game.result["next_ladder"] == 1


@pytest.mark.parametrize(("gang", "after"), [(False, (0, 2)), (True, (1, 0))])
def test_drawn_hand(gang, after):  # R9.2, R9.4
    game = position("1m2p", FILLER, draws=(44, 43), melds={0: FIVE_MELDS})
    game.hands[1] = Counter(tiles("147m 258p 158s 11223z 99s"))
    game.ladder = 2
    if gang:
        game.events.insert(0, ("gang", 0, 0))
    game.step(tile("1m"))
    while not game.done:
        game.step(PASS)
    assert (game.result["next_dealer"], game.result["next_ladder"]) == after
    assert sum(game.result["payments"]) == 0
    assert game.result["payments"][1] == 2  # two caishen, one point each


@pytest.mark.parametrize("bad", [True, None, "0", 1.0, -1, 76, HU, 68])
def test_illegal_actions_change_nothing(bad):
    game = stakes_game()
    for _ in range(4):
        game.step(PASS)
    before = repr(vars(game))
    with pytest.raises(ValueError, match="illegal"):
        game.step(bad)
    assert repr(vars(game)) == before
