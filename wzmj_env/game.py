"""Game and Match: the friendly face of one hand, and of hands in a row."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import engine
from ._jit import njit
from .actions import ACTION_VERSION, CHI_LOW, NUM_ACTIONS, PASS
from .actions import name as action_name
from .checks import check_flag, check_int
from .digest import digest
from .events import events_of
from .observe import (
    OBSERVATION_SHAPE,
    OBSERVATION_SIZE,
    STATE_SHAPE,
    STATE_SIZE,
    write_mask,
    write_observation,
    write_state,
)
from .patterns import Pattern, patterns_in
from .position import set_up
from .render import table_text
from .resample import redraw
from .rules import Rules
from .scene import SPECTATOR, Scene, scene_of
from .state import CLAIM, NOTHING, ROB, new_states, plain
from .svg import table_svg
from .tiles import COPIES, NUM_KINDS, NUM_TILES, kind_name, parse_kind

MAX_SEED = 2**64 - 1
MAGIC = b"wzmj-game\n"
FORMAT_VERSION = 1
HAND_OPTIONS = ("wall", "dealer", "ladder", "bought", "topped")  # arguments of `Game` that are options of a reset


class IllegalActionError(ValueError):
    """An action that the seat to act may not play now. The state is unchanged."""


@dataclass(frozen=True)
class Result:
    """How a hand ended (R7, R9). Seats are absolute; next_* is what the following hand of a match starts with."""

    winner: int | None  # None on a drawn hand
    loser: int | None  # whose tile it was; None on own draw, drawn hands and quanqiushen
    value: int  # 1 soft, 2 hard, 4 double, 0 drawn
    patterns: tuple[Pattern, ...]
    payments: np.ndarray  # (n,) int64 points, sum 0
    next_dealer: int
    next_ladder: int
    next_bought: bool
    next_topped: tuple[bool, ...]


# --- checks ----------------------------------------------------------------------------------------------------------


def check_seed(seed: Any) -> int:
    """A seed as int; None takes entropy."""
    return secrets.randbits(63) if seed is None else check_int(seed, "seed", 0, MAX_SEED)


def check_wall(wall: Any) -> np.ndarray:
    """A wall as `(136,) uint8`, four of each kind (R2.2); anything else raises ValueError."""
    array = np.asarray(wall)
    if array.shape != (NUM_TILES,) or array.dtype.kind not in "iu":
        raise ValueError(f"wall must be {NUM_TILES} kinds, not an array of shape {array.shape} and type {array.dtype}")
    if array.min() < 0 or array.max() >= NUM_KINDS:
        raise ValueError(f"wall holds a kind outside 0 to {NUM_KINDS - 1}")
    counts = np.bincount(array.astype(np.int64), minlength=NUM_KINDS)
    if (counts != COPIES).any():
        k = int(np.flatnonzero(counts != COPIES)[0])
        raise ValueError(f"wall must hold {COPIES} of each kind, but holds {counts[k]} of {kind_name(k)}")
    return array.astype(np.uint8)


def check_rules(rules: Any) -> Rules:
    if rules is None:
        return Rules()
    if not isinstance(rules, Rules):
        raise ValueError(f"rules must be a Rules or None, not {type(rules).__name__}")
    return rules


# --- compiled entries: an array of one state in, numbers out ---------------------------------------------------------


@njit
def _seed(states, seed):
    engine.seed_game(states[0], seed, 0)


@njit
def _random_dealer(states):
    return engine.random_dealer(states[0], 0)


@njit
def _shuffle(states):
    states[0].hand_number = 0
    engine.shuffle(states[0])


@njit
def _begin(states, dealer, ladder, bought):
    engine.begin_hand(states[0], dealer, ladder, bought)


@njit
def _play(states, action):
    """Step if the action is legal; tells whether it was."""
    s = states[0]
    if not engine.is_legal(s, action):
        return False
    engine.step(s, action)
    return True


@njit
def mask_into(states, seat, out):
    write_mask(states[0], seat, out)


@njit
def observation_into(states, seat, out):
    write_observation(states[0], seat, out)


@njit
def state_into(states, out):
    write_state(states[0], out)


@njit
def _digest(states):
    return digest(states[0])


@njit
def tiles_remaining(states):
    return engine.remaining(states[0])


@njit
def _next_dealership(states):
    return engine.next_dealership(states[0])


def result_of(states: np.recarray) -> Result | None:
    """The result of the one hand in `states`, None until it is over."""
    s = states[0]
    if s.player != NOTHING:
        return None
    n = int(s.num_players)
    dealer, ladder, bought, stays = _next_dealership(plain(states))
    return Result(
        winner=None if s.winner == NOTHING else int(s.winner),
        loser=None if s.loser == NOTHING else int(s.loser),
        value=int(s.value),
        patterns=patterns_in(s.patterns),
        payments=s.payments[:n].copy(),
        next_dealer=int(dealer),
        next_ladder=int(ladder),
        next_bought=bool(bought),
        next_topped=tuple(bool(t) and stays for t in s.topped[:n]),
    )


class Game:
    """One hand.

    `wall`: 136 kinds, four of each; without it the wall is shuffled from `seed`. `dealer` None: from the seed.
    `ladder` is the index into `rules.dealer_ladder`; `bought` and `topped` (one flag a seat, () for none) are stakes
    that go on from earlier hands of the dealership. `seed=None` takes entropy and keeps it as `.seed`. `Game(seed=s)` is
    game 0, hand 0 of `VectorEnv(seed=s)`. ValueError names what is wrong.

    >>> game = Game(Rules(stakes=False), seed=1)
    >>> game.step(game.legal_actions()[0])
    """

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        seed: int | None = None,
        wall: Sequence[int] | np.ndarray | None = None,
        dealer: int | None = None,
        ladder: int = 0,
        bought: bool = False,
        topped: Sequence[bool] = (),
    ) -> None:
        self.rules = check_rules(rules)
        self.seed = check_seed(seed)
        n = self.rules.num_players
        self._states = new_states(1, self.rules)
        self._raw = plain(self._states)
        state = self._states[0]
        _seed(self._raw, np.uint64(self.seed))
        if wall is None:
            _shuffle(self._raw)
        else:
            state.wall[:] = check_wall(wall)
        dealer = _random_dealer(self._raw) if dealer is None else check_int(dealer, "dealer", 0, n - 1)
        ladder = check_int(ladder, "ladder", 0, len(self.rules.dealer_ladder) - 1)
        bought = check_flag(bought, "bought")
        flags = tuple(check_flag(flag, "topped") for flag in topped) or (False,) * n
        if len(flags) != n:
            raise ValueError(f"topped must hold one flag for each of {n} seats, or none, not {len(flags)}")
        if not self.rules.stakes and (bought or any(flags)):
            raise ValueError("bought and topped must be unset: these rules have stakes off (R8.6)")
        if flags[dealer]:
            raise ValueError(f"topped: seat {dealer} is the dealer, who buys and cannot top (R8.4)")
        state.hand_number = 0
        state.topped[:n] = flags
        self._setup: dict[str, Any] = {"dealer": int(dealer), "ladder": ladder, "bought": bought, "topped": list(flags)}
        self._actions = bytearray()
        self._begun = True  # from the deal, not in the middle
        _begin(self._raw, dealer, ladder, bought)

    @classmethod
    def from_position(
        cls,
        hand: str | Sequence[int],
        caishen: str | int,
        *,
        rules: Rules | None = None,
        seat: int = 0,
        dealer: int = 0,
        melds: Mapping[int, Sequence[str]] | None = None,
        discards: Mapping[int, str | Sequence[int]] | None = None,
        claim: tuple[int, str | int] | None = None,
        after_claim: bool = False,
        ladder: int = 0,
        bought: bool = False,
        topped: Sequence[bool] = (),
        seed: int | None = None,
    ) -> Game:
        """A hand set up from what a person knows: `seat` is to act with the concealed tiles `hand`.

        Tiles are text such as `123m55z`, or kinds. The tile of `hand` written last is the one just drawn, or none with
        `after_claim`, after chi or peng. `melds` and `discards` by seat: melds as `peng 222z`, `chi 345p` (the first is the
        tile claimed), `gang 1111m`, `added 1111m`, `concealed 1111m`; discards in order, claimed ones left out. `claim`: the
        seat is asked about this tile that another seat, (seat, tile), has just discarded. The rest is drawn from `seed`.

        The game can be played on, copied, drawn and observed; it has no beginning, so that `events`, `resample`, `to_bytes` and
        records are not for it. ValueError names what cannot be.

        >>> Game.from_position("123m 456p 789s 11z 22z 33z 5p 7z", caishen="9m").legal_actions()  # the lone wind first
        [33]
        """
        game = cls(rules, seed=seed, dealer=dealer, ladder=ladder, bought=bought, topped=topped)
        n = game.num_players
        caishen = parse_kind(caishen) if isinstance(caishen, str) else check_int(caishen, "caishen", 0, NUM_KINDS - 1)
        if claim is not None:
            source, tile = claim
            tile = parse_kind(tile) if isinstance(tile, str) else check_int(tile, "claim", 0, NUM_KINDS - 1)
            claim = check_int(source, "claim", 0, n - 1), tile
        states = new_states(1, game.rules)
        for name in ("dealer", "ladder", "bought", "topped", "stream", "policy", "hand_number"):
            states[name] = game._states[name]
        seat = check_int(seat, "seat", 0, n - 1)
        set_up(states, seat, hand, caishen, check_flag(after_claim, "after_claim"), melds or {}, discards or {}, claim, game.seed)
        game._states, game._raw = states, plain(states)
        game._begun = False
        return game

    # --- playing ---

    @property
    def num_players(self) -> int:
        return self.rules.num_players

    @property
    def current_player(self) -> int:
        """The seat to act, -1 when over."""
        return int(self._raw["player"][0])

    @property
    def done(self) -> bool:
        return self.current_player == NOTHING

    @property
    def phase(self) -> int:
        """What is asked: an index in `state.PHASES`."""
        return int(self._raw["phase"][0])

    @property
    def wall(self) -> np.ndarray:
        """The wall of this hand, a copy, `(136,) uint8`. It hides nothing: for whoever drives the game."""
        return self._states.wall[0].copy()

    @property
    def setup(self) -> dict[str, Any]:
        """What the hand began with: dealer, ladder, bought and topped, as the arguments of `Game`."""
        return {**self._setup, "topped": list(self._setup["topped"])}

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions played so far, passes included."""
        return tuple(self._actions)

    def legal_actions(self) -> list[int]:
        """The legal action ids of the seat to act, sorted; empty when over."""
        low, high = self._raw["legal"][0].tolist()
        bits = low | high << 64
        return [a for a in range(NUM_ACTIONS) if bits >> a & 1]

    def asked(self) -> dict[int, list[int]]:
        """The legal actions of every seat that is asked now, in the order in which `step` takes their answers.

        While a tile is claimed or robbed these are all seats that have yet to answer: none of them may know another's
        answer (R5.4), so that they can be asked at once. Like `current_player` it is for whoever drives the game.
        """
        if self.done:
            return {}
        asked = {self.current_player: self.legal_actions()}
        if self.phase in (CLAIM, ROB):
            claims, n = self._raw["claims"][0].tolist(), self.num_players
            source = int(self._raw["source"][0])
            for step in range(1, (source - self.current_player) % n):
                seat = (self.current_player + step) % n
                if claims[seat]:
                    asked[seat] = [CHI_LOW + i for i in range(PASS - CHI_LOW) if claims[seat] >> i & 1] + [PASS]
        return asked

    def action_mask(self) -> np.ndarray:
        """`(76,) int8`, 1 for the legal actions of the seat to act; zeros when over."""
        out = np.empty(NUM_ACTIONS, np.int8)
        mask_into(self._raw, self.current_player, out)
        return out

    def step(self, action: int) -> None:
        """Play an action of the seat to act. An illegal one raises `IllegalActionError` and changes nothing."""
        if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
            raise IllegalActionError(f"an action is a whole number from 0 to {NUM_ACTIONS - 1}, not {action!r}")
        if not 0 <= action < NUM_ACTIONS or not _play(self._raw, int(action)):
            self._refuse(action)
        self._actions.append(int(action))

    def _refuse(self, action: Any) -> None:
        if self.done:
            raise IllegalActionError(f"action {action}: the hand is over, nothing can be played")
        shown = action_name(int(action)) if 0 <= action < NUM_ACTIONS else "no action"
        legal = ", ".join(f"{a} ({action_name(a)})" for a in self.legal_actions())
        raise IllegalActionError(
            f"action {action} ({shown}) is illegal for seat {self.current_player}; legal are {legal}"
        )

    @property
    def result(self) -> Result | None:
        """How the hand ended; None until it is over."""
        return result_of(self._states)

    # --- seeing ---

    def observe(self, seat: int) -> np.ndarray:
        """What `seat` may know, `(C, 34) uint8`: see `wzmj_env.observe`."""
        seat = check_int(seat, "seat", 0, self.num_players - 1)
        out = np.empty(OBSERVATION_SIZE, np.uint8)
        observation_into(self._raw, seat, out)
        return out.reshape(OBSERVATION_SHAPE)

    def state(self) -> np.ndarray:
        """`(S, 34) uint8`: the observation of the seat to act, all hands and pending answers open; not the wall."""
        out = np.empty(STATE_SIZE, np.uint8)
        state_into(self._raw, out)
        return out.reshape(STATE_SHAPE)

    def events(self, seat: int) -> list[dict[str, Any]]:
        """What happened so far as `seat` saw it, as plain dicts: see `wzmj_env.events`."""
        return events_of(self, check_int(seat, "seat", 0, self.num_players - 1))

    def resample(self, seat: int, seed: int) -> Game:
        """A game in which all that `seat` cannot know is drawn anew from its log alone: see `wzmj_env.resample`.

        Its log, and so all that the seat sees and may do, is that of this game. `NoSuchHandError` when none is found.
        """
        seat = check_int(seat, "seat", 0, self.num_players - 1)
        return redraw(self.events(seat), seat, self.rules, check_int(seed, "seed", 0, MAX_SEED), Game)

    def digest(self) -> str:
        """16 hex digits over the logical fields listed in `wzmj_env.digest`: equal digests go on alike."""
        return f"{int(_digest(self._raw)):016x}"

    def scene(self, seat: int | None = None) -> Scene:
        """What a drawing shows, open or as `seat` or a SPECTATOR may see it, as plain values: see `wzmj_env.scene`."""
        if seat is not None:
            seat = check_int(seat, "seat", SPECTATOR, self.num_players - 1)
        return scene_of(self._states[0], int(tiles_remaining(self._raw)), seat)

    def svg(self, seat: int | None = None) -> str:
        """The table drawn as SVG, open or as `seat` may see it."""
        return table_svg(self.scene(seat))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return table_text(self._states[0], int(tiles_remaining(self._raw)))

    def __repr__(self) -> str:
        return f"<Game seed={self.seed} of {self.num_players}, {len(self._actions)} actions, {self.digest()}>"

    # --- copies and bytes ---

    def begun(self) -> Game:
        """This game as it began. ValueError for one that was set up from a position."""
        if not self._begun:
            raise ValueError("this game was set up from a position: how it came about is not known")
        return Game(self.rules, seed=self.seed, wall=self.wall, **self._setup)

    def copy(self) -> Game:
        """An independent game in the same state."""
        other = object.__new__(Game)
        other.rules, other.seed = self.rules, self.seed
        other._states = self._states.copy()
        other._raw = plain(other._states)
        other._setup = self._setup
        other._actions = bytearray(self._actions)
        other._begun = self._begun
        return other

    def __copy__(self) -> Game:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return Game.from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self.rules == other.rules and self.digest() == other.digest()

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """The game as bytes: magic, length, SHA-256, and its beginning and actions as JSON. See `from_bytes`."""
        self.begun()
        body = json.dumps(
            {
                "format": FORMAT_VERSION,
                "action_version": ACTION_VERSION,
                "rules": self.rules.to_dict(),
                "seed": self.seed,
                "wall": self._states.wall[0].tolist(),
                **self._setup,
                "actions": list(self._actions),
                "digest": self.digest(),
            }
        ).encode()
        return MAGIC + len(body).to_bytes(4, "little") + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Game:
        """The game that `to_bytes` wrote, played again from its beginning, so that it is a state which can be.

        ValueError says what is wrong with the bytes.
        """
        head = len(MAGIC)
        if not isinstance(data, (bytes, bytearray, memoryview)) or bytes(data[:head]) != MAGIC:
            raise ValueError("these are not the bytes of a Game: the magic is missing")
        data = bytes(data)
        length, checksum, body = data[head : head + 4], data[head + 4 : head + 36], data[head + 36 :]
        if len(body) != int.from_bytes(length, "little"):
            raise ValueError(f"the bytes of this Game are cut or too long: {len(body)} in its body")
        if hashlib.sha256(body).digest() != checksum:
            raise ValueError("the bytes of this Game are damaged: the checksum differs")
        fields = json.loads(body)
        for name, version in (("format", FORMAT_VERSION), ("action_version", ACTION_VERSION)):
            if fields.get(name) != version:
                raise ValueError(f"these bytes have {name} {fields.get(name)!r}; this program reads {version}")
        try:
            game = cls(
                Rules.from_mapping(fields["rules"]),
                seed=fields["seed"],
                wall=fields["wall"],
                dealer=fields["dealer"],
                ladder=fields["ladder"],
                bought=fields["bought"],
                topped=fields["topped"],
            )
            for action in fields["actions"]:
                game.step(action)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the bytes of this Game are incomplete: {error!r}") from None
        if game.digest() != fields.get("digest"):
            raise ValueError("the bytes of this Game lead to another state than the one they were written from")
        return game


