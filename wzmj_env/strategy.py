"""What the rule player thinks of a hand: one score for every legal action, in one currency.

Whoever discards, everybody pays the winner, so play is a race with values. A score is what the seat may hope for from
each other seat, in units: a win's value and the LOSS it spares, times the chance to get there before anybody else does.
A step that `width` tiles bring about, when the others stop the race as often as `hazard` tiles would, comes off with
`width / (width + hazard)`. A `Version` may look one draw further at discards that come near the best.

Winds that have to go first (R5.1) do not count as tiles of a hand that is not ready. What a seat cannot know is not
looked at: the hands of the others, the wall, their answers. Scores keep under a change of suits, a mirror of the ranks and a
change of the honours other than white, the caishen moving along.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._jit import njit, popcount, trailing_zeros
from .actions import CHI_HIGH, CHI_LOW, GANG, GANG_CLAIM, HU, NUM_ACTIONS, PASS, PENG, RAISE
from .engine import LEGAL_BASE, claimed_value, forced_action, hand_value, has_chi, legal_discards, lone_winds
from .hand import (
    ALL_KINDS,
    HAND_TILES,
    HONOURS_KEY,
    NONE,
    ONE,
    POWER,
    THREE_CAISHEN,
    WHITE_BIT,
    add_tile,
    bit,
    closing_bits,
    contains,
    count,
    improving_set,
    is_caishen_ma,
    is_standard,
    natural_pairs,
    odd_kinds,
    pairs_need,
    reading,
    remove_tile,
    standard_need,
    tiles_short,
    wait_set,
    whites,
)
from .patterns import DOUBLE_VALUE, HARD_VALUE, value_and_patterns, win_facts
from .scoring import CHI
from .scoring import PENG as PENG_MELD
from .state import CLAIM, LYING, SEAT_UNIT, STAKES_ASKED, WHITE_HOME_FACE, WIND_FIRST
from .tables import MAX_SETS, honour_class, joint, suit_class, whole_need
from .tiles import COPIES, HONOURS, NUM_KINDS, RANKS, WHITE

ILLEGAL = -1.0e9

# Tuned in duplicate deals, two against two; the score is flat around them.
HAZARD = 0.08  # of a tile unseen: how often the others end the race while one such tile comes
HAZARD_A_DISCARD, HAZARD_A_MELD = 0.0009, 0.014  # more for each discard so far, and for each meld of the others
LOSS = 1.8  # what another's win costs
WIDTH = 0.2  # of a later step, which is not looked at: tiles for each tile unseen
PENG_SHARE, CHI_SHARE = 0.9, 0.7  # how often a tile to claim comes from a seat, an own draw being 1
PLAIN_VALUE, WILD_VALUE = 2.0, 1.2  # of a standard hand that is not ready, without and with caishen
EIGHT_PAIRS_SHARE = 0.5  # eight pairs lie further than they look: their tiles come by own draw only
QUANQIUSHEN_SHARE = 0.75  # another may win on the discard
CHI_FACTOR, PENG_FACTOR, GANG_CLAIM_FACTOR, PASS_FACTOR = 0.95, 1.0, 1.3, 1.1  # a pass keeps the hand closed
GANG_FACTOR = 1.1  # the replacement draw
HU_FACTOR = 1.15  # a win in hand


class Version(NamedTuple):
    """What tells one version of the rule player from another. Floats both, so that compiled code serves every version."""

    margin: float  # share of the best discard's score from which on a discard is looked at one draw further
    reach: float  # when the standard shape is at most so far


RULE_1 = Version(margin=0.0, reach=0.0)  # never
RULE_2 = Version(margin=0.9, reach=2.0)

SUITED = np.uint64((1 << HONOURS) - 1)
NOT_ONES = ~np.uint64(sum(1 << k for k in range(0, HONOURS, RANKS)))
NOT_NINES = ~np.uint64(sum(1 << k for k in range(RANKS - 1, HONOURS, RANKS)))


class View(NamedTuple):
    """What a seat sees of a decision. Bit k of `live[c]` says that more than c tiles of kind k are out of its sight."""

    live: tuple[np.uint64, np.uint64, np.uint64, np.uint64]
    loss: float  # LOSS, from each other seat
    hazard: float  # in tiles
    later: float  # chance of a later step of usual width
    chis: bool  # a meld of the seat is a chi
    reach: int  # how far the best discard is short of the standard shape, 0 when claims are asked


# --- what a seat can see ---------------------------------------------------------------------------------------------


@njit
def _with_more(seen, kinds):
    """Planes of counts, one more of each of `kinds`."""
    a, b, c, d = seen
    return a | kinds, b | (a & kinds), c | (b & kinds), d | (c & kinds)


@njit
def live_planes(s, p):
    """The tiles that seat p cannot see, as in `View.live`."""
    seen = (s.held[p, 0], s.held[p, 1], s.held[p, 2], s.held[p, 3])
    seen = _with_more(seen, bit(s.caishen))  # the one turned up
    for i in range(s.num_discards):
        if s.fates[i] == LYING:
            seen = _with_more(seen, bit(s.discards[i] % SEAT_UNIT))
    for q in range(s.num_players):
        for i in range(s.melds[q]):
            kind = np.int64(s.meld_kind[q, i])
            if s.meld_what[q, i] == CHI:
                run = bit(kind) | bit(kind + 1) | bit(kind + 2)
                if contains(run, s.caishen):
                    run ^= bit(s.caishen) | WHITE_BIT  # the face's place is filled by a white (R3.4)
                seen = _with_more(seen, run)
            else:
                for _ in range(3 if s.meld_what[q, i] == PENG_MELD else COPIES):
                    seen = _with_more(seen, bit(kind))
    return ALL_KINDS & ~seen[3], ALL_KINDS & ~seen[2], ALL_KINDS & ~seen[1], ALL_KINDS & ~seen[0]


@njit
def tally(live, kinds):
    """The live tiles of a set of kinds."""
    return popcount(live[0] & kinds) + popcount(live[1] & kinds) + popcount(live[2] & kinds) + popcount(live[3] & kinds)


# --- the standard shape, lone winds left aside -----------------------------------------------------------------------


@njit
def runs_wanted(held, caishen):
    """The kinds with which two held tiles make a run: they can be claimed by chi."""
    have = held[0] & SUITED & ~bit(caishen)
    if caishen < HONOURS and contains(held[0], WHITE):
        have |= bit(caishen)
    above, below = (have & NOT_NINES) << ONE, (have & NOT_ONES) >> ONE
    found = (above & below) | (above & ((above & NOT_NINES) << ONE)) | (below & ((below & NOT_ONES) >> ONE))
    if contains(found, caishen):
        found = found & ~bit(caishen) | WHITE_BIT  # the face's place is filled by a white (R3.4)
    return found


@njit
def _forced_winds(s, p):
    return lone_winds(s, p) if s.switches & WIND_FIRST else NONE


@njit
def _kept(s, p):
    """The four keys of what is left of a hand without its lone winds, and its whites."""
    keys = s.keys[p]
    honours, white_count = np.int64(keys[HONOURS_KEY]), whites(s.held[p], s.caishen)
    forced = _forced_winds(s, p)
    if contains(forced, WHITE):
        white_count = 0
    while forced != NONE:
        honours -= POWER[trailing_zeros(forced)]
        forced &= forced - ONE
    return (np.int64(keys[0]), np.int64(keys[1]), np.int64(keys[2]), honours), white_count


@njit
def _one_off(keys, faces, caishen, sets, need, kinds, step):
    """In a reading of that need, those of `kinds` of which one tile more lowers it (step 1), or one less keeps it (-1)."""
    found = NONE
    m, p, s, z = reading(keys, caishen, faces)
    of_m, of_p, of_s, of_z = suit_class(m), suit_class(p), suit_class(s), honour_class(z)
    of_mp, of_sz = joint(of_m, of_p), joint(of_s, of_z)
    if whole_need(of_mp, of_sz, sets) != need:
        return found
    most = need - 1 if step > 0 else need
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        change = step * POWER[k]
        if k < RANKS:
            left = whole_need(joint(suit_class(m + change), of_p), of_sz, sets)
        elif k < 2 * RANKS:
            left = whole_need(joint(of_m, suit_class(p + change)), of_sz, sets)
        elif k < HONOURS:
            left = whole_need(of_mp, joint(suit_class(s + change), of_z), sets)
        else:
            left = whole_need(of_mp, joint(of_s, honour_class(z + change)), sets)
        if left <= most:
            found |= bit(k)
    return found


@njit
def _accepted(held, keys, white_count, caishen, sets, need, live):
    """The live kinds that lower the need."""
    asked = live & ~held[3] & ~bit(caishen)
    if contains(live, WHITE) and white_count < COPIES and caishen != WHITE:
        asked |= bit(caishen)  # in the keys: a white as the face
    found = NONE
    for faces in range(white_count + 1):
        found |= _one_off(keys, faces, caishen, sets, need, asked & ~found, 1)
    if contains(found, caishen):
        found |= WHITE_BIT
    return found | bit(caishen)


@njit
def _spare(held, keys, white_count, caishen, sets, need):
    """The held kinds, caishen aside, without one of which the need stays."""
    asked = held[0] & ~bit(caishen)
    found = NONE
    for faces in range(white_count + 1):
        kinds = asked & ~found
        if caishen != WHITE:
            if faces == white_count:
                kinds &= ~WHITE_BIT
            if faces > 0:
                kinds |= bit(caishen)  # in the keys: a white as the face
        found |= _one_off(keys, faces, caishen, sets, need, kinds, -1)
    if contains(found, caishen):
        found = found & ~bit(caishen) | WHITE_BIT
    return found


@njit
def _reach(s, p, sets):
    """How far the best discard is short of the standard shape."""
    kept, white_count = _kept(s, p)
    need = standard_need(kept, white_count, np.int64(s.caishen), sets) - count(s.held[p], s.caishen)
    return max(need, 1)


@njit
def look(s, p):
    """The view of seat p."""
    live = live_planes(s, p)
    melds = 0
    for q in range(s.num_players):
        if q != p:
            melds += s.melds[q]
    share = HAZARD + HAZARD_A_DISCARD * s.num_discards + HAZARD_A_MELD * melds
    return View(
        live,
        LOSS / (s.num_players - 1),
        share * tally(live, ALL_KINDS),
        WIDTH / (WIDTH + share),
        has_chi(s, p),
        _reach(s, p, np.int64(MAX_SETS - s.melds[p])) if s.phase < CLAIM else np.int64(0),
    )


# --- what a hand is worth --------------------------------------------------------------------------------------------


@njit
def _tiles_of(view, kinds):
    return np.float64(tally(view.live, kinds))


@njit
def _worth_ready(s, p, sets, chis, view, closing):
    """Each live tile that wins, times what it wins, from own draw and from each other seat (not out of caishen ma).

    A fifth meld that keeps a caishen is as good as a win where it can be claimed (R5.8).
    """
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    wilds = count(held, caishen)
    others = np.int64(s.num_players - 1)
    ma = is_caishen_ma(closing, wilds)
    home = s.switches & WHITE_HOME_FACE != 0
    waits = wait_set(held, keys, sets, caishen, closing)
    pengs, chi_kinds = NONE, NONE
    if sets == 1 and wilds > 0:
        pengs, chi_kinds = held[1] & ~bit(caishen), runs_wanted(held, caishen)
    drawn, drawn_value = 0, 0  # tiles, and their values
    given, given_value = 0, 0  # tiles times seats they come from
    claimed = 0  # tiles times seats, for quanqiushen
    kinds = (waits | pengs | chi_kinds) & view.live[0]
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        tiles = tally(view.live, bit(k))
        value, seats = np.int64(0), np.int64(0)
        if contains(waits, k):
            add_tile(held, keys, k, caishen)
            value, _ = value_and_patterns(
                win_facts(held, keys, caishen, MAX_SETS - sets, chis, False, False, False, False, False, home)
            )
            remove_tile(held, keys, k, caishen)
            own_value = max(value, HARD_VALUE)
            if ma and sets == 0:
                own_value = HARD_VALUE  # R7.16
            drawn += tiles
            drawn_value += tiles * own_value
            seats = 0 if ma else others
        if value != DOUBLE_VALUE or ma:
            claiming = others if contains(pengs, k) else 1 if contains(chi_kinds, k) else 0
            claimed += tiles * claiming
            seats = max(0, seats - claiming)
        given += tiles * seats
        given_value += tiles * seats * value
    gain = drawn_value + given_value + claimed * QUANQIUSHEN_SHARE * DOUBLE_VALUE
    tiles = np.float64(drawn + given + claimed)
    return (gain + view.loss * tiles) / (tiles + view.hazard)


@njit
def worth(s, p, sets, chis, view, limit):
    """What seat p's hand of 3 * sets + 1 tiles is worth. `chis`: one of its melds is a chi. When it is more than `limit`
    tiles short of the standard shape, that shape is only estimated."""
    held, caishen, live = s.held[p], np.int64(s.caishen), view.live
    others = s.num_players - 1
    wilds = count(held, caishen)
    forced = _forced_winds(s, p)
    kept, white_count = _kept(s, p)
    need = standard_need(kept, white_count, caishen, sets)
    short = max(need - wilds, 1)
    odd = odd_kinds(held, caishen)
    short_of_pairs = np.int64(HAND_TILES)
    if sets == MAX_SETS:
        short_of_pairs = pairs_need(natural_pairs(held, caishen), popcount(odd)) - wilds
    if short <= 2 + (forced != NONE) or short_of_pairs <= 1 or wilds >= THREE_CAISHEN:
        closing = closing_bits(s.keys[p], whites(held, caishen), caishen)
        if is_standard(closing, wilds + 1) or short_of_pairs <= 1 or wilds >= THREE_CAISHEN:
            return _worth_ready(s, p, sets, chis, view, closing)
    best = (WILD_VALUE if wilds > 0 else PLAIN_VALUE) + view.loss
    for _ in range(short - 1):
        best *= view.later
    if short > limit:
        best *= view.later
    else:
        accepted = _accepted(held, kept, white_count, caishen, sets, need, live[0])
        pengs = accepted & held[1] & ~bit(caishen)
        chi_kinds = accepted & runs_wanted(held, caishen) & ~pengs
        width = _tiles_of(view, accepted)
        width += others * PENG_SHARE * _tiles_of(view, pengs) + CHI_SHARE * _tiles_of(view, chi_kinds)
        best *= width / (width + view.hazard)
    if short_of_pairs <= short + 2:
        width = _tiles_of(view, odd & ~forced | bit(caishen))
        pairs = EIGHT_PAIRS_SHARE * ((HARD_VALUE if wilds == 1 else DOUBLE_VALUE) + view.loss)
        for _ in range(short_of_pairs):
            pairs *= width / (width + view.hazard)
        best = max(best, pairs)
    return best


# --- what an action is worth -----------------------------------------------------------------------------------------


@njit
def _move(s, p, k, back):
    if back:
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    else:
        remove_tile(s.held[p], s.keys[p], k, s.caishen)


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
def _discard_worth(s, p, k, sets, chis, view, limit):
    held, keys = s.held[p], s.keys[p]
    remove_tile(held, keys, k, s.caishen)
    if sets == 0 and held[0] == bit(s.caishen):
        found = QUANQIUSHEN_SHARE * DOUBLE_VALUE + view.loss
    else:
        found = worth(s, p, sets, chis, view, limit)
    add_tile(held, keys, k, s.caishen)
    return found


@njit
def _gang_worth(s, p, k, sets, chis, view):
    copies = count(s.held[p], k)
    for _ in range(copies):
        remove_tile(s.held[p], s.keys[p], k, s.caishen)
    found = worth(s, p, sets - (1 if copies == COPIES else 0), chis, view, HAND_TILES)
    for _ in range(copies):
        add_tile(s.held[p], s.keys[p], k, s.caishen)
    return GANG_FACTOR * found


@njit
def _claim_worth(s, p, action, sets, chis, view):
    """Of chi, peng or gang: for the first two with the best discard after it."""
    with_chi = chis or action <= CHI_HIGH
    take_for_claim(s, p, action, False)
    if action == GANG_CLAIM:
        found = GANG_CLAIM_FACTOR * worth(s, p, sets - 1, chis, view, HAND_TILES)
    else:
        found = 0.0
        limit = _reach(s, p, sets - 1)
        kinds = legal_discards(s, p)
        while kinds != NONE:
            k = trailing_zeros(kinds)
            kinds &= kinds - ONE
            found = max(found, _discard_worth(s, p, k, sets - 1, with_chi, view, limit))
        found *= PENG_FACTOR if action == PENG else CHI_FACTOR
    take_for_claim(s, p, action, True)
    return found


@njit
def _score(s, action, view):
    """Of a legal action of the seat to act."""
    p = np.int64(s.player)
    sets = np.int64(MAX_SETS - s.melds[p])
    if action < GANG:
        return _discard_worth(s, p, action, sets, view.chis, view, view.reach)
    if action < CHI_LOW:
        return _gang_worth(s, p, action - GANG, sets, view.chis, view)
    if action < HU:
        return _claim_worth(s, p, action, sets, view.chis, view)
    if action == PASS:
        return PASS_FACTOR * worth(s, p, sets, view.chis, view, HAND_TILES)
    if s.phase >= CLAIM:
        value = np.int64(claimed_value(s, p))
    else:
        value = np.int64(hand_value(s, p, True, False)[0])
    return HU_FACTOR * (value + view.loss)


@njit
def _best_left(s, p, sets, view):
    """What the best discard leaves of seat p's hand of 3 * sets + 2 tiles, of those that keep its distance if it has any."""
    caishen = np.int64(s.caishen)
    kept, white_count = _kept(s, p)
    need = standard_need(kept, white_count, caishen, sets)
    kinds = legal_discards(s, p)
    spare = kinds & _spare(s.held[p], kept, white_count, caishen, sets, need)
    if spare != NONE:
        kinds = spare
    found = 0.0
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        found = max(found, _discard_worth(s, p, k, sets, view.chis, view, HAND_TILES))
    return found


