"""Vines (Schulman et al. 2015, TRPO, section 5.2): two playouts from one state, which tell what another action gains.

The rule player has all seats. At some of its decisions, from the very state, another action is taken and played to its end
by the same players with the same wall. The difference of the seat's two payments is an unbiased sample of the advantage of
that action over the rule player's choice, with most of the luck of the tiles gone from it, and costs half a hand.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.advice import ADVICE_SIZE, ADVISER, VERSION
from train.tables import write_decision
from wzmj_env import Rules, engine
from wzmj_env._jit import njit
from wzmj_env.actions import CHI_LOW, NUM_ACTIONS
from wzmj_env.observe import OBSERVATION_SIZE, STATE_SIZE
from wzmj_env.players import POLICIES, choose, draw_lot
from wzmj_env.state import NOTHING, new_states
from wzmj_env.strategy import ILLEGAL, best_action, rule_scores

POLICY = POLICIES[ADVISER]
SHARE = 0.8  # of the best score, which a discard or a gang must have to be tried; other actions always are
OTHERS = 6  # actions from which the one to try is drawn
KEPT_SHARE, MOST_KEPT = 0.25, 64  # of the decisions of a hand: those of one hand are not independent


@dataclass
class Pairs:
    """Decisions `(N, ..)`, an action tried at each beside the rule player's choice, and what came of both in units."""

    inputs: Tensor
    masks: Tensor
    advice: Tensor
    chosen: Tensor
    other: Tensor
    gains: Tensor  # the payment after the other action, less that after the choice
    paid: Tensor  # the payment after the choice

    def __getitem__(self, rows: Tensor) -> Pairs:
        return Pairs(**{name: values.index_select(0, rows) for name, values in vars(self).items()})

    def __len__(self) -> int:
        return len(self.gains)


@njit
def _rank(scores, ranked):
    """Enter the rule player's choice and behind it what is worth a try, best first; how many. Uses up the scores."""
    best, n = scores.max(), 0
    while n < len(ranked):
        action = best_action(scores)
        if scores[action] == ILLEGAL:
            break
        if n == 0 or action >= CHI_LOW or scores[action] >= SHARE * best:
            ranked[n] = action
            n += 1
        scores[action] = ILLEGAL
    return n


@njit
def _play_out(s, kept, place, share):
    """Play to the end of the hand. Of the decisions on the way, states of some are kept; how many. Lots come from the game's
    stream for players, of which the rule player takes nothing."""
    n = 0
    while s[place].player != NOTHING:
        action = engine.forced_action(s[place])
        if action < 0:
            if n < len(kept) and draw_lot(s[place], 1024) < share * 1024:
                kept[n] = s[place]
                n += 1
            action = choose(s[place], POLICY)
        engine.step(s[place], action)
    return n


@njit
def _grow(states, kept, seed, number, columns, central, inputs, masks, advice, chosen, other, gains, paid):
    hand, trial = 0, 1  # places
    planes = np.empty(STATE_SIZE, np.uint8)
    scores, ranked = np.empty(NUM_ACTIONS), np.empty(1 + OTHERS, np.int64)
    engine.seed_game(states[hand], seed, number)
    row = 0
    while row < len(gains):
        engine.begin_next_hand(states[hand], False)
        num_kept = _play_out(states, kept, hand, KEPT_SHARE)
        for i in range(num_kept):
            s = kept[i]
            rule_scores(s, VERSION, scores)
            n = _rank(scores, ranked)
            if n < 2 or row == len(gains):
                continue
            p = np.int64(s.player)
            chosen[row], other[row] = ranked[0], ranked[1 + draw_lot(states[hand], n - 1)]
            states[trial] = kept[i]
            engine.step(states[trial], other[row])
            _play_out(states, kept[:0], trial, 0.0)
            paid[row] = states[hand].payments[p] / s.unit
            gains[row] = states[trial].payments[p] / s.unit - paid[row]
            write_decision(s, columns, central, planes, scores, inputs[row], masks[row], advice[row])
            row += 1


def grow(rules: Rules, columns: np.ndarray, seed: int, number: int, size: int) -> Pairs:
    """`size` pairs, a function of the seed and the `number` alone. `columns`: the inputs, as places in the flat state."""
    inputs, masks = np.empty((size, len(columns)), np.uint8), np.empty((size, NUM_ACTIONS), np.int8)
    advice = np.empty((size, ADVICE_SIZE), np.float32)
    chosen, other = np.empty(size, np.int64), np.empty(size, np.int64)
    gains, paid = np.empty(size, np.float32), np.empty(size, np.float32)
    states, kept = new_states(2, rules), new_states(MOST_KEPT, rules)
    central = bool(columns.max() >= OBSERVATION_SIZE)
    arrays = (inputs, masks, advice, chosen, other, gains, paid)
    _grow(states, kept, np.uint64(seed), number, columns, central, *arrays)
    return Pairs(*map(torch.from_numpy, arrays))


class Vines:
    """Pairs by number below `count`, the next ones grown on a thread while the last are learnt from."""

    def __init__(self, rules: Rules, columns: np.ndarray, seed: int, size: int, count: int) -> None:
        self._asked = rules, columns, seed
        self._size, self._count = size, count
        self._pool = ThreadPoolExecutor(1, "vines")
        self._next: dict[int, Future[Pairs]] = {}

    def take(self, number: int) -> Pairs:
        now = self._next.pop(number, None) or self._submit(number)
        self._next = {n: self._submit(n) for n in range(number + 1, min(number + 2, self._count))}
        return now.result()

    def _submit(self, number: int) -> Future[Pairs]:
        return self._pool.submit(grow, *self._asked, number, self._size)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
