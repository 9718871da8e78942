"""The examples of the rules page, drawn, and checked by the engine while they are: what a caption says is what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wzmj_env import Game, Pattern, Rules, actions, scoring, tiles
from wzmj_env.svg import hand_svg

VALUES = {4: "double", 2: "hard", 1: "soft"}


@dataclass(frozen=True)
class Win:
    """A hand that wins: concealed tiles in groups, the tile that wins apart ("" where none is), melds as `what tiles`."""

    name: str
    hand: str
    tile: str
    caishen: str
    words: str
    melds: tuple[str, ...] = ()
    how: dict[str, bool] = field(default_factory=dict)

    def evaluate(self) -> scoring.HandValue | None:
        """What the scoring finds."""
        melds = [(what, min(tiles.parse(shown))) for what, shown in map(str.split, self.melds)]
        counts = tiles.counts(f"{self.hand} {self.tile}").astype(np.int64)
        return scoring.evaluate(counts, melds, tiles.parse_kind(self.caishen), **({"self_draw": False} | self.how))

    def svg(self) -> str:
        groups = [tiles.parse(group) for group in self.hand.split()]
        melds = [(tiles.parse(shown), None if what == "concealed" else 0, what) for what, shown in map(str.split, self.melds)]
        return hand_svg(groups, melds, tiles.parse_kind(self.caishen), tiles.parse_kind(self.tile) if self.tile else None)

    def caption(self) -> str:
        """The picture and what it shows, as Markdown; ValueError when the hand does not win."""
        found = self.evaluate()
        if found is None:
            raise ValueError(f"{self.name} does not win")
        names = ", ".join(f"`{pattern.name}`" for pattern in found.patterns)
        return f"![{self.words}](rules/{self.name}.svg)\n{self.words} **{VALUES[found.value].capitalize()}**: {names}."


DRAWN = {"self_draw": True}
FIVE = ("chi 123p", "peng 222z", "gang 3333s", "chi 456s", "chi 789s")
TRIPLETS = ("peng 222z", "gang 3333p")

WHITE = (
    Win("white-as-face", "11m 123m 46p 5z 789p 123s 46s", "5s", "5p",
        "Caishen 5p: the white is the five between 4p and 6p, and no caishen is used."),
)  # fmt: skip
MA = (
    Win("caishen-ma", "123m 456p 789p 123s 456s 9m", "7z", "9m", "Five sets and a caishen: any tile wins, but only by own draw.",
        how={"self_draw": True, "caishen_ma": True}),
)  # fmt: skip
WAIT = (
    Win("lone-caishen", "9m", "1m", "9m", "Five melds, and the caishen waits: out of caishen ma, no single wait.",
        FIVE, {"self_draw": True, "caishen_ma": True}),
    Win("draws-caishen", "1m", "9m", "9m", "Five melds, and another tile draws the caishen: a single wait.", FIVE, DRAWN),
)  # fmt: skip


class Entry(NamedTuple):
    """A pattern of R7 on the page."""

    value: int
    rule: str
    sentence: str
    wins: tuple[Win, ...]


PATTERNS: dict[Pattern, Entry] = {
    Pattern.HEAVENLY: Entry(
        4, "R7.1", "天胡: the dealer wins with the first 17 tiles, before anybody has done anything but decide on stakes.",
        (Win("heavenly", "11m 123m 456p 789p 123s 46s 9m", "", "9m", "The dealer's first tiles.",
             how={"self_draw": True, "heavenly": True}),),
    ),
    Pattern.EARTHLY: Entry(
        4, "R7.2", "地胡: another player wins before drawing any tile, on a discard or by robbing, or by the first tile he draws."
        " Claims, his own too, do not end it. The dealer cannot. *(reading)* Both also lift three caishen without shape.",
        (Win("earthly", "11m 123m 456p 789p 12s 46s 9m", "3s", "9m", "On the dealer's first discard.", how={"earthly": True}),),
    ),
    Pattern.SINGLE_WAIT: Entry(
        4, "R7.3", "单吊: five melds, of any sort, and the one tile left finds its pair; not out of caishen ma (R7.16).",
        (Win("single-wait", "1m", "1m", "9m", "On a discard.", FIVE),),
    ),
    Pattern.QUANQIUSHEN: Entry(4, "R7.4", "全球神: R5.8. Reported alone.", ()),
    Pattern.HARD_EIGHT_PAIRS: Entry(
        4, "R7.5", "硬八对: eight pairs with no caishen; or with one that is the tile over; or with two or more,"
        " whatever they do.",
        (Win("hard-eight-pairs", "11m 22m 33p 44p 55s 66s 11z 2z 3z", "2z", "9m", "No caishen."),
         Win("hard-eight-pairs-over", "11m 22m 33p 44p 55s 66s 11z 2z 9m", "2z", "9m", "The caishen is over."),
         Win("hard-eight-pairs-two", "11m 22m 33p 44p 55s 66s 1z 2z 99m", "3z", "9m", "Two caishen pair two tiles.")),
    ),
    Pattern.THREE_CAISHEN_COMPLETE: Entry(
        4, "R7.6", "Three caishen, and the shape R6.1 or R6.2.",
        (Win("three-caishen-complete", "11m 123m 456p 789p 12s 999m", "4s", "9m", "The caishen complete the sets."),),
    ),
    Pattern.ALL_TRIPLETS: Entry(
        4, "R7.7", "碰碰胡: a pair and five triplets, pengs and gangs counted, caishen standing in *(reading)*.",
        (Win("all-triplets", "111m 22p 333s 9m 4p", "4p", "9m", "The caishen is the third 2p.", TRIPLETS),),
    ),
    Pattern.SELF_DRAW: Entry(
        2, "R7.8", "自摸: by own draw, a replacement too.",
        (Win("self-draw", "11m 123m 456p 789p 12s 46s 9m", "3s", "9m", "The caishen stands for 5s.", how=DRAWN),),
    ),
    Pattern.NO_CAISHEN: Entry(
        2, "R7.9", "The standard shape without any caishen in hand; whites may be the face.",
        (Win("no-caishen", "11m 123m 456p 789p 123s 56s", "4s", "7z", "On a discard."),),
    ),
    Pattern.CAISHEN_HOME: Entry(
        2, "R7.10", "财神归位: caishen in hand, and the standard shape holds with each as its own kind and each concealed white"
        " as white; whites in declared chi do not matter. With the switch `white_home_face` they may be the face here too.",
        (Win("caishen-home", "11m 123m 456p 789p 123s 56s", "4s", "5p", "The caishen 5p is a five of dots here."),),
    ),
    Pattern.ROB_GANG: Entry(
        2, "R7.11", "抢杠胡: a robbed gang, with caishen or not.",
        (Win("rob-gang", "11m 123m 456p 789p 12s 46s 9m", "3s", "9m", "The 3s was to be added to a peng.", how={"rob": True}),),
    ),
    Pattern.SOFT_EIGHT_PAIRS: Entry(
        2, "R7.12", "软八对: eight pairs with exactly one caishen, which pairs a tile.",
        (Win("soft-eight-pairs", "11m 22m 33p 44p 55s 66s 1z 2z 9m 3z", "1z", "9m", "The caishen pairs a wind."),),
    ),
    Pattern.THREE_CAISHEN: Entry(
        2, "R7.13", "Three caishen without R6.1 and R6.2.",
        (Win("three-caishen", "147m 147p 147s 1234z 999m", "6z", "9m", "Nothing fits, and it wins."),),
    ),
    Pattern.SOFT: Entry(
        1, "R7.14", "Every other win: on a discard, with a caishen that stands for another tile.",
        (Win("soft", "11m 123m 456p 789p 12s 46s 9m", "3s", "9m", "The caishen stands for 5s."),),
    ),
}  # fmt: skip

HAND = "345m 678p 2346s 88s 3z2z 66z 9m"
ROWS = {"characters": "123456789m", "dots": "123456789p", "bamboo": "123456789s", "honours": "1234567z"}


def winds_game(shown: str) -> Game:
    """A position to discard in, with lone West and South, after `shown` was discarded by the next seat."""
    return Game.from_position(HAND, "1p", discards={0: "9s", 1: shown, 2: "9s", 3: "8m"}, seed=1)


def legal_text(game: Game) -> str:
    names = [actions.name(action).removeprefix("discard ") for action in game.legal_actions()]
    return " or ".join(f"`{name}`" for name in names)


def winds() -> str:
    lines = [f"Lone West and South, the caishen being 1p; green is a pair. What may be discarded, as the engine has it:\n\n"
             f"![{HAND}](rules/winds.svg)\n\n| discarded before | legal |\n|---|---|"]  # fmt: skip
    for shown, words in (("3z", "West"), ("32z", "West and South"), ("4z", "North"), ("5m", "no wind")):
        lines.append(f"| {words} | {legal_text(winds_game(shown))} |")
    return "\n".join([*lines, "", "The first of these positions as seat 0 sees it:", "", "![the table](rules/winds-table.svg)"])


def captions(wins: tuple[Win, ...]) -> str:
    return "\n\n".join(win.caption() for win in wins)


def quanqiushen() -> str:
    """The game that ends so is played here; ValueError when it does not."""
    game = Game.from_position("1p 9m", "9m", melds={0: FIVE}, discards={0: "1234m5s", 1: "14s7m", 2: "147m", 3: "258m"},
                              after_claim=True, seed=0)  # fmt: skip
    game.step(actions.DISCARD + tiles.parse_kind("1p"))
    if game.result is None or game.result.patterns != (Pattern.QUANQIUSHEN,):
        raise ValueError("the example of quanqiushen does not end so")
    words = "With 1p discarded the caishen stays, and nobody can win on it."
    return f"![{words}](rules/quanqiushen.svg)\n{words} **{VALUES[game.result.value].capitalize()}**: `QUANQIUSHEN`."


def patterns() -> str:
    """Every pattern with its rule and examples, the tiers apart. ValueError when an example has another pattern."""
    parts = []
    for value, title in ((4, "Double, any of"), (2, "Hard, any of"), (1, "Soft")):
        parts.append(f"### {title}")
        for pattern, (tier, rule, sentence, wins) in PATTERNS.items():
            if tier != value:
                continue
            parts.append(f"**{rule}** `{pattern.name}` {sentence}")
            for win in wins:
                found = win.evaluate()
                if found is None or pattern not in found.patterns or found.value != value:
                    raise ValueError(f"{win.name}: {found}")
            if pattern is Pattern.QUANQIUSHEN:
                parts.append(quanqiushen())
            if wins:
                parts.append(captions(wins))
    return "\n\n".join(parts)


def settlement() -> str:
    """What a hand pays, by the functions of the engine."""
    rules = Rules()
    ladder_value, bought, topped, holds = rules.dealer_ladder[1], True, (False, False, True, False), (1, 0, 0, 0)
    payments, points = np.zeros(4, np.int64), np.zeros(4, np.int64)
    scoring.add_win_payments(payments, 0, 2, rules.unit, 0, ladder_value, rules.non_dealer_base, bought, topped)
    for seat, held in enumerate(holds):
        scoring.add_caishen_points(points, seat, held, rules.unit * rules.caishen_bonus)
    rows = "\n".join(
        f"| {seat}{', dealer' if seat == 0 else ', topped' if topped[seat] else ''} | {payments[seat]:+d} | {points[seat]:+d}"
        f" | {payments[seat] + points[seat]:+d} |"
        for seat in range(4)
    )
    return f"""An example: seat 0 is dealer for the second hand in a row and has bought, seat 2 has topped; seat 0 wins a hard
