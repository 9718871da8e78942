"""Many hands at once in which one seat is asked: compiled players have the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import engine
from ._jit import fetch_ahead, njit
from .batch import CARRY, DECISIONS, GIVEN, NUM_COUNTERS, VectorEnv, settle, show
from .checks import check_int
from .game import check_rules
from .players import POLICIES, choose
from .rules import Rules
from .scoring import largest_loss
from .state import NOTHING

ASKED = -1  # in `seats`, beside ids of compiled players
ILLEGAL = ("terminate", "penalty", "raise")  # what an illegal action leads to
ENDS, GOES_ON, RAISES = range(len(ILLEGAL))


def check_illegal(illegal: str) -> int:
    """The place in ILLEGAL of what an illegal action is to lead to."""
    if illegal not in ILLEGAL:
        raise ValueError(f"illegal must be one of {', '.join(map(repr, ILLEGAL))}, not {illegal!r}")
    return ILLEGAL.index(illegal)


@njit
def play_others(s, seats):
    """Play the seats of compiled players, whose ids `seats` holds, until another's turn or the end of the hand."""
    while s.player != NOTHING and seats[s.player] != ASKED:
        engine.step(s, choose(s, seats[s.player]))


@njit
def _play_to_turn(s, i, seats, finals, rewards, options, counters, is_under_way):
    """Play until it is the asked seat's turn. Tells whether the hand under way was settled; a hand that begins and ends
    in here asked nothing, and is not told of."""
    settled = False
    play_others(s, seats)
    while s.player == NOTHING:
        if is_under_way:
            settle(s, i, finals, rewards, options, counters)
            settled, is_under_way = True, False
        else:
            engine.begin_next_hand(s, options & CARRY != 0)
        play_others(s, seats)
    return settled


@njit
def _begin_slice(states, finals, rewards, terminated, player, mask, observation, state, options, first, last, seats):
    counters = np.zeros(NUM_COUNTERS, np.int64)
    for i in range(first, last):
        s = states[i]
        rewards[i] = 0
        terminated[i] = False
        engine.begin_next_hand(s, options & CARRY != 0)
        _play_to_turn(s, i, seats, finals, rewards, options, counters, False)
        show(s, i, options, player, mask, observation, state)


@njit
def _play_slice(
    states, finals, rewards, terminated, player, mask, observation, state, options, first, last,
    steps, policy, actions, seats, at_illegal, fine, counters,
):  # fmt: skip
    """As `batch._play_slice`, the other seats' decisions played too. Where a fine is set, illegal actions cost it."""
    for i in range(first, last):
        fetch_ahead(states, i + 1)
        s = states[i]
        for _ in range(steps):
            p = np.int64(s.player)
            action = np.int64(actions[i]) if policy == GIVEN else choose(s, policy)
            for q in range(s.num_players):
                rewards[i, q] = 0
            is_legal = engine.is_legal(s, action)
            ends = not is_legal and at_illegal == ENDS
            if is_legal:
                engine.step(s, action)
                terminated[i] = _play_to_turn(s, i, seats, finals, rewards, options, counters, True)
            else:
                rewards[i, p] = -fine
                terminated[i] = ends
            if ends:
                finals[i] = s
                engine.begin_next_hand(s, options & CARRY != 0)
                _play_to_turn(s, i, seats, finals, rewards, options, counters, False)
            show(s, i, options, player, mask, observation, state)
    counters[DECISIONS] += (last - first) * steps


class SeatedEnv(VectorEnv):
    """A `VectorEnv` that waits for one seat's decisions alone: `seat` is asked in every game, and `others`, the names of
    built-in players, play the seats after it in turn.

    Buffers, seeds and walls are those of `VectorEnv`. A hand that ends before the seat was asked anything is passed over
    for the game's next one. `rewards[:, seat]` is what the seat was paid in the step made.

    `illegal`: "raise", as `VectorEnv.step` does; "terminate", the seat pays the largest loss that a hand can bring, the
    hand ends there, unsettled, and the next begins; "penalty", it pays the same and is asked again.
    """

    def __init__(
        self,
        num_envs: int,
        others: Sequence[str],
        rules: Rules | None = None,
        *,
        seat: int = 0,
        illegal: str = "raise",
        seed: int | None = 0,
        num_threads: int = 1,
        carry: bool = False,
    ) -> None:
        rules = check_rules(rules)
        n = rules.num_players
        self.seat = check_int(seat, "seat", 0, n - 1)
        if len(others) != n - 1 or any(name not in POLICIES for name in others):
            raise ValueError(f"others must name {n - 1} built-in players of {', '.join(POLICIES)}, not {others!r}")
        self._at_illegal = check_illegal(illegal)
        self._fine = 0.0 if self._at_illegal == RAISES else largest_loss(rules)
        self._seats = np.full(n, ASKED, np.int64)
        for i, name in enumerate(others, 1):
            self._seats[(self.seat + i) % n] = POLICIES[name]
        super().__init__(num_envs, rules, seed=seed, num_threads=num_threads, carry=carry)

    def step(self, actions: np.ndarray) -> None:
        """Play one action of the seat in every game, `(N,)` of any integer type, and all that follows until it is asked again."""
        self._take(actions, refuses_illegal=self._at_illegal == RAISES)
        self._play(1, GIVEN)

    def _begin(self) -> None:
        self._on_slices(_begin_slice, self._seats)

    def _play(self, steps: int, policy: int) -> None:
        self._on_slices(
            _play_slice, steps, policy, self._actions, self._seats, self._at_illegal, self._fine, counted=True
        )
