"""The slow twin: the whole game again, written from the rulebook for plain reading.

Nothing here comes from the package, and nothing is fast on purpose. A hand is a sorted tuple of tiles that
is taken apart by recursion; `brute_force` answers the same questions a second time by literally writing a
real kind in place of every caishen. Tests hold the engine against both. Rule numbers (R5.3) are the
rulebook's.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations_with_replacement

KINDS = 34
WHITE = 31
FIRST_HONOUR = 27
CHI_LOW, CHI_MID, CHI_HIGH, PENG, GANG, HU, PASS, RAISE = range(68, 76)
OWN_GANG = 34

RULE_DEFAULTS = {  # §12
    "num_players": 4,
    "unit": 1,
    "dealer_ladder": (1, 2, 3, 4),
    "non_dealer_base": 1,
    "stakes": True,
    "wind_first": True,
    "white_is_wind": True,
    "passed_peng": True,
    "white_home_face": False,
    "dead_wall": 16,
    "caishen_bonus": 1,
    "caishen_bonus_double": 2,
    "caishen_bonus_on_draw": True,
}


# ------------------------------------------------------------------------------------------------------------
# Hands
# ------------------------------------------------------------------------------------------------------------


def is_run(low: int) -> bool:
    """Whether low, low+1, low+2 lie in one suit."""
    return 0 <= low < FIRST_HONOUR and low % 9 <= 6


def without(tiles: tuple, *taken) -> tuple:
    """The tiles less those taken; a taken tile that is not there raises ValueError."""
    rest = list(tiles)
    for tile in taken:
        rest.remove(tile)
    return tuple(rest)


def readings(counts, caishen: int) -> list[tuple]:
    """R3.4: the natural tiles (all but the caishen), sorted, once for each number of whites read as the
    face.
    """
    natural = [k for k in range(KINDS) if k != caishen for _ in range(counts[k])]
    whites = 0 if caishen == WHITE else counts[WHITE]
    others = [k for k in natural if k != WHITE] if caishen != WHITE else natural
    return [
        tuple(sorted(others + [WHITE] * (whites - faces) + [caishen] * faces)) for faces in range(whites + 1)
    ]


@lru_cache(maxsize=400_000)
def makes(tiles: tuple, wilds: int, sets: int, pair: bool, runs: bool = True) -> bool:
    """Whether the sorted tiles and that many wilds fall exactly into so many sets, and a pair if one is
    due.

    The lowest tile must go somewhere: into the pair, three alike, or a run in which it is the lowest *real*
    tile. A real tile that is there is taken before a wild: where another solution used it elsewhere, the
    two can be swapped.
    """
    if len(tiles) + wilds != 3 * sets + 2 * pair:
        return False
    if not tiles:
        return True
    lowest = tiles[0]
    if pair:
        for real in (1, 2):
            if (
                tiles[:real] == (lowest,) * real
                and 2 - real <= wilds
                and makes(tiles[real:], wilds - (2 - real), sets, False, runs)
            ):
                return True
    if sets:
        for real in (1, 2, 3):
            if (
                tiles[:real] == (lowest,) * real
                and 3 - real <= wilds
                and makes(tiles[real:], wilds - (3 - real), sets - 1, pair, runs)
            ):
                return True
        if runs:
            for low in (lowest - 2, lowest - 1, lowest):
                if is_run(low) and low // 9 == lowest // 9:
                    real = [k for k in (low, low + 1, low + 2) if k in tiles]
                    if 3 - len(real) <= wilds and makes(
                        without(tiles, *real), wilds - (3 - len(real)), sets - 1, pair, runs
                    ):
                        return True
    return False


@lru_cache(maxsize=100_000)
def all_paired(tiles: tuple, wilds: int) -> bool:
    """Whether everything falls into pairs, a wild pairing any tile or another wild."""
    if not tiles:
        return wilds % 2 == 0
    if len(tiles) > 1 and tiles[1] == tiles[0] and all_paired(tiles[2:], wilds):
        return True
    return wilds > 0 and all_paired(tiles[1:], wilds - 1)


def is_standard(counts, caishen: int, n_melds: int) -> bool:  # R6.1
    return any(makes(tiles, counts[caishen], 5 - n_melds, True) for tiles in readings(counts, caishen))


def is_all_triplets(counts, caishen: int, n_melds: int) -> bool:  # R7.7, declared melds aside
    return any(makes(tiles, counts[caishen], 5 - n_melds, True, False) for tiles in readings(counts, caishen))


def eight_pairs_with_wild_single(counts, caishen: int) -> bool:  # R6.2, B being a caishen
    return counts[caishen] > 0 and any(
        all_paired(tiles, counts[caishen] - 1) for tiles in readings(counts, caishen)
    )


def eight_pairs_with_real_single(counts, caishen: int) -> bool:  # R6.2, B being another tile
    return any(
        all_paired(without(tiles, single), counts[caishen])
        for tiles in readings(counts, caishen)
        for single in sorted(set(tiles))
    )


def is_eight_pairs(counts, caishen: int, n_melds: int) -> bool:  # R6.2
    return (
        n_melds == 0
        and sum(counts) == 17
        and (eight_pairs_with_wild_single(counts, caishen) or eight_pairs_with_real_single(counts, caishen))
    )


def is_complete(counts, n_melds: int, caishen: int) -> bool:
    """R6.4: whether 17 - 3m concealed tiles are a win in shape (copies are not limited to what exists)."""
    if sum(counts) != 17 - 3 * n_melds:
        return False
    return (
        counts[caishen] >= 3
        or is_standard(counts, caishen, n_melds)
        or is_eight_pairs(counts, caishen, n_melds)
    )


def in_caishen_ma(counts, caishen: int, n_melds: int) -> bool:
    """R5.7, asked of the 16 - 3m concealed tiles before the winning tile."""
    if counts[caishen] == 0 or sum(counts) != 16 - 3 * n_melds:
        return False
    return any(makes(tiles, counts[caishen] - 1, 5 - n_melds, False) for tiles in readings(counts, caishen))


def waits(counts, n_melds: int, caishen: int) -> set[int]:
    """The kinds that complete 16 - 3m concealed tiles, whether or not a copy is left (formal waits)."""
    found = set()
    for kind in range(KINDS):
        full = list(counts)
        full[kind] += 1
        if is_complete(full, n_melds, caishen):
            found.add(kind)
    return found


def live_waits(counts, n_melds: int, caishen: int, visible) -> set[int]:
    """Waits with a copy unseen. `visible`: 34 counts of tiles seen outside the concealed hand, the
    turned-up one too.
    """
    return {k for k in waits(counts, n_melds, caishen) if counts[k] + visible[k] < 4}


@lru_cache(maxsize=400_000)
def most_kept(tiles: tuple, sets: int, pair: bool) -> int:
    """The most of these real tiles that can lie together in so many sets and a pair, the other places being
    empty.
    """
    if not tiles or (not sets and not pair):
        return 0
    lowest = tiles[0]
    best = most_kept(tiles[1:], sets, pair)  # the lowest tile is not kept
    alike = tiles.count(lowest)
    if pair:
        real = min(alike, 2)
        best = max(best, real + most_kept(tiles[real:], sets, False))
    if sets:
        for real in range(1, min(alike, 3) + 1):
            best = max(best, real + most_kept(tiles[real:], sets - 1, pair))
        for low in (lowest - 2, lowest - 1, lowest):
            if is_run(low) and low // 9 == lowest // 9:
                run = [k for k in (low, low + 1, low + 2) if k in tiles]
                best = max(best, len(run) + most_kept(without(tiles, *run), sets - 1, pair))
    return best


@lru_cache(maxsize=100_000)
def most_kept_in_pairs(tiles: tuple, pairs: int, single: bool) -> int:
    """The same for eight pairs and a single."""
    if not tiles or (not pairs and not single):
        return 0
    best = most_kept_in_pairs(tiles[1:], pairs, single)
    if pairs:
        real = 2 if tiles[:2] == (tiles[0],) * 2 else 1
        best = max(best, real + most_kept_in_pairs(tiles[real:], pairs - 1, single))
    if single:
        best = max(best, 1 + most_kept_in_pairs(tiles[1:], pairs, False))
    return best


def distance(counts, n_melds: int, caishen: int) -> int:
    """The fewest tiles, of any kinds, that must be drawn to hold a complete hand (others may be thrown
    away).

    0: complete; 1: ready. Formal: copies are not limited to what exists. Works for any number of tiles up
    to 17 - 3m; a hand that is short of tiles counts the missing ones.
    """
    size = 17 - 3 * n_melds
    wilds = counts[caishen]
    kept = max(most_kept(tiles, 5 - n_melds, True) for tiles in readings(counts, caishen))
    short = [size - min(size, kept + wilds)]
    if n_melds == 0:
        kept = max(most_kept_in_pairs(tiles, 8, True) for tiles in readings(counts, caishen))
        short.append(size - min(size, kept + wilds))
    if size >= 3:  # R6.3
        short.append(max(3 - wilds, size - sum(counts), 0))
    return min(short)


def improving(counts, n_melds: int, caishen: int) -> set[int]:
    """The kinds that lower the distance when added to the hand."""
    now = distance(counts, n_melds, caishen)
    found = set()
    for kind in range(KINDS):
        more = list(counts)
        more[kind] += 1
        if distance(more, n_melds, caishen) < now:
            found.add(kind)
    return found


# ------------------------------------------------------------------------------------------------------------
# Value
# ------------------------------------------------------------------------------------------------------------


def meld_tiles(what: str, kind: int, caishen: int) -> list[int]:
    """The real tiles of a meld; in a chi the face's place is filled by a white (R3.4)."""
    if what == "chi":
        return [WHITE if k == caishen else k for k in (kind, kind + 1, kind + 2)]
    return [kind] * (3 if what == "peng" else 4)


