"""A state seen from one seat, as planes of 34 kinds: the only border of hidden information.

`PLANES`, `TABLE_COLUMNS`, `SEAT_COLUMNS` and `STATE_PLANES` say what stands where; the documentation's table is made
from them (`python docs/generate.py`). Seats are relative: 0 is the observer, 1 the next in turn, and so on; planes of
absent seats are zero. Every value is a small whole number, so that one byte holds it.
"""

from __future__ import annotations

import numpy as np

from ._jit import SPREAD, njit, popcount, spread
from .actions import NUM_ACTIONS, PASS
from .engine import lone_winds, remaining, seat_after
from .hand import NONE, ONE, count, whites
from .scoring import CHI, MELD_NAMES, PENG
from .state import CLAIM, LYING, MAX_SEATS, NOTHING, OVER, PHASES, SEAT_UNIT, STAKES_ASKED, TURN
from .tiles import COPIES, NUM_KINDS, WHITE

OBSERVATION_VERSION = 1

# Planes that stand last in either form.
SHARED_PLANES = (
    ("QUESTION", 1, "1 + the seat whose tile of k is claimed or robbed now"),
    ("DRAWN", 1, "1 at the tile the observer has just drawn"),
    ("SHOWN_WINDS", 1, "1 for winds discarded so far by anyone (R5.1)"),
    ("LONE_WINDS", 1, "1 for the observer's lone winds (R5.1)"),
    ("BARRED", 1, "1 for kinds the observer may not peng until his next draw (R5.5)"),
    ("TABLE", 1, "not by kind: facts of the table, a column each, see below"),
    ("SEAT", MAX_SEATS, "a plane a seat, not by kind: facts of the seat, a column each, see below"),
)

# Each plane, counted aloud: name, how many, what its value at kind k is.
PLANES = (
    ("HAND", COPIES, "plane c: 1 when the own concealed hand holds more than c tiles of k, caishen included"),
    ("CAISHEN", 1, "1 at the caishen's kind"),
    ("WHITE_AS_FACE", 1, "at the caishen's kind, own concealed whites, which may stand for it; 0 when it is white"),
    ("CHI", MAX_SEATS, "a plane a seat: chis whose run starts at k"),
    ("PENG", MAX_SEATS, "a plane a seat: 1 for a peng of k"),
    ("GANG", MAX_SEATS, "a plane a seat: 1 for a gang of k made on a discard"),
    ("ADDED", MAX_SEATS, "a plane a seat: 1 for a gang of k added to a peng"),
    ("CONCEALED", MAX_SEATS, "a plane a seat: 1 for a concealed gang of k"),
    ("DISCARDED", MAX_SEATS, "a plane a seat: tiles of k it has discarded, claimed ones too"),
    ("DISCARD_ORDER", COPIES, "plane i: place among all discards, from 1, of the i-th discarded tile of k; 0 none"),
    ("DISCARD_SEAT", COPIES, "plane i: 1 + the seat that discarded that tile"),
    ("DISCARD_FATE", COPIES, "plane i: that tile was taken for 1 chi low, 2 mid, 3 high, 4 peng, 5 gang, 6 hu; 0 it lies"),
    *SHARED_PLANES,
)  # fmt: skip

TABLE_COLUMNS = (
    *((f"PHASE_{name.upper()}", f"1 in the phase '{name}'") for name in PHASES),
    ("NUM_PLAYERS", "seats at the table"),
    ("REMAINING", "tiles not yet drawn, the turned-up one included"),
    ("LADDER", "0-based index of the dealer's base in the ladder"),
    ("BOUGHT", "1 when the dealer has bought"),
    ("DISCARDS", "tiles discarded so far"),
    ("GANGS", "gangs completed so far"),
    ("VALUE", "when the hand is over: 4, 2, 1, or 0 for a drawn one"),
)

SEAT_COLUMNS = (
    ("PRESENT", "1 for a seat at the table"),
    ("DEALER", "1 for the dealer"),
    ("TO_MOVE", "1 when it is this seat's turn; 0 for all while claims are asked, for nobody may know who is"),
    ("HAND_SIZE", "concealed tiles"),
    ("DRAWS", "tiles drawn, ordinary and replacement"),
    ("MELDS", "melds declared"),
    ("TOPPED", "1 when the seat has topped"),
    ("STAKE_DECIDED", "1 when the seat's stake for this hand is settled"),
    ("WON", "1 for the winner, once the hand is over"),
)

