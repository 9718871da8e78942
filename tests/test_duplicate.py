"""Duplicate deals: the same luck for all, exact zeros, calibrated intervals, counts that add up."""

import numpy as np
import pytest
from test_specs import Bot

from wzmj_env import Game, IllegalActionError, Rules, VectorEnv, duplicate
from wzmj_env.duplicate import FORMATS, compare, deal_means, interval, play, play_chunk, profile, seatings
from wzmj_env.players import POLICIES
from wzmj_env.specs import BuiltIn, make_agent

NO_STAKES = Rules(stakes=False)
FIRST, LAST = "test_specs:Bot", "test_specs:Bot?last=True"
DETERMINISTIC = [name for name in POLICIES if name != "random"]


def rules_for(format):
    return Rules(num_players=sum(FORMATS[format]), stakes=False)


class Liar(Bot):
    """Answers what its factory was told, legal or not."""

    def __init__(self, answer):
        self.answer = answer

    def act(self, observations, masks):
        return np.full(len(masks), self.answer)


class Dice(Bot):
    """Random legal actions from a generator of its own."""

    def reset(self, seed):
        self.generator = np.random.default_rng(seed)

    def act(self, observations, masks):
        return (self.generator.random(masks.shape) * masks).argmax(1)


# --- seatings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "number"), [("1v3", 4), ("2v2", 6), ("1v2", 3), ("duel", 2)])
def test_every_distinct_seating_once(format, number):
    seating = seatings(format, sum(FORMATS[format]))
    assert len({tuple(row) for row in seating}) == len(seating) == number
    assert len(set((seating == 0).sum(0))) == 1  # A sits in each seat equally often


@pytest.mark.parametrize(("format", "players"), [("duel", 4), ("1v3", 2), ("3v1", 4), (None, 4)])
def test_a_format_that_does_not_fit_is_refused(format, players):
    with pytest.raises(ValueError, match=r"format must be one of .* for \d players"):
        seatings(format, players)


@pytest.mark.parametrize(
    ("change", "what"), [({"deals": 1}, "deals"), ({"workers": 0}, "workers"), ({"format": "5v5"}, "format")]
)
def test_bad_input_is_refused(change, what):
    with pytest.raises(ValueError, match=what):
        compare(**{"a": "random", "b": "random", "format": "1v3", "deals": 10, **change})


# --- deals -----------------------------------------------------------------------------------------------------------


def test_the_seatings_of_a_deal_share_wall_and_dealer_which_are_those_of_the_game_of_that_number():
    hands = play(["random", "random"], seatings("1v3", 4), 5, 40, seed=3, rules=NO_STAKES)
    assert np.array_equal(hands["dealer"], np.repeat(VectorEnv(40, NO_STAKES, seed=3).states.dealer[5:, None], 4, 1))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("agent", [FIRST, *DETERMINISTIC])
def test_a_deterministic_player_against_itself_gets_exactly_nothing_on_each_deal(agent, format):
    rules = rules_for(format)
    seating = seatings(format, rules.num_players)
    hands = play([agent, agent], seating, 0, 60, seed=8, rules=rules)
    assert not deal_means(hands, seating, 0).any()
    assert hands["payments"].any()


@pytest.mark.parametrize("format", FORMATS)
def test_the_batched_loop_plays_what_single_games_play(format):
    """Two deterministic agents, against a loop over `Game`."""
    rules = rules_for(format)
    seating = seatings(format, rules.num_players)
    agents = [make_agent(FIRST), make_agent(LAST)]
    hands = play_chunk(agents, seating, 3, 13, 21, rules)
    env = VectorEnv(10, rules, seed=21, games=range(3, 13))
    for d in range(10):
        for r, row in enumerate(seating):
            game = Game(rules, wall=env.states.wall[d], dealer=int(env.states.dealer[d]))
            while not game.done:
                seat = game.current_player
                game.step(int(agents[row[seat]].act(game.observe(seat)[None], game.action_mask()[None])[0]))
            hand, result = hands[d, r], game.result
            assert np.array_equal(hand["payments"][: rules.num_players], result.payments)
            assert (hand["winner"], hand["loser"], hand["value"]) == (
                -1 if result.winner is None else result.winner,
                -1 if result.loser is None else result.loser,
                result.value,
            )


def test_batched_and_compiled_loop_agree_for_deterministic_built_in_players():
    seating = seatings("2v2", 4)
    for a in DETERMINISTIC:
        for b in DETERMINISTIC:
            agents = [BuiltIn(a), BuiltIn(b)]
            policies = np.array([agent.policy for agent in agents])
            compiled = play_chunk(agents, seating, 7, 40, 2, NO_STAKES)
            batched = np.zeros_like(compiled).view(np.recarray)
            duplicate._play_batched(agents, policies, seating, 7, 2, NO_STAKES, batched)
            assert np.array_equal(compiled, batched), (a, b)


def test_payments_are_in_units():
    ones = play([FIRST, LAST], seatings("1v3", 4), 0, 20, rules=NO_STAKES)
    tens = play([FIRST, LAST], seatings("1v3", 4), 0, 20, rules=Rules(stakes=False, unit=10))
    assert np.array_equal(ones, tens)