def check_input(concealed, melds, caishen, self_draw, rob) -> None:
    """ValueError for a hand that cannot be."""
    if not 0 <= caishen < KINDS:
        raise ValueError("unknown caishen kind")
    if len(concealed) != KINDS or any(n < 0 for n in concealed):
        raise ValueError("concealed tiles are 34 counts")
    if self_draw and rob:
        raise ValueError("an own draw robs nobody")
    if len(melds) > 5 or sum(concealed) != 17 - 3 * len(melds):
        raise ValueError("wrong number of tiles")
    seen = Counter({k: n for k, n in enumerate(concealed) if n})
    for what, kind in melds:
        if what not in ("chi", "peng", "gang", "added", "concealed"):
            raise ValueError("unknown meld")
        if not 0 <= kind < KINDS:
            raise ValueError("unknown kind")
        if what == "chi" and not is_run(kind):
            raise ValueError("no such run")
        if what != "chi" and kind == caishen:
            raise ValueError("a meld of caishen")
        seen.update(meld_tiles(what, kind, caishen))
    if any(n > 4 for n in seen.values()) or concealed[caishen] > 3:
        raise ValueError("more tiles of a kind than there are")


def evaluate(
    concealed,
    melds,
    caishen,
    *,
    self_draw,
    rob=False,
    heavenly=False,
    earthly=False,
    caishen_ma=False,
    white_home_face=False,
):
    """(value, sorted pattern names) of a hand with its winning tile, or None when it is no win; by
    recursion.
    """
    check_input(concealed, melds, caishen, self_draw, rob)
    n_melds = len(melds)
    in_hand = concealed[caishen]
    standard = is_standard(concealed, caishen, n_melds)
    eight_pairs = is_eight_pairs(concealed, caishen, n_melds)
    if not (standard or eight_pairs or in_hand >= 3):  # R6.4
        return None

    double = []
    if heavenly:  # R7.1
        double.append("HEAVENLY")
    if earthly:  # R7.2
        double.append("EARTHLY")
    if n_melds == 5 and not caishen_ma:  # R7.3, R7.16
        double.append("SINGLE_WAIT")
    if eight_pairs and (in_hand != 1 or eight_pairs_with_wild_single(concealed, caishen)):  # R7.5
        double.append("HARD_EIGHT_PAIRS")
    if in_hand >= 3 and (standard or eight_pairs):  # R7.6
        double.append("THREE_CAISHEN_COMPLETE")
    if all(what != "chi" for what, _ in melds) and is_all_triplets(concealed, caishen, n_melds):  # R7.7
        double.append("ALL_TRIPLETS")
    if double:
        return 4, sorted(double)

    hard = []
    if self_draw:  # R7.8
        hard.append("SELF_DRAW")
    if standard and in_hand == 0:  # R7.9
        hard.append("NO_CAISHEN")
    if in_hand > 0:  # R7.10
        own_kind = [tuple(sorted(tiles + (caishen,) * in_hand)) for tiles in readings(concealed, caishen)]
        if any(
            makes(tiles, 0, 5 - n_melds, True) for tiles in (own_kind if white_home_face else own_kind[:1])
        ):
            hard.append("CAISHEN_HOME")
    if rob:  # R7.11
        hard.append("ROB_GANG")
    if eight_pairs and in_hand == 1 and eight_pairs_with_real_single(concealed, caishen):  # R7.12
        hard.append("SOFT_EIGHT_PAIRS")
    if in_hand >= 3 and not standard and not eight_pairs:  # R7.13
        hard.append("THREE_CAISHEN")
    if hard:
        return 2, sorted(hard)
    return 1, ["SOFT"]  # R7.14


