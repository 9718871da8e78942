"""Write `wzmj_env/glyphs.py` from a font: `python docs/glyphs.py NotoSerifCJK-Bold.ttc` (Debian's fonts-noto-cjk-extra).

The outlines of the few signs that tiles and labels need are kept as paths, so that every renderer draws them alike and none
needs the font. Needs fonttools.
"""

import sys
from pathlib import Path

from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTCollection, TTFont

SIGNS = "一二三四五六七八九萬東南西北發中財莊0123456789+-"
FACE = "Noto Serif CJK SC"
SIZE = 100  # units of an em in the paths
TARGET = Path(__file__).resolve().parent.parent / "wzmj_env" / "glyphs.py"

HEAD = '''"""Outlines of the signs on tiles and labels, as SVG paths: made by `python docs/glyphs.py FONT`.

An em is {size} units; a path lies in a box of its width from 0 and of {size} units down.

The outlines are those of {name}: {copyright}
They are under the SIL Open Font License, Version 1.1 (LICENSES/OFL-1.1.txt), not under the licence of the rest.
"""

EM = {size}

# sign: (width, path)
GLYPHS = {{
'''


def face(path: str) -> TTFont:
    fonts = TTCollection(path).fonts if path.endswith(".ttc") else [TTFont(path)]
    return next(font for font in fonts if font["name"].getDebugName(1).startswith(FACE))


def main(path: str) -> None:
    font = face(path)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = SIZE / font["head"].unitsPerEm
    top = font["OS/2"].sTypoAscender
    parts = [HEAD.format(size=SIZE, name=font["name"].getDebugName(4), copyright=font["name"].getDebugName(0).rstrip(".") + ".")]
    for sign in SIGNS:
        glyph = glyphs[names[ord(sign)]]
        pen = SVGPathPen(glyphs, ntos=lambda x: f"{x:.1f}".removesuffix(".0"))
        glyph.draw(TransformPen(pen, (scale, 0, 0, -scale, 0, top * scale)))
        parts.append(f'    "{sign}": ({round(glyph.width * scale)}, "{pen.getCommands()}"),\n')
    TARGET.write_text("".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
