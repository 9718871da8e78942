"""The clock of R10 with a driven clock: every row of the state table, both sides of each limit."""

import math

import pytest

from wzmj_env import actions
from wzmj_env.clock import Clock, Expired, Left, Question, Times, table_action

TURN, CLAIM, STAKE = Question
SEAT, OTHER = 1, 0
START = 1000.0  # no method may take time to begin at 0


def asked(question=TURN, times=None):
    clock = Clock(4, times)
    clock.ask(SEAT, question, START)
    return clock


def run_out(clock, at):
    """Let the turn asked at `at` run out; when that was."""
    clock.ask(SEAT, TURN, at)
    due = clock.due()
    (expired,) = clock.advance(due + 0.01)
    assert expired.seat == SEAT
    return due + 0.01


def on_short_turn():
    """A seat one of whose turns has run out, and the time."""
    clock = Clock(4)
    return clock, run_out(clock, START)


def hosted():
    clock, now = on_short_turn()
    return clock, run_out(clock, now)


# --- turns and claims: R10.1, R10.2 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("question", "limit"), [(TURN, 20), (CLAIM, 10), (STAKE, 10)])
def test_both_sides_of_the_limit_of_a_question(question, limit):
    clock = asked(question)
    assert clock.due() == START + limit
    assert clock.advance(START + limit - 0.1) == []
    assert clock.remaining(SEAT, START + limit - 0.1) == pytest.approx(0.1)
    assert clock.answer(SEAT, START + limit - 0.1)
    assert clock.due() == math.inf

    clock = asked(question)
    assert not clock.answer(SEAT, START + limit + 0.1)
    assert clock.advance(START + limit + 0.1) == [Expired(SEAT, question, False, START + limit)]
    assert not clock.answer(SEAT, START + limit + 0.2)  # late: nothing is open
    assert clock.advance(START + limit + 0.2) == []


def test_the_very_moment_of_the_limit_is_in_time():
    clock = asked()
    assert clock.advance(START + 20) == []
    assert clock.answer(SEAT, START + 20)


def test_a_turn_that_runs_out_makes_the_next_one_short():
    for instant, in_time in ((9.9, True), (10.1, False)):
        clock, now = on_short_turn()
        assert not clock.is_hosted(SEAT)
        clock.ask(SEAT, TURN, now)
        assert clock.due() == now + 10
        assert clock.answer(SEAT, now + instant) is in_time
        assert bool(clock.advance(now + instant)) is not in_time
        assert clock.is_hosted(SEAT) is not in_time


def test_playing_in_time_on_a_short_turn_restores_the_long_one():
    clock, now = on_short_turn()
    clock.ask(SEAT, TURN, now)
    assert clock.answer(SEAT, now + 9.9)
    clock.ask(SEAT, TURN, now + 15)
    assert clock.due() == now + 35
    run_out_again = clock.advance(now + 35.1)
    assert [e.hosted for e in run_out_again] == [False]  # a first timeout again


def test_running_out_on_a_short_turn_hosts_at_once():
    clock, now = on_short_turn()
    clock.ask(SEAT, TURN, now)
    assert clock.advance(now + 10.1) == [Expired(SEAT, TURN, True, now + 10)]
    assert clock.is_hosted(SEAT)


@pytest.mark.parametrize("question", [CLAIM, STAKE])
def test_claims_and_stakes_count_for_nothing_either_way(question):
    clock = Clock(4)
    for _ in range(3):  # run out: no timeout is counted
        clock.ask(SEAT, question, START)
        assert [e.hosted for e in clock.advance(START + 10.1)] == [False]
    clock.ask(SEAT, TURN, START)
    assert clock.due() == START + 20
    clock.answer(SEAT, START)
    clock, now = on_short_turn()  # answered in time: the short turn stays
    clock.ask(SEAT, question, now)
    assert clock.due() == now + 10
    assert clock.answer(SEAT, now + 1)
    clock.ask(SEAT, TURN, now + 1)
    assert clock.due() == now + 11


