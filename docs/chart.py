"""Draw the speeds that `wzmj bench --peers --json FILE` measured: `python docs/chart.py FILE docs/speed.svg` (or .png).

One row a comparison: the peer's rate and ours, decisions a second of one core, on a logarithmic scale. Needs matplotlib,
which the extra `eval` has.
"""

import argparse
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS = {
    "masks": "compiled loop, masks",
    "observations": "compiled loop, masks and observations",
    "batch": "VectorEnv.step from Python, with observations",
    "raw_env": "AEC raw_env",
    "env": "AEC env",
}
MINE, THEIRS = "#1b6e53", "#b9b9b9"


def draw(report: dict, path: Path) -> None:
    """Write the picture; ValueError when the report holds no peers."""
    rows = report.get("peers")
    if not rows:
        raise ValueError("the report holds no peers: it must come from wzmj bench --peers")
    matplotlib.rcParams["svg.hashsalt"] = "wzmj"  # the same report gives the same bytes
    figure, axes = plt.subplots(figsize=(9, 0.72 * len(rows) + 0.9), layout="constrained")
    for i, row in enumerate(reversed(rows)):
        axes.barh(i - 0.2, row["peer_rate"], 0.38, color=THEIRS)
        axes.barh(i + 0.2, row["our_rate"], 0.38, color=MINE)
        axes.text(row["peer_rate"], i - 0.2, f"  {row['peer']}: {row['peer_rate']:,.0f}", va="center", fontsize=8)
        text = f"  wzmj, {OURS[row['ours']]}: {row['our_rate']:,.0f}  (×{row['ratio']:.1f})"
        axes.text(row["our_rate"], i + 0.2, text, va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(3e3, 3e9)
    axes.set_xticks([10**e for e in range(4, 8)])
    axes.set_yticks([])
    axes.set_xlabel("decisions a second of one core")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    try:
        draw(json.loads(options.report.read_text(encoding="utf-8")), options.picture)
    except (OSError, ValueError) as error:
        print(f"chart: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
