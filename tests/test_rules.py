"""Rules: every field of §12, its default, its range, and loading from files."""

from pathlib import Path

import numpy as np
import pytest

from wzmj_env import Rules

CONFIGS = Path(__file__).resolve().parent.parent / "configs" / "rules"

DEFAULTS = {
    "num_players": 4, "unit": 1, "dealer_ladder": (1, 2, 3, 4), "non_dealer_base": 1, "stakes": True, "wind_first": True,
    "white_is_wind": True, "passed_peng": True, "white_home_face": False, "dead_wall": 16, "caishen_bonus": 1,
    "caishen_bonus_double": 2, "caishen_bonus_on_draw": True,
}  # fmt: skip
RANGES = {
    "num_players": (2, 4), "unit": (1, 1_000_000), "non_dealer_base": (1, 1000), "dead_wall": (1, 60),
    "caishen_bonus": (0, 1000), "caishen_bonus_double": (0, 1000),
}  # fmt: skip
SWITCHES = [name for name, value in DEFAULTS.items() if isinstance(value, bool)]


def test_defaults():  # R12
    assert {name: getattr(Rules(), name) for name in DEFAULTS} == DEFAULTS
    assert list(Rules().to_dict()) == list(DEFAULTS)
    assert set(Rules.sentences()) == set(DEFAULTS)


@pytest.mark.parametrize(("name", "span"), RANGES.items())
def test_both_sides_of_each_limit(name, span):
    low, high = span
    assert getattr(Rules(**{name: low}), name) == low
    assert getattr(Rules(**{name: np.int32(high)}), name) == high
    for bad in (low - 1, high + 1, float(low), str(low), None, True, [low]):
        with pytest.raises(ValueError, match=f"^{name} must be .*{low} to {high}"):
            Rules(**{name: bad})


@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_booleans(name):
    assert getattr(Rules(**{name: np.False_}), name) is False
    for bad in (0, 1, "true", None):
        with pytest.raises(ValueError, match=f"^{name} must be true or false"):
            Rules(**{name: bad})


@pytest.mark.parametrize("bad", [(), (1,) * 9, (0,), (1001,), (1, 2.0), (True,), 3, "12", None])
def test_ladder(bad):
    assert Rules(dealer_ladder=[2, 4, 6, 8]).dealer_ladder == (2, 4, 6, 8)
    with pytest.raises(ValueError, match="dealer_ladder must be"):
        Rules(dealer_ladder=bad)


def test_presets_and_files():
    assert Rules.preset("classic") == Rules() == Rules.load(CONFIGS / "classic.yaml")
    assert Rules.preset("duel") == Rules(num_players=2) == Rules.load(CONFIGS / "duel.yaml")
    assert Rules.load(CONFIGS / "no_stakes.yaml") == Rules(stakes=False)
    assert Rules.load(CONFIGS / "duel_no_stakes.yaml") == Rules(stakes=False, num_players=2)
    with pytest.raises(ValueError, match="classic, duel"):
        Rules.preset("riichi")
    assert Rules.from_mapping(Rules(unit=5).to_dict()) == Rules(unit=5)
    assert Rules(unit=5).hash != Rules().hash == Rules().hash


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dead_wal: 3", "did you mean dead_wall"), ("dead_wall: 99", "dead_wall must be"), ("- 1", "mapping"),
        ("", "mapping"), ("a: [", "not valid YAML"), ("unit: 1\nunit: 2", "twice"), ("\xff", "unknown|mapping|YAML"),
        ("stakes: !!python/object:os.system {}", "not valid YAML"), ("3: 4", "unknown rule field"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_with_their_name(tmp_path, text, words):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=words) as error:
        Rules.load(file)
    assert "mine.yaml" in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OSError, match="missing"):
        Rules.load(tmp_path / "missing.yaml")


def nested_aliases(depth=10, width=9):
    """YAML of a few hundred characters whose last value, written out, has `width ** depth` items."""
    lines = [f"- &a0 [{', '.join(['x'] * width)}]"]
    lines += [f"- &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, depth)]
    return "unit:\n" + "\n".join(f"  {line}" for line in lines)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 3000, "2024-13-45", ".inf", "\0"])
def test_odd_values_are_one_clear_error(tmp_path, value):
    file = tmp_path / "mine.yaml"
    file.write_text(f"unit: {value}")
    with pytest.raises(ValueError, match=r"mine\.yaml: ") as error:
        Rules.load(file)
    assert len(str(error.value)) < 500


def test_errors_stay_short_however_large_the_value(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(nested_aliases())
    with pytest.raises(ValueError, match="unit must be") as error:
        Rules.load(file)
    assert len(str(error.value)) < 500
    with pytest.raises(ValueError, match=r"unit must be .* too long to show"):
        Rules(unit=10**5000)
    with pytest.raises(ValueError, match="unknown rule field") as error:
        Rules.from_mapping({"x" * 10**6: 1})
    assert len(str(error.value)) < 1000