# --- hosting: R10.1, R10.3 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", Question)
def test_the_table_plays_at_once_for_a_hosted_seat(question):
    clock, now = hosted()
    clock.ask(SEAT, question, now)
    assert clock.due() == now
    assert clock.advance(now) == [Expired(SEAT, question, True, now)]
    assert clock.is_hosted(SEAT)


def test_hosting_lasts_until_it_is_cancelled_then_there_are_twenty_seconds():
    clock, now = hosted()
    for _ in range(5):
        clock.ask(SEAT, TURN, now)
        clock.advance(now)
    assert clock.is_hosted(SEAT)
    clock.cancel_hosting(SEAT)
    assert not clock.is_hosted(SEAT)
    clock.ask(SEAT, TURN, now)
    assert clock.due() == now + 20
    assert [e.hosted for e in clock.advance(now + 20.1)] == [False]


def test_hosting_cancelled_while_asked_gives_twenty_seconds():
    clock, now = hosted()
    clock.ask(SEAT, TURN, now)
    clock.cancel_hosting(SEAT)
    assert clock.due() == now + 20


def test_cancelling_what_is_not_does_nothing():
    clock, now = on_short_turn()
    clock.cancel_hosting(SEAT)
    clock.ask(SEAT, TURN, now)
    assert clock.due() == now + 10


# --- lost connections: R10.5 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", Question)
@pytest.mark.parametrize(("away", "back"), [(89.9, True), (90.0, True), (90.1, False)])
def test_both_sides_of_ninety_seconds(question, away, back):
    clock = asked(question)
    clock.lose(SEAT, START + 4)
    left = clock.remaining(SEAT, START + 4)
    assert clock.remaining(SEAT, START + 50) == left  # it stands still
    assert clock.regain(SEAT, START + 4 + away) is back
    if back:
        assert clock.remaining(SEAT, START + 4 + away) == left
        assert clock.due() == pytest.approx(START + 4 + away + left)
        assert clock.answer(SEAT, START + 4 + away + left - 0.1)
    else:
        assert clock.advance(START + 4 + away) == [Left(SEAT, START + 94)]
        assert clock.has_left(SEAT)
        assert clock.due() == math.inf


def test_a_question_put_while_the_connection_is_lost_waits_with_its_whole_time():
    clock = Clock(4)
    clock.lose(SEAT, START)
    clock.ask(SEAT, TURN, START + 30)
    assert clock.due() == START + 90
    assert clock.advance(START + 89.9) == []
    assert clock.regain(SEAT, START + 89.9)
    assert clock.due() == pytest.approx(START + 109.9)


def test_losing_twice_is_losing_once():
    clock = asked()
    clock.lose(SEAT, START + 5)
    clock.lose(SEAT, START + 50)
    assert clock.due() == START + 95


def test_losses_during_one_question_share_the_ninety_seconds():
    clock = asked()
    clock.lose(SEAT, START + 1)
    assert clock.regain(SEAT, START + 61)
    clock.lose(SEAT, START + 62)
    assert clock.due() == START + 92
    assert clock.advance(START + 92.1) == [Left(SEAT, START + 92)]


def test_after_an_answer_or_with_nothing_asked_a_loss_has_its_whole_ninety_seconds():
    clock = asked()
    clock.lose(SEAT, START)
    clock.regain(SEAT, START + 80)
    assert clock.answer(SEAT, START + 81)
    clock.lose(SEAT, START + 82)
    assert clock.due() == START + 172
    clock.regain(SEAT, START + 170)
    clock.lose(SEAT, START + 171)
    assert clock.due() == START + 261


def test_the_game_goes_on_while_another_is_away():
    clock = Clock(4)
    clock.lose(OTHER, START)
    clock.ask(SEAT, TURN, START + 1)
    assert clock.advance(START + 21.1) == [Expired(SEAT, TURN, False, START + 21)]
    assert clock.is_away(OTHER)


def test_a_hosted_seat_keeps_nobody_waiting_and_leaves_after_ninety_seconds():
    clock, now = hosted()
    clock.lose(SEAT, now)
    clock.ask(SEAT, TURN, now + 1)
    assert clock.advance(now + 1) == [Expired(SEAT, TURN, True, now + 1)]
    assert clock.advance(now + 90.1) == [Left(SEAT, now + 90)]


