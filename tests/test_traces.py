"""The independent referee's hands and games (tests/data) agree with scoring and engine."""

import gzip
import json
from pathlib import Path

import pytest

from wzmj_env import Game, Rules, scoring, tiles

DATA = Path(__file__).parent / "data"
HANDS = json.loads((DATA / "hands.json").read_text())
FLAGS = ("heavenly", "earthly", "caishen_ma", "white_home_face")


def read_melds(melds):
    pairs = (meld.split() for meld in melds)
    return [(what, min(tiles.parse(text))) for what, text in pairs]


@pytest.mark.parametrize("hand", HANDS, ids=[f"{i}-{h['rule']}" for i, h in enumerate(HANDS)])
def test_hand_has_the_referees_value(hand):
    found = scoring.evaluate(
        tiles.counts(hand["concealed"]),
        read_melds(hand["melds"]),
        tiles.parse_kind(hand["caishen"]),
        self_draw=hand["how"] == "self_draw",
        rob=hand["how"] == "rob",
        **{name: hand.get(name, False) for name in FLAGS},
    )
    assert (found.value if found else None) == hand["value"]
    assert sorted(p.name for p in (found.patterns if found else ())) == sorted(hand["patterns"])


def result_row(game):
    r = game.result
    return {
        "winner": r.winner,
        "tier": r.value,
        "patterns": sorted(p.name for p in r.patterns),
        "loser": r.loser,
        "payments": r.payments.tolist(),
        "next_dealer": r.next_dealer,
        "next_ladder": r.next_ladder,
        "next_bought": r.next_bought,
        "next_topped": list(r.next_topped),
    }


def test_every_recorded_game_replays_exactly():
    played = 0
    with gzip.open(DATA / "traces.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            stakes = {name: row[name] for name in ("dealer", "ladder", "bought", "topped")}
            game = Game(Rules.from_mapping(row["rules"]), wall=row["wall"], **stakes)
            for player, legal, action in zip(row["players"], row["legals"], row["actions"], strict=True):
                assert (game.current_player, game.legal_actions()) == (player, legal), row["seed"]
                game.step(action)
            assert game.done
            assert result_row(game) == {**row["result"], "patterns": sorted(row["result"]["patterns"])}, row["seed"]
            played += 1
    assert played == 874
