"""Many tables for the trainer: at each, some seats are its own and the others are played by compiled players.

A table waits only where one of the trainer's seats has a choice, its own `LEARNER`s or a frozen `SNAPSHOT`. Everything in
between, other seats' decisions, forced ones, new hands, happens in compiled code.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.advice import write_advice
from wzmj_env import Rules, VectorEnv, engine
from wzmj_env._jit import njit
from wzmj_env.actions import GANG, NUM_ACTIONS
from wzmj_env.batch import first_illegal, place_of_value
from wzmj_env.game import IllegalActionError
from wzmj_env.hand import NONE
from wzmj_env.observe import OBSERVATION_SIZE, STATE_SIZE, write_legal, write_observation, write_state
from wzmj_env.players import choose
from wzmj_env.state import NOTHING, plain

LEARNER, SNAPSHOT = -1, -2  # in `seats`, beside ids of compiled players

# Counters of `Tables.counts`, then hands by value 0, 1, 2, 4, then of learners beside compiled players: seats, and their
# payments in units.
HANDS, DISCARDS, COMPILED, BY_VALUE = 0, 1, 2, 3
SEATS_BESIDE, PAID_BESIDE = BY_VALUE + 4, BY_VALUE + 5
NUM_COUNTS = PAID_BESIDE + 1


@njit
def _discards_only(s):
    return s.legal[0] >> np.uint64(GANG) == NONE and s.legal[1] == NONE


@njit
def _count(s, seats, counts):
    counts[HANDS] += 1
    counts[DISCARDS] += s.num_discards
    counts[BY_VALUE + place_of_value(s)] += 1
    beside = False
    for p in range(s.num_players):
        beside |= seats[p] >= 0
    if beside:
        for p in range(s.num_players):
            if seats[p] == LEARNER:
                counts[SEATS_BESIDE] += 1
                counts[PAID_BESIDE] += s.payments[p] // s.unit


@njit
def _go_on(s, seats, discarder, rewards, done, counts):
    """Play until one of the trainer's seats has a choice. The hand under way is paid into `rewards`; one that begins
    and ends in here had no decision of the trainer's. Tells whether the hand under way was settled."""
    while True:
        if s.player == NOTHING:
            _count(s, seats, counts)
            if not done:
                for p in range(s.num_players):
                    rewards[p] = s.payments[p] / s.unit
                done = True
            engine.begin_next_hand(s, False)
            continue
        action = engine.forced_action(s)
        if action < 0:
            policy = seats[s.player]
            if policy < 0:
                if discarder < 0 or not _discards_only(s):
                    return done
                policy = discarder
            action = choose(s, policy)
            counts[COMPILED] += 1
        engine.step(s, action)


@njit
def _begin(states, seats, discarder, counts):
    ignored = np.zeros(seats.shape[1], np.float32)
    for i in range(len(states)):
        _go_on(states[i], seats[i], discarder, ignored, True, counts)


@njit
def _play(states, seats, discarder, actions, rewards, done, counts):
    for i in range(len(states)):
        rewards[i] = 0
        engine.step(states[i], actions[i])
        done[i] = _go_on(states[i], seats[i], discarder, rewards[i], False, counts)


@njit
def write_decision(s, columns, central, planes, scores, inputs, mask, advice):
    """Fill inputs, mask and, unless it is empty, advice for the seat to act. `planes`, `(STATE_SIZE,) uint8`, and `scores`,
    `(NUM_ACTIONS,) float64`, are room to work in; `central`: columns lie behind those of the observation."""
    write_legal(s, mask)
    if central:
        write_state(s, planes)
    else:
        write_observation(s, np.int64(s.player), planes[:OBSERVATION_SIZE])
    for column in range(len(columns)):
        inputs[column] = planes[columns[column]]
    if len(advice):
        write_advice(s, scores, advice)