def test_neither_chunks_nor_workers_change_built_in_players(monkeypatch):
    seating = seatings("1v3", 4)
    whole = play(["random", "random"], seating, 0, 50, seed=1, rules=NO_STAKES)
    monkeypatch.setattr(duplicate, "CHUNK", 7)
    done = []
    parts = play(["random", "random"], seating, 0, 50, seed=1, rules=NO_STAKES, workers=3, progress=done.append)
    assert np.array_equal(whole, parts)
    assert (sum(done), len(done)) == (50, 8)


def test_processes_change_nothing(monkeypatch):
    monkeypatch.setattr(duplicate, "CHUNK", 5)
    specs = ["test_duplicate:Dice", "random"]
    alone, beside = (play(specs, seatings("duel", 2), 0, 15, rules=rules_for("duel"), workers=n) for n in (1, 2))
    assert np.array_equal(alone, beside)


def test_players_that_draw_lots_do_so_anew_at_each_table():
    for a in ("random", "test_duplicate:Dice"):
        hands = play([a, "random"], seatings("1v3", 4), 0, 30, seed=1, rules=NO_STAKES)
        assert np.mean(hands["discards"][:, 0] == hands["discards"][:, 1]) < 0.5
        again = play([a, "random"], seatings("1v3", 4), 0, 30, seed=1, rules=NO_STAKES)
        assert np.array_equal(hands, again)


@pytest.mark.parametrize(("answer", "what"), [(200, "illegal action 200"), (-1, "illegal action -1"), (0.5, "float64")])
def test_an_agent_that_answers_nonsense_is_named(answer, what):
    with pytest.raises(IllegalActionError, match=what) as raised:
        play([f"test_duplicate:Liar?answer={answer}", "random"], seatings("1v3", 4), 0, 3, rules=NO_STAKES)
    assert "test_duplicate:Liar" in str(raised.value)


# --- statistics ------------------------------------------------------------------------------------------------------


def test_deal_means_are_clustered_by_deal():
    seating = seatings("2v2", 4)
    hands = play([FIRST, LAST], seating, 0, 12, rules=NO_STAKES)
    for d, mean in enumerate(deal_means(hands, seating, 1)):
        own = [hands["payments"][d, r, p] for r in range(6) for p in range(4) if seating[r, p] == 1]
        assert mean == pytest.approx(np.mean(own))


def test_counts_add_up():
    c = compare("random", FIRST, "2v2", 200, seed=4)
    a, b = c.profiles["a"], c.profiles["b"]
    assert c.hands == 6 * c.deals == 1200
    assert a.seats == b.seats == 2 * c.hands
    assert a.won + b.won + c.drawn == c.hands
    assert c.mean == a.payment == pytest.approx(-b.payment)
    assert a.deal_in + b.deal_in + a.own_draw + b.own_draw == a.won + b.won
    for p in (a, b):
        assert sum(p.by_value.values()) == p.won <= sum(p.by_pattern.values())
        assert p.win_rate == p.won / p.seats


def test_profile_of_hands_given():
    hands = np.zeros((1, 2), duplicate.HAND)
    hands["winner"], hands["loser"], hands["value"] = [[0, 0]], [[1, -1]], [[4, 2]]
    hands["discards"] = [[30, 44]]
    hands["patterns"] = [[0b1100, 0b10000000]]
    hands["payments"][0, :, :2] = [[4, -4], [2, -2]]
    a = profile(hands, seatings("duel", 2), 0)
    assert (a.seats, a.won, a.own_draw, a.deal_in, a.payment) == (2, 1, 0, 0, 1.0)
    assert a.discards == 30
    assert (a.by_value, a.by_pattern) == ({4: 1}, {"SINGLE_WAIT": 1, "QUANQIUSHEN": 1})
    b = profile(hands, seatings("duel", 2), 1)
    assert (b.won, b.own_draw, b.deal_in, b.by_pattern) == (1, 1, 1, {"SELF_DRAW": 1})


def test_an_interval_is_the_same_each_time_and_narrows_with_the_root_of_the_deals():
    x = np.random.default_rng(1).normal(size=6400)
    low, high = interval(x)
    assert (low, high) == interval(x)
    assert low < x.mean() < high
    assert high - low == pytest.approx(2 * 1.96 / 80, rel=0.1)
    assert interval(x[:400])[1] - interval(x[:400])[0] == pytest.approx(4 * (high - low), rel=0.2)
    assert interval(np.zeros(9)) == (0, 0)


def test_intervals_are_calibrated():
    """Two copies of a player that draws lots, each from a stream of its own: the interval holds 0 in about 95 % of runs."""
    runs = [compare("random", "random", "1v3", 60, seed=seed) for seed in range(200)]
    assert 180 <= sum(c.low <= 0 <= c.high for c in runs) <= 198


def test_verdicts():
    assert compare(FIRST, FIRST, "duel", 20).verdict == "undecided"
    c = compare("random", LAST, "duel", 400)
    assert c.verdict == ("above" if c.low > 0 else "below" if c.high < 0 else "undecided")
