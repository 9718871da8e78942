"""The whole of one hand as one record: a map of its memory, and how to make, show and digest it.

Sets of kinds are words in which bit k stands for kind k. Seats are absolute. Who may know a field: *all* may, *own* the
seat alone, *none* nobody at the table.

    field            bytes  known   what it is
    ---------------  -----  ------  ----------------------------------------------------------------------------------
    held               128  own     bit k of `held[p, c]`: seat p conceals more than c tiles of kind k
    keys                64  own     the base-5 keys of each seat's suits and honours, caishen left out (see `tables`)
    waits               32  own     kinds that complete the seat's hand as it was before its draw (see `hand.wait_set`)
    barred              32  own     kinds the seat may not peng until its next draw (R5.5)
    pengs               32  all     kinds of the seat's pengs, those made a gang left out
    legal               16  own     the actions of the seat to act: bit a % 64 of `legal[a // 64]`
    shown, winds        16  all     winds discarded so far; the kinds that are winds in this hand (R1.2, R5.1)
    payments            32  all     points of the hand, once it is over (R9)
    stream               8  none    which walls this game has: with `hand_number` it gives the wall (see `random_words`)
    hand_number          8  all     how many hands this game has had before this one
    policy               8  none    the stream that compiled players draw from; no wall depends on it
    unit                 4  all     from the Rules, like the eight fields marked R12 below
    ladder_values       16  all     R12
    non_dealer_base      2  all     R12
    caishen_bonus        2  all     R12
    bonus_double         2  all     R12
    patterns             2  all     the winning patterns, bits by `patterns.Pattern`
    wall               136  none    the kinds in order; the last is the caishen, turned up (R2.2)
    discards           136  all     in order: kind + SEAT_UNIT * the seat that discarded it
    fates              136  all     for each discard what became of it: LYING, or TAKEN_AS + what it was claimed for
    meld_what           20  all     chi, peng, gang, added, concealed, as in `scoring.MELD_NAMES`
    meld_kind           20  all     the lowest kind, a white in a chi counted as the face
    meld_source         20  all     index in `discards` of the tile claimed, NO_DISCARD for a concealed gang
    melds                4  all     melds of each seat
    draws                4  all     tiles each seat has drawn, ordinary and replacement; the deal is no draw
    caishen_ma           4  own     the seat waits in caishen ma (R5.7)
    topped               4  all     the seat has topped in this dealership (R8.4)
    claims               4  own     answers open to the seat besides pass: bit a is action CHI_LOW + a
    answers              4  none    the answer given so far, PASS before
    num_players          1  all     R12
    ladder_steps         1  all     R12: values in `ladder_values`
    dead_wall            1  all     R12
    switches             1  all     R12: bits STAKES .. BONUS_ON_DRAW
    phase                1  all     STAKES_ASKED .. OVER
    player               1  none    the seat to act, -1 when over; all may know it but while claims are asked
    dealer               1  all
    ladder               1  all     index in `ladder_values` (R8.2)
    bought               1  all     the dealer has bought in this dealership (R8.3)
    caishen              1  all     the wild kind, NOTHING before the deal
    front, back          2  none    index in the wall of the next ordinary and the next replacement draw
    num_discards         1  all
    tile                 1  all     the kind that is claimed or robbed, NOTHING when none is
    source               1  all     the seat whose tile that is
    drawn                1  own     the kind the seat to act has just drawn, NOTHING after chi and peng
    keeps_caishen        1  none    the discarder has five melds and keeps a caishen: quanqiushen unless won on (R5.8)
    gangs                1  all     gangs completed in this hand
    winner, loser        2  all     seats, -1 for none
    value                1  all     4, 2, 1, or 0 for a drawn hand
    spare                3          to a multiple of eight bytes
"""

from __future__ import annotations

import numpy as np
from numba.core import config

from . import actions
from .rules import LADDER_MAX_STEPS, Rules
from .tables import MAX_SETS
from .tiles import COPIES, NUM_SUITS, NUM_TILES

MAX_SEATS = 4
NOTHING = -1
NO_DISCARD = 255
SEAT_UNIT = 64  # a discard is kind + SEAT_UNIT * seat
LYING, TAKEN_AS = 0, 1  # fates: TAKEN_AS + (action - CHI_LOW) for chi, peng and gang, and hu