class Match:
    """Hands in a row: dealer, ladder and stakes carried on by R9.4, scores kept. It acts like a Game.

    Hand h of the match is hand h of game 0 under `seed`; the first dealer comes from the seed (R9.5). When a hand is
    settled the next one begins at once; `done` after `hands` of them.
    """

    def __init__(self, rules: Rules | None = None, *, hands: int = 1, seed: int | None = None) -> None:
        self.rules = check_rules(rules)
        self.hands = check_int(hands, "hands", 1, 10**9)
        self.seed = check_seed(seed)
        self.scores = np.zeros(self.rules.num_players, np.int64)  # points
        self.results: list[Result] = []
        self.game = self._hand(None)

    def _hand(self, last: Result | None) -> Game:
        begin: dict[str, Any] = {}  # the first hand: a dealer from the seed, no stakes
        if last is not None:
            begin = {name: getattr(last, f"next_{name}") for name in ("dealer", "ladder", "bought", "topped")}
        return Game(self.rules, seed=self.seed, wall=hand_wall(self.seed, len(self.results)), **begin)

    @property
    def current_player(self) -> int:
        return self.game.current_player

    @property
    def done(self) -> bool:
        return self.game.done

    def legal_actions(self) -> list[int]:
        return self.game.legal_actions()

    def action_mask(self) -> np.ndarray:
        return self.game.action_mask()

    def observe(self, seat: int) -> np.ndarray:
        return self.game.observe(seat)

    def state(self) -> np.ndarray:
        return self.game.state()

    def step(self, action: int) -> None:
        """Play an action; a hand that it settles is added to `results` and `scores`, and the next one begins."""
        self.game.step(action)
        result = self.game.result
        if result is not None:
            self.results.append(result)
            self.scores += result.payments
            if len(self.results) < self.hands:
                self.game = self._hand(result)

    def copy(self) -> Match:
        other = object.__new__(Match)
        other.rules, other.hands, other.seed = self.rules, self.hands, self.seed
        other.scores, other.results, other.game = self.scores.copy(), list(self.results), self.game.copy()
        return other

    def _repr_svg_(self) -> str:
        return self.game.svg()

    def __str__(self) -> str:
        scores = " ".join(f"{x:+d}" for x in self.scores.tolist())
        return f"hand {min(len(self.results) + 1, self.hands)} of {self.hands} | scores {scores}\n{self.game}"


@njit
def _fill_wall(states, seed, hand):
    s = states[0]
    engine.seed_game(s, seed, 0)
    s.hand_number = hand
    engine.shuffle(s)


def hand_wall(seed: int, hand: int) -> np.ndarray:
    """The wall of hand `hand` of game 0 under a seed, `(136,) uint8`."""
    states = new_states(1, Rules())
    _fill_wall(plain(states), np.uint64(seed), hand)
    return states.wall[0].copy()
