"""The Gymnasium environment: one learner's seat, the others played inside. Words around the engine, no rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import engine
from ._jit import njit
from .actions import NUM_ACTIONS
from .actions import name as action_name
from .bots import ProcessAgent
from .checks import check_flag, check_int, own_options
from .game import (
    HAND_OPTIONS,
    Game,
    IllegalActionError,
    check_rules,
    check_seed,
    mask_into,
    observation_into,
    result_of,
    tiles_remaining,
)
from .observe import OBSERVATION_SHAPE, OBSERVATION_SIZE
from .render import table_text
from .rules import Rules
from .scene import scene_of
from .scoring import largest_loss
from .seated import ASKED, ENDS, RAISES, check_illegal, play_others
from .specs import Agent, BuiltIn, make_agent
from .state import NOTHING, plain
from .svg import pixels, table_svg

RENDER_MODES = ("ansi", "rgb_array")
REFUSED = -2  # what `_play` returns besides the seat to act

Opponent = str | Agent | Callable[[np.ndarray, np.ndarray], int]
Asked = Callable[[np.ndarray, np.ndarray], Any]


@njit
def _play_others(states, seats):
    play_others(states[0], seats)
    return np.int64(states[0].player)


@njit
def _play(states, seats, action):
    """Step and play compiled players; the seat to act then, or REFUSED."""
    s = states[0]
    if not engine.is_legal(s, action):
        return REFUSED
    engine.step(s, action)
    play_others(s, seats)
    return np.int64(s.player)


@njit
def _begin_next(states, carry):
    engine.begin_next_hand(states[0], carry)


def observation_space() -> spaces.Box:
    """What a seat sees, `(C, 34) uint8`."""
    return spaces.Box(0, 255, OBSERVATION_SHAPE, np.uint8)


def each_opponent(opponents: Any, num_players: int) -> list[Any]:
    """The opponents by seat, the one after the learner's first: one stands for all."""
    if not isinstance(opponents, (list, tuple)):
        return [opponents] * (num_players - 1)
    if len(opponents) != num_players - 1:
        raise ValueError(f"opponents must be one for all or {num_players - 1}, one a seat, not {len(opponents)}")
    return list(opponents)


def _ask(agent: Agent, observation: np.ndarray, mask: np.ndarray) -> Any:
    return agent.act(observation[None], mask[None])[0]