# What `state` adds behind the planes of the seat to act, for central critics.
STATE_PLANES = (
    ("OTHER_HAND", MAX_SEATS - 1, "a plane a seat from the next on: concealed tiles of k"),
    ("OTHER_BARRED", MAX_SEATS - 1, "a plane a seat from the next on: 1 for kinds barred to peng"),
    ("ANSWERS", 1, "not by kind: column r: 1 + the answer that seat r has given to the tile in question, 0 none"),
)


# The compact form: counts in place of planes a copy, and no history. What has the name of a plane above means the same.
COUNT_PLANES = (
    ("HAND", 1, "own concealed tiles of k, caishen included"),
    ("CAISHEN", 1, "1 at the caishen's kind"),
    ("MELDED", MAX_SEATS, "a plane a seat: tiles of k in its melds; what stands for the face in a chi is a white"),
    ("LYING", MAX_SEATS, "a plane a seat: tiles of k it has discarded that nobody took"),
    ("UNSEEN", 1, "tiles of k that the observer cannot see"),
    *SHARED_PLANES,
)


def _starts(planes: tuple[tuple[str, int, str], ...], first: int) -> dict[str, int]:
    starts = {}
    for name, size, _ in planes:
        starts[name] = first
        first += size
    return starts


NUM_PLANES = sum(size for _, size, _ in PLANES)
NUM_STATE_PLANES = NUM_PLANES + sum(size for _, size, _ in STATE_PLANES)
PLANE = _starts(PLANES, 0) | _starts(STATE_PLANES, NUM_PLANES)  # name -> its first plane
NUM_COUNT_PLANES = sum(size for _, size, _ in COUNT_PLANES)
COUNT_PLANE = _starts(COUNT_PLANES, 0)
TABLE_COLUMN = {name: column for column, (name, _) in enumerate(TABLE_COLUMNS)}
SEAT_COLUMN = {name: column for column, (name, _) in enumerate(SEAT_COLUMNS)}

OBSERVATION_SHAPE = (NUM_PLANES, NUM_KINDS)
STATE_SHAPE = (NUM_STATE_PLANES, NUM_KINDS)
COUNTS_SHAPE = (NUM_COUNT_PLANES, NUM_KINDS)
OBSERVATION_SIZE = NUM_PLANES * NUM_KINDS
STATE_SIZE = NUM_STATE_PLANES * NUM_KINDS
COUNTS_SIZE = NUM_COUNT_PLANES * NUM_KINDS

# Places in the flat array: plane p, kind k stands at p * NUM_KINDS + k.
_HAND, _CAISHEN, _WHITE_AS_FACE = (PLANE[n] * NUM_KINDS for n in ("HAND", "CAISHEN", "WHITE_AS_FACE"))
_CHI, _DISCARDED = PLANE["CHI"] * NUM_KINDS, PLANE["DISCARDED"] * NUM_KINDS
_ORDER, _SEAT_OF, _FATE = (PLANE[f"DISCARD_{n}"] * NUM_KINDS for n in ("ORDER", "SEAT", "FATE"))
_QUESTION, _DRAWN, _SHOWN = (PLANE[n] * NUM_KINDS for n in ("QUESTION", "DRAWN", "SHOWN_WINDS"))
_LONE, _BARRED, _TABLE, _SEAT = (PLANE[n] * NUM_KINDS for n in ("LONE_WINDS", "BARRED", "TABLE", "SEAT"))
_OTHER_HAND, _OTHER_BARRED, _ANSWERS = (PLANE[n] * NUM_KINDS for n in ("OTHER_HAND", "OTHER_BARRED", "ANSWERS"))
(_NUM_PLAYERS, _REMAINING, _LADDER, _BOUGHT, _NUM_DISCARDS, _GANGS, _VALUE) = range(len(PHASES), len(TABLE_COLUMNS))
_PRESENT, _DEALER, _TO_MOVE, _HAND_SIZE, _DRAWS, _MELDS, _TOPPED, _STAKE_DECIDED, _WON = range(len(SEAT_COLUMNS))
(_N_HAND, _N_CAISHEN, _N_MELDED, _N_LYING, _N_UNSEEN, _N_QUESTION, _N_DRAWN, _N_SHOWN, _N_LONE, _N_BARRED, _N_TABLE,
 _N_SEAT) = (first * NUM_KINDS for first in COUNT_PLANE.values())  # fmt: skip
_MELD_STRIDE = MAX_SEATS * NUM_KINDS  # chi, peng, gang, added, concealed stand in the order of MELD_NAMES
assert [name for name, _, _ in PLANES[3:8]] == [name.upper() for name in MELD_NAMES]


@njit
def _write_set(out, first, kinds):
    """Write 1 at each kind of a set and 0 at the others."""
    spread(kinds, out, first)
    for k in range(SPREAD, NUM_KINDS):
        out[first + k] = (kinds >> np.uint64(k)) & ONE


