"""Where a decision's time goes in compiled random play: nanoseconds a call, calls a decision, and their product.

Parts that leave the state as it is are timed alone on states met in play; what is not among them (moves of tiles, branches
guessed wrong, settlement) is the rest of the whole.

usage: profile_decision.py [SECONDS a part]
"""

import sys
import time

import numpy as np

from wzmj_env import VectorEnv, engine
from wzmj_env._jit import njit
from wzmj_env.actions import NUM_ACTIONS
from wzmj_env.bench import RULES
from wzmj_env.observe import OBSERVATION_SIZE, write_legal, write_observation
from wzmj_env.players import random_action
from wzmj_env.state import CLAIM, DISCARD_ONLY, NOTHING, TURN, plain

GAMES, STEPS = 2048, 137
RUNS = 7


@njit
def look(states, out, rounds):
    """The cost of going through the states: taken off all other parts."""
    found = 0
    for _ in range(rounds):
        for i in range(len(states)):
            found += states[i].player
    return found


@njit
def choose_at_random(states, out, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(states)):
            found += random_action(states[i])
    return found


@njit
def renew_waits(states, out, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            engine.refresh(states[i], np.int64(states[i].source))


@njit
def ask_claims(states, out, rounds):
    found = 0
    for _ in range(rounds):
        for i in range(len(states)):
            s = states[i]
            for q in range(s.num_players):
                if q != s.source:
                    found += engine.claims_on_discard(s, q, np.int64(s.tile))
    return found


@njit
def ask_turn(states, out, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            engine.ask_turn(states[i], np.int64(states[i].player))


@njit
def write_masks(states, out, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            write_legal(states[i], out[i])


@njit
def write_observations(states, out, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            write_observation(states[i], np.int64(states[i].player), out[i])


@njit
def begin_hand(states, out, rounds):
    for _ in range(rounds):
        for i in range(len(states)):
            engine.begin_next_hand(states[i], False)


@njit
def play(states, out, rounds):
    """Whole decisions, chosen at random; finished hands start anew."""
    for i in range(len(states)):
        s = states[i]
        for _ in range(rounds):
            engine.step(s, random_action(s))
            if s.player == NOTHING:
                engine.begin_next_hand(s, False)


@njit
def count_calls(states, rounds, calls):
    """How often things happen in play: decisions, discards, claims asked, draws, hands."""
    for i in range(len(states)):
        s = states[i]
        for _ in range(rounds):
            calls[0] += 1
            before, drawn = s.num_discards, np.int64(s.front) - np.int64(s.back)
            calls[2] += s.phase == CLAIM
            engine.step(s, random_action(s))
            calls[1] += s.num_discards - before
            calls[3] += np.int64(s.front) - np.int64(s.back) - drawn
            if s.player == NOTHING:
                calls[4] += 1
                engine.begin_next_hand(s, False)


def nanoseconds(part, states, seconds):
    """The median over RUNS of a part's time for one state."""
    out = np.zeros((len(states), max(OBSERVATION_SIZE, NUM_ACTIONS)), np.uint8)
    part(states, out, 1)
    times = []
    for _ in range(RUNS):
        rounds, spent = 1, 0.0
        while spent < seconds / RUNS:
            rounds *= 2
            start = time.process_time()
            part(states, out, rounds)
            spent = time.process_time() - start
        times.append(spent / rounds / len(states) * 1e9)
    return sorted(times)[RUNS // 2]


def main(seconds: float) -> None:
    env = VectorEnv(GAMES, RULES, observe=False)
    env.rollout(STEPS)
    calls = np.zeros(5, np.int64)
    count_calls(plain(env.states.copy()), 2000, calls)
    decisions, discards, _, draws, hands = calls.tolist()
    turns = plain(env.states[env.states.phase == TURN].copy())
    claims = plain(env.states[env.states.phase == CLAIM].copy())
    any_phase = plain(env.states[env.states.phase <= max(DISCARD_ONLY, CLAIM)].copy())
    base = nanoseconds(look, any_phase, seconds)
    discard, draw, hand = discards / decisions, draws / decisions, hands / decisions
    rows = [
        ("choose a random legal action", nanoseconds(choose_at_random, any_phase, seconds) - base, 1.0),
        ("renew the waits of a hand that discarded (win checks)", nanoseconds(renew_waits, claims, seconds) - base, discard),
        ("ask the other seats for claims", nanoseconds(ask_claims, claims, seconds) - base, discard),
        ("legal actions after a draw, the win included", nanoseconds(ask_turn, turns, seconds) - base, draw),
        ("shuffle, deal and start a hand", nanoseconds(begin_hand, any_phase.copy(), seconds), hand),
    ]
    whole = nanoseconds(play, any_phase.copy(), seconds)
    shown = [
        ("write the mask", nanoseconds(write_masks, any_phase, seconds) - base, 1.0),
        ("write the observation", nanoseconds(write_observations, any_phase, seconds) - base, 1.0),
    ]
    print(f"{'part':<56}{'ns a call':>10}{'calls':>8}{'ns a decision':>15}")
    for name, ns, often in rows:
        print(f"{name:<56}{ns:>10.1f}{often:>8.3f}{ns * often:>15.1f}")
    rest = whole - sum(ns * often for _, ns, often in rows)
    print(f"{'the rest: moves, draws, claims carried out, settlement':<74}{rest:>15.1f}")
    print(f"{'a decision, nothing shown':<74}{whole:>15.1f}")
    for name, ns, often in shown:
        print(f"{name:<56}{ns:>10.1f}{often:>8.3f}{ns * often:>15.1f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