class WenzhouMahjong(gymnasium.Env):
    """One hand an episode, as `seat` of the table lives it.

    `opponents`: a spec as in `wzmj_env.specs`, an agent as those make, or any callable `(observation, action_mask) ->
    action` of one table; or a list of such, one for each seat after the learner's in turn. Observation: `(C, 34) uint8` (see
    `wzmj_env.observe`). The mask, `(76,) int8`, is `info["action_mask"]`, zeros when the hand is over, and `action_masks()`
    as sb3-contrib asks for it. The reward is the seat's payment in units, given with the hand's last step.

    `illegal`, at an illegal action: "terminate" ends the episode with the largest loss that a hand can bring, "penalty" costs
    the same and asks again, "raise" raises `IllegalActionError`. What is no whole number raises always.

    `reset(seed=s)` deals hand 0 of `Game(seed=s)`, a reset without a seed that game's next hand, with `carry=True` as a match
    goes on. A hand that ends before the seat was asked anything is passed over. Options of a reset are arguments of `Game`:
    wall, dealer, ladder, bought, topped.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        opponents: Opponent | Sequence[Opponent] = "rule",
        rules: Rules | None = None,
        *,
        seat: int = 0,
        illegal: str = "terminate",
        carry: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"render_mode must be None, {' or '.join(map(repr, RENDER_MODES))}, not {render_mode!r}")
        self.rules = check_rules(rules)
        self.seat = check_int(seat, "seat", 0, self.rules.num_players - 1)
        self.carry = check_flag(carry, "carry")
        self.render_mode = render_mode
        self._at_illegal = check_illegal(illegal)
        self._fine = largest_loss(self.rules)
        self._seat_opponents(each_opponent(opponents, self.rules.num_players))
        self.observation_space = observation_space()
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._states: np.recarray | None = None
        self._raw: Any = None
        self._is_under_way = False

    def _seat_opponents(self, opponents: Sequence[Any]) -> None:
        """Compiled players by seat in `_seats`, what answers for each other seat in `_asked`."""
        n = self.rules.num_players
        self._seats = np.full(n, ASKED, np.int64)
        self._asked: dict[int, Asked] = {}
        self._agents: dict[str, Agent] = {}  # to reset; by spec, so that seats of one spec share an agent
        for i, opponent in enumerate(opponents, 1):
            p = (self.seat + i) % n
            if isinstance(opponent, str):
                agent = self._agents.get(opponent) or make_agent(opponent)
            elif callable(getattr(opponent, "act", None)):
                agent = opponent
            elif callable(opponent):
                self._asked[p] = opponent
                continue
            else:
                raise ValueError(f"an opponent is a spec, an agent or a callable (observation, action_mask), not {opponent!r}")
            if isinstance(agent, ProcessAgent):
                raise ValueError(f"{agent.name!r} plays whole matches (`wzmj play`) and cannot be an opponent here")
            if isinstance(agent, BuiltIn):
                self._seats[p] = agent.policy
                continue
            self._agents[opponent if isinstance(opponent, str) else f"seat {p}"] = agent
            self._asked[p] = partial(_ask, agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        options = own_options(options, HAND_OPTIONS)
        seed = None if seed is None else check_seed(seed)
        super().reset(seed=seed)
        if seed is None and (options or self._states is None):
            seed = int(self.np_random.integers(2**63))
        if seed is None:
            _begin_next(self._raw, self.carry)
        else:
            self._states = Game(self.rules, seed=seed, **options)._states
            self._raw = plain(self._states)
            for agent in self._agents.values():
                if callable(getattr(agent, "reset", None)):
                    agent.reset(seed)
        while self._play_on(_play_others(self._raw, self._seats)):
            _begin_next(self._raw, self.carry)
        self._is_under_way = True
        return self._observe(self.seat), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if not self._is_under_way:
            raise IllegalActionError("no hand is under way: reset() starts an episode")
        if isinstance(action, np.ndarray) and action.shape == ():
            action = action[()]  # the action space holds such numbers too
        if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
            raise IllegalActionError(f"an action is a whole number from 0 to {NUM_ACTIONS - 1}, not {action!r}")
        player = _play(self._raw, self._seats, int(action)) if 0 <= action < NUM_ACTIONS else REFUSED
        if player == REFUSED:
            if self._at_illegal == RAISES:
                self._refuse(action)
            self._is_under_way = self._at_illegal != ENDS
            return self._observe(self.seat), -self._fine, not self._is_under_way, False, self._info()
        is_over = self._play_on(player)
        self._is_under_way = not is_over
        return self._observe(self.seat), self._paid() if is_over else 0.0, is_over, False, self._info()

    def _play_on(self, player: int) -> bool:
        """Ask opponents until it is the learner's turn. Tells whether the hand is over instead."""
        while player not in (self.seat, NOTHING):
            mask = self._mask(player)
            legal = np.flatnonzero(mask)
            answer = legal[0] if len(legal) == 1 else self._asked[player](self._observe(player), mask.copy())
            whole = isinstance(answer, (int, np.integer)) and not isinstance(answer, bool) and 0 <= answer < NUM_ACTIONS
            if not whole or not mask[answer]:
                raise IllegalActionError(f"the opponent at seat {player} answered {answer!r}; legal are {legal.tolist()}")
            player = _play(self._raw, self._seats, int(answer))
        return player == NOTHING

    def _paid(self) -> float:
        """What the hand that is over brought the learner, units."""
        assert self._states is not None
        result = result_of(self._states)
        assert result is not None
        return float(result.payments[self.seat] / self.rules.unit)

    def _refuse(self, action: int) -> None:
        legal = ", ".join(f"{a} ({action_name(a)})" for a in np.flatnonzero(self._mask(self.seat)).tolist())
        raise IllegalActionError(f"action {action} is illegal for seat {self.seat}; legal are {legal}")

    def _observe(self, seat: int) -> np.ndarray:
        out = np.empty(OBSERVATION_SIZE, np.uint8)
        observation_into(self._raw, seat, out)
        return out.reshape(OBSERVATION_SHAPE)

    def _mask(self, seat: int) -> np.ndarray:
        mask = np.empty(NUM_ACTIONS, np.int8)
        mask_into(self._raw, seat, mask)
        return mask

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._mask(self.seat) if self._is_under_way else np.zeros(NUM_ACTIONS, np.int8)}

    def action_masks(self) -> np.ndarray:
        """The legal actions as sb3-contrib asks for them, `(76,) bool`."""
        return self._info()["action_mask"].astype(np.bool_)

    def render(self) -> Any:
        """The table as the learner's seat may see it: as text (`ansi`), or as `(height, width, 3) uint8` (`rgb_array`)."""
        if self.render_mode is None or self._states is None:
            return None
        remaining = int(tiles_remaining(self._raw))
        if self.render_mode == "ansi":
            return table_text(self._states[0], remaining, self.seat)
        return pixels(table_svg(scene_of(self._states[0], remaining, self.seat)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_raw"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        if self._states is not None:  # a copy or pickle of a view would be memory of its own
            self._raw = plain(self._states)
