"""Duplicate deals: the same wall and dealer with the agents in every seat, and what the results say about them.

Deal d is hand 0 of game d under the seed (see `engine.seed_game`). It is played once in each *seating* of a format, so
that the luck of tiles and seats falls on all alike, and a deterministic agent among copies of itself gets exactly 0 a
deal. Players that draw lots have a stream of their own at each table: for compiled ones a function of (seed, deal,
seating), for others one of (seed, chunk of deals, agent). Neither the number of workers nor what they are changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from . import engine
from ._jit import njit
from .batch import VectorEnv
from .bots import Human, ProcessAgent
from .checks import check_int
from .executors import Executor, Serial, Threads, check_executor, in_order, open_executor
from .game import IllegalActionError
from .patterns import Pattern, patterns_in
from .players import choose
from .room import Hand, Room, own_stream
from .rules import Rules
from .specs import Agent, BuiltIn, make_agent
from .state import MAX_SEATS, NOTHING, new_states

FORMATS = {"1v3": (1, 3), "2v2": (2, 2), "1v2": (1, 2), "duel": (1, 1)}  # seats of A and of B
CHUNK = 512  # deals played together
RESAMPLES, RESAMPLING_SEED = 2_000, 20_260_101
CONFIDENCE = 0.95
MAX_DEALS = 10**8

# How one hand ended. Seats are absolute.
HAND = np.dtype(
    [
        ("payments", np.int32, MAX_SEATS),  # units
        ("patterns", np.int16),  # bits by `patterns.Pattern`
        ("winner", np.int8),  # -1 for a drawn hand
        ("loser", np.int8),  # whose tile it was, -1 for none
        ("value", np.int8),  # 4, 2, 1, or 0 for a drawn hand
        ("dealer", np.int8),
        ("discards", np.uint8),
        ("gangs", np.uint8),
        ("left", np.uint8),  # bit p: seat p left it, and it ended unplayed (R10.6)
    ]
)

Progress = Callable[[int], Any]  # told how many more deals are done


# --- playing ---------------------------------------------------------------------------------------------------------


def seatings(format: str, num_players: int) -> np.ndarray:
    """Every distinct seating of a format, `(R, n) int64`: 0 where A sits, 1 where B does."""
    if format not in FORMATS or sum(FORMATS[format]) != num_players:
        fitting = [name for name, seats in FORMATS.items() if sum(seats) == num_players]
        raise ValueError(f"format must be one of {', '.join(fitting)} for {num_players} players, not {format!r}")
    table = [[0 if p in own else 1 for p in range(num_players)]
             for own in combinations(range(num_players), FORMATS[format][0])]  # fmt: skip
    return np.array(table, np.int64)


def play(
    specs: Sequence[str | Agent],
    seating: np.ndarray,
    first: int,
    last: int,
    *,
    seed: int = 0,
    rules: Rules | None = None,
    workers: int = 1,
    executor: str = "processes",
    progress: Progress | None = None,
) -> np.ndarray:
    """The hands of deals first .. last - 1, `(D, R) HAND`. `seating[r, p]` is the place in `specs` of seat p's agent.

    With `workers`, chunks of deals are played beside each other by an executor of `executors.KINDS`: `processes` are
    threads when all agents are built in. Each worker makes the agents from their specs. An agent itself may stand for a
    spec where this process plays alone.
    """
    parts = []
    chunks = cut(first, last)
    for part in play_chunks(specs, seating, chunks, seed=seed, rules=rules, workers=workers, executor=executor):
        parts.append(part)
        if progress is not None:
            progress(len(part))
    return np.concatenate(parts)


def cut(first: int, last: int) -> list[tuple[int, int]]:
    """Deals first .. last - 1 in chunks, each a first deal and the one after its last."""
    return [(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]


def play_chunks(
    specs: Sequence[str | Agent],
    seating: np.ndarray,
    chunks: Sequence[tuple[int, int]],
    *,
    seed: int = 0,
    rules: Rules | None = None,
    workers: int = 1,
    executor: str = "processes",
) -> Generator[np.ndarray, None, None]:
    """As `play`, the hands of one chunk after the other, each as soon as it and all before it are done. What is not yet
    played when the iterator is closed is left."""
    rules = rules or Rules(stakes=False)
    agents = [make_agent(spec) if isinstance(spec, str) else spec for spec in specs]
    if executor == "serial" or (check_executor(executor) == "processes" and workers == 1):
        crew: Executor = Serial(lambda: agents)
    elif executor == "processes" and all(isinstance(agent, BuiltIn) for agent in agents):
        crew = Threads(workers, lambda: agents)
    elif not all(isinstance(spec, str) for spec in specs):
        raise ValueError("workers elsewhere need specs: an agent itself stays in its process")
    else:
        crew = open_executor(executor, workers, make_agents, specs)
    with crew:
        yield from in_order(crew.each(_play_piece, chunks, seating, seed, rules))


def make_agents(specs: Sequence[str]) -> list[Agent]:
    return [make_agent(spec) for spec in specs]


def _play_piece(agents: Sequence[Agent], chunk: tuple[int, int], seating: np.ndarray, seed: int, rules: Rules) -> np.ndarray:
    return play_chunk(agents, seating, *chunk, seed, rules)


def play_chunk(
    agents: Sequence[Agent], seating: np.ndarray, first: int, last: int, seed: int, rules: Rules
) -> np.ndarray:
    """The hands of some deals, `(D, R) HAND`: in compiled code alone when all agents are built in."""
    hands = np.zeros((last - first, len(seating)), HAND).view(np.recarray)
    policies = np.array([agent.policy if isinstance(agent, BuiltIn) else NOTHING for agent in agents])
    if any(isinstance(agent, (ProcessAgent, Human)) for agent in agents):
        with Room(agents, rules) as room:
            for hand in room.play(seating, first, last, seed):
                note_hand(hand, hands[hand.deal - first, hand.seating : hand.seating + 1])
    elif (policies != NOTHING).all():
        _play_compiled(new_states(1, rules), policies[seating], np.uint64(seed), first, hands)
    else:
        _play_batched(agents, policies, seating, first, seed, rules, hands)
    return hands


@njit
def _note(s, hand):
    """Keep how a hand ended."""
    for p in range(s.num_players):
        hand.payments[p] = s.payments[p] // s.unit  # whole units (R8.1)
    hand.patterns, hand.winner, hand.loser, hand.value = s.patterns, s.winner, s.loser, s.value
    hand.dealer, hand.discards, hand.gangs = s.dealer, s.num_discards, s.gangs


@njit
def _play_compiled(states, policies, seed, first, hands):
    s = states[0]
    for d in range(hands.shape[0]):
        for r in range(hands.shape[1]):
            engine.seed_game(s, seed, first + d)
            own_stream(s, r)
            engine.begin_next_hand(s, False)
            while s.player != NOTHING:
                engine.step(s, choose(s, policies[r, s.player]))
            _note(s, hands[d, r])


@njit
def _own_streams(states, num_seatings):
    for i in range(len(states)):
        own_stream(states[i], i % num_seatings)


@njit
def _choose_built_in(states, tables, policy, actions):
    for i in tables:
        actions[i] = choose(states[i], policy)


@njit
def _note_settled(states, tables, hands):
    for i in tables:
        _note(states[i], hands[i])


def note_hand(hand: Hand, noted: np.ndarray) -> None:
    """Keep how a hand of a room ended, in `(1,) HAND`."""
    _note_settled(hand.game._raw, np.zeros(1, np.int64), noted)
    noted["left"] = sum(1 << p for p in hand.played.left)
    noted["payments"][0, : hand.game.num_players] = np.array(hand.played.payments) // hand.game.rules.unit


def _play_batched(
    agents: Sequence[Agent],
    policies: np.ndarray,
    seating: np.ndarray,
    first: int,
    seed: int,
    rules: Rules,
    hands: np.ndarray,
) -> None:
    """All tables at once; at each step every agent is asked once, for the tables at which it is to act."""
    num_deals, num_seatings = hands.shape
    tables = np.arange(hands.size)
    env = VectorEnv(hands.size, rules, seed=seed, skip_forced=True, games=first + tables // num_seatings)
    _own_streams(env.states, num_seatings)
    agent_of = np.tile(seating, (num_deals, 1))  # by table and seat
    results = hands.reshape(-1)
    for number, agent in enumerate(agents):
        if not isinstance(agent, BuiltIn):
            agent.reset(int(np.random.SeedSequence([seed, first, number]).generate_state(1)[0]))
    playing = np.ones(hands.size, np.bool_)
    assert env.observation is not None
    while playing.any():
        actions = env.action_mask.argmax(axis=1)  # tables that are done play on with the first legal action
        to_act = np.where(playing, agent_of[tables, env.current_player], NOTHING)
        for number, agent in enumerate(agents):
            asked = np.flatnonzero(to_act == number)
            if isinstance(agent, BuiltIn):
                _choose_built_in(env.states, asked, policies[number], actions)
            elif len(asked):
                actions[asked] = _answers(agent, env.observation[asked], env.action_mask[asked])
        env.step(actions)
        settled = np.flatnonzero(playing & env.terminated)
        _note_settled(env.final_states, settled, results)
        playing[settled] = False
    env.close()


def _answers(agent: Agent, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """What an agent answers, checked."""
    actions = np.asarray(agent.act(observations, masks))
    if actions.shape != (len(masks),) or actions.dtype.kind not in "iu":
        raise IllegalActionError(
            f"agent {agent.name!r} must give {len(masks)} whole numbers, not an array of shape {actions.shape}"
            f" and type {actions.dtype}"
        )
    inside = (actions >= 0) & (actions < masks.shape[1])
    legal = inside & (masks[np.arange(len(masks)), np.where(inside, actions, 0)] == 1)
    if not legal.all():
        i = int(np.flatnonzero(~legal)[0])
        raise IllegalActionError(
            f"agent {agent.name!r} gave the illegal action {actions[i]}; legal were {np.flatnonzero(masks[i]).tolist()}"
        )
    return actions


# --- statistics ------------------------------------------------------------------------------------------------------


def interval(deal_means: np.ndarray) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean, whole deals being drawn. The same for the same deals."""
    rng = np.random.default_rng(RESAMPLING_SEED)
    n = len(deal_means)
    means = [deal_means[rng.integers(n, size=n)].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class Profile:
    """What an agent did at its seats. Counts are of hands, once for each seat that it had in them."""

    seats: int
    payment: float  # mean, units
    won: int
    own_draw: int  # of those won, without another's tile
    deal_in: int  # another won on its tile
    discards: float  # mean in the hands it won, its speed of winning; 0 without a win
    by_value: dict[int, int]
    by_pattern: dict[str, int]

    @property
    def win_rate(self) -> float:
        return self.won / self.seats


@dataclass(frozen=True)
class Comparison:
    """A against B over duplicate deals: A's mean payment a hand in units and its 95 % interval, clustered by deal."""

    a: str
    b: str
    format: str
    seed: int
    rules: dict[str, Any]
    mean: float
    low: float
    high: float
    deals: int
    hands: int
    drawn: int
    discards: float  # mean a hand
    profiles: dict[str, Profile]  # "a" and "b"
    until: float | None = None  # played until the interval was that wide: for exploring, so there is no verdict

    @property
    def verdict(self) -> str:
        """"above", "below", "undecided" when the interval holds 0, or "exploring" when what was found told when to stop."""
        if self.until is not None:
            return "exploring"
        return "above" if self.low > 0 else "below" if self.high < 0 else "undecided"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "verdict": self.verdict}


