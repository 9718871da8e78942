"""The rules in motion: deal, legal actions, step. The only code that changes a state.

`begin_hand` starts a hand, `step` plays one action of the seat to act, which must be legal. After either, `legal` holds
the actions of the seat to act, or the hand is over.
"""

from __future__ import annotations

import numpy as np

from ._jit import njit, trailing_zeros
from .actions import CHI_HIGH, CHI_LOW, GANG, GANG_CLAIM, HU, PASS, PENG, RAISE
from .hand import (
    NONE,
    ONE,
    WHITE_BIT,
    add_tile,
    bit,
    closing_bits,
    contains,
    count,
    is_caishen_ma,
    remove_tile,
    wait_set,
    whites,
)
from .patterns import DOUBLE_VALUE, QUANQIUSHEN_SET, value_and_patterns, win_facts
from .scoring import (
    ADDED,
    CHI,
    CONCEALED,
    add_caishen_points,
    add_win_payments,
    caishen_amount,
)
from .scoring import (
    GANG as GANG_MELD,
)
from .scoring import (
    PENG as PENG_MELD,
)
from .state import (
    BONUS_ON_DRAW,
    CLAIM,
    DISCARD_ONLY,
    LYING,
    NO_DISCARD,
    NOTHING,
    OVER,
    PASSED_PENG,
    ROB,
    SEAT_UNIT,
    STAKES,
    STAKES_ASKED,
    TAKEN_AS,
    TURN,
    WHITE_HOME_FACE,
    WHITE_IS_WIND,
    WIND_FIRST,
)
from .tables import MAX_SETS
from .tiles import HONOURS, NUM_KINDS, NUM_TILES, RANKS, WHITE

DEALT = 16  # tiles a seat is dealt; the dealer has one more (R2.3)
TURNED_UP = NUM_TILES - 1  # place of the caishen in the wall (R2.2)

WORD = 64
LEGAL_BASE = np.int64(WORD)  # actions from here on stand in legal[1]
HONOUR_SET = np.uint64(((1 << NUM_KINDS) - 1) & ~((1 << HONOURS) - 1))
SUITED_SET = np.uint64((1 << HONOURS) - 1)
KIND_SHIFT = np.uint64(NUM_KINDS)  # from the discard of a kind to its gang in `legal`
GANG_SPILL = np.uint64(WORD - NUM_KINDS)  # gang kinds from here on stand in legal[1]
CLAIM_SHIFT = np.uint64(CHI_LOW - WORD)  # place of `claims` in legal[1]
STAKE_ANSWERS = ONE << np.uint64(PASS - WORD) | ONE << np.uint64(RAISE - WORD)
PASS_BIT = ONE << np.uint64(PASS - WORD)
HU_BIT = ONE << np.uint64(HU - WORD)
HU_CLAIM, PENG_CLAIM, GANG_CLAIM_BIT = 1 << (HU - CHI_LOW), 1 << (PENG - CHI_LOW), 1 << (GANG_CLAIM - CHI_LOW)

# --- randomness ------------------------------------------------------------------------------------------------------
# splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
POLICY_SALT = np.uint64(0x706F6C6963790A01)  # keeps the players' stream apart from the walls'


@njit
def mix(word):
    """The finaliser of splitmix64: a one-to-one scramble of 64 bits."""
    word = (word ^ (word >> _SHIFT_1)) * _MIX_1
    word = (word ^ (word >> _SHIFT_2)) * _MIX_2
    return word ^ (word >> _SHIFT_3)


@njit
def scaled(half_word, n):
    """A number below n from 32 random bits."""
    return np.int64((half_word * np.uint64(n)) >> _HALF)


@njit
def seed_game(s, seed, game):
    """Give game number `game` under `seed` its streams; the next hand is hand 0.

    stream = mix(mix(seed) + game), and the players' likewise from seed ^ POLICY_SALT.
    """
    s.stream = mix(mix(seed) + np.uint64(game))
    s.policy = mix(mix(seed ^ POLICY_SALT) + np.uint64(game))
    s.hand_number = -1


