"""The house rules as named switches, each with its sentence (R12 of docs/rules.md)."""

from __future__ import annotations

import difflib
import hashlib
import json
import operator
import reprlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

LADDER_MAX_STEPS = 8
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60
_REPR.maxlist = _REPR.maxtuple = 10
_REPR.maxlevel = 1

PRESETS: dict[str, dict[str, Any]] = {"classic": {}, "duel": {"num_players": 2}}


def _switch(default: bool, sentence: str) -> Any:
    return field(default=default, metadata={"sentence": sentence, "type": bool})


def _number(default: int, low: int, high: int, sentence: str) -> Any:
    return field(default=default, metadata={"sentence": sentence, "type": int, "low": low, "high": high})


def _numbers(default: tuple[int, ...], low: int, high: int, sentence: str) -> Any:
    return field(default=default, metadata={"sentence": sentence, "type": tuple, "low": low, "high": high})


@dataclass(frozen=True)
class Rules:
    """The rules one game is played by. Frozen, hashable, equal when all fields are.

    A field of a wrong type or out of range raises ``ValueError`` naming the field, the value and what is allowed.
    A bool is no number and a number is no bool; numpy's are taken and turned into Python's own.

    >>> Rules().num_players, Rules.preset("duel").num_players
    (4, 2)
    >>> Rules(dead_wall=61)
    Traceback (most recent call last):
    ValueError: dead_wall must be a whole number from 1 to 60, not 61
    """

    num_players: int = _number(4, 2, 4, "How many play: 4 at the ordinary table, 2 in the duel (R2.1).")
    unit: int = _number(1, 1, 1_000_000, "Points of one unit, a fifth of the room's entry; all payments are multiples (R8.1).")
    dealer_ladder: tuple[int, ...] = _numbers(
        (1, 2, 3, 4), 1, 1_000,
        "The dealer's base in his first, second, ... hand in a row as dealer; the last value is kept (R8.2).",
    )  # fmt: skip
    non_dealer_base: int = _number(1, 1, 1_000, "The base between two players neither of whom is the dealer (R8.2).")
    stakes: bool = _switch(True, "The dealer may buy and the others may top, before the deal (R8.3, R8.4, R8.6).")
    wind_first: bool = _switch(True, "Lone winds must be discarded first, those already shown before others (R5.1).")
    white_is_wind: bool = _switch(
        True, "White is a wind for the wind-first rule; when false, not while the caishen is a suited kind (R1.2)."
    )
    passed_peng: bool = _switch(
        True, "Who could peng a kind and passed or took chi may not peng it until after his own next draw (R5.5)."
    )
    white_home_face: bool = _switch(
        False, "Concealed whites may be the caishen's face in CAISHEN_HOME too; when false they are just white (R7.10)."
    )
    dead_wall: int = _number(
        16, 1, 60, "With this many tiles or fewer remaining there is no gang, and a draw ends the hand (R4.3, R4.4)."
    )
    caishen_bonus: int = _number(1, 0, 1_000, "Units each caishen at the end takes from every other player (R9.2).")
    caishen_bonus_double: int = _number(2, 0, 1_000, "Times which caishen points count when the win is double (R9.2).")
    caishen_bonus_on_draw: bool = _switch(True, "Caishen points are settled on a drawn hand as well (R9.2).")

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, _checked(f.name, getattr(self, f.name), f.metadata))

    # --- made from ---

    @classmethod
    def preset(cls, name: str) -> Rules:
        """The rules called ``name``: ``"classic"``, the ordinary table of four, or ``"duel"``, the same for two."""
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"no preset {_shown(name)}; there are {', '.join(PRESETS)}{_did_you_mean(name, PRESETS)}")
        return cls(**PRESETS[name])

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, source: str = "rules") -> Rules:
        """Rules from field names and values, what is left out being the default. ``source`` is named in errors.

        Raises ``ValueError`` for an unknown field, a value out of range, or what is no mapping.
        """
        if not isinstance(mapping, Mapping):
            raise ValueError(f"{source}: expected a mapping of rule fields, not {_shown(mapping)}")
        allowed = [f.name for f in fields(cls)]
        for key in mapping:
            if key not in allowed:
                raise ValueError(
                    f"{source}: unknown rule field {_shown(key)}{_did_you_mean(key, allowed)}; allowed are {', '.join(allowed)}"
                )
        try:
            return cls(**mapping)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Rules:
        """Rules from a YAML file: a mapping of field names to values, such as ``configs/rules/*.yaml``.

        Raises ``OSError`` when the file cannot be read, ``ValueError`` when it is no YAML mapping, names a field twice
        or an unknown one, or holds a value out of range. An empty file is no mapping.
        """
        data = Path(path).read_bytes()
        try:
            mapping = yaml.load(data.decode(), Loader=_StrictLoader)
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not a UTF-8 text file") from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2024-13-45
            raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
        return cls.from_mapping(mapping, source=str(path))

    # --- turned into ---

    def to_dict(self) -> dict[str, Any]:
        """Plain values for YAML or JSON, in the order of the fields; ``from_mapping`` takes them back."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def hash(self) -> str:
        """16 hex digits that are the same for the same rules, on every machine; written into records."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @classmethod
    def sentences(cls) -> dict[str, str]:
        """What each field means, in the order of the fields."""
        return {f.name: f.metadata["sentence"] for f in fields(cls)}

    @classmethod
    def allowed(cls, name: str) -> str:
        """What the field ``name`` may be, in words."""
        return _allowed(next(f.metadata for f in fields(cls) if f.name == name))


def _allowed(meta: Mapping[str, Any]) -> str:
    if meta["type"] is bool:
        return "true or false"
    span = f"from {meta['low']} to {meta['high']}"
    if meta["type"] is int:
        return f"a whole number {span}"
    return f"a list of 1 to {LADDER_MAX_STEPS} whole numbers {span}"


def _checked(name: str, value: Any, meta: Mapping[str, Any]) -> Any:
    """``value`` as Python's own type, or ValueError."""
    wrong = ValueError(f"{name} must be {_allowed(meta)}, not {_shown(value)}")
    if meta["type"] is bool:
        if not _is_bool(value):
            raise wrong
        return bool(value)
    if meta["type"] is int:
        number = _whole(value)
        if number is None or not meta["low"] <= number <= meta["high"]:
            raise wrong
        return number
    if not isinstance(value, (tuple, list)) or not 1 <= len(value) <= LADDER_MAX_STEPS:
        raise wrong
    numbers = tuple(_whole(step) for step in value)
    if any(step is None or not meta["low"] <= step <= meta["high"] for step in numbers):
        raise wrong
    return numbers


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or (type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy")


def _whole(value: Any) -> int | None:
    """A whole number as ``int``; None for anything else, arrays, floats and bools too."""
    if _is_bool(value) or hasattr(value, "__len__"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _shown(value: Any) -> str:
    """A value in an error: short, however long or deep it is (a YAML file can nest one alias in another)."""
    try:
        return _REPR.repr(value)
    except ValueError:  # Python refuses to write out an int of very many digits
        return "a number too long to show"


def _did_you_mean(name: object, allowed: Iterable[str]) -> str:
    near = difflib.get_close_matches(_shown(name).strip("'"), list(allowed), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe loader, which otherwise keeps the last of two equal keys without a word."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key_node, _ in node.value:
                if not isinstance(key_node, yaml.ScalarNode):
                    continue
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key_node.value!r} stands here twice", key_node.start_mark
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep=deep)
