"""Renaming tiles changes nothing: suits among each other, 1 to 9 with 9 to 1 (a low chi is a high one then), the honours other
than white. A hand with a renamed wall goes the same way under renamed names, for the engine and for the rule player."""

import numpy as np
import pytest

from agents.advice import advise
from agents.network import input_columns
from train.mirror import mirror_actions, mirror_advice, mirror_inputs, mirror_kinds
from wzmj_env import Game, Rules
from wzmj_env.actions import CHI_HIGH, CHI_LOW, GANG, NUM_ACTIONS
from wzmj_env.observe import PLANE
from wzmj_env.state import plain
from wzmj_env.strategy import RULE_1, RULE_2, rule_scores
from wzmj_env.tiles import HONOURS, NUM_HONOURS, NUM_KINDS, NUM_SUITS, RANKS, WHITE


def renaming(suits, mirrored, honours):
    """The new name of each kind, `(34,)`."""
    ranks = np.arange(RANKS)[::-1] if mirrored else np.arange(RANKS)
    others = [k for k in range(HONOURS, HONOURS + NUM_HONOURS) if k != WHITE]
    new = np.empty(NUM_KINDS, np.int64)
    for suit in range(NUM_SUITS):
        new[suit * RANKS : (suit + 1) * RANKS] = suits[suit] * RANKS + ranks
    new[WHITE] = WHITE
    new[others] = np.array(others)[list(honours)]
    return new


def of_actions(new, mirrored):
    """The new id of each action, `(76,)`."""
    actions = np.arange(NUM_ACTIONS)
    actions[:NUM_KINDS] = new
    actions[GANG : GANG + NUM_KINDS] = GANG + new
    if mirrored:
        actions[[CHI_LOW, CHI_HIGH]] = CHI_HIGH, CHI_LOW
    return actions


RENAMINGS = {
    "suits": renaming((2, 0, 1), False, range(6)),
    "mirrored": renaming((0, 1, 2), True, range(6)),
    "honours": renaming((0, 1, 2), False, (3, 4, 1, 5, 0, 2)),
    "all": renaming((1, 2, 0), True, (5, 3, 4, 0, 2, 1)),
}
RULES = {"open": Rules(stakes=False), "duel": Rules.preset("duel"), "classic": Rules()}


def scores_of(game, version):
    scores = np.empty(NUM_ACTIONS)
    rule_scores(plain(game._states)[0], version, scores)
    return scores


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", RENAMINGS)
def test_a_renamed_hand_goes_the_same_way(name, rules):
    new = RENAMINGS[name]
    actions = of_actions(new, name in ("mirrored", "all"))
    lots = np.random.default_rng(5)
    claims = 0
    for seed in range(30):
        one = Game(rules, seed=seed, dealer=0)
        other = Game(rules, seed=seed, wall=new[one.wall], dealer=0)
        while not one.done:
            legal = one.legal_actions()
            assert sorted(actions[legal]) == other.legal_actions()
            assert one.current_player == other.current_player
            for version in (RULE_1, RULE_2):
                scores, renamed = scores_of(one, version), scores_of(other, version)
                np.testing.assert_allclose(renamed[actions[legal]], scores[legal], rtol=1e-9)
            best = legal[int(np.argmax(scores[legal]))]
            action = best if lots.random() < 0.9 else int(lots.choice(legal))
            claims += CHI_LOW <= action <= CHI_HIGH
            one.step(action)
            other.step(int(actions[action]))
        assert other.done
        assert np.array_equal(one.result.payments, other.result.payments)
        assert one.result.patterns == other.result.patterns
    assert claims > 10


def test_a_mirrored_decision_is_what_a_mirrored_hand_shows():
    """Observation and all, central inputs, masks and advice, for every decision of hands of which all is mirrored."""
    new, actions = RENAMINGS["mirrored"], mirror_actions()
    assert np.array_equal(new, mirror_kinds())
    assert np.array_equal(actions, of_actions(new, True))
    every, compact = input_columns("all", True), input_columns("compact", True)
    lots = np.random.default_rng(6)
    fates = 0
    for seed in range(20):
        one = Game(seed=seed, dealer=0)
        other = Game(seed=seed, wall=new[one.wall], dealer=0)
        while not one.done:
            seat = one.current_player
            state, mirrored = one.state().reshape(1, -1), other.state().reshape(-1)
            for columns in (every, compact):
                assert np.array_equal(mirror_inputs(state[:, columns], columns)[0], mirrored[columns])
            assert np.array_equal(one.action_mask()[actions], other.action_mask())
            first, second = (advise(g.observe(seat)[None], g.action_mask()[None], one.rules)[0] for g in (one, other))
            np.testing.assert_allclose(first[mirror_advice()], second, rtol=1e-5, atol=1e-6)
            fates += (one.observe(seat)[PLANE["DISCARD_FATE"]] == 1).any()
            action = int(lots.choice(one.legal_actions()))
            one.step(action)
            other.step(int(actions[action]))
    assert fates > 0
