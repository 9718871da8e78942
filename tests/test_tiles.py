"""Tiles and actions: text in and out, ids, refusals."""

import numpy as np
import pytest

from wzmj_env import actions, tiles


def test_every_kind_has_its_text():  # R1.1
    names = [tiles.kind_name(k) for k in range(34)]
    assert names == [f"{i}{s}" for s in "mps" for i in range(1, 10)] + [f"{i}z" for i in range(1, 8)]
    assert [tiles.parse_kind(name) for name in names] == list(range(34))
    assert tiles.NAMES_ZH[tiles.WHITE] == "白" and tiles.NAMES_ZH[0] == "一万" and len(tiles.NAMES_ZH) == 34
    assert len(set(tiles.NAMES_EN)) == 34


def test_text_and_back():
    assert tiles.parse("123m 55z") == [0, 1, 2, 31, 31]
    assert tiles.text(tiles.parse("5z1m9p2m")) == "12m9p5z"
    assert tiles.counts("1144m").tolist() == [2, 0, 0, 2] + [0] * 30
    rng = np.random.default_rng(0)
    for _ in range(100):
        kinds = rng.integers(34, size=16).tolist()
        assert tiles.parse(tiles.text(kinds)) == sorted(kinds)


def test_caishen_come_first():  # R3.5
    assert tiles.text("19m3p5z3p", caishen=tiles.parse_kind("3p")) == "33p19m5z"


@pytest.mark.parametrize("bad", ["8z", "0m", "1", "m", "1x", "12", "1m2", None, 3])
def test_wrong_text_is_refused(bad):
    with pytest.raises(ValueError):
        tiles.parse(bad)


@pytest.mark.parametrize("bad", [34, -1, 1.0, True, "1m", None])
def test_wrong_kinds_are_refused(bad):
    with pytest.raises(ValueError, match="0 to 33"):
        tiles.kind_name(bad)


def test_action_ids_are_those_of_the_rulebook():  # R11
    assert actions.NUM_ACTIONS == 76
    assert [actions.name(a) for a in (0, 33, 34, 67)] == ["discard 1m", "discard 7z", "gang 1m", "gang 7z"]
    assert [actions.name(a) for a in range(68, 76)] == [
        "chi-low", "chi-mid", "chi-high", "peng", "gang", "hu", "pass", "raise"]  # fmt: skip
    assert [actions.parse(actions.name(a)) for a in range(76)] == list(range(76))


@pytest.mark.parametrize("bad", [76, -1, 1.0, True, "hu", None])
def test_wrong_actions_are_refused(bad):
    with pytest.raises(ValueError, match="0 to 75"):
        actions.name(bad)


@pytest.mark.parametrize("bad", ["", "dance", "discard", "discard 8z", "gang 1m 2m", None])
def test_wrong_action_words_are_refused(bad):
    with pytest.raises(ValueError):
        actions.parse(bad)
