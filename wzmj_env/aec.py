"""The PettingZoo AEC environment: words and dicts around the engine, no rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from . import engine
from ._jit import njit
from .actions import NUM_ACTIONS
from .actions import name as action_name
from .checks import check_int, own_options
from .game import (
    HAND_OPTIONS,
    Game,
    IllegalActionError,
    Result,
    check_rules,
    check_seed,
    observation_into,
    result_of,
    state_into,
    tiles_remaining,
)
from .observe import OBSERVATION_SHAPE, OBSERVATION_SIZE, STATE_SHAPE, STATE_SIZE, write_legal
from .render import table_text
from .rules import Rules
from .scene import scene_of
from .scoring import largest_loss
from .state import NOTHING, plain
from .svg import pixels, table_svg

RENDER_MODES = ("ansi", "rgb_array")
ILLEGAL, SETTLED = -2, 8  # what `_play` returns besides the seat to act: a flag for a settled hand


@njit
def _play(states, final, action, is_last, mask):
    """Step and write the next mask, or ILLEGAL. A settled hand is kept in `final`; unless it was the last, the next one
    begins (R9.4)."""
    s = states[0]
    if not engine.is_legal(s, action):
        return ILLEGAL
    engine.step(s, action)
    settled = s.player == NOTHING
    if settled:
        final[0] = s
        if not is_last:
            engine.begin_next_hand(s, True)
    write_legal(s, mask)
    return np.int64(s.player) + (SETTLED + 1 if settled else 0)


class raw_env(AECEnv):  # the lower-case name is PettingZoo's
    """One hand, or a match of `hands`, an episode; agents `player_0` .. by seat.

    Observation: `{"observation": (C, 34) uint8, "action_mask": (76,) int8}` (see `wzmj_env.observe`); the mask also in
    `infos[agent]["action_mask"]`, zeros for agents that are not to act. Rewards are payments in units, paid when a hand is
    settled. An illegal action raises `IllegalActionError` and changes nothing.
    """

    metadata = {"name": "wenzhou_mahjong_v0", "render_modes": list(RENDER_MODES), "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, rules: Rules | None = None, hands: int = 1, render_mode: str | None = None) -> None:
        if render_mode not in (None, *RENDER_MODES):
            raise ValueError(f"render_mode must be None, {' or '.join(map(repr, RENDER_MODES))}, not {render_mode!r}")
        super().__init__()
        self.rules = check_rules(rules)
        self.hands = check_int(hands, "hands", 1, 10**9)
        self.render_mode = render_mode
        self.possible_agents = [f"player_{p}" for p in range(self.rules.num_players)]
        observation = spaces.Dict(
            {
                "observation": spaces.Box(0, 255, OBSERVATION_SHAPE, np.uint8),
                "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, observation)
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 255, STATE_SHAPE, np.uint8)
        self._seat = {agent: p for p, agent in enumerate(self.possible_agents)}
        self._deals: np.random.Generator | None = None
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode. A seed gives its walls and dealers as `Game(seed=seed)` and `Match` do; without one the next
        deals of the last seed follow, or entropy's. `options`: of the first hand, as the arguments of `Game`."""
        options = own_options(options, HAND_OPTIONS)
        if seed is not None or self._deals is None:
            seed = check_seed(seed)
            self._deals = np.random.default_rng(seed)
        else:
            seed = int(self._deals.integers(2**63))
        game = Game(self.rules, seed=seed, **options)
        self._states, self._raw = game._states, game._raw
        self._final = self._states.copy()
        self._raw_final = plain(self._final)
        self.results: list[Result] = []
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": np.zeros(NUM_ACTIONS, np.int8)} for agent in self.agents}
        self._paid = False
        self._ask(game.current_player, game.action_mask())

    def _ask(self, seat: int, mask: np.ndarray) -> None:
        """It is this seat's turn."""
        agent = self.possible_agents[seat]
        self.agent_selection = agent
        self.infos[agent]["action_mask"] = mask

    def step(self, action: int | None) -> None:
        if not self.agents:
            raise IllegalActionError("no agent is left to act: reset() starts an episode")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if isinstance(action, np.ndarray) and action.shape == ():
            action = action[()]  # the action space holds such numbers too
        if type(action) is not int:
            if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
                raise IllegalActionError(f"an action is a whole number from 0 to {NUM_ACTIONS - 1}, not {action!r}")
            action = int(action)
        mask = np.empty(NUM_ACTIONS, np.int8)
        is_last = len(self.results) + 1 == self.hands
        code = _play(self._raw, self._raw_final, action, is_last, mask) if 0 <= action < NUM_ACTIONS else ILLEGAL
        if code == ILLEGAL:
            self._refuse(action)
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._paid = False
        self.infos[agent]["action_mask"] = np.zeros(NUM_ACTIONS, np.int8)
        if code < SETTLED:
            self._ask(code, mask)
        else:
            self._settle(code - SETTLED - 1, mask)

    def _settle(self, seat: int, mask: np.ndarray) -> None:
        """A hand is over: pay, and end the episode or go on with `seat`."""
        result = result_of(self._final)
        assert result is not None
        self.results.append(result)
        self._pay({agent: result.payments[p] / self.rules.unit for agent, p in self._seat.items()})
        if seat == NOTHING:
            self.terminations = dict.fromkeys(self.agents, True)
            self._deads_step_first()
        else:
            self._ask(seat, mask)

    def _pay(self, rewards: dict[str, float]) -> None:
        self.rewards = {agent: float(reward) for agent, reward in rewards.items()}
        self._paid = True
        self._accumulate_rewards()

    def _refuse(self, action: int) -> None:
        mask = self.infos[self.agent_selection]["action_mask"]
        legal = ", ".join(f"{a} ({action_name(a)})" for a in np.flatnonzero(mask).tolist())
        raise IllegalActionError(f"action {action} is illegal for {self.agent_selection}; legal are {legal}")

    def end_for_illegal_action(self) -> None:
        """The agent to act has broken the rules: the episode ends, and it alone pays `largest_loss`."""
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self._pay(dict.fromkeys(self.agents, 0.0) | {agent: -largest_loss(self.rules)})
        self.infos[agent]["action_mask"] = np.zeros(NUM_ACTIONS, np.int8)
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)  # as PettingZoo's own wrapper does
        self._deads_step_first()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        observation = np.empty(OBSERVATION_SIZE, np.uint8)
        observation_into(self._raw, self._seat[agent], observation)
        return {
            "observation": observation.reshape(OBSERVATION_SHAPE),
            "action_mask": self.infos[agent]["action_mask"].copy(),
        }

    def state(self) -> np.ndarray:
        """Everything open but the wall, `(S, 34) uint8`, from the seat to act: for central critics."""
        out = np.empty(STATE_SIZE, np.uint8)
        state_into(self._raw, out)
        return out.reshape(STATE_SHAPE)

    def render(self) -> str | np.ndarray | None:
        """The table, all hands open: as text (`ansi`), or as `(height, width, 3) uint8` (`rgb_array`)."""
        if self.render_mode is None:
            return None
        remaining = int(tiles_remaining(self._raw))
        if self.render_mode == "ansi":
            return table_text(self._states[0], remaining)
        return pixels(table_svg(scene_of(self._states[0], remaining)))

    def close(self) -> None:
        """Nothing is held open."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_raw", "_raw_final")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        if "_states" in kept:  # copies and pickles of views would be memory of their own
            self._raw, self._raw_final = plain(self._states), plain(self._final)


class GuardedEnv(OrderEnforcingWrapper):
    """PettingZoo's two usual wrappers in one: checks the order of calls, and ends the episode at an illegal action,
    negative and foreign ids included.

    One wrapper, and `last` asked of the environment itself, since each attribute that is read through a wrapper costs a
    microsecond.
    """

    def last(self, observe: bool = True) -> Any:
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def step(self, action: int | None) -> None:
        env = self.env
        if not self._has_reset or not env.agents:
            super().step(action)
            return
        self._has_updated = True
        agent = env.agent_selection
        alive = not (env.terminations[agent] or env.truncations[agent])
        try:
            env.step(action)
        except IllegalActionError:
            if not alive:
                raise
            EnvLogger.warn_on_illegal_move()
            env.end_for_illegal_action()


def env(rules: Rules | None = None, hands: int = 1, render_mode: str | None = None) -> AECEnv:
    """`raw_env` guarded as usual: an illegal action ends the episode with the penalty `largest_loss`."""
    return GuardedEnv(raw_env(rules, hands, render_mode))
