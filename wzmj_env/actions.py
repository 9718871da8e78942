"""The 76 actions (R11 of docs/rules.md), as consecutive ranges counted aloud. Ids are stable: they are stored in records,
checkpoints and bots; a change of them is a new `ACTION_VERSION`.

    34  discard kind k
    34  gang of kind k in one's own turn, concealed or added
     3  chi: the claimed tile is the lowest, the middle, the highest of the run
     1  peng
     1  gang on a discard
     1  hu
     1  pass (claims and stakes)
     1  raise (buy or top)
    --
    76
"""

from __future__ import annotations

import difflib
import operator
from typing import Any

from wzmj_env.tiles import NUM_KINDS, kind_name, parse_kind

ACTION_VERSION = 1

DISCARD = 0  # DISCARD + kind
GANG = DISCARD + NUM_KINDS  # GANG + kind
CHI_LOW = GANG + NUM_KINDS
CHI_MID = CHI_LOW + 1
CHI_HIGH = CHI_MID + 1
PENG = CHI_HIGH + 1
GANG_CLAIM = PENG + 1
HU = GANG_CLAIM + 1
PASS = HU + 1
RAISE = PASS + 1
NUM_ACTIONS = RAISE + 1

_DISCARD_WORD = "discard"
_GANG_WORD = "gang"
_WORDS = {
    CHI_LOW: "chi-low",
    CHI_MID: "chi-mid",
    CHI_HIGH: "chi-high",
    PENG: "peng",
    GANG_CLAIM: "gang",
    HU: "hu",
    PASS: "pass",
    RAISE: "raise",
}
_IDS = {word: action for action, word in _WORDS.items()}


def name(action: int) -> str:
    """The action in words: ``"discard 5z"``, ``"gang 1m"`` (own turn), ``"gang"`` (on a discard), ``"chi-low"``, ...

    Raises ``ValueError`` for what is no action id, bools and floats too.

    >>> [name(a) for a in (DISCARD + 31, GANG, CHI_MID, GANG_CLAIM)]
    ['discard 5z', 'gang 1m', 'chi-mid', 'gang']
    """
    action = _checked(action)
    if action < GANG:
        return f"{_DISCARD_WORD} {kind_name(action - DISCARD)}"
    if action < CHI_LOW:
        return f"{_GANG_WORD} {kind_name(action - GANG)}"
    return _WORDS[action]


def parse(text: str) -> int:
    """The id of an action in words, the inverse of `name`. Raises ``ValueError`` for anything else.

    >>> parse("discard 5z"), parse("peng")
    (31, 71)
    """
    words = text.split() if isinstance(text, str) else []
    if len(words) == 1 and words[0] in _IDS:
        return _IDS[words[0]]
    if len(words) == 2 and words[0] == _DISCARD_WORD:
        return DISCARD + parse_kind(words[1])
    if len(words) == 2 and words[0] == _GANG_WORD:
        return GANG + parse_kind(words[1])
    spoken = [f"{_DISCARD_WORD} TILE", f"{_GANG_WORD} TILE", *_IDS]
    near = difflib.get_close_matches(words[0] if words else "", [_DISCARD_WORD, *_IDS], n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ValueError(f"no action {text!r}{hint}; there are {', '.join(spoken)}")


def _checked(action: Any) -> int:
    try:
        number = operator.index(action) if not isinstance(action, bool) else -1
    except TypeError:
        number = -1
    if not 0 <= number < NUM_ACTIONS:
        raise ValueError(f"no action {action!r}: ids are whole numbers from 0 to {NUM_ACTIONS - 1}")
    return number
