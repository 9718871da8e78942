"""The compiled built-in players. Each looks at nothing but what its own seat may know.

`random`   any legal action.
`greedy`   lowers the distance and nothing else.
`rule:1`   takes every win; else weighs each legal action by `rule_score`: the distance it leads to, then the tiles that
           bring the hand nearer and can still come, or, when it is ready, what the wins that can come are worth. In this game
           everybody pays the winner whoever discarded, so there is nothing to fear from a discard but time.

A player's choice is a function of the seat's knowledge, `random` aside; equal scores go to the highest action id.
"""

from __future__ import annotations

import numpy as np

from ._jit import njit, popcount, trailing_zeros
from .actions import CHI_HIGH, CHI_LOW, GANG, GANG_CLAIM, HU, NUM_ACTIONS, PASS, PENG, RAISE
from .engine import GAMMA, LEGAL_BASE, has_chi, legal_discards, mix, scaled
from .hand import (
    NONE,
    ONE,
    add_tile,
    bit,
    closing_bits,
    contains,
    count,
    is_caishen_ma,
    remove_tile,
    tiles_short,
    wait_set,
    whites,
)
from .patterns import DOUBLE_VALUE, HARD_VALUE, value_and_patterns, win_facts
from .scoring import CHI
from .scoring import PENG as PENG_MELD
from .state import CLAIM, LYING, SEAT_UNIT, STAKES_ASKED, WHITE_HOME_FACE
from .tables import MAX_SETS
from .tiles import COPIES, HONOURS, NUM_KINDS, WHITE

_HALF = np.uint64(32)

RANDOM, GREEDY, RULE_1 = range(3)
POLICIES = {"random": RANDOM, "greedy": GREEDY, "rule:1": RULE_1, "rule": RULE_1}

ILLEGAL = -1.0e9
WIN_NOW = 1.0e9
A_TILE_NEARER = 10_000.0  # more than all the tiles and payments that can be hoped for


# --- random ----------------------------------------------------------------------------------------------------------


@njit
def random_action(s):
    """A legal action, each as likely as another, from the game's own stream for players."""
    s.policy += GAMMA
    low, high = s.legal[0], s.legal[1]
    low_count = popcount(low)
    skip = scaled(mix(s.policy) >> _HALF, low_count + popcount(high))
    base, bits = np.int64(0), low
    if skip >= low_count:
        base, bits, skip = LEGAL_BASE, high, skip - low_count
    for _ in range(skip):
        bits &= bits - ONE
    return base + trailing_zeros(bits)


# --- what a seat can see ---------------------------------------------------------------------------------------------


@njit
def count_live(s, p, live):
    """Fill `live`, (34,), with the tiles of each kind that seat p cannot see: they may still come."""
    for k in range(NUM_KINDS):
        live[k] = COPIES - count(s.held[p], k)
    live[s.caishen] -= 1  # the one turned up
    for i in range(s.num_discards):
        if s.fates[i] == LYING:
            live[s.discards[i] % SEAT_UNIT] -= 1
    for q in range(s.num_players):
        for i in range(s.melds[q]):
            kind = np.int64(s.meld_kind[q, i])
            if s.meld_what[q, i] == CHI:
                for k in range(kind, kind + 3):
                    live[WHITE if k == s.caishen else k] -= 1
            else:
                live[kind] -= 3 if s.meld_what[q, i] == PENG_MELD else COPIES


@njit
def near_set(held, caishen):
    """Kinds that touch the hand: held, or one or two ranks from a held tile, or the caishen and its whites."""
    natural = held[0] & ~bit(caishen)
    near = natural
    suited = natural & SUITED
    not_last, not_first = suited & ~NINES, suited & ~ONES
    up, down = not_last << ONE, not_first >> ONE
    near |= up | down | ((up & ~NINES) << ONE) | ((down & ~ONES) >> ONE)
    return near | bit(caishen) | bit(WHITE)


SUITED = np.uint64((1 << HONOURS) - 1)
ONES = np.uint64(sum(1 << k for k in (0, 9, 18)))
NINES = np.uint64(sum(1 << k for k in (8, 17, 26)))