def deal_means(hands: np.ndarray, seating: np.ndarray, agent: int) -> np.ndarray:
    """The agent's mean payment a seat in each deal over all its seatings, `(D,)` units."""
    own = seating == agent
    payments = hands["payments"][:, :, : seating.shape[1]]
    return payments[:, own].sum(axis=1) / own.sum()


def profile(hands: np.ndarray, seating: np.ndarray, agent: int) -> Profile:
    """What the agent in place `agent` did in these hands."""
    r = np.arange(len(seating))
    winner, loser = hands["winner"], hands["loser"]
    has_won = (winner != NOTHING) & (seating[r, winner] == agent)
    won = hands[has_won]
    values, counts = np.unique(won["value"], return_counts=True)
    bits, times = np.unique(won["patterns"], return_counts=True)
    by_pattern = dict.fromkeys((pattern.name for pattern in Pattern), 0)
    for word, n in zip(bits.tolist(), times.tolist(), strict=True):
        for pattern in patterns_in(word):
            by_pattern[pattern.name] += n
    return Profile(
        seats=len(hands) * int((seating == agent).sum()),
        payment=float(deal_means(hands, seating, agent).mean()),
        won=len(won),
        own_draw=int((won["loser"] == NOTHING).sum()),
        deal_in=int(((loser != NOTHING) & (seating[r, loser] == agent)).sum()),
        discards=float(won["discards"].mean()) if len(won) else 0.0,
        by_value=dict(zip(values.tolist(), counts.tolist(), strict=True)),
        by_pattern={name: n for name, n in by_pattern.items() if n},
    )