hand with one caishen in it.

| seat | win | caishen points | together |
|---|---|---|---|
{rows}"""


def actions_block() -> str:
    rows = (
        (actions.DISCARD, actions.GANG - 1, "discard of kind k"),
        (actions.GANG, actions.CHI_LOW - 1, "gang of kind k in one's own turn, concealed or added"),
        (actions.CHI_LOW, actions.CHI_HIGH, "chi low, mid, high"),
        (actions.PENG, actions.PENG, "peng"),
        (actions.GANG_CLAIM, actions.GANG_CLAIM, "gang on a discard"),
        (actions.HU, actions.HU, "hu"),
        (actions.PASS, actions.PASS, "pass, on claims and stakes"),
        (actions.RAISE, actions.RAISE, "raise: buy or top"),
    )
    return "| id | action |\n|---|---|\n" + "\n".join(
        f"| {first if first == last else f'{first}–{last}'} | {words} |" for first, last, words in rows
    )


def fields_block() -> str:
    rows = (
        f"| `{name}` | {getattr(Rules(), name)} | {Rules.allowed(name)} | {sentence} |"
        for name, sentence in Rules.sentences().items()
    )
    return "| field | default | allowed | meaning |\n|---|---|---|---|\n" + "\n".join(rows)


BLOCKS = {
    "white": lambda: captions(WHITE), "winds": winds, "ma": lambda: captions(MA), "patterns": patterns,
    "wait": lambda: captions(WAIT), "settlement": settlement, "actions": actions_block, "fields": fields_block,
}  # fmt: skip
WINS = (*WHITE, *MA, *WAIT, *(win for entry in PATTERNS.values() for win in entry.wins))
PICTURES = {
    **{name: lambda row=row: hand_svg([tiles.parse(row)]) for name, row in ROWS.items()},
    **{win.name: win.svg for win in WINS},
    "quanqiushen": lambda: hand_svg([[tiles.parse_kind("9m")]], [(tiles.parse(m.split()[1]), 0, m.split()[0]) for m in FIVE],
                                    tiles.parse_kind("9m"), tiles.parse_kind("1p")),
    "winds": lambda: hand_svg([tiles.parse(group) for group in HAND.split()]),
    "winds-table": lambda: winds_game("3z").svg(seat=0),
}  # fmt: skip