@njit
def _worth_one_draw_on(s, p, sets, view):
    """What seat p's hand of 3 * sets + 1 tiles, not ready, is worth by what it is worth after each tile that helps."""
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    kept, white_count = _kept(s, p)
    need = standard_need(kept, white_count, caishen, sets)
    accepted = _accepted(held, kept, white_count, caishen, sets, need, view.live[0])
    pengs = accepted & held[1] & ~bit(caishen)
    chi_kinds = accepted & runs_wanted(held, caishen) & ~pengs
    width, gain = 0.0, 0.0
    kinds = accepted & view.live[0]
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        tiles = _tiles_of(view, bit(k))
        if contains(pengs, k):
            tiles *= 1.0 + PENG_SHARE * (s.num_players - 1)
        elif contains(chi_kinds, k):
            tiles *= 1.0 + CHI_SHARE
        add_tile(held, keys, k, caishen)
        gain += tiles * _best_left(s, p, sets, view)
        remove_tile(held, keys, k, caishen)
        width += tiles
    return gain / (width + view.hazard)


@njit
def _look_further(s, view, version, scores):
    """Renew the scores of the discards within `version.margin` of the best one by what they are worth one draw on. The best
    of them keeps its score, which gangs and wins are weighed against."""
    p = np.int64(s.player)
    sets = np.int64(MAX_SETS - s.melds[p])
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    before, after = 0.0, 0.0
    for k in range(NUM_KINDS):
        if contains(s.legal[0], k):
            before = max(before, scores[k])
    near = NONE
    for k in range(NUM_KINDS):
        if contains(s.legal[0], k) and scores[k] >= version.margin * before:
            near |= bit(k)
    if near & (near - ONE) == NONE:
        return
    kinds = near
    while kinds != NONE:
        k = trailing_zeros(kinds)
        kinds &= kinds - ONE
        remove_tile(held, keys, k, caishen)
        if tiles_short(held, keys, sets, caishen) > 1:
            scores[k] = _worth_one_draw_on(s, p, sets, view)
        add_tile(held, keys, k, caishen)
        after = max(after, scores[k])
    while near != NONE:
        k = trailing_zeros(near)
        near &= near - ONE
        scores[k] *= before / after


