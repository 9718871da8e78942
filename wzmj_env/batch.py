"""Many hands at once: arrays in, arrays out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from . import engine
from ._jit import fetch_ahead, njit
from .actions import NUM_ACTIONS
from .actions import name as action_name
from .checks import check_int
from .game import IllegalActionError, Result, check_rules, check_seed, result_of
from .observe import (
    COUNTS_SHAPE,
    OBSERVATION_SHAPE,
    OBSERVATION_SIZE,
    STATE_SHAPE,
    STATE_SIZE,
    write_counts,
    write_legal,
    write_observation,
    write_state,
)
from .players import POLICIES, choose, random_action
from .rules import Rules
from .state import NOTHING, STATE, new_states, plain

CARRY, SKIP_FORCED, OBSERVE, OPEN_STATE, COUNTS = 1, 2, 4, 8, 16
WORTH_A_THREAD = 4096  # games: fewer are looked through before a thread has woken up
DTYPES = (np.uint8, np.float32, np.dtype(np.uint8), np.dtype(np.float32))
VALUES = (0, 1, 2, 4)  # of a hand: drawn, soft, hard, double
DECISIONS, FORCED, HANDS, BY_VALUE = 0, 1, 2, 3  # places in the counters of a rollout
NUM_COUNTERS = BY_VALUE + len(VALUES)
GIVEN = -1  # in place of a policy: the actions given


# --- one game --------------------------------------------------------------------------------------------------------


# Compiled functions below take whole arrays and the game's number: a view of a row would be counted in and out.


@njit
def place_of_value(s):
    """Index in VALUES of what a settled hand was worth."""
    return 3 if s.value == 4 else s.value


@njit
def settle(s, i, finals, rewards, options, counters):
    """The hand is over: keep it, add its payments in units, start the next."""
    for p in range(s.num_players):
        rewards[i, p] += s.payments[p] / s.unit
    finals[i] = s
    counters[HANDS] += 1
    counters[BY_VALUE + place_of_value(s)] += 1
    engine.begin_next_hand(s, options & CARRY != 0)


@njit
def _play_forced(s, i, finals, rewards, options, counters):
    """Play decisions with one legal action until there is a choice. Tells whether a hand was settled."""
    settled = False
    action = engine.forced_action(s)
    while action >= 0:
        engine.step(s, action)
        counters[FORCED] += 1
        if s.player == NOTHING:
            settle(s, i, finals, rewards, options, counters)
            settled = True
        action = engine.forced_action(s)
    return settled


@njit(inline="always")  # a call with so many arrays costs as much as the masks
def show(s, i, options, player, mask, observation, state):
    player[i] = s.player
    write_legal(s, mask[i])
    if options & OBSERVE:
        write_observation(s, np.int64(s.player), observation[i])
    if options & COUNTS:
        write_counts(s, np.int64(s.player), observation[i])
    if options & OPEN_STATE:
        write_state(s, state[i])


# --- slices of games -------------------------------------------------------------------------------------------------


@njit
def _reset_slice(states, finals, rewards, terminated, player, mask, observation, state, options, first, last):
    counters = np.zeros(NUM_COUNTERS, np.int64)
    for i in range(first, last):
        s = states[i]
        rewards[i] = 0
        terminated[i] = False
        engine.begin_next_hand(s, options & CARRY != 0)
        if options & SKIP_FORCED:
            _play_forced(s, i, finals, rewards, options, counters)
            rewards[i] = 0
        show(s, i, options, player, mask, observation, state)


@njit
def _show_slice(states, finals, rewards, terminated, player, mask, observation, state, options, first, last):
    for i in range(first, last):
        show(states[i], i, options, player, mask, observation, state)


@njit
def _play_slice(
    states, finals, rewards, terminated, player, mask, observation, state, options, first, last, steps, policy, actions, counters
):
    """`steps` decisions in every game and all that follows of itself: those of a built-in policy, or the GIVEN actions."""
    for i in range(first, last):
        fetch_ahead(states, i + 1)
        s = states[i]
        for _ in range(steps):
            action = np.int64(actions[i]) if policy == GIVEN else choose(s, policy)
            for p in range(s.num_players):
                rewards[i, p] = 0
            engine.step(s, action)
            settled = s.player == NOTHING
            if settled:
                settle(s, i, finals, rewards, options, counters)
            if options & SKIP_FORCED:
                settled |= _play_forced(s, i, finals, rewards, options, counters)
            terminated[i] = settled
            show(s, i, options, player, mask, observation, state)
    counters[DECISIONS] += (last - first) * steps


@njit
def _seed_games(states, seed, games):
    for i in range(len(states)):
        engine.seed_game(states[i], seed, games[i])


@njit
def first_illegal(states, actions, first, last):
    """The first game whose action is illegal, -1 when none is."""
    for i in range(first, last):
        if not engine.is_legal(states[i], actions[i]):
            return i
    return -1


@njit
def _sample_slice(states, actions, first, last):
    for i in range(first, last):
        actions[i] = random_action(states[i])


@njit
def _observe_seat(states, i, seat, out):
    write_observation(states[i], seat, out)


@dataclass(frozen=True)
class Rollout:
    """What a rollout played: decisions (forced ones that were skipped counted apart), hands, and hands by value."""

    decisions: int
    forced: int
    hands: int
    by_value: dict[int, int]


def _check_games(games: Any, n: int) -> np.ndarray:
    """Game numbers as `(n,) int64`."""
    if games is None:
        return np.arange(n)
    numbers = np.asarray(games)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu" or (n and numbers.min() < 0):
        raise ValueError(f"games must be {n} whole numbers, 0 or more, one for each game")
    return numbers.astype(np.int64)


class VectorEnv:
    """`num_envs` games, turn-based: each waits for one seat's decision.

    Buffers, rewritten in place by `reset`, `step` and `rollout`:
        observation     (N, C, 34) uint8    of the seat to act; None with `observe=False`; with `observe="counts"` the
                                            compact form, `(N, 21, 34)`
        state           (N, S, 34) uint8    everything open, for central critics; None without `state=True`
        action_mask     (N, 76) int8        of the seat to act
        current_player  (N,) int64          the seat to act
        rewards         (N, P) float32      payments in units of the step just made, by absolute seat
        terminated      (N,) bool           a hand was settled in the step just made
        final_states    (N,) STATE record   the last settled hand of each game: see `final_result`, `final_observation`

    A settled hand starts anew in the same step: with a dealer from the seed at ladder 0, or with `carry=True` as a match
    goes on (R9.4). `skip_forced=True` plays decisions with one legal action itself. The walls and dealers of game i are
    a function of (seed, i, hand) alone; `num_envs`, `num_threads` and `sample_actions` change none. `games` gives the
    games other numbers than 0 .. N - 1: the same number twice is the same deals twice. `dtype=np.float32` makes
    observation and state floats of the same values.
    """

    observation: np.ndarray | None
    state: np.ndarray | None

    def __init__(
        self,
        num_envs: int,
        rules: Rules | None = None,
        *,
        seed: int | None = 0,
        num_threads: int = 1,
        observe: bool | Literal["counts"] = True,
        state: bool = False,
        carry: bool = False,
        skip_forced: bool = False,
        games: Sequence[int] | np.ndarray | None = None,
        dtype: DTypeLike = np.uint8,
    ) -> None:
        self.num_envs = check_int(num_envs, "num_envs", 1, 2**24)
        self.num_threads = check_int(num_threads, "num_threads", 1, 1024)
        self.rules = check_rules(rules)
        n = self.num_envs
        if not isinstance(observe, (bool, str)) or (isinstance(observe, str) and observe != "counts"):
            raise ValueError(f"observe must be True, False or 'counts', not {observe!r}")
        form = COUNTS if observe == "counts" else OBSERVE * bool(observe)
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be np.uint8 or np.float32, not {dtype!r}")
        self._options = CARRY * carry | SKIP_FORCED * skip_forced | form | OPEN_STATE * state
        shape = COUNTS_SHAPE if form == COUNTS else OBSERVATION_SHAPE
        self.states = new_states(n, self.rules)
        self.final_states = new_states(n, self.rules)
        self.rewards = np.zeros((n, self.rules.num_players), np.float32)
        self.terminated = np.zeros(n, np.bool_)
        self.current_player = np.zeros(n, np.int64)
        self.action_mask = np.zeros((n, NUM_ACTIONS), np.int8)
        self._observation = np.zeros((n, math.prod(shape)) if form else (1, 1), dtype)
        self._state = np.zeros((n, STATE_SIZE) if state else (1, 1), dtype)
        self.observation = self._observation.reshape(n, *shape) if form else None
        self.state = self._state.reshape(n, *STATE_SHAPE) if state else None
        self._actions = np.zeros(n, np.int64)
        self._sampled = np.zeros(n, np.int64)
        cuts = [n * t // self.num_threads for t in range(self.num_threads + 1)]
        self._slices = [(a, b) for a, b in pairwise(cuts) if b > a]
        self._counters = np.zeros((len(self._slices), NUM_COUNTERS), np.int64)
        self._pool: ThreadPoolExecutor | None = None
        self._buffers = (
            plain(self.states), plain(self.final_states), self.rewards, self.terminated, self.current_player, self.action_mask,
            self._observation, self._state, self._options,
        )  # fmt: skip
        self._games = _check_games(games, n)
        self._seed_with(check_seed(seed))
        self.reset()

    def _seed_with(self, seed: int) -> None:
        self.seed = seed
        _seed_games(self._buffers[0], np.uint64(seed), self._games)

    def _on_slices(self, function: Callable[..., Any], *arguments: Any, counted: bool = False) -> None:
        """Call a slice function for every slice of games, each on a thread of its own."""
        self._beside(
            function,
            [(*self._buffers, first, last, *arguments, *((self._counters[t],) if counted else ()))
             for t, (first, last) in enumerate(self._slices)],
        )  # fmt: skip

    def _look_through(self, function: Callable[..., Any], actions: np.ndarray) -> list[Any]:
        """Call a light function `(states, actions, first, last)`, on threads where there are games enough."""
        if self.num_envs < WORTH_A_THREAD * len(self._slices):
            return [function(self._buffers[0], actions, 0, self.num_envs)]
        return self._beside(function, [(self._buffers[0], actions, *cut) for cut in self._slices])

    def _beside(self, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """What calls with these arguments return, made beside each other: the last on this thread, each other on one of
        its own."""
        if len(calls) == 1:
            return [function(*calls[0])]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._slices) - 1, "wzmj")
        futures = [self._pool.submit(function, *arguments) for arguments in calls[:-1]]
        last = function(*calls[-1])
        return [*(future.result() for future in futures), last]

    def reset(self, seed: int | None = None) -> None:
        """Start a hand in every game: hand 0 under a `seed` given, else each game's next one."""
        if seed is not None:
            self._seed_with(check_seed(seed))
        self._begin()

    def step(self, actions: np.ndarray) -> None:
        """Play one action in every game, `(N,)` of any integer type.

        An illegal one raises `IllegalActionError` naming the first such game, and no game has moved.
        """
        self._take(actions)
        self._play(1, GIVEN)

    def _begin(self) -> None:
        """Start the next hand of every game."""
        self._on_slices(_reset_slice)

    def _play(self, steps: int, policy: int) -> None:
        """Play decisions of a policy, or the actions taken, in every game."""
        self._on_slices(_play_slice, steps, policy, self._actions, counted=True)

    def _take(self, actions: np.ndarray, refuses_illegal: bool = True) -> None:
        """Check the actions and keep them for `_play`."""
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise IllegalActionError(
                f"actions must be {self.num_envs} whole numbers, not an array of shape {given.shape} and type {given.dtype}"
            )
        np.copyto(self._actions, given, casting="unsafe")
        if not refuses_illegal:
            return
        illegal = min((i for i in self._look_through(first_illegal, self._actions) if i >= 0), default=-1)
        if illegal >= 0:
            legal = ", ".join(f"{a} ({action_name(a)})" for a in np.flatnonzero(self.action_mask[illegal]).tolist())
            raise IllegalActionError(
                f"action {given[illegal]} is illegal in game {illegal} for seat {self.current_player[illegal]};"
                f" legal are {legal}. No game has moved."
            )

    def sample_actions(self) -> np.ndarray:
        """Random legal actions, `(N,) int64`, each as likely as another, in a buffer that the next call rewrites.

        They come from each game's stream for players and move no wall.
        """
        self._look_through(_sample_slice, self._sampled)
        return self._sampled

    def rollout(self, steps: int, policy: str = "random") -> Rollout:
        """Play `steps` decisions in every game inside compiled code, all seats by a built-in player.

        Buffers are written at every decision, as `step` would, and afterwards are those of the last one.
        """
        steps = check_int(steps, "steps", 0, 2**62)
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        self._counters[:] = 0
        self._play(steps, POLICIES[policy])
        total = self._counters.sum(axis=0)
        return Rollout(
            decisions=int(total[DECISIONS]),
            forced=int(total[FORCED]),
            hands=int(total[HANDS]),
            by_value={value: int(total[BY_VALUE + i]) for i, value in enumerate(VALUES)},
        )

    # --- settled hands ---

    def final_result(self, i: int) -> Result | None:
        """The result of the last settled hand of game i; None before the first."""
        i = check_int(i, "game", 0, self.num_envs - 1)
        states = self.final_states[i : i + 1].view(np.recarray)
        return result_of(states) if states.back[0] else None  # a hand that was dealt has a back of the wall

    def final_observation(self, i: int, seat: int) -> np.ndarray:
        """What `seat` saw at the end of the last settled hand of game i, `(C, 34) uint8`, whatever form `observe` has."""
        i = check_int(i, "game", 0, self.num_envs - 1)
        seat = check_int(seat, "seat", 0, self.rules.num_players - 1)
        out = np.empty(OBSERVATION_SIZE, np.uint8)
        _observe_seat(self._buffers[1], i, seat, out)
        return out.reshape(OBSERVATION_SHAPE)

    # --- keeping ---

    def state_dict(self) -> dict[str, Any]:
        """Everything that going on exactly needs, as plain values and arrays of bytes."""
        data = np.concatenate([self.states, self.final_states]).view(np.uint8).copy()
        return {
            "rules": self.rules.hash,
            "options": self._options,
            "num_envs": self.num_envs,
            "seed": self.seed,
            "games": self._games.tolist(),
            "states": data,
            "sha256": hashlib.sha256(data.tobytes()).hexdigest(),
        }

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Go on from what `state_dict` of an environment made in the same way gave. ValueError when it does not fit."""
        for name, mine in (("rules", self.rules.hash), ("options", self._options), ("num_envs", self.num_envs)):
            if kept.get(name) != mine:
                raise ValueError(f"this state has {name} {kept.get(name)!r}; the environment has {mine!r}")
        data = np.ascontiguousarray(kept.get("states"), np.uint8)
        if data.size != 2 * self.num_envs * STATE.itemsize:
            raise ValueError(f"this state has {data.size} bytes; {2 * self.num_envs * STATE.itemsize} are needed")
        if hashlib.sha256(data.tobytes()).hexdigest() != kept.get("sha256"):
            raise ValueError("this state is damaged: its checksum differs")
        both = data.view(STATE)
        self.seed, self._games = check_seed(kept["seed"]), _check_games(kept["games"], self.num_envs)
        self.states[:], self.final_states[:] = both[: self.num_envs], both[self.num_envs :]
        self.rewards[:], self.terminated[:] = 0, False
        self._on_slices(_show_slice)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a VectorEnv is not pickled: build it anew and use state_dict and load_state_dict")

    def close(self) -> None:
        """End the threads. The environment can still be used; they start again when needed."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