def compare(
    a: str | Agent,
    b: str | Agent,
    format: str,
    deals: int,
    *,
    seed: int = 0,
    rules: Rules | None = None,
    workers: int = 1,
    executor: str = "processes",
    progress: Progress | None = None,
) -> Comparison:
    """Play agent `a` against `b` over deals 0 .. deals - 1 of a seed and say how they did. ValueError on bad input."""
    rules, seating = table_for(format, rules)
    check_int(deals, "deals", 2, MAX_DEALS)
    check_int(workers, "workers", 1, 1024)
    hands = play(
        [a, b], seating, 0, deals, seed=seed, rules=rules, workers=workers, executor=executor, progress=progress
    )
    return summarise(a if isinstance(a, str) else a.name, b if isinstance(b, str) else b.name, format, hands, seed, rules)


def table_for(format: str, rules: Rules | None) -> tuple[Rules, np.ndarray]:
    """The rules, by default the usual ones with stakes off, and the seatings of a format."""
    rules = rules or Rules(stakes=False, num_players=sum(FORMATS.get(format, (4,))))
    return rules, seatings(format, rules.num_players)


def summarise(
    a: str, b: str, format: str, hands: np.ndarray, seed: int, rules: Rules, until: float | None = None
) -> Comparison:
    """What the hands of all deals, `(D, R) HAND`, say of `a` against `b`."""
    seating = seatings(format, rules.num_players)
    means = deal_means(hands, seating, 0)
    low, high = interval(means)
    return Comparison(
        a=a,
        b=b,
        format=format,
        seed=seed,
        rules=rules.to_dict(),
        mean=float(means.mean()),
        low=low,
        high=high,
        deals=len(hands),
        hands=hands.size,
        drawn=int((hands["winner"] == NOTHING).sum()),
        discards=float(hands["discards"].mean()),
        profiles={name: profile(hands, seating, agent) for agent, name in enumerate("ab")},
        until=until,
    )