@njit
def _stake(s):
    """The dealer has the first turn, and gains by it: he doubles, the others do not."""
    return np.int64(RAISE if s.player == s.dealer else PASS)


@njit
def rule_scores(s, version, scores):
    """Fill `scores`, `(NUM_ACTIONS,) float64`, for the seat to act, ILLEGAL for what is not legal: see `rule_action`."""
    scores[:] = ILLEGAL
    if s.phase == STAKES_ASKED:
        scores[PASS] = scores[RAISE] = 0.0
        scores[_stake(s)] = 1.0
        return
    p = np.int64(s.player)
    view = look(s, p)
    base = np.int64(0)
    for word in (s.legal[0], s.legal[1]):
        while word != NONE:
            action = base + trailing_zeros(word)
            word &= word - ONE
            scores[action] = _score(s, action, view)
        base = LEGAL_BASE
    if s.phase < CLAIM and 1 < view.reach <= version.reach and _forced_winds(s, p) == NONE:
        _look_further(s, view, version, scores)


@njit
def best_action(scores):
    """The action with the highest of `(NUM_ACTIONS,)` scores, the highest id among equals."""
    best = np.int64(0)
    for action in range(NUM_ACTIONS):
        if scores[action] >= scores[best]:
            best = np.int64(action)
    return best


