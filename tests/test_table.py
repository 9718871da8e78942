"""One table under a driven clock: R10 row by row, both sides of each limit; nothing double, nothing lost, nothing seen."""

import json
import random
from contextlib import suppress

import numpy as np
import pytest

from wzmj_env import Rules, actions
from wzmj_env.clock import Times
from wzmj_env.record import Record
from wzmj_env.resample import NoSuchHandError
from wzmj_env.scene import SPECTATOR
from wzmj_env.settlement import settlement
from wzmj_env.table import HOSTING, OPEN, OVER, PLAYING, SETTLED, TIMEOUT, Plan, Refused, Table, unit_of

DUEL = Rules(num_players=2, stakes=False, unit=10)
CHARGE = 10 * 1 * 4 * 2  # R10.6 at the foot of the ladder


class Driver:
    """A table whose people are all there and ready, and the time it is told."""

    def __init__(self, folder, rules=DUEL, hands=2, seed=1, agents=None, name="a.jsonl"):
        self.now = 0.0
        self.table = Table(Plan(rules, agents or (None,) * rules.num_players, hands), folder / name, seed=seed, name="t")
        for seat, s in enumerate(self.table.seats):
            if s.agent is None:
                self.table.sit(seat, f"p{seat}", self.now)
                self.table.regain(seat, self.now)
        for seat, s in enumerate(self.table.seats):
            if s.agent is None:
                self.table.press(seat, self.now)

    def wait(self, seconds):
        self.now += seconds
        self.table.advance(self.now)

    def asked(self):
        return {p: s.asked for p, s in enumerate(self.table.seats) if s.asked is not None}

    def play(self, choose=lambda seat, legal: legal[-1], until=lambda d: False):
        """Answer everything at once until a condition holds or the hand is over; whether it holds."""
        while self.table.phase == PLAYING and not until(self):
            seat, asked = next(iter(self.asked().items()))
            self.table.answer(seat, asked.number, choose(seat, asked.legal), self.now)
        return self.table.phase == PLAYING

    def actions(self):
        return list(self.table.game.actions)


def calmly(seat, legal):
    """Pass all claims, never win, discard the highest."""
    return actions.PASS if actions.PASS in legal else max(a for a in legal if a < actions.GANG)


def last_by(table):
    *_, hand = Record(table.path)
    return hand.by[-1], hand.game.actions[-1]


def on_turn(driver):
    return driver.table.game.phase in (1, 2)


@pytest.fixture
def duel(tmp_path):
    driver = Driver(tmp_path)
    assert driver.table.phase == PLAYING and on_turn(driver)
    return driver


def only_seat(driver):
    (seat,) = driver.asked()
    return seat


# --- R10.1 to R10.4 ------------------------------------------------------------------------------------------------------


def test_a_turn_runs_out_after_20_seconds_and_the_table_discards(duel):  # R10.1, R10.4
    legal = [a for a in duel.asked()[only_seat(duel)].legal if a < actions.GANG]
    drawn = int(duel.table.game._states[0].drawn)
    duel.wait(19.9)
    assert duel.actions() == []
    duel.wait(0.2)
    assert duel.actions()[0] == (drawn if drawn in legal else max(legal))
    assert next(iter(Record(duel.table.path))).by[0] == TIMEOUT


def test_an_answer_at_19_9_counts_and_at_20_1_changes_nothing(tmp_path):
    for at, counts in ((19.9, True), (20.1, False)):
        driver = Driver(tmp_path, name=f"{at}.jsonl")
        seat = only_seat(driver)
        asked = driver.asked()[seat]
        choice = min(a for a in asked.legal if a < actions.GANG)
        assert choice != max(asked.legal)
        if counts:
            driver.table.answer(seat, asked.number, choice, at)
            assert driver.actions()[0] == choice
        else:
            with pytest.raises(Refused, match="not open"):
                driver.table.answer(seat, asked.number, choice, at)
            assert next(iter(Record(driver.table.path))).by[0] == TIMEOUT


def until_turn_of(driver, seat):
    assert driver.play(calmly, lambda d: on_turn(d) and only_seat(d) == seat)


def run_out(driver, seat):
    """A turn of `seat` that runs out."""
    until_turn_of(driver, seat)
    before = len(driver.actions())
    driver.wait(driver.table.clock.remaining(seat, driver.now) + 0.1)
    assert len(driver.actions()) == before + 1