@njit
def relative(s, seat, q):
    """Seat q as seen from `seat`: 0 himself, 1 the next in turn."""
    r = q - seat
    return r if r >= 0 else r + s.num_players


@njit
def stake_decided(s, q):
    """Whether seat q's stake for this hand is settled: the dealer is asked first, the others in turn (R8.6)."""
    if s.phase != STAKES_ASKED:
        return True
    return relative(s, s.dealer, q) < relative(s, s.dealer, s.player) or (s.bought if q == s.dealer else s.topped[q])


@njit
def hand_size(s, q):
    """Concealed tiles of seat q, which all may know."""
    if s.phase == STAKES_ASKED:
        return 0
    total = 0
    for k in range(COPIES):
        total += popcount(s.held[q, k])
    return total


@njit
def write_observation(s, seat, out):
    """Fill `out`, `(OBSERVATION_SIZE,) uint8` or float32, with what `seat` may know.

    Hardly a branch depends on the hand: games in a batch differ, and a branch guessed wrong costs as much as sixty bytes.
    """
    for i in range(OBSERVATION_SIZE):
        out[i] = 0
    for c in range(COPIES):
        _write_set(out, _HAND + c * NUM_KINDS, s.held[seat, c])
    if s.caishen != NOTHING:
        caishen = np.int64(s.caishen)
        out[_CAISHEN + caishen] = 1
        out[_WHITE_AS_FACE + caishen] = whites(s.held[seat], caishen)
        _write_set(out, _LONE, lone_winds(s, seat))
    _write_set(out, _SHOWN, s.shown)
    _write_set(out, _BARRED, s.barred[seat])
    _write_discards(s, seat, out)
    _write_melds(s, seat, out)
    _write_question(s, seat, out, _QUESTION, _DRAWN)
    _write_facts(s, seat, out, _TABLE, _SEAT)


@njit
def _write_question(s, seat, out, question, drawn):
    out[drawn + max(np.int64(s.drawn), 0)] = s.phase == TURN and s.player == seat
    out[question + max(np.int64(s.tile), 0)] = 0 if s.tile == NOTHING else 1 + relative(s, seat, s.source)


@njit
def _write_facts(s, seat, out, table, facts):
    """The columns of the planes TABLE and SEAT, which start at `table` and `facts`."""
    out[table + np.int64(s.phase)] = 1
    out[table + _NUM_PLAYERS] = s.num_players
    out[table + _REMAINING] = remaining(s)
    out[table + _LADDER] = s.ladder
    out[table + _BOUGHT] = s.bought
    out[table + _NUM_DISCARDS] = s.num_discards
    out[table + _GANGS] = s.gangs
    out[table + _VALUE] = s.value
    q = seat
    for _ in range(s.num_players):
        out[facts + _PRESENT] = 1
        out[facts + _DEALER] = q == s.dealer
        out[facts + _TO_MOVE] = q == s.player and s.phase < CLAIM
        out[facts + _HAND_SIZE] = hand_size(s, q)
        out[facts + _DRAWS] = s.draws[q]
        out[facts + _MELDS] = s.melds[q]
        out[facts + _TOPPED] = s.topped[q]
        out[facts + _STAKE_DECIDED] = stake_decided(s, q)
        out[facts + _WON] = q == s.winner
        facts += NUM_KINDS
        q = seat_after(s, q)