@njit
def hand_word(s, hand):
    """The first word of a hand of this game: the generator of wall and dealer goes on from it in steps of GAMMA."""
    return mix(s.stream + np.uint64(hand))


@njit
def random_dealer(s, hand):
    """The dealer whom the seed gives to a hand of this game: from the upper half of mix(first word)."""
    return scaled(mix(hand_word(s, hand)) >> _HALF, s.num_players)


@njit
def shuffle(s):
    """The wall of this hand: sorted kinds, then Fisher-Yates from the last place down, two places a word."""
    for i in range(NUM_TILES):
        s.wall[i] = i // 4
    word = hand_word(s, s.hand_number)
    i = NUM_TILES - 1
    while i > 0:
        word += GAMMA
        bits = mix(word)
        j = scaled(bits >> _HALF, i + 1)
        s.wall[i], s.wall[j] = s.wall[j], s.wall[i]
        i -= 1
        if i > 0:
            j = scaled(bits & _LOW_HALF, i + 1)
            s.wall[i], s.wall[j] = s.wall[j], s.wall[i]
            i -= 1


# --- questions -------------------------------------------------------------------------------------------------------


@njit
def remaining(s):
    """Tiles not yet drawn, the turned-up one included (R2.4); before the deal all of them."""
    return NUM_TILES if s.phase == STAKES_ASKED else np.int64(s.back) - np.int64(s.front) + 2


@njit
def seat_after(s, p):
    following = p + 1
    return following if following < s.num_players else 0  # cheaper than a division