def plain_standard(counts) -> bool:
    """One pair and sets, no wilds. From the lowest kind up; three equal runs are three triplets, so runs go
    modulo 3.
    """
    suits = [sum(counts[low : low + 9]) % 3 for low in (0, 9, 18)] + [counts[k] % 3 for k in range(27, 34)]
    if sorted(suits) != [0] * 9 + [2]:  # the pair's suit or honour
        return False
    for pair in range(KINDS):
        if counts[pair] < 2:
            continue
        left = list(counts)
        left[pair] -= 2
        for k in range(KINDS):
            runs = left[k] % 3
            if runs:
                if not is_run(k) or left[k + 1] < runs or left[k + 2] < runs:
                    break
                left[k + 1] -= runs
                left[k + 2] -= runs
        else:
            return True
    return False


def brute_force(
    concealed,
    melds,
    caishen,
    *,
    self_draw,
    rob=False,
    heavenly=False,
    earthly=False,
    caishen_ma=False,
    white_home_face=False,
):
    """The same as `evaluate`, by writing every kind for every caishen and white or the face for every
    white.
    """
    check_input(concealed, melds, caishen, self_draw, rob)
    g = concealed[caishen]
    whites = 0 if caishen == WHITE else concealed[WHITE]
    no_chi = not any(what == "chi" for what, _ in melds)
    facts = set()
    for substitutes in combinations_with_replacement(range(KINDS), g):
        for faces in range(whites + 1):
            plain = list(concealed)
            plain[caishen] -= g
            for kind in substitutes:
                plain[kind] += 1
            if faces:
                plain[WHITE] -= faces
                plain[caishen] += faces
            if plain_standard(plain):
                facts.add("standard")
                if all(kind == caishen for kind in substitutes) and (faces == 0 or white_home_face):
                    facts.add("home")
            if no_chi and sorted(n % 3 for n in plain) == [0] * 33 + [2]:
                facts.add("triplets")
            if not melds:
                odd = [k for k in range(KINDS) if plain[k] % 2]
                if len(odd) == 1:
                    facts.add("eight")
                    if odd[0] in substitutes:
                        facts.add("caishen is the single")
                    if plain[odd[0]] > substitutes.count(odd[0]):
                        facts.add("caishen all pair")
    complete = facts & {"standard", "eight"}
    if not complete and g < 3:
        return None
    hard_pairs = "eight" in facts and (g == 0 or g >= 2 or "caishen is the single" in facts)
    soft_pairs = "eight" in facts and g == 1 and "caishen all pair" in facts
    tiers = {
        4: {
            "HEAVENLY": heavenly,
            "EARTHLY": earthly,
            "SINGLE_WAIT": len(melds) == 5 and not caishen_ma,
            "HARD_EIGHT_PAIRS": hard_pairs,
            "THREE_CAISHEN_COMPLETE": g == 3 and complete,
            "ALL_TRIPLETS": "triplets" in facts,
        },
        2: {
            "SELF_DRAW": self_draw,
            "NO_CAISHEN": g == 0 and "standard" in facts,
            "ROB_GANG": rob,
            "CAISHEN_HOME": g > 0 and "home" in facts,
            "SOFT_EIGHT_PAIRS": soft_pairs,
            "THREE_CAISHEN": g == 3 and not complete,
        },
        1: {"SOFT": True},
    }
    for value, patterns in tiers.items():
        names = sorted(name for name, applies in patterns.items() if applies)
        if names:
            return value, names
    raise AssertionError("the last tier always applies")