def test_hosting_and_short_turns_outlast_a_lost_connection():
    clock, now = on_short_turn()
    clock.lose(SEAT, now)
    clock.regain(SEAT, now + 10)
    clock.ask(SEAT, TURN, now + 10)
    assert clock.due() == now + 20


# --- leaving: R10.5 ------------------------------------------------------------------------------------------------


def test_leaving_counts_once():
    clock = asked()
    assert clock.leave(SEAT)
    assert not clock.leave(SEAT)
    assert not clock.answer(SEAT, START)
    clock.lose(SEAT, START)
    assert clock.advance(START + 1000) == []
    with pytest.raises(ValueError, match="has left"):
        clock.ask(SEAT, TURN, START)


def test_two_leave_at_the_same_moment():
    clock = Clock(4)
    clock.lose(2, START)
    clock.lose(0, START)
    assert clock.advance(START + 91) == [Left(0, START + 90), Left(2, START + 90)]


def test_who_leaves_later_does_not_leave_a_hand_that_has_ended():
    clock = Clock(4)
    clock.lose(2, START)
    clock.lose(0, START + 0.5)
    assert clock.advance(START + 91) == [Left(2, START + 90)]
    assert not clock.has_left(0)


def test_what_falls_due_is_told_in_the_order_of_its_time():
    clock = Clock(4)
    clock.ask(3, CLAIM, START)
    clock.ask(1, CLAIM, START + 1)
    clock.lose(2, START - 79.5)
    assert [(e.seat, e.at) for e in clock.advance(START + 30)] == [(3, START + 10), (2, START + 10.5)]


# --- what the table plays --------------------------------------------------------------------------------------------


def test_the_table_discards_the_tile_drawn_if_it_may_else_the_highest():  # R10.4
    assert table_action([3, 8, 30], 8, hosted=False) == 8
    assert table_action([3, 8, 30], 9, hosted=False) == 30
    assert table_action([3, 8, 30], None, hosted=False) == 30
    assert table_action([3, actions.GANG + 33], 20, hosted=False) == 3  # a gang is no discard
    assert table_action([3, actions.HU], 3, hosted=False) == 3


def test_hosting_takes_a_win_and_passes_all_else():  # R10.3
    claim = [actions.PENG, actions.HU, actions.PASS]
    assert table_action(claim, None, hosted=True) == actions.HU
    assert table_action(claim, None, hosted=False) == actions.PASS  # R10.2
    assert table_action([actions.CHI_LOW, actions.PENG, actions.PASS], None, hosted=True) == actions.PASS
    assert table_action([actions.PASS, actions.RAISE], None, hosted=True) == actions.PASS
    assert table_action([3, actions.GANG + 3], 3, hosted=True) == 3


# --- times -----------------------------------------------------------------------------------------------------------


def test_every_time_can_be_set():
    times = Times.from_mapping({"turn": 3, "short_turn": 2, "claim": 1.5, "away": 4})
    clock = asked(times=times)
    assert clock.due() == START + 3
    clock.advance(START + 4)
    clock.ask(SEAT, TURN, START + 4)
    assert clock.due() == START + 6
    clock.lose(SEAT, START + 4)
    assert clock.due() == START + 8
    assert asked(CLAIM, times).due() == START + 1.5


def test_without_a_clock_nothing_falls_due_but_a_lost_connection():
    clock = asked(times=Times.untimed(away=7))
    assert clock.due() == math.inf
    assert clock.advance(START + 1e9) == []
    clock.lose(SEAT, START + 1e9)
    assert clock.due() == START + 1e9 + 7
    assert clock.regain(SEAT, START + 1e9 + 6)
    assert clock.answer(SEAT, START + 2e9)


@pytest.mark.parametrize(
    "wrong", [{"turn": 0}, {"claim": -1}, {"away": "long"}, {"turn": True}, {"claim": math.nan}, {"break": 3}]
)
def test_wrong_times_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Times.from_mapping(wrong)


def test_one_question_at_a_time():
    clock = asked()
    with pytest.raises(ValueError, match="question open"):
        clock.ask(SEAT, CLAIM, START)
    clock.withdraw(SEAT)
    clock.ask(SEAT, CLAIM, START)
