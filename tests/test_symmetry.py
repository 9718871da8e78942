"""Renaming tiles changes nothing: suits among each other, 1 to 9 with 9 to 1 (a low chi is a high one then), the honours other
than white. A hand with a renamed wall goes the same way under renamed names, for the engine and for the rule player."""

import numpy as np
import pytest

from wzmj_env import Game, Rules
from wzmj_env.actions import CHI_HIGH, CHI_LOW, GANG, NUM_ACTIONS
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