@lru_cache(maxsize=200_000)
def _value(
    counts: tuple, melds: tuple, caishen: int, self_draw, rob, heavenly, earthly, caishen_ma, white_home_face
):
    return evaluate(
        counts,
        melds,
        caishen,
        self_draw=self_draw,
        rob=rob,
        heavenly=heavenly,
        earthly=earthly,
        caishen_ma=caishen_ma,
        white_home_face=white_home_face,
    )


# ------------------------------------------------------------------------------------------------------------
# The game
# ------------------------------------------------------------------------------------------------------------


def to_counts(tiles: Counter) -> tuple:
    return tuple(tiles[k] for k in range(KINDS))


def chi_ways(hand: Counter, claimed: int, caishen: int) -> dict[int, tuple[int, list[int]]]:
    """{chi action: (lowest kind of the run, the two tiles taken from the hand)}; R3.2, R3.4, R5.2."""
    if claimed == caishen:
        return {}
    stands_for = caishen if claimed == WHITE else claimed
    ways = {}
    for action, low in ((CHI_LOW, stands_for), (CHI_MID, stands_for - 1), (CHI_HIGH, stands_for - 2)):
        if is_run(low):
            places = [k for k in (low, low + 1, low + 2) if k != stands_for]
            taken = [WHITE if k == caishen else k for k in places]
            if all(hand[k] for k in taken):
                ways[action] = low, taken
    return ways


