"""What an arena says, as files: `results.json`, two tables as CSV, and one HTML page that needs nothing beside it.

Names come from outside. They are written as text alone, into the page by `html.escape`; the pictures are images, in which
nothing runs, and the page's own policy forbids scripts and everything from elsewhere.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from .files import write_whole

VALUE_NAMES = {1: "soft", 2: "hard", 4: "double"}
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
NAME_LENGTH = 28  # characters of a name in a picture
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 68em; padding: 0 1em; color: #222 }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto }
td, th { padding: .25em .7em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
td:first-child, th:first-child { text-align: left } th { color: #555; font-weight: 600 }
img { max-width: 100% } .note { color: #a33 } .dim { color: #666 }
"""


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write all files of a report into a folder, each whole."""
    write_whole(folder / "results.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / "standings.csv", _csv(_standings(results)))
    write_whole(folder / "matrix.csv", _csv(_matrix(results)))
    write_whole(folder / "report.html", page(results))


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV. A cell that a spreadsheet would take for a formula gets a quote before it."""
    out = io.StringIO()
    csv.writer(out).writerows([[_inert(cell) for cell in row] for row in rows])
    return out.getvalue()


def _inert(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


STANDINGS = (
    *("agent", "mean", "low", "high", "elo", "elo low", "elo high"),
    *("hands", "won", "own draw", "deal in", *VALUE_NAMES.values()),
    *("questions", "mean ms", "longest ms", "faults"),
)


def _standings(results: dict[str, Any]) -> list[list[Any]]:
    """A head and a row for each agent, plain values; rates are of the seats it had."""
    rows: list[list[Any]] = [list(STANDINGS)]
    for agent in results["agents"]:
        seats, use, rating = max(agent["seats"], 1), agent["use"], agent["rating"] or {}
        rows.append(
            [
                agent["agent"], *(round(agent[name], 4) for name in ("mean", "low", "high")),
                *(round(rating[name]) if name in rating else "" for name in ("elo", "low", "high")),
                agent["hands"], *(round(agent[name] / seats, 4) for name in ("won", "own_draw", "deal_in")),
                *(round(agent["by_value"].get(value, 0) / max(agent["won"], 1), 4) for value in VALUE_NAMES),
                *_used(use),
            ]
        )  # fmt: skip
    return rows


def _used(use: dict[str, Any] | None) -> list[Any]:
    if use is None:
        return ["", "", "", ""]
    mean = use["seconds"] / max(use["questions"], 1)
    faults = ", ".join(f"{cause} {n}" for cause, n in use["faults"].items()) or "none"
    return [use["questions"], round(mean * 1000, 3), round(use["longest"] * 1000, 3), faults]


def _matrix(results: dict[str, Any]) -> list[list[Any]]:
    names = results["plan"]["agents"]
    body = [[name, *("" if x is None else round(x, 4) for x in row)] for name, row in zip(names, results["matrix"], strict=True)]
    return [["", *names], *body]


# --- the page --------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """The report as one HTML page."""
    plan, units = results["plan"], results["units"]
    notes = []
    if not results["complete"]:
        notes.append(f"{units['missing']} of {units['done'] + units['missing']} units of work are not done and left out.")
    if results["left"]:
        notes.append(f"{results['left']} hands ended because somebody left (R10.6).")
    if results["ratings_hint"]:
        notes.append(results["ratings_hint"])
    pictures = _pictures(results)
    if pictures is None:
        notes.append("Pictures need matplotlib, which is not installed: pip install 'wzmj[eval]'")
    sections = [
        f"<h1>Arena: {len(plan['agents'])} agents, {plan['players']} seats, {plan['deals']} duplicate deals a pair</h1>",
        f"<p class=dim>format {escape(results['format'])}, seed {plan['seed']}, {results['hands']} hands played;"
        " payments in units a hand, intervals of 95 % clustered by deal</p>",
        *(f"<p class=note>{escape(note)}</p>" for note in notes),
        "<h2>Standings</h2>", _table(_standings(results)),
        "<h2>Head to head: mean payment of the row's agent</h2>", _table(_matrix(results)),
        "<h2>Patterns of the hands won</h2>", _table(_patterns(results)),
        *(f"<h2>{escape(title)}</h2><img alt='{escape(title)}' src='data:image/svg+xml;base64,{svg}'>"
          for title, svg in (pictures or {}).items()),
    ]  # fmt: skip
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>wzmj arena</title><style>{STYLE}</style><body>\n" + "\n".join(sections) + "\n</body></html>\n"
    )