# --- greedy ----------------------------------------------------------------------------------------------------------


@njit
def short_after_discard(s, p, sets):
    """The lowest distance that a legal discard of seat p leaves."""
    best = 3 * MAX_SETS
    kinds = legal_discards(s, p)
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
        best = min(best, tiles_short(s.held[p], s.keys[p], sets, s.caishen))
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    return best


@njit
def take_for_claim(s, p, action, back):
    """Take from the hand the tiles that a claim uses, or with `back` put them back."""
    k = np.int64(s.tile)
    if action <= CHI_HIGH:
        kind = np.int64(s.caishen) if k == WHITE else k
        lowest = kind - (action - CHI_LOW)
        for other in range(lowest, lowest + 3):
            if other != kind:
                _move(s, p, WHITE if other == s.caishen else other, back)
    else:
        for _ in range(2 if action == PENG else 3):
            _move(s, p, k, back)


@njit
def _move(s, p, k, back):
    if back:
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    else:
        remove_tile(s.held[p], s.keys[p], k, s.caishen)


@njit
def short_after_gang(s, p, k):
    """The distance after a gang of kind k in seat p's own turn, before the replacement draw."""
    copies = count(s.held[p], k)
    concealed = copies == COPIES
    for _ in range(copies):
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
    short = tiles_short(s.held[p], s.keys[p], MAX_SETS - s.melds[p] - concealed, s.caishen)
    for _ in range(copies):
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    return short


@njit
def greedy_action(s):
    """Takes a win; goes the shortest way; claims and gangs only what shortens it; passes stakes."""
    p = np.int64(s.player)
    if s.phase == STAKES_ASKED:
        return np.int64(PASS)
    high = s.legal[1]
    if contains(high, HU - LEGAL_BASE):
        return np.int64(HU)
    sets = MAX_SETS - s.melds[p]
    best_action, best = np.int64(PASS), tiles_short(s.held[p], s.keys[p], sets, s.caishen)
    if s.phase >= CLAIM:
        for action in range(CHI_LOW, GANG_CLAIM + 1):
            if contains(high, action - LEGAL_BASE):
                take_for_claim(s, p, action, False)
                if action == GANG_CLAIM:
                    short = tiles_short(s.held[p], s.keys[p], sets - 1, s.caishen)
                else:
                    short = short_after_discard(s, p, sets - 1)
                take_for_claim(s, p, action, True)
                if short < best:
                    best_action, best = np.int64(action), short
        return best_action
    best = 3 * MAX_SETS
    for action in range(GANG):
        if contains(s.legal[0], action):
            remove_tile(s.held[p], s.keys[p], action, s.caishen)
            short = tiles_short(s.held[p], s.keys[p], sets, s.caishen)
            add_tile(s.held[p], s.keys[p], action, s.caishen)
            if short <= best:
                best_action, best = np.int64(action), short
    return best_action


# --- rule:1 ----------------------------------------------------------------------------------------------------------


@njit
def hope(s, p, sets, live, chis, turns):
    """What a hand of 3 * sets + 1 tiles is good for: nearer is better, then what can bring it on.

    Not ready: the live tiles that lower the distance. Ready: each live tile that wins times what it wins, as often as it can
    come before the seat's next turn is over: by its own draw, and by the discards of the others, `turns` of them.
    """
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    short = tiles_short(held, keys, sets, caishen)
    score = 0.0
    if short > 1:
        kinds = near_set(held, caishen) & ~held[3]
        while kinds != NONE:
            k = trailing_zeros(kinds)
            kinds &= kinds - ONE
            if live[k] > 0:
                add_tile(held, keys, k, caishen)
                if tiles_short(held, keys, sets, caishen) < short:
                    score += live[k]
                remove_tile(held, keys, k, caishen)
        return score - A_TILE_NEARER * short
    closing = closing_bits(keys, whites(held, caishen), caishen)
    ma = is_caishen_ma(closing, count(held, caishen))
    kinds = wait_set(held, keys, sets, caishen, closing)
    home = s.switches & WHITE_HOME_FACE != 0
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        if live[k] > 0:
            add_tile(held, keys, k, caishen)
            value, _ = value_and_patterns(
                win_facts(held, keys, caishen, MAX_SETS - sets, chis, False, False, False, False, False, home)
            )
            drawn = max(value, HARD_VALUE)
            if ma and sets == 0 and value == DOUBLE_VALUE:
                drawn = HARD_VALUE  # R7.16
            score += live[k] * (drawn + (0 if ma else turns * value))
            remove_tile(held, keys, k, caishen)
    return score - A_TILE_NEARER * short