@pytest.mark.parametrize("seat", [0, 1])
def test_the_next_turn_has_10_seconds_and_playing_in_time_restores_20(duel, seat):  # R10.1
    run_out(duel, seat)
    until_turn_of(duel, seat)
    assert duel.table.clock.remaining(seat, duel.now) == 10
    before = duel.actions()
    duel.wait(9.9)
    assert duel.actions() == before
    asked = duel.asked()[seat]
    duel.table.answer(seat, asked.number, calmly(seat, asked.legal), duel.now)
    until_turn_of(duel, seat)
    assert duel.table.clock.remaining(seat, duel.now) == 20


def test_running_out_on_a_short_turn_is_hosting_until_it_is_cancelled(duel):  # R10.1, R10.3
    run_out(duel, 0)
    until_turn_of(duel, 0)
    duel.wait(9.9)
    assert not duel.table.clock.is_hosted(0)
    duel.wait(0.2)
    assert duel.table.clock.is_hosted(0)
    assert HOSTING in [by for hand in Record(duel.table.path) for by in hand.by]
    other = duel.asked()[1]
    for _ in range(3):  # the table plays for seat 0, at once
        duel.wait(0.01)
        assert list(duel.asked()) == [1]
        other = duel.asked()[1]
        duel.table.answer(1, other.number, calmly(1, other.legal), duel.now)
    duel.table.cancel_hosting(0, duel.now)
    duel.wait(0)
    until_turn_of(duel, 0)
    assert not duel.table.clock.is_hosted(0) and duel.table.clock.remaining(0, duel.now) == 20


def asked_to(driver, action):
    return next((p for p, asked in driver.asked().items() if action in asked.legal), None)


def games_with_claims(folder, action, rules=DUEL):
    for seed in range(1, 60):
        driver = Driver(folder, rules, seed=seed, name=f"{action}-{seed}.jsonl")
        if driver.play(calmly, lambda d: asked_to(d, action) is not None and d.table.game.phase == 3):
            yield driver


def test_a_claim_has_10_seconds_and_is_a_pass_that_counts_for_nothing(tmp_path):  # R10.2
    driver = next(games_with_claims(tmp_path, actions.PENG))
    seat = asked_to(driver, actions.PENG)
    before = len(driver.actions())
    driver.wait(9.9)
    assert len(driver.actions()) == before
    driver.wait(0.2)
    assert driver.actions()[before] == actions.PASS
    until_turn_of(driver, seat)
    assert driver.table.clock.remaining(seat, driver.now) > 19  # asked when the claim ran out


def test_a_stake_has_10_seconds_and_is_a_pass(tmp_path):  # R10.2, R8.6
    driver = Driver(tmp_path, Rules(num_players=2))
    assert driver.table.view(0)["scene"]["caishen"] is None
    driver.wait(9.9)
    assert driver.actions() == []
    driver.wait(0.2)
    assert driver.actions() == [actions.PASS]
    driver.wait(10.2)
    assert driver.actions() == [actions.PASS] * 2
    assert driver.table.clock.remaining(only_seat(driver), driver.now) > 19


def test_hosting_takes_a_hu_passes_claims_and_stakes(tmp_path):  # R10.3
    taken = passed = 0
    for driver in games_with_claims(tmp_path, actions.PENG):
        seat = asked_to(driver, actions.PENG)
        can_win = actions.HU in driver.asked()[seat].legal
        driver.table.clock.restore(seat, True, True)
        before = len(driver.actions())
        driver.wait(0.001)
        taken += can_win and driver.actions()[before] == actions.HU
        passed += not can_win and driver.actions()[before] == actions.PASS
        if passed and taken:
            break
    for driver in games_with_claims(tmp_path, actions.HU) if not taken else ():
        seat = asked_to(driver, actions.HU)
        driver.table.clock.restore(seat, True, True)
        driver.wait(0.001)
        assert driver.table.played[-1]["winner"] == seat
        break
    assert passed


