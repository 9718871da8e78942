"""Vines (Schulman et al. 2015, TRPO, section 5.2): playouts of several actions from one state, with the same wall.

The rule player has all seats. At some of its decisions, from the very state, other actions that the learning policy might
take are taken too, and each is played to its end by the same players. How the seat's payments differ is an unbiased sample
of how the advantages of these actions over the rule player do, with most of the luck of the tiles gone from it, and each
costs half a hand.
"""

from __future__ import annotations

import copy
import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.advice import ADVICE_SIZE
from agents.network import Network
from train.mirror import mirror_actions, mirror_advice, mirror_inputs
from train.tables import fall, write_decision
from wzmj_env import Rules, engine
from wzmj_env._jit import njit
from wzmj_env.actions import CHI_LOW, NUM_ACTIONS
from wzmj_env.observe import OBSERVATION_SIZE, STATE_SIZE
from wzmj_env.players import choose, draw_lot
from wzmj_env.state import NOTHING, new_states

TRIED = 4  # actions at most of one state: the rule player's and those of so many draws less one
HEAT = 2.0  # of the policy that they are drawn from: its logits are divided by this
EVENLY = 0.25  # of the last lots fall evenly on claims, passes, wins and stakes, which a sure policy would never try
KEPT_SHARE, MOST_KEPT = 0.25, 64  # of the decisions of a hand: those of one hand are not independent
CHUNK = 4096  # decisions that the network sees at once

HAND, TRIAL = range(2)  # places of the states that playouts work with


@dataclass
class Trials:
    """Decisions `(N, ..)` and, of each, actions tried, `(N, TRIED) int64`, the rule player's first and -1 behind the last;
    the seat's payments that came of them, in units, `(N, TRIED) float32`."""

    inputs: Tensor
    masks: Tensor
    advice: Tensor
    tried: Tensor
    paid: Tensor

    def __getitem__(self, rows: Tensor) -> Trials:
        return Trials(**{name: values.index_select(0, rows) for name, values in vars(self).items()})

    def __len__(self) -> int:
        return len(self.tried)

    def mirror(self, columns: np.ndarray, rows: Tensor) -> None:
        """Exchange these rows, `(N,) bool`, for their mirror images. `columns`: the inputs, as places in the flat state."""
        actions, advice = torch.from_numpy(mirror_actions()), torch.from_numpy(mirror_advice())
        self.inputs[rows] = torch.from_numpy(mirror_inputs(self.inputs[rows].numpy(), columns))
        self.masks[rows] = self.masks[rows][:, actions]  # a mirroring is its own inverse
        self.advice[rows] = self.advice[rows][:, advice]
        self.tried[rows] = torch.where(self.tried[rows] < 0, -1, actions[self.tried[rows]])


@njit
def _play_out(s, place, policy, kept, taken, share):
    """Play to the end of the hand. Of the decisions on the way some are kept, with the action taken; how many. Lots come from
    the game's stream for players, of which the rule player takes nothing."""
    n = 0
    while s[place].player != NOTHING:
        action = engine.forced_action(s[place])
        if action < 0:
            action = choose(s[place], policy)
            if n < len(kept) and draw_lot(s[place], 1024) < share * 1024:
                kept[n] = s[place]
                taken[n] = action
                n += 1
        engine.step(s[place], action)
    return n


@njit
def _play_hands(states, policy, kept, tried, paid):
    """Play hands until all of `kept` are decisions of theirs; enter what was taken and paid."""
    n = 0
    while n < len(kept):
        engine.begin_next_hand(states[HAND], False)
        last = n + _play_out(states, HAND, policy, kept[n : n + MOST_KEPT], tried[n : n + MOST_KEPT, 0], KEPT_SHARE)
        while n < last:
            paid[n, 0] = states[HAND].payments[np.int64(kept[n].player)] / kept[n].unit
            n += 1


@njit
def _show(kept, columns, central, inputs, masks, advice):
    planes, scores = np.empty(STATE_SIZE, np.uint8), np.empty(NUM_ACTIONS)
    for i in range(len(kept)):
        write_decision(kept[i], columns, central, planes, scores, inputs[i], masks[i], advice[i])


@njit
def _propose(logits, masks, lots, tried):
    """Enter, behind the actions taken, those that the lots draw from the policies of `logits`, each once."""
    chances, evenly = np.empty(NUM_ACTIONS), np.empty(NUM_ACTIONS)
    for i in range(len(logits)):
        highest = logits[i].max()
        for action in range(NUM_ACTIONS):
            chances[action] = math.exp((logits[i, action] - highest) / HEAT)
            evenly[action] = masks[i, action] if action >= CHI_LOW else 0
        n = 1
        for j in range(TRIED - 1):
            lot = lots[i, j]
            if j == TRIED - 2 and evenly.any() and lot < EVENLY:
                action = fall(evenly, lot / EVENLY)
            else:
                action = fall(chances, lot)
            if not (tried[i, :n] == action).any():
                tried[i, n] = action
                n += 1


