"""The one drawing: tiles as SVG symbols of our own, and the table made of them.

Nothing in it needs a font: signs are outlines (`glyphs`), so that browsers and resvg draw alike. `pages/replay.js` lays the same
symbols out in the same places; a test compares the two.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from .glyphs import EM, GLYPHS
from .scene import Scene
from .tiles import BAMBOO, DOTS, HONOURS, NUM_KINDS, WHITE, kind_name

# --- tiles: 60 wide, 80 high, the face from 0 to 72 ------------------------------------------------------------------

TILE_WIDTH, TILE_HEIGHT = 60, 80
MIDDLE = 30, 36
PREFIX = "wzmj-"  # of the ids of symbols: they share a page with others

INK, RED, GREEN, BLUE, GOLD = "#20242c", "#c0202a", "#157a3c", "#1c4fa0", "#e0a100"
FACE, EDGE, RIM = "#fffdf3", "#2f8a5b", "#8d8a7c"

LOW, MID, HIGH = 16, 36, 56  # rows and columns of three, the middle ones of the face
LEFT, CENTRE, RIGHT = 14, 30, 46
DOT_PLACES = (
    ((CENTRE, MID),),
    ((CENTRE, 19), (CENTRE, 53)),
    ((LEFT, LOW), (CENTRE, MID), (RIGHT, HIGH)),
    ((18, 19), (42, 19), (18, 53), (42, 53)),
    ((LEFT, LOW), (RIGHT, LOW), (CENTRE, MID), (LEFT, HIGH), (RIGHT, HIGH)),
    ((19, LOW), (41, LOW), (19, MID), (41, MID), (19, HIGH), (41, HIGH)),
    ((13, 12), (CENTRE, 19), (47, 26), (19, 43), (41, 43), (19, 60), (41, 60)),
    tuple((x, y) for y in (11, 28, 44, 61) for x in (19, 41)),
    tuple((x, y) for y in (LOW, MID, HIGH) for x in (LEFT, CENTRE, RIGHT)),
)
DOT_COLOURS = ((RED,), (GREEN, BLUE), (BLUE, RED, GREEN), (BLUE, GREEN, GREEN, BLUE), (BLUE, GREEN, RED, GREEN, BLUE),
               (GREEN, GREEN, RED, RED, RED, RED), (GREEN, GREEN, GREEN, RED, RED, RED, RED), (BLUE,) * 8,
               (GREEN, GREEN, GREEN, RED, RED, RED, BLUE, BLUE, BLUE))  # fmt: skip
STICK_ROWS = ((), (1, 1), (1, 2), (2, 2), (2, 1, 2), (3, 3), (1, 3, 3), (3, 2, 3), (3, 3, 3))
BIRD = (
    f'<path d="M16 60C18 46 20 38 26 32L38 40C36 50 28 58 16 60Z" fill="{GREEN}"/>'
    f'<path d="M14 62L30 44M20 64L34 46M28 64L38 46" stroke="{BLUE}" stroke-width="3" stroke-linecap="round"/>'
    f'<path d="M22 34C22 24 28 14 38 14C46 14 48 22 44 28C40 36 30 42 24 40Z" fill="{RED}"/>'
    f'<path d="M45 18L55 21L45 25Z" fill="{GOLD}"/><circle cx="39" cy="20" r="3" fill="{FACE}"/>'
    f'<circle cx="39" cy="20" r="1.5" fill="{INK}"/>'
)
NUMBER_SIGNS = "0123456789+-"
HONOUR_SIGNS = (("東", INK), ("南", INK), ("西", INK), ("北", INK), None, ("發", GREEN), ("中", RED))


def _sign(sign: str, x: float, y: float, size: float, colour: str) -> str:
    """A sign with its middle at (x, y)."""
    width, path = GLYPHS[sign]
    scale = size / EM
    return (
        f'<path transform="translate({x - width * scale / 2:g} {y - size / 2:g}) scale({scale:g})" d="{path}" fill="{colour}"/>'
    )


def _dots(rank: int) -> str:
    if rank == 1:
        return (
            f'<circle cx="30" cy="36" r="21" fill="{GREEN}"/><circle cx="30" cy="36" r="16" fill="{FACE}"/>'
            f'<circle cx="30" cy="36" r="13" fill="{RED}"/><circle cx="30" cy="36" r="5" fill="{FACE}"/>'
        )
    radius = {2: 11, 3: 9.5, 4: 10.5, 5: 9, 6: 8.5, 7: 7.5, 8: 7.5, 9: 7.5}[rank]
    return "".join(
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}"/><circle cx="{x}" cy="{y}" r="{radius * 0.45:g}" fill="{FACE}"/>'
        for (x, y), colour in zip(DOT_PLACES[rank - 1], DOT_COLOURS[rank - 1], strict=True)
    )


def _sticks(rank: int) -> str:
    if rank == 1:
        return BIRD
    rows = STICK_ROWS[rank - 1]
    height = 26 if len(rows) == 2 else 19
    parts = []
    for row, number in enumerate(rows):
        y = MIDDLE[1] + (row - (len(rows) - 1) / 2) * (height + 3)
        for i in range(number):
            x = MIDDLE[0] + (i - (number - 1) / 2) * 15
            odd = number % 2 and i == number // 2 and len(rows) != 2
            colour = RED if odd and rank in (5, 7, 9) and row in (0, 1) else GREEN
            parts.append(
                f'<rect x="{x - 3.5:g}" y="{y - height / 2:g}" width="7" height="{height}" rx="3.5" fill="{colour}"/>'
                f'<path d="M{x - 5:g} {y:g}h10" stroke="{FACE}" stroke-width="2"/>'
            )
    return "".join(parts)


def _face(kind: int) -> str:
    if kind < DOTS:
        return _sign("一二三四五六七八九"[kind], 30, 20, 33, INK) + _sign("萬", 30, 53, 33, RED)
    if kind < BAMBOO:
        return _dots(kind - DOTS + 1)
    if kind < HONOURS:
        return _sticks(kind - BAMBOO + 1)
    if kind == WHITE:
        return (
            f'<rect x="12" y="12" width="36" height="48" rx="3" fill="none" stroke="{BLUE}" stroke-width="4"/>'
            f'<rect x="18" y="18" width="24" height="36" rx="2" fill="none" stroke="{BLUE}" stroke-width="1.5"/>'
        )
    sign, colour = HONOUR_SIGNS[kind - HONOURS] or ("", "")
    return _sign(sign, 30, 36, 50, colour)


def _block(colour: str) -> str:
    return (
        f'<rect x="1" y="1" width="58" height="78" rx="8" fill="{EDGE}" stroke="{RIM}" stroke-width="1.5"/>'
        f'<rect x="1" y="1" width="58" height="72" rx="8" fill="{colour}" stroke="{RIM}" stroke-width="1.5"/>'
    )


def _symbol(name: str, width: float, height: float, content: str) -> str:
    return f'<symbol id="{PREFIX}{name}" viewBox="0 0 {width:g} {height:g}">{content}</symbol>'


@cache
def _all_symbols() -> dict[str, str]:
    tiles = {f"t{kind}": (TILE_WIDTH, TILE_HEIGHT, _block(FACE) + _face(kind)) for kind in range(NUM_KINDS)}
    frame = '<rect x="2.5" y="2.5" width="55" height="75" rx="7" fill="none" stroke="{}" stroke-width="5"/>'
    marks = {
        "wild": frame.format(GOLD) + f'<circle cx="49" cy="11" r="11" fill="{GOLD}"/>' + _sign("財", 49, 11, 15, "#fff"),
        "gone": '<rect x="1" y="1" width="58" height="78" rx="8" fill="#3b4450" fill-opacity="0.45"/>',
        "asked": frame.format(RED),
        "back": _block("#3f9b6c") + '<path d="M14 14h32v46h-32z" fill="none" stroke="#c8e6d5" stroke-width="2.5"/>',
    }
    others = {
        "deals": (40, 40, f'<circle cx="20" cy="20" r="19" fill="{RED}"/>' + _sign("莊", 20, 20, 27, "#fff")),
        "moves": (20, 20, f'<path d="M3 2L18 10L3 18Z" fill="{RED}"/>'),
    }
    signs = {f"d{c}": (GLYPHS[c][0], EM, _sign(c, GLYPHS[c][0] / 2, EM / 2, EM, INK)) for c in NUMBER_SIGNS}
    laid_over = {name: (TILE_WIDTH, TILE_HEIGHT, content) for name, content in marks.items()}
    return {name: _symbol(name, *content) for name, content in (tiles | laid_over | others | signs).items()}


def symbols() -> str:
    """All symbols. Their ids are PREFIX and: `t0` .. `t33` the tiles by kind, `back`, the marks laid over a tile (`wild` for a
    caishen, `gone` for a claimed discard, `asked` for the tile in question), `deals`, `moves`, `d0` .. `d9`, `d+`, `d-`."""
    return "".join(_all_symbols().values())


def tile_svg(kind: int, width: int = TILE_WIDTH) -> str:
    """One tile as an SVG of its own, `width` pixels wide."""
    kind_name(kind)  # raises for what is no kind
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{width * TILE_HEIGHT / TILE_WIDTH:g}"'
        f' viewBox="0 0 {TILE_WIDTH} {TILE_HEIGHT}">{_block(FACE)}{_face(kind)}</svg>'
    )


# --- the table -------------------------------------------------------------------------------------------------------

WIDTH, HEAD, BAND, PAD = 1000, 72, 150, 8  # the drawing, its first row, the row of a seat, in pixels
HAND_TILE, MELD_TILE, DISCARD_TILE = 36, 30, 24  # widths
GAP = 12  # before a meld
FIRST, DISCARDS_A_ROW = 120, 30  # where tiles begin, discards side by side
DIGIT = 22
TABLE, BAND_COLOUR = "#e9efe6", "#dbe5d8"

def _use(name: str, x: float, y: float, width: float, height: float, turned: bool = False) -> str:
    """A symbol with its corner at (x, y), or turned sideways: then its box is as wide as it was high."""
    if turned:
        place = f'transform="translate({x:g} {y + width:g}) rotate(-90)"'
    else:
        place = f'x="{x:g}" y="{y:g}"'
    return f'<use href="#{PREFIX}{name}" {place} width="{width:g}" height="{height:g}"/>'


def _tile(kind: int | None, x: float, y: float, width: float, caishen: int | None, turned: bool = False, mark: str = "") -> str:
    height = width * TILE_HEIGHT / TILE_WIDTH
    names = ["back" if kind is None else f"t{kind}", *(["wild"] if kind is not None and kind == caishen else []), *mark.split()]
    return "".join(_use(name, x, y, width, height, turned) for name in names)


def _number(text: str, x: float, y: float, height: float) -> str:
    parts = []
    for sign in text:
        width = GLYPHS[sign][0] * height / EM
        parts.append(_use(f"d{sign}", x, y, width, height))
        x += width
    return "".join(parts)


def seat_order(scene: Scene) -> list[int]:
    """The seats from the top of the drawing: in turn, and whose view it is last."""
    n, seat = scene["players"], scene["seat"]
    return list(range(n)) if seat is None else [(seat + 1 + i) % n for i in range(n)]


def _meld(tiles: list[int], turned: int | None, how: str, x: float, bottom: float) -> Iterator[str]:
    width, height = MELD_TILE, MELD_TILE * TILE_HEIGHT / TILE_WIDTH
    lying = tiles[:-1] if how == "added" else tiles
    if how == "added" and turned == len(lying):
        turned -= 1
    for i, kind in enumerate(lying):
        if i == turned:
            yield _tile(kind, x, bottom - width, width, None, True)
            if how == "added":
                yield _tile(kind, x, bottom - 2 * width, width, None, True)
            x += height
        else:
            yield _tile(None if how == "concealed" and i in (0, 3) else kind, x, bottom - height, width, None)
            x += width


def _meld_width(tiles: list[int], turned: int | None, how: str) -> float:
    lying = len(tiles) - (how == "added")
    return lying * MELD_TILE + (0 if turned is None else MELD_TILE * TILE_HEIGHT / TILE_WIDTH - MELD_TILE)


def _band(scene: Scene, p: int, y: float) -> Iterator[str]:
    caishen, hand = scene["caishen"], scene["hands"][p]
    yield f'<rect x="{PAD}" y="{y:g}" width="{WIDTH - 2 * PAD}" height="{BAND - PAD}" rx="8" fill="{BAND_COLOUR}"/>'
    yield _number(str(p), PAD + 26, y + 8, 30)
    if p == scene["mover"]:
        yield _use("moves", PAD + 4, y + 13, 20, 20)
    if p == scene["dealer"]:
        yield _use("deals", PAD + 54, y + 6, 34, 34)
    if scene["payments"]:
        yield _number(f"{scene['payments'][p]:+d}", PAD + 10, y + 52, DIGIT)
    x: float = FIRST
    bottom = y + 66
    kinds = hand if isinstance(hand, list) else [None] * hand
    hand_height = HAND_TILE * TILE_HEIGHT / TILE_WIDTH
    for i, kind in enumerate(kinds):
        if scene["drawn"] and p == scene["mover"] and i == len(kinds) - 1:
            x += 10
        yield _tile(kind, x, bottom - hand_height, HAND_TILE, caishen)
        x += HAND_TILE
    for tiles, turned, how in scene["melds"][p]:
        x += GAP
        yield from _meld(tiles, turned, how, x, bottom)
        x += _meld_width(tiles, turned, how)
    yield from _discards(scene, p, bottom + 8)


def _discards(scene: Scene, p: int, top: float) -> Iterator[str]:
    height = DISCARD_TILE * TILE_HEIGHT / TILE_WIDTH
    last = len(scene["discards"][p]) - 1
    x: float = FIRST
    y = top
    for i, (kind, taken) in enumerate(scene["discards"][p]):
        asked = scene["phase"] == "claim" and scene["question"][0] == p and i == last
        if i and i % DISCARDS_A_ROW == 0:
            x, y = FIRST, y + height + 2
        if taken:
            yield _tile(kind, x, y + height - DISCARD_TILE, DISCARD_TILE, scene["caishen"], True, "gone")
        else:
            yield _tile(kind, x, y, DISCARD_TILE, scene["caishen"], False, "asked" if asked else "")
        x += height if taken else DISCARD_TILE


def table_svg(scene: Scene) -> str:
    """The table as an SVG of its own: the caishen and what remains of the wall above, a row for each seat, a hand and its
    melds with the discards below them. Claimed tiles lie sideways."""
    height = HEAD + BAND * scene["players"]
    parts = [f'<rect width="{WIDTH}" height="{height}" fill="{TABLE}"/>']
    if scene["caishen"] is not None:
        parts.append(_tile(scene["caishen"], PAD + 8, 8, 42, scene["caishen"]))
    parts.append(_tile(None, FIRST, 18, 30, None) + _number(str(scene["remaining"]), FIRST + 40, 24, 30))
    if scene["question"] is not None:
        parts.append(_tile(scene["question"][1], FIRST + 160, 8, 42, scene["caishen"], False, "asked"))
    for row, p in enumerate(seat_order(scene)):
        parts += _band(scene, p, HEAD + BAND * row)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f"<defs>{symbols()}</defs>{''.join(parts)}</svg>"
    )


def hand_svg(
    groups: Sequence[Sequence[int]], melds: Sequence[tuple[list[int], int | None, str]] = (), caishen: int | None = None,
    marked: int | None = None,
) -> str:  # fmt: skip
    """Some tiles as an SVG of its own: groups of kinds with gaps between them, then melds as in a scene. Tiles of the kind
    `caishen` are marked as such; with `marked`, one tile more stands at the end in a frame, such as the one that wins."""
    bottom = PAD + HAND_TILE * TILE_HEIGHT / TILE_WIDTH
    x: float = PAD
    parts = []

    def stand(kind: int, mark: str = "") -> None:
        nonlocal x
        parts.append(_tile(kind, x, PAD, HAND_TILE, caishen, False, mark))
        x += HAND_TILE

    for group in groups:
        for kind in group:
            stand(kind)
        x += GAP
    for tiles, turned, how in melds:
        parts += _meld(tiles, turned, how, x, bottom)
        x += _meld_width(tiles, turned, how) + GAP
    if marked is not None:
        x += GAP
        stand(marked, "asked")
        x += GAP
    width, height, body = x - GAP + PAD, bottom + PAD, "".join(parts)
    used = set(re.findall(rf'href="#{PREFIX}([^"]+)"', body))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        f"<defs>{''.join(symbol for name, symbol in _all_symbols().items() if name in used)}</defs>"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{TABLE}"/>{body}</svg>'
    )


def pixels(svg: str) -> np.ndarray:
    """A drawing as `(height, width, 3) uint8`, by resvg. ImportError says what to install where it is not there."""
    try:
        import resvg_py
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"pictures need {error.name}: pip install 'wzmj[render]'") from error
    png = resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGB"))