@njit
def _show(states, seats, columns, central, inputs, masks, players, learners, advice):
    planes = np.empty(STATE_SIZE, np.uint8)
    scores = np.empty(NUM_ACTIONS, np.float64)
    for i in range(len(states)):
        s = states[i]
        players[i] = s.player
        learners[i] = seats[i, s.player] == LEARNER
        write_decision(s, columns, central, planes, scores, inputs[i], masks[i], advice[i])


@njit
def fall(chances, lot):
    """The action on which a lot from [0, 1) falls, by chances `(76,) float64` of any sum above 0."""
    missing, last = lot * chances.sum(), 0
    for action in range(NUM_ACTIONS):
        if chances[action] > 0:
            last = action
            missing -= chances[action]
            if missing < 0:
                break
    return last


@njit
def _draw(logits, masks, lots, actions, log_probs):
    chances = np.empty(NUM_ACTIONS)
    for i in range(len(logits)):
        highest = np.float32(-np.inf)
        for action in range(NUM_ACTIONS):
            if masks[i, action]:
                highest = max(highest, logits[i, action])
        for action in range(NUM_ACTIONS):
            chances[action] = math.exp(logits[i, action] - highest) if masks[i, action] else 0.0
        action = fall(chances, lots[i])
        actions[i] = action
        log_probs[i] = logits[i, action] - highest - math.log(chances.sum())


def draw(logits: np.ndarray, masks: np.ndarray, lots: np.ndarray, actions: np.ndarray, log_probs: np.ndarray) -> None:
    """Draw `actions (B,) int64` from the policy of `logits (B, 76) float32` by `lots (B,)` from [0, 1), with the
    `log_probs (B,) float32` of what is drawn."""
    _draw(logits, masks, lots, actions, log_probs)


class Tables:
    """Tables with `seats`, `(N, P) int64`: `LEARNER`, `SNAPSHOT` or a compiled player's id. Their walls are those of
    `VectorEnv(N, rules, seed=seed)`. `columns`: what is shown, as places in the flat state. `discarder`: the compiled
    player that decides for the trainer's seats where there are but discards to choose from, -1 for none."""

    def __init__(self, rules: Rules, seats: np.ndarray, columns: np.ndarray, seed: int, discarder: int = -1) -> None:
        self.rules = rules
        self.columns = columns
        self.central = bool(columns.max() >= OBSERVATION_SIZE)
        self.seats = np.ascontiguousarray(seats, np.int64)
        self.env = VectorEnv(len(seats), rules, seed=seed, observe=False)
        self.discarder = discarder
        self.counts = np.zeros(NUM_COUNTS, np.int64)
        self._states = plain(self.env.states)
        _begin(self._states, self.seats, self.discarder, self.counts)

    @property
    def states(self) -> np.ndarray:
        """The tables as they stand, `(N,) STATE`; others of this kind may be written there."""
        return self._states

    def show(
        self, inputs: np.ndarray, masks: np.ndarray, players: np.ndarray, learners: np.ndarray, advice: np.ndarray
    ) -> None:
        """Write what the seats to act are shown into rows of the caller's: inputs `(N, len(columns)) uint8`, masks
        `(N, 76) int8`, the seats `(N,) int64`, which of them are learners `(N,) bool`, advice `(N, ADVICE_SIZE)` or
        `(N, 0) float32`."""
        _show(self._states, self.seats, self.columns, self.central, inputs, masks, players, learners, advice)

    def play(self, actions: np.ndarray, rewards: np.ndarray, done: np.ndarray) -> None:
        """One action `(N,) int64` at every table and all that follows until the next. Writes payments in units of the
        hand in which it was taken, if that was settled, `(N, P) float32`, and whether it was, `(N,) bool`."""
        illegal = first_illegal(self._states, actions, 0, len(actions))
        if illegal >= 0:
            raise IllegalActionError(f"action {actions[illegal]} is illegal at table {illegal}. No table has moved.")
        _play(self._states, self.seats, self.discarder, actions, rewards, done, self.counts)

    def state_dict(self) -> dict[str, Any]:
        """Everything that going on exactly needs."""
        return self.env.state_dict()

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """ValueError when it does not fit."""
        self.env.load_state_dict(kept)