class NaiveGame:
    """One hand from the stakes to the settlement.

    Primary data: the wall, `events` (what happened, in order), the concealed hands and the melds.
    Everything else, the legal actions with it, is worked out anew when asked.

    phase: "stakes", "turn" (after a draw, R4.1), "discard" (after chi or peng, R4.2), "claims" (on a
    discard), "rob" (on an added gang), "over".
    """

    def __init__(self, rules=None, wall=None, dealer=0, ladder=0, bought=False, topped=()):
        unknown = set(rules or {}) - set(RULE_DEFAULTS)
        if unknown:
            raise ValueError(f"unknown rules: {sorted(unknown)}")
        self.rules = {**RULE_DEFAULTS, **(rules or {})}
        self.n = n = self.rules["num_players"]
        self.wall = [int(k) for k in wall]
        if sorted(self.wall) != sorted(list(range(KINDS)) * 4):
            raise ValueError("a wall is 136 kinds, four of each")
        if dealer not in range(n):
            raise ValueError("no such dealer")
        if ladder not in range(len(self.rules["dealer_ladder"])):
            raise ValueError("no such step of the ladder")
        self.topped = [bool(t) for t in topped] or [False] * n
        if len(self.topped) != n:
            raise ValueError("topped holds one flag a seat")
        self.dealer, self.ladder, self.bought = dealer, ladder, bool(bought)
        if not self.rules["stakes"] and (self.bought or any(self.topped)):  # R8.6
            raise ValueError("stakes are off")

        self.caishen = self.wall[135]  # R2.2
        self.hands = [Counter() for _ in range(n)]
        for i, seat in enumerate(self.seats_after(dealer - 1)):  # R2.3
            self.hands[seat].update(self.wall[16 * i : 16 * i + 16])
        self.hands[dealer][self.wall[16 * n]] += 1
        self.melds = [[] for _ in range(n)]  # (what, lowest kind)
        self.discards = []  # [seat, kind, taken_by or None]
        self.events = []  # (what, seat, kind or None)
        self.turn = dealer
        self.phase = "stakes"
        self.gang_tile = None  # the tile of an added gang that may be robbed
        self.questions = {}  # seat: its answers, in the order of asking
        self.answers = {}
        self.result = None
        self.coverage = Counter()
        if not self.stakes_to_ask():
            self.phase = "turn"
            self.note_turn()

    # -- who may do what -------------------------------------------------------------------------------------

    def seats_after(self, seat: int) -> list[int]:
        """All seats, counter-clockwise, ending with this one (R2.1)."""
        return [(seat + i) % self.n for i in range(1, self.n + 1)]

    @property
    def done(self) -> bool:
        return self.phase == "over"

    @property
    def current_player(self) -> int:
        if self.phase == "over":
            return -1
        if self.phase == "stakes":
            return self.stakes_to_ask()[0]
        if self.phase in ("claims", "rob"):
            return next(seat for seat in self.questions if seat not in self.answers)
        return self.turn

    def legal(self) -> list[int]:
        return [] if self.done else self.legal_of(self.current_player)

    def legal_of(self, seat: int) -> list[int]:
        if self.done or seat != self.current_player:
            return []
        if self.phase == "stakes":
            return [PASS, RAISE]
        if self.phase == "discard":  # R4.2
            return self.legal_discards(seat)
        if self.phase == "turn":  # R4.1
            gangs = sorted(OWN_GANG + kind for kind in self.own_gangs(seat))
            hu = [HU] if self.own_draw_value(seat) else []
            return self.legal_discards(seat) + gangs + hu
        answers = self.rob_answers(seat) if self.phase == "rob" else self.claim_answers(seat)
        assert answers == self.questions[seat]
        return [*answers, PASS]

    def stakes_to_ask(self) -> list[int]:
        """R8.3, R8.4, R8.6: the seats still to be asked in this hand, the dealer first."""
        if not self.rules["stakes"]:
            return []
        asked = {seat for what, seat, _ in self.events if what == "stake"}
        order = self.seats_after(self.dealer - 1)
        return [
            seat
            for seat in order
            if seat not in asked and not (self.bought if seat == self.dealer else self.topped[seat])
        ]

    # -- facts, worked out from the primary data -------------------------------------------------------------

    @property
    def draws(self) -> list[int]:
        """Draws of every seat, ordinary and replacement; the deal is none."""
        drawn = Counter(seat for what, seat, _ in self.events if what in ("draw", "replace"))
        return [drawn[seat] for seat in range(self.n)]

    @property
    def remaining(self) -> int:
        """R2.4"""
        return 136 - 16 * self.n - 1 - sum(self.draws)

    @property
    def wall_is_short(self) -> bool:
        """R4.3, R4.4: too short for a gang or a draw."""
        return self.remaining <= self.rules["dead_wall"]

    @property
    def drawn_tile(self):
        """The tile last drawn, by the seat in turn; None when it has not drawn since its last discard."""
        for what, seat, kind in reversed(self.events):
            if what in ("draw", "replace"):
                return kind if seat == self.turn else None
            if what == "discard":
                return None
        return self.wall[16 * self.n]

    @property
    def winds(self) -> set[int]:
        """R1.2"""
        winds = set(range(FIRST_HONOUR, KINDS))
        if not self.rules["white_is_wind"] and self.caishen < FIRST_HONOUR:
            winds.discard(WHITE)
        return winds

    @property
    def shown_winds(self) -> set[int]:
        """R5.1"""
        return {kind for _, kind, _ in self.discards} & self.winds

    def lone_winds(self, seat: int) -> set[int]:
        """R5.1"""
        return {kind for kind in self.winds if kind != self.caishen and self.hands[seat][kind] == 1}

    def barred(self, seat: int) -> set[int]:
        """R5.5: the kinds this seat may not peng now."""
        kinds = set()
        for what, who, kind in self.events:
            if who == seat and what == "declined peng":
                kinds.add(kind)
            if who == seat and what in ("draw", "replace"):
                kinds.clear()
        return kinds if self.rules["passed_peng"] else set()

    def in_caishen_ma(self, seat: int) -> bool:
        """R5.7: before the tile this seat may win with; on its own turn, before the tile it has drawn."""
        before = self.hands[seat].copy()
        if self.phase == "turn" and seat == self.turn:
            before[self.drawn_tile] -= 1
        return in_caishen_ma(to_counts(before), self.caishen, len(self.melds[seat]))

    def is_quanqiushen(self) -> bool:
        """R5.8, asked after a discard of the seat in turn."""
        return (
            self.phase == "claims"
            and len(self.melds[self.turn]) == 5
            and self.hands[self.turn][self.caishen] == 1
        )

    # -- questions -------------------------------------------------------------------------------------------

    def legal_discards(self, seat: int) -> list[int]:
        hand = +self.hands[seat]
        if hand == Counter({self.caishen: 2}):  # R3.3
            return [self.caishen]
        if self.rules["wind_first"]:  # R5.1
            lone = self.lone_winds(seat)
            if lone:
                return sorted(lone & self.shown_winds or lone)
        return sorted(kind for kind in hand if kind != self.caishen)  # R3.2

    def own_gangs(self, seat: int) -> dict[int, str]:
        """R4.3: {kind: "concealed" or "added"}"""
        return {} if self.wall_is_short else self.own_gangs_in_hand(seat)

    def own_gangs_in_hand(self, seat: int) -> dict[int, str]:
        gangs = {}
        for kind in range(KINDS):
            if kind == self.caishen:
                continue
            if self.hands[seat][kind] == 4:
                gangs[kind] = "concealed"
            elif self.hands[seat][kind] == 1 and ("peng", kind) in self.melds[seat]:
                gangs[kind] = "added"
        return gangs

    def value(self, seat: int, tiles: Counter, *, self_draw: bool, rob: bool = False):
        """(value, patterns) of a win with these tiles, circumstances included, or None."""
        first_turn = not any(what != "stake" for what, _, _ in self.events)
        drawn = self.draws[seat]
        return _value(
            to_counts(tiles),
            tuple(self.melds[seat]),
            self.caishen,
            self_draw,
            rob,
            seat == self.dealer and self_draw and first_turn,  # R7.1
            seat != self.dealer and drawn == (1 if self_draw else 0),  # R7.2
            self_draw and self.in_caishen_ma(seat),  # R7.16
            self.rules["white_home_face"],
        )

    def own_draw_value(self, seat: int):
        return self.value(seat, self.hands[seat], self_draw=True)

    def value_with(self, seat: int, kind: int, rob: bool = False):
        """The value of winning on another's tile, caishen ma not yet considered."""
        return self.value(seat, self.hands[seat] + Counter({kind: 1}), self_draw=False, rob=rob)

    def claim_answers(self, seat: int) -> list[int]:
        """R5.2: what this seat may answer to the last discard, pass aside."""
        discarder, kind, _ = self.discards[-1]
        hand = self.hands[seat]
        answers = []
        if not self.is_quanqiushen() and kind != self.caishen:  # R5.8, R3.2
            if seat == (discarder + 1) % self.n:
                answers += chi_ways(hand, kind, self.caishen)
            if hand[kind] >= 2 and kind not in self.barred(seat):
                answers.append(PENG)
            if hand[kind] == 3 and not self.wall_is_short:
                answers.append(GANG)
        return answers + self.hu_answer(seat, kind)

    def rob_answers(self, seat: int) -> list[int]:
        """R5.6"""
        return self.hu_answer(seat, self.gang_tile, rob=True)

    def hu_answer(self, seat: int, kind: int, rob: bool = False) -> list[int]:
        return [HU] if self.value_with(seat, kind, rob) and not self.in_caishen_ma(seat) else []  # R5.7

    # -- what happens ----------------------------------------------------------------------------------------

    def step(self, action) -> None:
        """Does the action of the current player; ValueError, and nothing changed, when it is not legal."""
        if isinstance(action, bool) or not isinstance(action, int) or action not in self.legal():
            raise ValueError(f"illegal action {action!r}")
        seat = self.current_player
        if self.phase == "stakes":
            self.decide_stake(seat, action)
        elif self.phase in ("turn", "discard"):
            self.play(seat, action)
        else:
            self.answer(seat, action)

    def decide_stake(self, seat: int, action: int) -> None:
        self.events.append(("stake", seat, action))
        what = "buy" if seat == self.dealer else "top"
        self.cover(f"{what}_{'raise' if action == RAISE else 'pass'}")
        if action == RAISE and seat == self.dealer:
            self.bought = True
        elif action == RAISE:
            self.topped[seat] = True
        if not self.stakes_to_ask():
            self.phase = "turn"
            self.note_turn()

    def play(self, seat: int, action: int) -> None:
        if action == HU:
            value, patterns = self.own_draw_value(seat)
            if self.in_caishen_ma(seat):
                self.cover("ma_draw")
                if len(self.melds[seat]) == 5:
                    self.cover("ma_win_with_five_melds")
            self.win(seat, None, value, patterns)
        elif action >= OWN_GANG:
            kind = action - OWN_GANG
            what = self.own_gangs(seat)[kind]
            if what == "concealed":
                self.cover("gang_concealed")
                self.hands[seat][kind] -= 4
                self.melds[seat].append(("concealed", kind))
                self.events.append(("gang", seat, kind))
                self.replacement_draw(seat)
            else:
                self.hands[seat][kind] -= 1
                self.gang_tile = kind
                self.events.append(("adds", seat, kind))
                self.phase = "rob"
                self.ask(self.rob_answers)
        else:
            self.discard(seat, action)

    def discard(self, seat: int, kind: int) -> None:
        self.note_discard(seat, kind)
        self.hands[seat][kind] -= 1
        self.discards.append([seat, kind, None])
        self.events.append(("discard", seat, kind))
        self.phase = "claims"
        self.note_claims(seat, kind)
        self.ask(self.claim_answers)

    def ask(self, answers_of) -> None:
        """R5.4: everyone with an answer besides pass is asked, from the next seat round."""
        others = self.seats_after(self.turn)[:-1]
        self.answers = {}
        self.questions = {seat: answers_of(seat) for seat in others if answers_of(seat)}
        if not self.questions:
            self.settle_claims()

    def answer(self, seat: int, action: int) -> None:
        kind = self.gang_tile if self.phase == "rob" else self.discards[-1][1]
        self.answers[seat] = action
        if PENG in self.questions[seat] and (action == PASS or action in (CHI_LOW, CHI_MID, CHI_HIGH)):
            self.events.append(("declined peng", seat, kind))  # R5.5
        if len(self.answers) == len(self.questions):
            self.settle_claims()

    def settle_claims(self) -> None:
        """R5.3, R5.6, R5.8: all have answered; the best claim is carried out."""
        rob = self.phase == "rob"
        kind = self.gang_tile if rob else self.discards[-1][1]
        self.note_answers(kind, rob)
        hus = [seat for seat in self.answers if self.answers[seat] == HU]  # nearest first
        doubles = [seat for seat in hus if self.value_with(seat, kind, rob)[0] == 4]
        claims = {action: seat for seat, action in self.answers.items() if action not in (HU, PASS)}
        if hus:
            winner = (doubles or hus)[0]
            value, patterns = self.value_with(winner, kind, rob)
            self.hands[winner][kind] += 1
            if not rob:
                self.discards[-1][2] = winner
            self.win(winner, self.turn, value, patterns)
        elif rob:
            self.cover("gang_not_robbed_though_asked" if self.questions else "gang_added")
            i = self.melds[self.turn].index(("peng", kind))
            self.melds[self.turn][i] = ("added", kind)
            self.events.append(("gang", self.turn, kind))
            self.gang_tile = None
            self.replacement_draw(self.turn)
        elif self.is_quanqiushen():
            self.win(self.turn, None, 4, ["QUANQIUSHEN"])  # R7.4
        elif GANG in claims:
            self.take(claims[GANG], kind, "gang", kind, [kind] * 3)
            self.events.append(("gang", self.turn, kind))
            self.cover("gang_claimed")
            self.replacement_draw(self.turn)
        elif PENG in claims:
            self.take(claims[PENG], kind, "peng", kind, [kind] * 2)
            self.cover("peng")
            self.phase = "discard"
        elif claims:
            ((action, seat),) = claims.items()
            low, taken = chi_ways(self.hands[seat], kind, self.caishen)[action]
            self.cover({CHI_LOW: "chi_low", CHI_MID: "chi_mid", CHI_HIGH: "chi_high"}[action])
            if kind == WHITE:
                self.cover("white_claimed_by_chi")
            if WHITE in taken:
                self.cover("white_used_in_chi")
            self.take(seat, kind, "chi", low, taken)
            self.phase = "discard"
        else:
            self.turn = (self.turn + 1) % self.n
            self.ordinary_draw(self.turn)

    def take(self, seat: int, kind: int, what: str, low: int, from_hand: list[int]) -> None:
        """Makes a meld of the last discard; the turn passes to its owner."""
        self.hands[seat].subtract(from_hand)
        self.melds[seat].append((what, low))
        self.discards[-1][2] = seat
        self.events.append((what + " claimed", seat, kind))
        self.turn = seat

    def ordinary_draw(self, seat: int) -> None:
        if self.wall_is_short:  # R4.4
            self.drawn_hand()
            return
        self.draw(seat, "draw", self.wall[16 * self.n + 1 + self.times("draw")])  # R2.3

    def replacement_draw(self, seat: int) -> None:
        self.draw(seat, "replace", self.wall[134 - self.times("replace")])  # R2.3

    def times(self, what: str) -> int:
        return sum(event[0] == what for event in self.events)

    def draw(self, seat: int, how: str, kind: int) -> None:
        self.hands[seat][kind] += 1
        self.events.append((how, seat, kind))
        self.turn = seat
        self.phase = "turn"
        self.note_turn()

    # -- settlement ------------------------------------------------------------------------------------------

    def base(self, a: int, b: int) -> int:
        """R8.2, R8.5: the base between two seats."""
        if self.dealer not in (a, b):
            return self.rules["non_dealer_base"]
        other = b if a == self.dealer else a
        base = self.rules["dealer_ladder"][self.ladder]
        return base * (2 if self.bought else 1) * (2 if self.topped[other] else 1)

    def win(self, winner: int, loser, value: int, patterns: list[str]) -> None:
        for name in patterns:
            self.cover(name)
        self.finish(winner, loser, value, patterns)

    def drawn_hand(self) -> None:
        self.finish(None, None, 0, [])

    def finish(self, winner, loser, value: int, patterns: list[str]) -> None:
        unit = self.rules["unit"]
        payments = [0] * self.n
        everyone = range(self.n)
        if winner is not None:  # R9.1
            for seat in everyone:
                if seat != winner:
                    amount = unit * value * self.base(winner, seat)
                    payments[seat] -= amount
                    payments[winner] += amount
        if winner is not None or self.rules["caishen_bonus_on_draw"]:  # R9.2
            for holder in everyone:
                points = unit * self.rules["caishen_bonus"] * self.hands[holder][self.caishen]
                if value == 4:
                    points *= self.rules["caishen_bonus_double"]
                for seat in everyone:
                    if seat != holder:
                        payments[seat] -= points
                        payments[holder] += points
        gangs = self.times("gang")
        if winner == self.dealer:  # R9.4
            last = len(self.rules["dealer_ladder"]) - 1
            after = self.dealer, min(self.ladder + 1, last), self.bought, tuple(self.topped)
            self.cover("ladder_raised" if self.ladder < last else "ladder_at_the_top")
        elif winner is None and not gangs:
            after = self.dealer, self.ladder, self.bought, tuple(self.topped)
            self.cover("ladder_kept")
        else:
            after = (self.dealer + 1) % self.n, 0, False, (False,) * self.n
            self.cover("ladder_reset")
        if winner is None:
            self.cover("drawn_with_gang" if gangs else "drawn_without_gang")
            if any(hand[self.caishen] for hand in self.hands):
                self.cover("caishen_points_on_draw")
        self.result = {
            "winner": winner,
            "loser": loser,
            "value": value,
            "patterns": sorted(patterns),
            "payments": payments,
            "next_dealer": after[0],
            "next_ladder": after[1],
            "next_bought": after[2],
            "next_topped": after[3],
        }
        self.questions, self.answers = {}, {}
        self.phase = "over"

    # -- checks and coverage: nothing below changes the hand -------------------------------------------------

    def check(self) -> None:
        """The tiles are conserved, the hands have their sizes, payments sum to zero."""
        front, back = 16 * self.n + 1 + self.times("draw"), 135 - self.times("replace")
        seen = Counter(self.wall[front:back]) + Counter([self.wall[135]])
        robbed_of = self.phase == "over" and self.gang_tile is not None
        for seat in range(self.n):
            assert all(count >= 0 for count in self.hands[seat].values())
            due = 16 - 3 * len(self.melds[seat])
            if self.phase in ("turn", "discard", "stakes") and seat == self.turn:
                due += 1
            elif self.phase == "rob" and seat == self.turn:
                pass
            elif self.phase == "over" and self.result["winner"] == seat:
                due += self.result["patterns"] != ["QUANQIUSHEN"]
            assert sum(self.hands[seat].values()) == due
            seen += self.hands[seat]
            for what, kind in self.melds[seat]:
                seen.update(meld_tiles(what, kind, self.caishen))
        seen.update(kind for _, kind, taken_by in self.discards if taken_by is None)
        if self.phase == "rob" and not robbed_of:
            seen[self.gang_tile] += 1
        assert seen == Counter(dict.fromkeys(range(KINDS), 4)), seen
        assert self.remaining == back - front + 1
        if self.done:
            assert sum(self.result["payments"]) == 0
        else:
            assert self.legal()

    def cover(self, name: str) -> None:
        self.coverage[name] += 1

    def note_turn(self) -> None:
        if self.wall_is_short and self.own_gangs_in_hand(self.turn):
            self.cover("gang_barred_by_wall")

    def note_discard(self, seat: int, kind: int) -> None:
        lone = self.lone_winds(seat) if self.rules["wind_first"] else set()
        if lone:
            self.cover("follow_wind" if lone & self.shown_winds else "lone_wind")
        if kind == self.caishen:
            self.cover("forced_caishen")

    def note_claims(self, discarder: int, kind: int) -> None:
        for seat in self.seats_after(discarder)[:-1]:
            hand = self.hands[seat]
            if self.value_with(seat, kind) and self.in_caishen_ma(seat):
                self.cover("ma_barred")
            if kind == self.caishen:
                continue
            if self.is_quanqiushen():
                if hand[kind] >= 2 or (
                    seat == (discarder + 1) % self.n and chi_ways(hand, kind, self.caishen)
                ):
                    self.cover("quan_bars_other_claims")
                continue
            if hand[kind] >= 2 and kind in self.barred(seat):
                self.cover("late_peng_barred")
            if hand[kind] == 3 and self.wall_is_short:
                self.cover("gang_barred_by_wall")

    def note_answers(self, kind: int, rob: bool) -> None:
        """claims_A_over_B: claim A is carried out, not B; 1 chi, 2 peng or gang, 3 hu, 4 double hu."""
        ranks = []
        for seat, action in self.answers.items():
            if action == HU:
                ranks.append(4 if self.value_with(seat, kind, rob)[0] == 4 else 3)
            elif action != PASS:
                ranks.append(2 if action in (PENG, GANG) else 1)
        if not ranks:
            return
        best = max(ranks)
        first = ranks.index(best)
        for i, rank in enumerate(ranks):
            if i != first:
                self.cover(f"claims_{best}_over_{rank}")
        if best == 4 and 3 in ranks[:first]:
            self.cover("double_beats_nearer")
        if best >= 3:
            if rob:
                self.cover("robbed")
            elif self.is_quanqiushen():
                self.cover("quan_spoiled")
            if kind == self.caishen:
                self.cover("won_caishen")
            self.cover(f"hu_claims_{len([r for r in ranks if r >= 3])}")
