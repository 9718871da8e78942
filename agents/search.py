"""The player that looks ahead: it imagines the hidden tiles, plays each action out with the rule player, and compares.

From the observation alone come worlds in which the seat sees what it saw (`wzmj_env.imagine`). In every world each action
that looks best beforehand is played, then all seats play by rule to the end of the hand; what counts is the seat's mean
payment over the worlds. All actions meet the same worlds, so that the luck of the tiles falls out of their differences.
Actions that are clearly behind are dropped on the way.

Some dozens of worlds say little about differences so small. What is known before is therefore weighed against them: the
gains that weights of `train.ppo` learnt from vines or, without such weights, the rule player's scores, of which a lower one
gains less, and may turn out better the more easily the further they are apart. The action with the highest expectation
after both is chosen.
"""

from __future__ import annotations

import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.advice import UNITS_A_LOGIT, VERSION
from wzmj_env import engine
from wzmj_env._jit import njit
from wzmj_env.actions import HU, NUM_ACTIONS
from wzmj_env.checks import check_int
from wzmj_env.imagine import adds_up, deal_hidden, read_view
from wzmj_env.observe import OBSERVATION_SIZE
from wzmj_env.players import POLICIES, choose
from wzmj_env.rules import Rules
from wzmj_env.state import NOTHING, new_states
from wzmj_env.strategy import ILLEGAL, best_action, rule_scores

if TYPE_CHECKING:
    from agents.ppo import PPOAgent

RULE = POLICIES["rule:1"]  # plays out: half of the second version's time
CANDIDATES = 5  # actions looked at, the best beforehand
# What an action gains on the best one, before any world is looked at: a normal distribution. By the rule player its mean and
# variance go with the difference of the scores, for each other seat; fitted to what 64 worlds showed at 5,000 decisions.
MEAN_GAIN, GAIN_VARIANCE = -0.6, 0.08
SURE = 1e-3  # the least variance, in units
# By weights the mean is the difference of the logits in units, and the variance has two parts, for each other seat; set below the
# spread of 64 worlds about the shipped weights for four, so that what is taken of it is near what came true: see `train.worlds`.
UNKNOWN_VARIANCE, UNKNOWN_A_UNIT = 0.0005, 0.03
HOPELESS = 3.0  # an action so many deviations below is not looked at
WORLD_VARIANCE = 3.6  # of one world's difference for each other seat, worth PRIOR_WORLDS worlds of evidence
PRIOR_WORLDS = 8
BEHIND = 1.5  # an action is dropped when so many of its deviations up it is below the best one so many down
ROUND = 8  # worlds between two looks at who is behind
MAX_WORLDS = 10**6
BUDGET = re.compile(r"([1-9]\d{0,5})(ms)?")

KNOWN, WORLD, TRIAL = range(3)  # places of the states that a search works with
# Columns of a candidate: PRIOR and SPREAD are mean and variance of its gain beforehand; TOTAL and SQUARES are sums of the
# payment, in units, above the first candidate's in the same world.
ACTION, LEFT, PRIOR, SPREAD, WORLDS, TOTAL, SQUARES = range(7)
COLUMNS = 7
FNV_PRIME = np.uint64(0x100000001B3)


@njit
def _fingerprint(planes, seed):
    """64 bits of the observation and the seed, so that a choice depends on nothing else (FNV-1a, Fowler, Noll, Vo)."""
    word = seed
    for value in planes:
        word = (word ^ np.uint64(value)) * FNV_PRIME
    return engine.mix(word)