@njit
def _write_discards(s, seat, out):
    odd, two = NONE, NONE  # the kinds of which one or three, and of which two or three, came before
    for i in range(s.num_discards):
        k = np.int64(s.discards[i] % SEAT_UNIT)
        r = relative(s, seat, np.int64(s.discards[i] // SEAT_UNIT))
        shift = np.uint64(k)
        earlier = np.int64(((odd >> shift) & ONE) + 2 * ((two >> shift) & ONE))
        two ^= odd & ONE << shift
        odd ^= ONE << shift
        out[_DISCARDED + r * NUM_KINDS + k] += 1
        at = k + earlier * NUM_KINDS
        out[_ORDER + at] = i + 1
        out[_SEAT_OF + at] = 1 + r
        out[_FATE + at] = s.fates[i]


@njit
def _write_melds(s, seat, out):
    q = seat
    for r in range(s.num_players):
        for i in range(s.melds[q]):
            what, kind = np.int64(s.meld_what[q, i]), np.int64(s.meld_kind[q, i])
            out[_CHI + what * _MELD_STRIDE + r * NUM_KINDS + kind] += 1
        q = seat_after(s, q)


@njit
def write_counts(s, seat, out):
    """Fill `out`, `(COUNTS_SIZE,) uint8` or float32, with the compact form of what `seat` may know."""
    for i in range(COUNTS_SIZE):
        out[i] = 0
    for k in range(NUM_KINDS):
        out[_N_HAND + k] = count(s.held[seat], k)
    if s.caishen != NOTHING:
        out[_N_CAISHEN + np.int64(s.caishen)] = 1
        _write_set(out, _N_LONE, lone_winds(s, seat))
    _write_set(out, _N_SHOWN, s.shown)
    _write_set(out, _N_BARRED, s.barred[seat])
    for i in range(s.num_discards):
        k = np.int64(s.discards[i] % SEAT_UNIT)
        r = relative(s, seat, np.int64(s.discards[i] // SEAT_UNIT))
        out[_N_LYING + r * NUM_KINDS + k] += s.fates[i] == LYING
    q = seat
    for r in range(s.num_players):
        _count_melds(s, q, out, _N_MELDED + r * NUM_KINDS)
        q = seat_after(s, q)
    _write_question(s, seat, out, _N_QUESTION, _N_DRAWN)
    _write_facts(s, seat, out, _N_TABLE, _N_SEAT)
    for k in range(NUM_KINDS):
        seen = out[_N_HAND + k] + out[_N_CAISHEN + k]
        for r in range(MAX_SEATS):
            seen += out[_N_MELDED + r * NUM_KINDS + k] + out[_N_LYING + r * NUM_KINDS + k]
        out[_N_UNSEEN + k] = COPIES - seen


@njit
def _count_melds(s, q, out, first):
    """The tiles of seat q's melds."""
    for i in range(s.melds[q]):
        what, kind = s.meld_what[q, i], np.int64(s.meld_kind[q, i])
        if what == CHI:
            for k in range(kind, kind + 3):
                out[first + (WHITE if k == s.caishen else k)] += 1  # a white stands for the face (R3.4)
        else:
            out[first + kind] += 3 if what == PENG else COPIES


@njit
def write_state(s, out):
    """Fill `out`, `(STATE_SIZE,) uint8`: the observation of the seat to act, seat 0 when over, and all that others
    hide, but not the order of the wall."""
    seat = np.int64(max(s.player, 0))
    write_observation(s, seat, out)
    for i in range(OBSERVATION_SIZE, STATE_SIZE):
        out[i] = 0
    q = seat
    for r in range(s.num_players):
        out[_ANSWERS + r] = 0 if s.answers[q] == PASS and not _has_answered(s, q) else 1 + s.answers[q]
        if r > 0:
            for k in range(NUM_KINDS):
                out[_OTHER_HAND + (r - 1) * NUM_KINDS + k] = count(s.held[q], k)
            _write_set(out, _OTHER_BARRED + (r - 1) * NUM_KINDS, s.barred[q])
        q = seat_after(s, q)


@njit
def _has_answered(s, q):
    """Whether seat q was asked about the tile in question before the seat to act."""
    return s.source != NOTHING and s.phase != OVER and s.claims[q] != 0 and (
        relative(s, s.source, q) < relative(s, s.source, s.player)
    )  # fmt: skip


@njit
def write_mask(s, seat, out):
    """Fill `out`, `(NUM_ACTIONS,) int8`: ones for the legal actions of the seat to act, zeros for any other seat."""
    if s.player == seat and seat != NOTHING:
        write_legal(s, out)
    else:
        for a in range(NUM_ACTIONS):
            out[a] = 0


@njit
def write_legal(s, out):
    """`write_mask` for the seat to act; zeros when the hand is over."""
    low, high = s.legal[0], s.legal[1]
    spread(low, out, 0)
    spread(low >> np.uint64(SPREAD), out, SPREAD)
    for a in range(2 * SPREAD, NUM_ACTIONS):
        out[a] = (high >> np.uint64(a - 2 * SPREAD)) & ONE


def layout_table(planes: tuple[tuple[str, int, str], ...]) -> str:
    """A layout as Markdown."""
    lines = ["| planes | name | value at kind k |", "|---|---|---|"]
    first = 0
    for name, size, text in planes:
        where = str(first) if size == 1 else f"{first}–{first + size - 1}"
        lines.append(f"| {where} | `{name}` | {text} |")
        first += size
    return "\n".join(lines)


def columns_table(title: str, columns: tuple[tuple[str, str], ...]) -> str:
    """The columns of a plane that is not by kind, as Markdown."""
    lines = [f"| column of `{title}` | name | value |", "|---|---|---|"]
    lines += [f"| {column} | `{name}` | {text} |" for column, (name, text) in enumerate(columns)]
    return "\n".join(lines)
