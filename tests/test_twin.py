"""Engine and slow twin play the same games: seat to act, whole legal set and settlement agree at every step."""

import os
import random
from collections import Counter

import pytest

from wzmj_env import Game, Pattern, Rules
from wzmj_env.workers import process_pool

import naive
import walls

GAMES, LONG_GAMES, CHUNK = 2_000, 20_000, 100

# What has to have happened among the games, besides every pattern and every switch of the rules.
HAPPENINGS = (
    "chi_low", "chi_mid", "chi_high", "white_claimed_by_chi", "white_used_in_chi", "peng", "gang_claimed",
    "gang_concealed", "gang_added", "robbed", "gang_not_robbed_though_asked", "quan_spoiled",
    "drawn_without_gang", "drawn_with_gang", "ma_barred", "ma_draw", "late_peng_barred", "forced_caishen",
    "won_caishen", "double_beats_nearer", "lone_wind", "follow_wind", "gang_barred_by_wall", "buy_raise",
    "buy_pass", "top_raise", "top_pass", "ladder_raised", "ladder_at_the_top", "ladder_kept", "ladder_reset",
    "quan_bars_other_claims", "ma_win_with_five_melds", "caishen_points_on_draw", "claims_4_over_4",
    "claims_4_over_3", "claims_3_over_3", "claims_4_over_2", "claims_4_over_1", "claims_3_over_2",
    "claims_3_over_1", "claims_2_over_1",
)  # fmt: skip


def play_both(seed):
    """One game, rigged or shuffled, under rules and stakes drawn from the seed; the twin's coverage."""
    rng = random.Random(seed)
    rules = walls.random_rules(rng)
    n = rules.get("num_players", 4)
    if rng.random() < 0.75:
        wall, dealer, styles = walls.rigged_cast(rng, n)
    else:
        wall, dealer = rng.sample([k for k in range(34) for _ in range(4)], 136), rng.randrange(n)
        styles = [rng.choice(walls.STYLES) for _ in range(n)]
    stakes = walls.random_stakes(rng, {**naive.RULE_DEFAULTS, **rules}, dealer)
    twin = naive.NaiveGame(rules, wall, dealer, **stakes)
    game = Game(Rules(**rules), wall=wall, dealer=dealer, **stakes)

    def compare(twin):
        assert (game.current_player, game.legal_actions()) == (twin.current_player, twin.legal()), seed

    compare(twin)
    while not twin.done:
        seat = twin.current_player
        hand = [twin.hands[seat][k] for k in range(34)]
        pengs = [kind for what, kind in twin.melds[seat] if what == "peng"]
        action = walls.drive(twin.legal(), rng, styles[seat], hand, twin.caishen, len(twin.melds[seat]), pengs)
        twin.step(action)
        game.step(action)
        compare(twin)
    result = game.result
    found = {name: getattr(result, name) for name in twin.result}
    found["patterns"] = sorted(p.name for p in result.patterns)
    found["payments"] = result.payments.tolist()
    found["next_topped"] = list(result.next_topped)
    want = {**twin.result, "next_topped": list(twin.result["next_topped"]), "payments": list(twin.result["payments"])}
    assert found == want, seed
    happened = Counter(twin.coverage)
    happened.update(name for name, value in rules.items() if value != naive.RULE_DEFAULTS[name])
    happened["ended"] += 1
    return happened


def play_chunk(seeds):
    total = Counter()
    for seed in seeds:
        total.update(play_both(seed))
    return total


def play_many(first, games):
    """The coverage of so many games, over processes."""
    chunks = [range(i, min(i + CHUNK, first + games)) for i in range(first, first + games, CHUNK)]
    total = Counter()
    with process_pool(os.cpu_count()) as pool:
        for happened in pool.map(play_chunk, chunks):
            total.update(happened)
    assert total["ended"] == games
    return total


def check_coverage(total):
    assert not [p.name for p in Pattern if not total[p.name]]
    assert not [name for name in HAPPENINGS if not total[name]]
    assert not [name for name in naive.RULE_DEFAULTS if not total[name]]


def test_engine_agrees_with_the_twin():
    check_coverage(play_many(0, GAMES))


@pytest.mark.long
@pytest.mark.largest
def test_engine_agrees_with_the_twin_over_many_games():
    check_coverage(play_many(1_000_000, LONG_GAMES))