@njit
def keeps_quanqiushen(s, p, sets):
    """Whether seat p, its last meld made, keeps a caishen and has another tile to discard (R5.8)."""
    return sets == 0 and count(s.held[p], s.caishen) > 0


@njit
def best_hope_after_discard(s, p, sets, live, chis, turns):
    """The best `hope` over the legal discards of seat p."""
    if keeps_quanqiushen(s, p, sets):
        return WIN_NOW / 2
    best = ILLEGAL
    kinds = legal_discards(s, p)
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
        best = max(best, hope(s, p, sets, live, chis, turns))
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    return best


@njit
def rule_scores(s, scores):
    """Fill `scores`, (NUM_ACTIONS,) float64, for the seat to act: ILLEGAL for what is not legal."""
    for action in range(NUM_ACTIONS):
        scores[action] = ILLEGAL
    p = np.int64(s.player)
    low, high = s.legal[0], s.legal[1]
    if s.phase == STAKES_ASKED:
        # The dealer has the first turn, the others have not: he doubles, they do not.
        scores[PASS], scores[RAISE] = 0.0, 1.0 if p == s.dealer else -1.0
        return
    live = np.empty(NUM_KINDS, np.int64)
    count_live(s, p, live)
    sets = np.int64(MAX_SETS - s.melds[p])
    chis = has_chi(s, p)
    turns = np.float64(s.num_players - 1)
    if contains(high, HU - LEGAL_BASE):
        scores[HU] = WIN_NOW
    if s.phase >= CLAIM:
        scores[PASS] = hope(s, p, sets, live, chis, turns) + 0.5 * A_TILE_NEARER  # a claim must bring a tile
        for action in range(CHI_LOW, GANG_CLAIM + 1):
            if contains(high, action - LEGAL_BASE):
                with_chi = chis or action <= CHI_HIGH
                take_for_claim(s, p, action, False)
                if action == GANG_CLAIM:
                    scores[action] = hope(s, p, sets - 1, live, with_chi, turns) + 0.6 * A_TILE_NEARER  # and draws
                else:
                    scores[action] = best_hope_after_discard(s, p, sets - 1, live, with_chi, turns)
                take_for_claim(s, p, action, True)
        return
    best = ILLEGAL
    for k in range(NUM_KINDS):
        if contains(low, k):
            remove_tile(s.held[p], s.keys[p], k, s.caishen)
            if sets == 0 and s.held[p, 0] == bit(s.caishen):
                scores[k] = WIN_NOW / 2  # quanqiushen
            else:
                scores[k] = hope(s, p, sets, live, chis, turns)
            add_tile(s.held[p], s.keys[p], k, s.caishen)
            best = max(best, scores[k])
    for k in range(NUM_KINDS):
        action = GANG + k
        word = low if action < LEGAL_BASE else high
        if contains(word, action % LEGAL_BASE):
            # A gang that keeps the distance gains a draw.
            nearest = -A_TILE_NEARER * short_after_gang(s, p, k)
            scores[action] = best + 1.0 if nearest + A_TILE_NEARER > best else ILLEGAL / 2


@njit
def rule_action(s):
    """The action with the best score, the highest id among equals."""
    scores = np.empty(NUM_ACTIONS, np.float64)
    rule_scores(s, scores)
    best = np.int64(0)
    for action in range(NUM_ACTIONS):
        if scores[action] >= scores[best]:
            best = np.int64(action)
    return best


# --- all -------------------------------------------------------------------------------------------------------------


@njit
def choose(s, policy):
    """The action of the seat to act by a built-in player."""
    if policy == RANDOM:
        return random_action(s)
    if policy == GREEDY:
        return greedy_action(s)
    return rule_action(s)