@njit
def begin(states, planes, mask, logits, rows, scores, trust):
    """Read the observation and enter the actions worth a look, the best beforehand first; how many they are, -1 when the
    tiles do not add up. `logits`: of weights, of length 0 without; then a win that the rule player takes is taken."""
    s = states[KNOWN]
    read_view(planes, mask, s)
    if not adds_up(s):
        return -1
    others = s.num_players - 1
    rule_scores(s, VERSION, scores)
    if len(logits):
        for a in range(NUM_ACTIONS):
            if scores[a] > ILLEGAL:
                scores[a] = logits[a] * UNITS_A_LOGIT
    action = best_action(scores)
    if action == HU and not len(logits):
        rows = rows[:1]
    best = scores[action]
    n = 0
    while n < len(rows) and (n == 0 or scores[action] > ILLEGAL):
        behind = best - scores[action]
        if len(logits):
            prior, spread = -behind, UNKNOWN_VARIANCE * others * others + UNKNOWN_A_UNIT * others * behind
        else:
            prior, spread = MEAN_GAIN * others * behind, max(GAIN_VARIANCE * others * others * behind, SURE)
        if n > 0 and prior + HOPELESS * math.sqrt(spread) < 0:
            break
        rows[n] = 0
        rows[n, ACTION], rows[n, LEFT], rows[n, PRIOR], rows[n, SPREAD] = action, 1, prior, spread / trust
        scores[action] = ILLEGAL
        action = best_action(scores)
        n += 1
    return n


@njit
def outcome(states, action):
    """The payment to the seat to act, in units, when it plays `action` in this world and all play by rule from then on."""
    states[TRIAL] = states[WORLD]
    s = states[TRIAL]
    seat = np.int64(s.player)
    engine.step(s, action)
    while s.player != NOTHING:
        engine.step(s, choose(s, RULE))
    return s.payments[seat] / s.unit


@njit
def play_worlds(states, rows, first, last, word):
    """Play worlds first .. last - 1 with every action left and add to their sums; whether all could be imagined."""
    for w in range(first, last):
        states[WORLD] = states[KNOWN]
        if not deal_hidden(states[WORLD], engine.mix(word + np.uint64(w))):
            return False
        base = outcome(states, np.int64(rows[0, ACTION]))
        for row in rows[1:]:
            if row[LEFT]:
                gain = outcome(states, np.int64(row[ACTION])) - base
                row[WORLDS] += 1
                row[TOTAL] += gain
                row[SQUARES] += gain * gain
    return True


@njit
def _play_out(states, rows, first, last, word):
    """Play worlds first .. last - 1, then drop the actions behind; how many besides the first are left, -1 when a world could
    not be imagined."""
    if not play_worlds(states, rows, first, last, word):
        return -1
    others = states[KNOWN].num_players - 1
    best = 0.0
    for row in rows[1:]:
        if row[LEFT]:
            expected, deviation = _expected(row, others)
            best = max(best, expected - BEHIND * deviation)
    left = 0
    for row in rows[1:]:
        expected, deviation = _expected(row, others)
        if row[LEFT] and expected + BEHIND * deviation < best:
            row[LEFT] = 0
        left += row[LEFT] != 0
    return left


@njit
def share_of_worlds(row, others):
    """How much of what the worlds say of an action beyond what was known before is to be believed, from 0 to 1."""
    worlds = max(row[WORLDS], 1.0)
    noise = row[SQUARES] - row[TOTAL] * row[TOTAL] / worlds + PRIOR_WORLDS * WORLD_VARIANCE * others
    error = noise / (worlds + PRIOR_WORLDS - 1) / worlds
    return row[SPREAD] / (row[SPREAD] + error)


@njit
def _expected(row, others):
    """The gain to expect of an action, from what was known before and the worlds, and its standard deviation."""
    share = share_of_worlds(row, others)
    beyond = row[TOTAL] / max(row[WORLDS], 1.0) - row[PRIOR]
    return row[PRIOR] + share * beyond, math.sqrt(row[SPREAD] * (1 - share))


@njit
def _best(rows, others):
    best_action, best = rows[0, ACTION], 0.0
    for row in rows[1:]:
        expected, _ = _expected(row, others)
        if row[LEFT] and expected > best:
            best_action, best = row[ACTION], expected
    return np.int64(best_action)