def _table(rows: Sequence[Sequence[Any]]) -> str:
    head, *body = [[escape(_shown(cell)) for cell in row] for row in rows]
    lines = ["<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body]
    return "<table>" + "\n".join(lines) + "</table>"


def _shown(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def _patterns(results: dict[str, Any]) -> list[list[Any]]:
    names = sorted({name for agent in results["agents"] for name in agent["by_pattern"]})
    body = [
        [agent["agent"], *(f"{agent['by_pattern'].get(name, 0) / max(agent['won'], 1):.1%}" for name in names)]
        for agent in results["agents"]
    ]
    return [["agent", *names], *body]


# --- pictures --------------------------------------------------------------------------------------------------------


def _pictures(results: dict[str, Any]) -> dict[str, str] | None:
    """Title -> SVG in base64; None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    agents = results["agents"]
    names = [_short(agent["agent"]) for agent in agents]
    height = 1.2 + 0.4 * len(agents)
    pictures = {}

    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    means = [agent["mean"] for agent in agents]
    errors = [[a["mean"] - a["low"] for a in agents], [a["high"] - a["mean"] for a in agents]]
    _bars(axes, names, means, errors, "units a hand")
    pictures["Mean payment"] = _svg(figure)

    if all(agent["rating"] for agent in agents):
        figure = Figure(figsize=(8, height), layout="constrained")
        ratings = [agent["rating"] for agent in agents]
        errors = [[max(0.0, r["elo"] - r["low"]) for r in ratings], [max(0.0, r["high"] - r["elo"]) for r in ratings]]
        _bars(figure.subplots(), names, [r["elo"] for r in ratings], errors, "Elo points (Bradley-Terry over deals)")
        pictures["Ratings"] = _svg(figure)

    pictures["Head to head"] = _svg(_heat(results))

    figure = Figure(figsize=(8, 1.5 + height), layout="constrained")
    axes = figure.subplots()
    for agent, name in zip(agents, names, strict=True):
        total, at, share = sum(agent["payments"].values()), [], []
        seen = 0
        for payment, n in sorted((int(p), n) for p, n in agent["payments"].items()):
            seen += n
            at.append(payment)
            share.append(seen / max(total, 1))
        axes.step(at, share, where="post", label=name)
    axes.set(xlabel="payment of a hand, units", ylabel="share of hands with at most that")
    _legend(axes)
    pictures["Distribution of payments"] = _svg(figure)

    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    left = [0.0] * len(agents)
    for value, word in VALUE_NAMES.items():
        share = [agent["by_value"].get(value, 0) / max(agent["seats"], 1) for agent in agents]
        axes.barh(range(len(agents)), share, left=left, label=word)
        left = [a + b for a, b in zip(left, share, strict=True)]
    _name_rows(axes, names)
    axes.set(xlabel="share of hands won")
    axes.legend()
    pictures["Wins by value"] = _svg(figure)
    return pictures


def _bars(axes: Any, names: list[str], values: list[float], errors: list[list[float]], label: str) -> None:
    axes.errorbar(values, range(len(names)), xerr=errors, fmt="o", capsize=4)
    axes.axvline(0, color="grey", linewidth=0.8)
    _name_rows(axes, names)
    axes.set(xlabel=label)


def _name_rows(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.invert_yaxis()


def _legend(axes: Any) -> None:
    for text in axes.legend(fontsize="small").get_texts():
        text.set_parse_math(False)


def _heat(results: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    names = results["plan"]["agents"]
    table = [[float("nan") if x is None else x for x in row] for row in results["matrix"]]
    most = max((abs(x) for row in results["matrix"] for x in row if x is not None), default=1.0) or 1.0
    size = 2.5 + 0.7 * len(names)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table, cmap="RdYlGn", vmin=-most, vmax=most)
    short = [_short(name) for name in names]
    axes.set_xticks(range(len(names)), short, rotation=40, ha="right", parse_math=False)
    axes.set_yticks(range(len(names)), short, parse_math=False)
    for i, row in enumerate(results["matrix"]):
        for j, x in enumerate(row):
            if x is not None:
                axes.text(j, i, f"{x:+.2f}", ha="center", va="center", fontsize="small")
    figure.colorbar(image, label="units a hand, row's agent")
    return figure


def _short(name: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in name)
    return shown if len(shown) <= NAME_LENGTH else shown[: NAME_LENGTH - 1] + "…"


def _svg(figure: Any) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return base64.b64encode(out.getvalue()).decode()