@njit
def _try(states, policy, kept, tried, paid):
    """Play the other actions out."""
    for i in range(len(kept)):
        for j in range(1, TRIED):
            if tried[i, j] >= 0:
                states[TRIAL] = kept[i]
                engine.step(states[TRIAL], tried[i, j])
                _play_out(states, TRIAL, policy, kept[:0], tried[:0, 0], 0.0)
                paid[i, j] = states[TRIAL].payments[np.int64(kept[i].player)] / kept[i].unit


class Decisions:
    """Decisions of games by the compiled player `policy`, `CHUNK` at a time, as a network with `columns` of the flat state
    sees them: inputs, masks, advice; what was taken and paid in the first column of `tried` and `paid`."""

    def __init__(self, rules: Rules, columns: np.ndarray, policy: int, seed: int, number: int) -> None:
        self._columns, self._policy = columns, policy
        self._central = bool(columns.max() >= OBSERVATION_SIZE)
        self._states, self.kept = new_states(2, rules), new_states(CHUNK, rules)
        engine.seed_game(self._states[HAND], np.uint64(seed), number)

    def play(self) -> None:
        """On to the next ones, in arrays of their own."""
        self.tried, self.paid = np.full((CHUNK, TRIED), -1), np.zeros((CHUNK, TRIED), np.float32)
        self.inputs, self.masks = np.empty((CHUNK, len(self._columns)), np.uint8), np.empty((CHUNK, NUM_ACTIONS), np.int8)
        self.advice = np.empty((CHUNK, ADVICE_SIZE), np.float32)
        _play_hands(self._states, self._policy, self.kept, self.tried, self.paid)
        _show(self.kept, self._columns, self._central, self.inputs, self.masks, self.advice)

    def logits(self, network: Network) -> np.ndarray:
        with torch.no_grad():
            return network.policy(*map(torch.from_numpy, (self.inputs, self.masks, self.advice))).numpy()

    def try_out(self, most: int) -> tuple[np.ndarray, ...]:
        """Play out what else stands in `tried`. Rows of at most so many decisions that have something: the fields of `Trials`."""
        rows = np.flatnonzero(self.tried[:, 1] >= 0)[:most]
        found = tuple(values[rows] for values in (self.inputs, self.masks, self.advice, self.tried, self.paid))
        _try(self._states, self._policy, self.kept[rows], *found[3:])
        return found


def grow(rules: Rules, network: Network, policy: int, seed: int, number: int, size: int) -> Trials:
    """Trials at `size` decisions of games by the compiled player `policy`, of actions that the network draws: a function of
    its weights, the seed and the `number` alone."""
    decisions = Decisions(rules, network.shape.columns, policy, seed, number)
    lots = np.random.default_rng((seed, number))
    found, parts = 0, []
    while found < size:
        decisions.play()
        _propose(decisions.logits(network), decisions.masks, lots.random((CHUNK, TRIED - 1)), decisions.tried)
        parts.append(decisions.try_out(size - found))
        found += len(parts[-1][0])
    return Trials(*(torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*parts, strict=True)))


class Vines:
    """Trials by number below `count`, the next ones grown on a thread while the last are learnt from; with `mirror`, half of
    the decisions are mirrored.

    They try what `network` would, a copy of the learning one that each `take` brings up to date: what the next ones come of,
    so that it is part of a checkpoint.
    """

    def __init__(
        self, rules: Rules, network: Network, policy: int, seed: int, size: int, count: int, mirror: bool = False
    ) -> None:
        self.network = copy.deepcopy(network)
        self._rules, self._policy, self._seed, self._size = rules, policy, seed, size
        self._count, self._mirror = count, mirror
        self._pool = ThreadPoolExecutor(1, "vines")
        self._next: tuple[int, Future[Trials]] | None = None

    def take(self, number: int, network: Network) -> Trials:
        """Those of this number; the next ones will be of the network as it is now."""
        under_way, self._next = self._next, None
        if under_way is None or under_way[0] != number:
            under_way = number, self._pool.submit(self._grow, number)
        trials = under_way[1].result()
        self.network.load_state_dict(network.state_dict())
        if number + 1 < self._count:
            self._next = number + 1, self._pool.submit(self._grow, number + 1)
        return trials

    def _grow(self, number: int) -> Trials:
        trials = grow(self._rules, self.network, self._policy, self._seed, number, self._size)
        if self._mirror:
            lots = np.random.default_rng((self._seed, number, 1))
            trials.mirror(self.network.shape.columns, torch.from_numpy(lots.random(self._size) < 0.5))
        return trials

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