@njit
def _search(states, observations, masks, logits, rows, scores, seed, num_worlds, trust, actions):
    """Choose for each table; the first whose tiles do not add up, -1 when all do."""
    for i in range(len(masks)):
        n = begin(states, observations[i], masks[i], logits[i], rows, scores, trust)
        if n < 1:
            return i
        word = _fingerprint(observations[i], seed)
        left, first = n - 1, 0
        while left > 0 and first < num_worlds:
            last = min(first + ROUND, num_worlds)
            left = _play_out(states, rows[:n], first, last, word)
            first = last
        if left < 0:
            return i
        actions[i] = _best(rows[:n], states[KNOWN].num_players - 1)
    return -1


class SearchAgent:
    """Looks ahead over `worlds` imagined worlds a decision, or for `milliseconds`.

    `rules` are those of the table, which no observation shows in full: by default the usual ones. What is known before is
    the `prior` agent's, if given, else the rule player's; it weighs as fitted times `trust`. Choices are a function of the
    observation and the seed of `reset`, with `milliseconds` of the machine's speed too. ValueError on bad input.
    """

    def __init__(
        self,
        worlds: int = 64,
        *,
        milliseconds: int = 0,
        rules: Rules | None = None,
        candidates: int = CANDIDATES,
        trust: float = 1.0,
        prior: PPOAgent | None = None,
        name: str = "search",
    ) -> None:
        self.name = name
        self.worlds = check_int(worlds, "worlds", 1, MAX_WORLDS)
        self.milliseconds = check_int(milliseconds, "milliseconds", 0, 10**6)
        self.trust = float(trust)
        if not 0 < self.trust < math.inf:
            raise ValueError(f"trust must be above 0 and finite, not {trust!r}")
        self.prior = prior
        self._rows = np.zeros((check_int(candidates, "candidates", 2, NUM_ACTIONS), COLUMNS))
        self._scores = np.zeros(NUM_ACTIONS)
        self._states = new_states(3, rules or Rules())
        self._seed = np.uint64(0)

    def act(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """A legal action for each table, `(B,) int64`. ValueError for an observation that no hand can give."""
        actions = np.zeros(len(masks), np.int64)
        planes = np.ascontiguousarray(observations).reshape(len(masks), OBSERVATION_SIZE)
        logits = np.zeros((len(masks), 0), np.float32) if self.prior is None else self.prior.logits(observations, masks)
        if self.milliseconds:
            wrong = self._search_for_a_time(planes, masks, logits, actions)
        else:
            room = self._rows, self._scores
            wrong = _search(self._states, planes, masks, logits, *room, self._seed, self.worlds, self.trust, actions)
        if wrong >= 0:
            raise ValueError(f"agent {self.name!r}: the tiles of observation {wrong} do not add up to a hand")
        return actions

    def _search_for_a_time(self, planes: np.ndarray, masks: np.ndarray, logits: np.ndarray, actions: np.ndarray) -> int:
        for i in range(len(masks)):
            end = time.perf_counter() + self.milliseconds / 1000
            n = begin(self._states, planes[i], masks[i], logits[i], self._rows, self._scores, self.trust)
            if n < 1:
                return i
            word = np.uint64(_fingerprint(planes[i], self._seed))
            left, first = n - 1, 0
            while left > 0 and first < MAX_WORLDS and (first == 0 or time.perf_counter() < end):
                left = _play_out(self._states, self._rows[:n], first, first + ROUND, word)
                first += ROUND
            if left < 0:
                return i
            actions[i] = _best(self._rows[:n], int(self._states.num_players[KNOWN]) - 1)
        return -1

    def reset(self, seed: int) -> None:
        self._seed = np.uint64(seed)


def make(budget: str, *, rules: str = "", prior: str = "", **options: Any) -> SearchAgent:
    """The agent of a spec: `64` imagined worlds or `50ms` a decision; `rules` is a file, `prior` weights as behind `ppo:`.
    ValueError on bad input."""
    match = BUDGET.fullmatch(budget)
    if match is None:
        raise ValueError(f"the budget must be like search:64, worlds a decision, or search:50ms, not {budget!r}")
    options["milliseconds" if match[2] else "worlds"] = int(match[1])
    if rules:
        options["rules"] = Rules.load(Path(rules))
    if prior:
        from agents.ppo import load  # torch is needed here alone

        options["prior"] = load(prior)
    return SearchAgent(**options)