@njit
def rule_action(s, version):
    """The legal action with the highest score, the highest id among equals."""
    if s.phase == STAKES_ASKED:
        return _stake(s)
    forced = forced_action(s)
    if forced >= 0:
        return forced
    scores = np.empty(NUM_ACTIONS)
    rule_scores(s, version, scores)
    return best_action(scores)


# --- to explain ------------------------------------------------------------------------------------------------------


@njit
def discard_prospects(s, short, accepting, live):
    """For each legal discard of the seat to act, by kind: the distance it leaves, the set of kinds that lower it, and how
    many tiles of them are live; -1, none and -1 for the other kinds. Arrays of `(NUM_KINDS,)`: int64, uint64, int64."""
    p = np.int64(s.player)
    sets = np.int64(MAX_SETS - s.melds[p])
    held, keys, caishen = s.held[p], s.keys[p], np.int64(s.caishen)
    unseen = live_planes(s, p)
    for k in range(NUM_KINDS):
        short[k], accepting[k], live[k] = -1, NONE, -1
        if contains(s.legal[0], k) and s.phase != STAKES_ASKED:
            remove_tile(held, keys, k, caishen)
            short[k] = tiles_short(held, keys, sets, caishen)
            accepting[k] = improving_set(held, keys, sets, caishen)
            live[k] = tally(unseen, accepting[k])
            add_tile(held, keys, k, caishen)