@njit
def is_legal(s, action):
    """Whether the seat to act may play `action`, any int64."""
    if action < 0 or action >= LEGAL_BASE + WORD:
        return False
    return (s.legal[action // WORD] >> np.uint64(action % WORD)) & ONE != NONE


@njit
def only_action(bits, base):
    """The action that a word of `legal` allows, the word's first being `base`; -1 when it allows several."""
    return base + trailing_zeros(bits) if bits & (bits - ONE) == NONE else np.int64(-1)


@njit
def forced_action(s):
    """The one legal action, or -1 when there are several."""
    low, high = s.legal[0], s.legal[1]
    if low != NONE:
        return only_action(low, np.int64(0)) if high == NONE else np.int64(-1)
    return only_action(high, LEGAL_BASE)


@njit
def lone_winds(s, p):
    """R5.1: winds of which the seat conceals exactly one, the caishen kind aside."""
    return s.held[p, 0] & ~s.held[p, 1] & s.winds


@njit
def legal_discards(s, p):
    """The kinds that seat p may discard (R5.1, R3.2, R3.3)."""
    held = s.held[p, 0]
    if s.switches & WIND_FIRST:
        lone = lone_winds(s, p)
        if lone & s.shown != NONE:
            return lone & s.shown
        if lone != NONE:
            return lone
    others = held & ~bit(s.caishen)
    return others if others != NONE else held  # nothing but caishen are left in a hand of two


@njit
def legal_gangs(s, p):
    """The kinds of which seat p may declare a gang after a draw (R4.3)."""
    if remaining(s) <= s.dead_wall:
        return NONE
    return (s.held[p, 3] | (s.held[p, 0] & s.pengs[p])) & ~bit(s.caishen)


@njit
def chi_claims(s, p, k):
    """Chi low, mid, high of kind k by seat p as bits 0..2 (R5.2). A white is the face, and the face is a white (R3.4)."""
    kind = s.caishen if k == WHITE else k
    if k == s.caishen or kind >= HONOURS:
        return 0
    have = s.held[p, 0] & SUITED_SET & ~bit(s.caishen)
    if s.caishen < HONOURS and s.held[p, 0] & WHITE_BIT != NONE:
        have |= bit(s.caishen)
    rank = kind % RANKS
    found = 0
    if rank <= RANKS - 3 and contains(have, kind + 1) and contains(have, kind + 2):
        found |= 1
    if 1 <= rank <= RANKS - 2 and contains(have, kind - 1) and contains(have, kind + 1):
        found |= 2
    if rank >= 2 and contains(have, kind - 2) and contains(have, kind - 1):
        found |= 4
    return found


@njit
def can_win_on(s, p, k):
    """Whether seat p may hu on another's tile: never out of caishen ma (R5.7)."""
    return s.caishen_ma[p] == 0 and contains(s.waits[p], k)


@njit
def claims_on_discard(s, p, k):
    """The answers of seat p to the discard of kind k, besides pass (R5.2, R5.5, R5.8)."""
    found = HU_CLAIM if can_win_on(s, p, k) else 0
    if s.keeps_caishen:
        return found
    if k != s.caishen and contains(s.held[p, 1], k):
        if not contains(s.barred[p], k):
            found |= PENG_CLAIM
        if contains(s.held[p, 2], k) and remaining(s) > s.dead_wall:
            found |= GANG_CLAIM_BIT
    if p == seat_after(s, s.source):
        found |= chi_claims(s, p, k)
    return found


@njit
def has_chi(s, p):
    for i in range(s.melds[p]):
        if s.meld_what[p, i] == CHI:
            return True
    return False


@njit
def hand_value(s, p, self_draw, rob):
    """Value and patterns of seat p's hand, the winning tile in it, with all circumstances (R7)."""
    draws = np.int64(s.draws[p])
    heavenly = self_draw and p == s.dealer and draws == 0
    earthly = p != s.dealer and draws == (1 if self_draw else 0)
    return value_and_patterns(
        win_facts(
            s.held[p], s.keys[p], s.caishen, s.melds[p], has_chi(s, p),
            self_draw, rob, heavenly, earthly, self_draw and s.caishen_ma[p] != 0, s.switches & WHITE_HOME_FACE != 0,
        )
    )  # fmt: skip


@njit
def claimed_value(s, p):
    """The value of seat p's hand with the tile in question."""
    add_tile(s.held[p], s.keys[p], s.tile, s.caishen)
    value, _ = hand_value(s, p, False, s.phase == ROB)
    remove_tile(s.held[p], s.keys[p], s.tile, s.caishen)
    return value


# --- a hand's course -------------------------------------------------------------------------------------------------


@njit
def begin_hand(s, dealer, ladder, bought):
    """Start a hand with the wall in the state; `topped` is taken as it stands. Stakes are asked first (R8.6)."""
    for p in range(s.num_players):
        for c in range(4):
            s.held[p, c] = NONE
            s.keys[p, c] = 0
        s.waits[p] = s.barred[p] = s.pengs[p] = NONE
        s.melds[p] = s.draws[p] = s.caishen_ma[p] = s.claims[p] = 0
        s.answers[p] = PASS
        s.payments[p] = 0
    s.shown = s.winds = NONE
    s.patterns = s.value = s.gangs = s.num_discards = s.keeps_caishen = 0
    s.winner = s.loser = s.tile = s.source = s.drawn = s.caishen = NOTHING
    s.dealer, s.ladder, s.bought = dealer, ladder, bought
    s.phase = STAKES_ASKED
    if s.switches & STAKES and not s.bought:
        ask_stake(s, dealer)
    else:
        ask_next_stake(s, dealer)


@njit
def next_dealership(s):
    """Dealer, ladder index and bought of the hand after this one, and whether the dealership (and with it every top)
    goes on (R9.4)."""
    dealer = np.int64(s.dealer)
    if s.winner == s.dealer:
        return dealer, np.int64(min(s.ladder + 1, s.ladder_steps - 1)), np.int64(s.bought), True
    if s.winner == NOTHING and s.gangs == 0:
        return dealer, np.int64(s.ladder), np.int64(s.bought), True
    return np.int64(seat_after(s, dealer)), np.int64(0), np.int64(0), False


@njit
def begin_next_hand(s, carry):
    """Shuffle and start the next hand of this game: as a match goes on (R9.4) with `carry`, else, and for the game's
    first hand, with a dealer from the seed at ladder 0."""
    dealer, ladder, bought, stays = next_dealership(s)
    s.hand_number += 1
    if s.hand_number == 0 or not carry:
        dealer, ladder, bought, stays = random_dealer(s, s.hand_number), np.int64(0), np.int64(0), False
    if not stays:
        for p in range(s.num_players):
            s.topped[p] = 0
    shuffle(s)
    begin_hand(s, dealer, ladder, bought)


@njit
def ask_stake(s, p):
    s.player = p
    s.legal[0], s.legal[1] = NONE, STAKE_ANSWERS


@njit
def ask_next_stake(s, p):
    """Ask the next seat after p that has a stake decision, or deal (R8.4)."""
    if s.switches & STAKES:
        p = seat_after(s, p)
        while p != s.dealer:
            if not s.topped[p]:
                ask_stake(s, p)
                return
            p = seat_after(s, p)
    deal(s)


@njit
def answer_stake(s, action):
    p = np.int64(s.player)
    if action == RAISE:
        if p == s.dealer:
            s.bought = 1
        else:
            s.topped[p] = 1
    ask_next_stake(s, p)


@njit
def deal(s):
    """R2.3: sixteen tiles to each seat from the dealer round, and one more to the dealer."""
    s.caishen = s.wall[TURNED_UP]
    s.winds = HONOUR_SET & ~bit(s.caishen)
    if s.switches & WHITE_IS_WIND == 0 and s.caishen < HONOURS:
        s.winds &= ~WHITE_BIT
    front = 0
    p = np.int64(s.dealer)
    for _ in range(s.num_players):
        for i in range(DEALT):
            add_tile(s.held[p], s.keys[p], s.wall[front + i], s.caishen)
        front += DEALT
        refresh(s, p)
        p = seat_after(s, p)
    take_in(s, p, s.wall[front])
    s.front, s.back = front + 1, TURNED_UP - 1
    ask_turn(s, p)


@njit
def refresh(s, p):
    """Renew what seat p waits for, after its hand has changed and before it draws."""
    closing = closing_bits(s.keys[p], whites(s.held[p], s.caishen), s.caishen)
    s.waits[p] = wait_set(s.held[p], s.keys[p], MAX_SETS - s.melds[p], s.caishen, closing)
    s.caishen_ma[p] = is_caishen_ma(closing, count(s.held[p], s.caishen))


@njit
def take_in(s, p, k):
    """A tile of kind k comes into the hand of seat p, drawn or as the dealer's last."""
    add_tile(s.held[p], s.keys[p], k, s.caishen)
    s.drawn = k


@njit
def ask_turn(s, p):
    """After a draw: hu, gang or discard (R4.1)."""
    s.phase, s.player = TURN, p
    gangs = legal_gangs(s, p)
    s.legal[0] = legal_discards(s, p) | gangs << KIND_SHIFT
    s.legal[1] = gangs >> GANG_SPILL
    if contains(s.waits[p], s.drawn):
        s.legal[1] |= HU_BIT


@njit
def ask_discard(s, p):
    """After chi or peng: discard only (R4.2)."""
    s.phase, s.player, s.drawn = DISCARD_ONLY, p, NOTHING
    s.legal[0], s.legal[1] = legal_discards(s, p), NONE


@njit
def draw(s, p, replacement):
    """An ordinary or replacement draw, or the end of the hand (R2.3, R4.4)."""
    if remaining(s) <= s.dead_wall:
        settle_drawn(s)
        return
    if replacement:
        k = s.wall[s.back]
        s.back -= 1
    else:
        k = s.wall[s.front]
        s.front += 1
    s.draws[p] += 1
    s.barred[p] = NONE
    take_in(s, p, k)
    ask_turn(s, p)


@njit
def discard(s, p, k):
    remove_tile(s.held[p], s.keys[p], k, s.caishen)
    s.discards[s.num_discards] = k + SEAT_UNIT * p
    s.fates[s.num_discards] = LYING
    s.num_discards += 1
    if k >= HONOURS:
        s.shown |= bit(k)
    refresh(s, p)
    s.drawn = NOTHING
    s.phase, s.tile, s.source = CLAIM, k, p
    s.keeps_caishen = s.melds[p] == MAX_SETS and s.held[p, 0] == bit(s.caishen)
    q = np.int64(seat_after(s, p))
    asked = False
    while q != p:
        s.claims[q] = claims_on_discard(s, q, k)
        asked = asked or s.claims[q] != 0
        q = seat_after(s, q)
    if asked:
        ask_next_claim(s, p)
    else:
        carry_on(s)


@njit
def ask_next_claim(s, p):
    """Ask the next seat after p that has an answer besides pass; when all have answered, carry out (R5.4)."""
    q = np.int64(seat_after(s, p))
    while q != s.source:
        if s.claims[q] != 0:
            s.player = q
            s.legal[0] = NONE
            s.legal[1] = np.uint64(s.claims[q]) << CLAIM_SHIFT | PASS_BIT
            return
        q = seat_after(s, q)
    carry_out(s)


@njit
def answer_claim(s, action):
    p = np.int64(s.player)
    s.answers[p] = action
    if s.switches & PASSED_PENG and s.claims[p] & PENG_CLAIM and (action == PASS or CHI_LOW <= action <= CHI_HIGH):
        s.barred[p] |= bit(s.tile)  # R5.5
    ask_next_claim(s, p)


@njit
def best_claim(s):
    """The seat whose claim is carried out, or NOTHING: hu > peng = gang > chi; between several hu a double one
    first, then the nearest after the source (R5.3)."""
    best, best_rank = np.int64(NOTHING), 0
    hu_answers = 0
    for q in range(s.num_players):
        hu_answers += s.answers[q] == HU
    q = np.int64(seat_after(s, s.source))
    while q != s.source:
        action = s.answers[q]
        if action == HU:
            rank = 4 if hu_answers > 1 and claimed_value(s, q) == DOUBLE_VALUE else 3
        elif action in (PENG, GANG_CLAIM):
            rank = 2
        elif action == PASS:
            rank = 0
        else:
            rank = 1
        if rank > best_rank:
            best, best_rank = q, rank
        q = seat_after(s, q)
    return best


@njit
def carry_out(s):
    """All have answered: the best claim is carried out (R5.4)."""
    p = best_claim(s)
    action = np.int64(s.answers[p]) if p != NOTHING else np.int64(PASS)
    for q in range(s.num_players):
        s.answers[q] = PASS
        s.claims[q] = 0
    if p == NOTHING:
        carry_on(s)
        return
    if s.phase == CLAIM:
        s.fates[s.num_discards - 1] = TAKEN_AS + action - CHI_LOW
    if action == HU:
        win_on_tile(s, p)
    elif action == GANG_CLAIM:
        claim_gang(s, p)
    elif action == PENG:
        claim_peng(s, p)
    else:
        claim_chi(s, p, action)


@njit
def carry_on(s):
    """Nobody claims the tile in question."""
    source = np.int64(s.source)
    if s.phase == ROB:
        complete_added_gang(s, source)
    elif s.keeps_caishen:
        s.patterns, s.value = QUANQIUSHEN_SET, DOUBLE_VALUE
        settle_win(s, source, NOTHING)
    else:
        s.tile = s.source = NOTHING
        draw(s, seat_after(s, source), False)


@njit
def meld(s, p, what, kind, source):
    i = s.melds[p]
    s.meld_what[p, i], s.meld_kind[p, i], s.meld_source[p, i] = what, kind, source
    s.melds[p] += 1
    s.tile = s.source = NOTHING


@njit
def claim_peng(s, p):
    k = np.int64(s.tile)
    for _ in range(2):
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
    s.pengs[p] |= bit(k)
    meld(s, p, PENG_MELD, k, s.num_discards - 1)
    ask_discard(s, p)


@njit
def claim_chi(s, p, action):
    kind = np.int64(s.caishen if s.tile == WHITE else s.tile)
    lowest = kind - (action - CHI_LOW)
    for k in range(lowest, lowest + 3):
        if k != kind:
            remove_tile(s.held[p], s.keys[p], WHITE if k == s.caishen else k, s.caishen)
    meld(s, p, CHI, lowest, s.num_discards - 1)
    ask_discard(s, p)


@njit
def claim_gang(s, p):
    k = np.int64(s.tile)
    for _ in range(3):
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
    meld(s, p, GANG_MELD, k, s.num_discards - 1)
    complete_gang(s, p)


@njit
def declare_gang(s, p, k):
    """A gang in one's own turn; an added one can be robbed first (R4.3, R5.6)."""
    if contains(s.held[p, 3], k):
        for _ in range(4):
            remove_tile(s.held[p], s.keys[p], k, s.caishen)
        meld(s, p, CONCEALED, k, NO_DISCARD)
        complete_gang(s, p)
        return
    s.phase, s.tile, s.source = ROB, k, p
    asked = False
    for q in range(s.num_players):
        if q != p and can_win_on(s, q, k):
            s.claims[q] = HU_CLAIM
            asked = True
    if asked:
        ask_next_claim(s, p)
    else:
        complete_added_gang(s, p)


@njit
def complete_added_gang(s, p):
    k = np.int64(s.tile)
    remove_tile(s.held[p], s.keys[p], k, s.caishen)
    s.pengs[p] &= ~bit(k)
    for i in range(s.melds[p]):
        if s.meld_what[p, i] == PENG_MELD and s.meld_kind[p, i] == k:
            s.meld_what[p, i] = ADDED
    s.tile = s.source = NOTHING
    complete_gang(s, p)


@njit
def complete_gang(s, p):
    s.gangs += 1
    refresh(s, p)
    draw(s, p, True)


# --- the end ---------------------------------------------------------------------------------------------------------


@njit
def win_on_tile(s, p):
    """Seat p wins on the tile in question: a discard, or one robbed from an added gang (R5.6)."""
    source = np.int64(s.source)
    rob = s.phase == ROB
    if rob:
        remove_tile(s.held[source], s.keys[source], s.tile, s.caishen)
    add_tile(s.held[p], s.keys[p], s.tile, s.caishen)
    s.value, s.patterns = hand_value(s, p, False, rob)
    settle_win(s, p, source)


@njit
def win_by_draw(s, p):
    s.value, s.patterns = hand_value(s, p, True, False)
    settle_win(s, p, NOTHING)


@njit
def settle_win(s, winner, loser):
    s.winner, s.loser = winner, loser
    add_win_payments(
        s.payments[: s.num_players], winner, np.int64(s.value), s.unit, s.dealer, s.ladder_values[s.ladder],
        s.non_dealer_base, s.bought, s.topped,
    )  # fmt: skip
    settle_caishen(s)


@njit
def settle_drawn(s):
    """R4.4, R9.4: nobody wins."""
    if s.switches & BONUS_ON_DRAW:
        settle_caishen(s)
    else:
        finish(s)


@njit
def settle_caishen(s):
    """R9.2."""
    amount = caishen_amount(s.value, s.unit, s.caishen_bonus, s.bonus_double)
    for p in range(s.num_players):
        add_caishen_points(s.payments[: s.num_players], p, count(s.held[p], s.caishen), amount)
    finish(s)


@njit
def finish(s):
    s.phase, s.player = OVER, NOTHING
    s.legal[0], s.legal[1] = NONE, NONE


@njit
def step(s, action):
    """Play an action of the seat to act. It must be legal: `is_legal` tells."""
    p = np.int64(s.player)
    if s.phase == STAKES_ASKED:
        answer_stake(s, action)
    elif s.phase >= CLAIM:
        answer_claim(s, action)
    elif action == HU:
        win_by_draw(s, p)
    elif action >= GANG:
        declare_gang(s, p, action - GANG)
    else:
        discard(s, p, action)