STAKES_ASKED = 0  # the dealer may buy, the others may top
TURN = 1  # after a draw: hu, gang or discard
DISCARD_ONLY = 2  # after chi or peng
CLAIM = 3  # a discard lies in question
ROB = 4  # an added gang lies in question
OVER = 5
PHASES = ("stakes", "turn", "discard", "claim", "rob", "over")

SWITCHES = ("stakes", "wind_first", "white_is_wind", "passed_peng", "white_home_face", "caishen_bonus_on_draw")
STAKES, WIND_FIRST, WHITE_IS_WIND, PASSED_PENG, WHITE_HOME_FACE, BONUS_ON_DRAW = (1 << i for i in range(len(SWITCHES)))

STATE = np.dtype(
    [
        ("held", np.uint64, (MAX_SEATS, COPIES)),
        ("waits", np.uint64, MAX_SEATS),
        ("barred", np.uint64, MAX_SEATS),
        ("pengs", np.uint64, MAX_SEATS),
        ("legal", np.uint64, 2),
        ("shown", np.uint64),
        ("winds", np.uint64),
        ("payments", np.int64, MAX_SEATS),
        ("stream", np.uint64),
        ("hand_number", np.int64),
        ("policy", np.uint64),
        ("keys", np.uint32, (MAX_SEATS, NUM_SUITS + 1)),
        ("unit", np.int32),
        ("ladder_values", np.int16, LADDER_MAX_STEPS),
        ("non_dealer_base", np.int16),
        ("caishen_bonus", np.int16),
        ("bonus_double", np.int16),
        ("patterns", np.int16),
        ("num_players", np.int8),
        ("ladder_steps", np.int8),
        ("dead_wall", np.int8),
        ("switches", np.uint8),
        ("phase", np.int8),
        ("player", np.int8),
        ("dealer", np.int8),
        ("ladder", np.int8),
        ("bought", np.int8),
        ("caishen", np.int8),
        ("front", np.uint8),
        ("back", np.uint8),
        ("num_discards", np.uint8),
        ("tile", np.int8),
        ("source", np.int8),
        ("drawn", np.int8),
        ("keeps_caishen", np.int8),
        ("gangs", np.int8),
        ("winner", np.int8),
        ("loser", np.int8),
        ("value", np.int8),
        ("melds", np.int8, MAX_SEATS),
        ("draws", np.uint8, MAX_SEATS),
        ("caishen_ma", np.int8, MAX_SEATS),
        ("topped", np.int8, MAX_SEATS),
        ("claims", np.uint8, MAX_SEATS),
        ("answers", np.int8, MAX_SEATS),
        ("meld_what", np.int8, (MAX_SEATS, MAX_SETS)),
        ("meld_kind", np.int8, (MAX_SEATS, MAX_SETS)),
        ("meld_source", np.uint8, (MAX_SEATS, MAX_SETS)),
        ("wall", np.uint8, NUM_TILES),
        ("discards", np.uint8, NUM_TILES),
        ("fates", np.uint8, NUM_TILES),
        ("spare", np.uint8, 3),
    ]
)

assert STATE.itemsize % 8 == 0, "words of every record in a batch are aligned"


def plain(states: np.ndarray) -> np.ndarray:
    """The same memory as a plain structured array, which compiled code is called with a microsecond faster; as it is
    where nothing is compiled, since only a record array has its fields as attributes."""
    return states if config.DISABLE_JIT else states.view(STATE, np.ndarray)


def new_states(n: int, rules: Rules) -> np.recarray:
    """`n` records under `rules`, in which no hand has begun: `engine.begin_hand` starts one."""
    states = np.zeros(n, STATE).view(np.recarray)
    states.unit = rules.unit
    states.ladder_values[:, : len(rules.dealer_ladder)] = rules.dealer_ladder
    states.ladder_steps = len(rules.dealer_ladder)
    states.non_dealer_base = rules.non_dealer_base
    states.caishen_bonus = rules.caishen_bonus
    states.bonus_double = rules.caishen_bonus_double
    states.num_players = rules.num_players
    states.dead_wall = rules.dead_wall
    states.switches = sum(1 << i for i, name in enumerate(SWITCHES) if getattr(rules, name))
    states.player = states.caishen = states.tile = states.drawn = NOTHING
    states.winner = states.loser = NOTHING
    states.phase = OVER
    states.answers = actions.PASS
    return states