def test_the_dealer_buys_and_it_is_remembered_for_the_dealership(tmp_path):  # R8.3, R8.4
    for seed in range(30):
        driver = Driver(tmp_path, Rules(num_players=2), hands=2, seed=seed, name=f"{seed}.jsonl")
        driver.play(lambda seat, legal: legal[-1] if actions.RAISE in legal or actions.HU in legal else calmly(seat, legal))
        first = driver.table.played[0]
        assert first["wins"] == [] or (first["wins"][0]["bought"] and first["wins"][0]["topped"])
        driver.table.press(0, driver.now)
        driver.table.press(1, driver.now)
        view = driver.table.view(SPECTATOR)
        if view["scene"]["dealer"] == first["dealer"]:
            assert view["stakes"]["bought"] and any(view["stakes"]["topped"]) and driver.table.game.phase == 1
            break
        assert not view["stakes"]["bought"] and driver.table.game.phase == 0
    else:
        pytest.fail("no dealer stayed")


# --- R10.5, R10.6 --------------------------------------------------------------------------------------------------------


def test_a_lost_connection_has_90_seconds_and_the_clock_stands_still(duel):  # R10.5
    seat = only_seat(duel)
    duel.wait(5)
    duel.table.lose(seat, duel.now)
    duel.wait(89.9)
    assert duel.table.phase == PLAYING and duel.actions() == []
    assert duel.table.regain(seat, duel.now)
    assert duel.table.clock.remaining(seat, duel.now) == pytest.approx(15)


def test_after_90_seconds_he_has_left_and_pays(duel):  # R10.5, R10.6
    seat = only_seat(duel)
    duel.table.lose(seat, duel.now)
    duel.wait(90.1)
    assert duel.table.phase == OVER and duel.table.left == (seat,)
    assert duel.table.scores[seat] == -CHARGE and duel.table.scores[1 - seat] == CHARGE // 2
    assert duel.table.house == CHARGE // 2
    assert not duel.table.leave(seat, duel.now) and not duel.table.leave(1 - seat, duel.now)
    assert sum(duel.table.scores) + duel.table.house == 0


def test_the_game_goes_on_until_the_lost_player_must_act(duel):  # R10.5
    seat = only_seat(duel)
    duel.table.lose(1 - seat, duel.now)
    asked = duel.asked()[seat]
    duel.table.answer(seat, asked.number, calmly(seat, asked.legal), duel.now + 1)
    assert list(duel.asked()) == [1 - seat]
    duel.wait(60)
    assert duel.table.phase == PLAYING
    duel.wait(30.1)
    assert duel.table.left == (1 - seat,)


