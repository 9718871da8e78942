"""The pages: each one HTML file that holds everything it needs. The replay page, with a record if it is given one, and
the page of the table, which talks to its server.

A page is made of `pages/NAME.html`, `.css` and `.js`, of the symbols of `svg`, and of the numbers that its layout shares with
`svg.table_svg`. Its content security policy lets nothing run but its own script and nothing be fetched but from where it
lies.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

from . import actions, svg, tiles
from .engine import DEALT
from .files import write_whole
from .glyphs import EM, GLYPHS
from .record import VERSIONS, Record, RecordError

MAX_EMBEDDED = 1 << 26  # bytes of a record in a page


def layout() -> dict[str, Any]:
    """The numbers and names that the page shares with Python."""
    return {
        "versions": VERSIONS,
        "kinds": tiles.NUM_KINDS,
        "tiles": tiles.NUM_TILES,
        "dealt": DEALT,
        "white": tiles.WHITE,
        "honours": tiles.HONOURS,
        "actions": [actions.GANG, actions.CHI_LOW, actions.PENG, actions.GANG_CLAIM, actions.HU, actions.PASS, actions.RAISE],
        "names": {"en": tiles.NAMES_EN, "zh": tiles.NAMES_ZH},
        "prefix": svg.PREFIX,
        "tileWidth": svg.TILE_WIDTH,
        "tileHeight": svg.TILE_HEIGHT,
        "width": svg.WIDTH,
        "head": svg.HEAD,
        "band": svg.BAND,
        "pad": svg.PAD,
        "handTile": svg.HAND_TILE,
        "meldTile": svg.MELD_TILE,
        "discardTile": svg.DISCARD_TILE,
        "first": svg.FIRST,
        "discardsARow": svg.DISCARDS_A_ROW,
        "digit": svg.DIGIT,
        "table": svg.TABLE,
        "bandColour": svg.BAND_COLOUR,
        "em": EM,
        "signs": {sign: GLYPHS[sign][0] for sign in svg.NUMBER_SIGNS},
    }


def replay_page(record: str | None = None) -> str:
    """The replay page, with the text of a record in it or waiting for one."""
    return _page("replay", record=_inert_json(record))


def table_page() -> str:
    """The page at which people play."""
    return _page("table")


def _page(name: str, **further: str) -> str:
    style, script = _part(f"{name}.css"), _part(f"{name}.js")
    policy = (
        f"default-src 'none'; script-src {_hash_source(script)}; style-src {_hash_source(style)}; connect-src 'self';"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "style": style,
        "symbols": f'<svg class="symbols" aria-hidden="true"><defs>{svg.symbols()}</defs></svg>',
        "layout": _inert_json(layout()),
        "script": script,
        **further,
    }
    page = []
    for piece in _part(f"{name}.html").split("{{"):
        part, closed, rest = piece.partition("}}")
        page.append(parts[part] + rest if closed else piece)
    return "".join(page)


def write_page(path: str | Path, record: Record) -> int:
    """Write the page with a record that verifies; how many hands are in it. An incomplete last line is left out."""
    hands = sum(1 for _ in record)
    opened = gzip.open if record.compressed else open
    with opened(record.path, "rb") as file:
        text = file.read(record.whole) if record.whole <= MAX_EMBEDDED else b""
    if record.whole > MAX_EMBEDDED:
        raise RecordError(f"the record has {record.whole} bytes; a page holds {MAX_EMBEDDED}")
    write_whole(path, replay_page(text.decode("ascii")))
    return hands


def _part(name: str) -> str:
    return (resources.files(__package__) / "pages" / name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert_json(value: Any) -> str:
    """JSON that ends no element and begins no comment, whatever is in it."""
    return json.dumps(value).replace("<", "\\u003c")