def test_leaving_by_the_button_is_charged_once(duel):  # R10.5, R10.6
    assert duel.table.leave(1, duel.now)
    assert not duel.table.leave(1, duel.now) and not duel.table.leave(0, duel.now)
    duel.wait(1000)
    assert duel.table.scores == [CHARGE // 2, -CHARGE] and duel.table.house == CHARGE // 2
    (hand,) = Record(duel.table.path)
    assert hand.left == (1,) and duel.table.phase == OVER


def test_two_that_leave_at_once_pay_both(tmp_path):  # R10.6
    driver = Driver(tmp_path, Rules(num_players=4, stakes=False))
    driver.table.lose(1, driver.now)
    driver.table.lose(3, driver.now)
    driver.wait(89.9)
    assert driver.table.phase == PLAYING and driver.table.left == ()
    driver.wait(0.2)
    assert driver.table.left == (1, 3)
    assert driver.table.scores == [4, -8, 4, -8] and driver.table.house == 8


def test_leaving_between_hands_leaves_the_next_one(duel):  # R10.6, read by the table
    duel.play()
    assert duel.table.phase == SETTLED
    before = duel.table.scores.copy()
    ladder = duel.table._carry["ladder"]
    assert duel.table.leave(0, duel.now)
    charge = 80 * DUEL.dealer_ladder[ladder]
    assert duel.table.scores == [before[0] - charge, before[1] + charge // 2] and duel.table.house == charge // 2
    assert [hand.left for hand in Record(duel.table.path)] == [None, (0,)]


def test_a_connection_lost_between_hands_is_one_too(duel):
    duel.play()
    duel.table.lose(0, duel.now)
    duel.table.press(1, duel.now)
    assert duel.table.phase == PLAYING
    duel.play(calmly, lambda d: 0 in d.asked())
    duel.wait(90.1)
    assert duel.table.left == (0,)


def test_leaving_costs_nothing_before_the_match_and_after_it(tmp_path):
    table = Table(Plan(DUEL, (None, None), 1), tmp_path / "a.jsonl", seed=1)
    table.sit(0, "a", 0)
    with pytest.raises(Refused, match="taken"):
        table.sit(0, "b", 0)
    assert table.leave(0, 0) and table.seats[0].name == "" and not table.path.exists()
    table.sit(0, "c", 0)  # and never comes
    table.advance(89.9)
    assert table.seats[0].name == "c"
    table.advance(90.1)
    assert table.seats[0].name == "" and table.phase == OPEN and table.scores == [0, 0]
    driver = Driver(tmp_path, hands=1)
    driver.play()
    assert driver.table.phase == OVER and not driver.table.leave(0, driver.now) and driver.table.house == 0


def test_the_pause_ends_when_all_press_or_it_is_over(tmp_path):
    for presses in (True, False):
        driver = Driver(tmp_path, name=f"{presses}.jsonl")
        driver.play()
        if presses:
            driver.table.press(0, driver.now)
            assert driver.table.phase == SETTLED
            driver.table.press(1, driver.now)
        else:
            driver.wait(19.9)
            assert driver.table.phase == SETTLED
            driver.wait(0.2)
        assert driver.table.phase == PLAYING and driver.table.view(0)["hand"] == 1


def test_agents_are_held_to_the_clock_like_anyone(tmp_path):  # R10.7
    driver = Driver(tmp_path, agents=(None, "rule"))
    if only_seat(driver) == 0:
        until = len(driver.actions())
        driver.play(calmly, lambda d: 0 not in d.asked())
        assert len(driver.actions()) > until
    assert list(driver.asked()) == [1]
    driver.wait(20.1)
    assert next(iter(Record(driver.table.path))).by[-1] == TIMEOUT or driver.table.game.phase == 3


# --- questions -----------------------------------------------------------------------------------------------------------


def test_double_late_forged_and_illegal_answers_change_nothing(duel):
    seat = only_seat(duel)
    asked = duel.asked()[seat]
    choice = calmly(seat, asked.legal)
    for number, action in (("0-7", choice), ("x", choice), (asked.number, 75), (asked.number, -1), (asked.number, True),
                           (asked.number, 1.0), (asked.number, None), (asked.number, "3")):  # fmt: skip
        with pytest.raises(Refused):
            duel.table.answer(seat, number, action, duel.now)
    with pytest.raises(Refused):
        duel.table.answer(1 - seat, asked.number, choice, duel.now)
    assert duel.actions() == []
    duel.table.answer(seat, asked.number, choice, duel.now)
    after = duel.actions()
    duel.table.answer(seat, asked.number, choice, duel.now)  # a double click
    with pytest.raises(Refused):
        duel.table.answer(seat, asked.number, min(a for a in asked.legal if a != choice), duel.now)
    assert duel.actions() == after


def test_entries_are_divisible_by_five():  # R8.1
    assert unit_of(5) == 1 and unit_of(5_000_000) == 1_000_000
    for entry in (0, 1, 7, 101, -5, 5.0, "5", True, None, 5_000_005):
        with pytest.raises(ValueError, match="entry"):
            unit_of(entry)


def state_of(table):
    return table.phase, table.scores, table.house, table.left, table.played


def undisturbed(folder, rules, seed, choose, hands):
    driver = Driver(folder, rules, hands, seed, name="calm.jsonl")
    while driver.table.phase != OVER:
        driver.play(choose)
        for seat in range(rules.num_players):
            if driver.table.phase == SETTLED:
                driver.table.press(seat, driver.now)
    digest = driver.table.game.digest()
    driver.table.path.unlink()
    return state_of(driver.table), digest


def chaotic(folder, rules, seed, choose, hands, chance):
    """The same choices among lost connections, double clicks, reordered and foreign messages."""
    driver = Driver(folder, rules, hands, seed, name="wild.jsonl")
    table, n = driver.table, rules.num_players
    away, sent = set(), []
    while table.phase != OVER:
        driver.now += chance.random() * 0.01
        seat = chance.randrange(n)
        what = chance.random()
        if what < 0.15 and seat not in away:
            table.lose(seat, driver.now)
            away.add(seat)
        elif what < 0.5 and seat in away:
            assert table.regain(seat, driver.now)
            away.discard(seat)
        elif what < 0.65 and sent:
            seat, number, action = chance.choice(sent[-20:])  # once more, or late
            with suppress(Refused):
                table.answer(seat, number, action, driver.now)
        elif what < 0.7:
            with suppress(Refused):
                table.answer(seat, chance.choice(["9-999", "", "0-0"]), actions.RAISE + 1, driver.now)
        elif table.phase == SETTLED:
            with suppress(Refused):
                table.press(seat, driver.now)
        elif seat not in away and seat in driver.asked():
            asked = driver.asked()[seat]
            message = seat, asked.number, choose(seat, asked.legal)
            sent.append(message)
            table.answer(*message, driver.now)
    return state_of(table), table.game.digest()


def choice_of(seed):
    """Choices that depend on the seat and what it is asked alone, some of each kind."""

    def choose(seat, legal):
        if actions.HU in legal:
            return actions.HU
        return legal[(len(legal) * 7 + legal[0] + seat + seed) % len(legal)]

    return choose


@pytest.mark.parametrize("hands", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_random_disconnects_and_double_clicks_change_nothing(tmp_path, hands):
    chance = random.Random(5)
    played = 0
    while played < hands:
        seed = chance.randrange(10**6)
        rules = Rules(num_players=chance.choice((2, 4)), unit=5)
        number = chance.randrange(1, 4)
        calm = undisturbed(tmp_path, rules, seed, choice_of(seed), number)
        wild = chaotic(tmp_path, rules, seed, choice_of(seed), number, chance)
        assert calm == wild
        record = Record(tmp_path / "wild.jsonl")
        assert sum(1 for _ in record) == number and record.closed
        (tmp_path / "wild.jsonl").unlink()
        played += number


def test_scores_and_the_house_sum_to_nothing_whoever_leaves(tmp_path):
    chance = random.Random(6)
    for i in range(25):
        rules = Rules(num_players=chance.choice((2, 3, 4)), unit=chance.choice((1, 7, 100)))
        driver = Driver(tmp_path, rules, 3, seed=i, name=f"{i}.jsonl")
        for _ in range(chance.randrange(3)):
            driver.play(choice_of(i))
            for seat in range(rules.num_players):
                if driver.table.phase == SETTLED:
                    driver.table.press(seat, driver.now)
        if driver.table.phase == OVER:
            continue
        driver.play(choice_of(i), lambda d: chance.random() < 0.02)
        leaver = chance.randrange(rules.num_players)
        for _ in range(3):
            driver.table.leave(leaver, driver.now)
        assert sum(driver.table.scores) + driver.table.house == 0 and driver.table.left == (leaver,)
        assert sum(1 for hand in Record(driver.table.path) if hand.left) == 1


# --- restored ------------------------------------------------------------------------------------------------------------


def test_a_table_goes_on_from_its_record_wherever_it_was_cut(tmp_path):
    rules = Rules(num_players=2, unit=5)
    calm = undisturbed(tmp_path, rules, 3, choice_of(3), 2)
    driver = Driver(tmp_path, rules, 2, 3)
    while driver.table.phase != OVER:
        driver.play(choice_of(3))
        for seat in range(2):
            if driver.table.phase == SETTLED:
                driver.table.press(seat, driver.now)
    whole = driver.table.path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in [*random.Random(1).sample(range(first, len(whole)), 25), len(whole)]:
        path = tmp_path / "cut.jsonl"
        path.write_bytes(whole[:cut])
        table = Table.restore(path, now=100.0)
        driver = Driver.__new__(Driver)
        driver.table, driver.now = table, 150.0
        for seat in range(2):
            assert table.regain(seat, 150.0)
        while table.phase != OVER:
            driver.play(choice_of(3))
            for seat in range(2):
                if table.phase == SETTLED:
                    table.press(seat, 150.0)
        assert (state_of(table), table.game.digest()) == calm
        assert sum(1 for _ in Record(path)) == 2


def test_a_restored_table_remembers_short_turns_hosting_and_who_has_left(duel):
    run_out(duel, 0)
    until_turn_of(duel, 0)
    duel.table.abandon()
    table = Table.restore(duel.table.path, now=0.0)
    assert table.seats[0].asked.number == duel.table.seats[0].asked.number
    assert table.regain(0, 1.0) and table.clock.remaining(0, 1.0) == 10
    table.advance(11.1)
    assert table.clock.is_hosted(0)
    table.abandon()
    table = Table.restore(duel.table.path, now=0.0)
    assert table.clock.is_hosted(0)
    table.cancel_hosting(0, 0.0)
    table.abandon()
    table = Table.restore(duel.table.path, now=0.0)
    assert not table.clock.is_hosted(0)
    assert table.leave(0, 0.0)
    table = Table.restore(duel.table.path, now=0.0)
    assert table.phase == OVER and table.left == (0,) and table.scores == [-CHARGE, CHARGE // 2]


# --- what is seen --------------------------------------------------------------------------------------------------------


def seen_bytes(table, viewer):
    return json.dumps(table.view(viewer), sort_keys=True)


def test_what_a_viewer_is_sent_depends_on_what_it_may_know_alone(tmp_path):  # FINDINGS 11
    compared = 0
    for seed in range(4):
        driver = Driver(tmp_path, Rules(num_players=4), 1, seed, name=f"{seed}.jsonl")
        table = driver.table
        while table.phase == PLAYING:
            for viewer in (0, 2):
                if len(driver.actions()) % 6 or len(driver.asked()) != 1 or table.game.phase >= 3:
                    break
                try:
                    other = table.game.resample(viewer, seed=seed)
                except NoSuchHandError:
                    continue
                game, table.game = table.game, other
                swapped, spectator = seen_bytes(table, viewer), seen_bytes(table, SPECTATOR)
                table.game = game
                assert swapped == seen_bytes(table, viewer)
                assert spectator == seen_bytes(table, SPECTATOR)
                compared += 1
            seat, asked = next(iter(driver.asked().items()))
            table.answer(seat, asked.number, choice_of(seed)(seat, asked.legal), driver.now)
    assert compared > 20


def test_a_claim_shows_nobody_but_those_asked_that_it_is_open(tmp_path):
    driver = next(games_with_claims(tmp_path, actions.PENG, Rules(num_players=4, stakes=False)))
    table = driver.table
    for viewer in range(4):
        view = table.view(viewer)
        assert (view["question"] is not None) == (viewer in driver.asked())
        assert view["scene"]["mover"] == (viewer if viewer in driver.asked() else None)
    spectator = seen_bytes(table, SPECTATOR)
    views = {p: seen_bytes(table, p) for p in range(4)}
    seat = next(iter(driver.asked()))
    if len(driver.asked()) > 1:
        asked = driver.asked()[seat]
        table.answer(seat, asked.number, actions.PASS, driver.now)
        assert seen_bytes(table, SPECTATOR) == spectator
        assert all(seen_bytes(table, p) == views[p] for p in range(4) if p != seat)


def test_illegal_tiles_have_their_reason(tmp_path):
    reasons = set()
    for seed in range(20):
        driver = Driver(tmp_path, Rules(num_players=4, stakes=False), 1, seed, name=f"{seed}.jsonl")
        while driver.table.phase == PLAYING:
            seat, asked = next(iter(driver.asked().items()))
            view = driver.table.view(seat)
            if view["question"]["kind"] == "turn":
                discards = {a for a in asked.legal if a < actions.GANG}
                forbidden = {int(k) for k in view["question"]["forbidden"]}
                assert forbidden | discards == set(view["scene"]["hands"][seat]) and not forbidden & discards
                reasons.update(view["question"]["forbidden"].values())
            driver.table.answer(seat, asked.number, calmly(seat, asked.legal), driver.now)
    assert reasons == {"caishen", "follow", "lone"}


def test_settlement_lines_add_up_to_the_engines_payments(tmp_path):
    chance = np.random.default_rng(1)
    seen = set()
    for seed in range(60):
        rules = Rules(num_players=int(chance.integers(2, 5)), unit=3, caishen_bonus_on_draw=bool(seed % 2))
        driver = Driver(tmp_path, rules, 2, seed, name=f"{seed}.jsonl")
        driver.play(lambda seat, legal: legal[-1] if legal[-1] == actions.RAISE and chance.random() < 0.5
                    else actions.HU if actions.HU in legal else calmly(seat, legal))  # fmt: skip
        game = driver.table.game
        assert settlement(game)["payments"] == game.result.payments.tolist()
        seen.add((game.result.value, bool(settlement(game)["caishen"])))
    assert len(seen) > 3


def test_times_can_be_set(tmp_path):
    table = Table(Plan(DUEL, (None, None), 1), tmp_path / "a.jsonl", seed=1, times=Times(turn=3))
    for seat in range(2):
        table.sit(seat, "x", 0)
        table.regain(seat, 0)
        table.press(seat, 0)
    table.advance(2.9)
    assert table.game.actions == ()
    table.advance(3.1)
    assert table.game.actions != ()
