"""What a training run keeps on disk: its configuration, checkpoints, metrics and a picture of how it learnt."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import torch
import yaml
from torch.utils.tensorboard import SummaryWriter

from wzmj_env.files import whole_file, write_whole

C = TypeVar("C")

METRICS = "metrics.jsonl"


# --- configuration ---------------------------------------------------------------------------------------------------


def read_config(cls: type[C], path: Path) -> C:
    """A dataclass from a YAML file. ValueError names the file, the key and what is allowed."""
    try:
        mapping = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(mapping, dict):
        raise ValueError(f"{path} holds no mapping of fields")
    return make_config(cls, mapping, str(path))


def make_config(cls: type[C], mapping: dict[str, Any], source: str) -> C:
    """A dataclass from plain values, unknown keys and values of another type refused."""
    hints = get_type_hints(cls)
    values = {}
    for key, value in mapping.items():
        if key not in hints:
            near = difflib.get_close_matches(str(key), hints, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"{source}: unknown field {key!r}{hint}; allowed are {', '.join(hints)}")
        values[key] = _converted(value, hints[key], f"{source}: {key}")
    try:
        return cls(**values)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _converted(value: Any, hint: Any, name: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint == tuple[int, ...] and isinstance(value, (list, tuple)) and all(type(v) is int for v in value):
        return tuple(value)
    if hint == tuple[str, ...] and isinstance(value, (list, tuple)) and all(type(v) is str for v in value):
        return tuple(value)
    if type(value) is hint:
        return value
    raise ValueError(f"{name} must be {getattr(hint, '__name__', hint)}, not {value!r}")


def plain(config: Any) -> dict[str, Any]:
    """The fields of a configuration as plain values."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


# --- files -----------------------------------------------------------------------------------------------------------


def save_checkpoint(path: Path, checkpoint: dict[str, Any]) -> None:
    """Write a checkpoint of tensors and plain values, readable by `torch.load(weights_only=True)`."""
    with whole_file(path) as file:
        torch.save(checkpoint, file)


def fresh_folder(path: Path) -> Path:
    """`path`, or `path-2`, `path-3`, ... : the first that is not there, made."""
    number = 1
    while True:
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1


# --- metrics ---------------------------------------------------------------------------------------------------------


class Metrics:
    """One line of JSON an update in `metrics.jsonl`, the same numbers for TensorBoard. What a resumed run had written
    after its checkpoint is taken out first."""

    def __init__(self, folder: Path, last_update: int) -> None:
        self.path = folder / METRICS
        kept = [row for row in read_metrics(folder) if row["update"] <= last_update]
        write_whole(self.path, "".join(json.dumps(row) + "\n" for row in kept))
        self.board = SummaryWriter(str(folder), purge_step=last_update + 1)

    def write(self, row: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        for name, value in row.items():  # of an estimate, [mean, low, high], the mean
            self.board.add_scalar(name, value[0] if isinstance(value, list) else value, row["update"])

    def close(self) -> None:
        self.board.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows of `metrics.jsonl`; a last line that a killed run has left unfinished is not one."""
    try:
        lines = (folder / METRICS).read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[:-1]]


def write_curve(folder: Path, opponents: Sequence[str]) -> Path:
    """`curve.csv`: strength against fixed opponents by decisions learnt and hours, a row a point and opponent."""
    lines = ["update,decisions,hours,opponent,mean,low,high"]
    for row in read_metrics(folder):
        for name in opponents:
            if f"eval/{name}" in row:
                where = f"{row['update']},{row['decisions']},{row['seconds'] / 3600:.4f}"
                lines.append(",".join((where, name, *(f"{x:.4f}" for x in row[f"eval/{name}"]))))
    path = folder / "curve.csv"
    write_whole(path, "\n".join(lines) + "\n")
    return path


def draw_curve(folder: Path, opponents: Sequence[str]) -> Path:
    """`learning_curve.png`: strength against fixed opponents and what self-play looks like, over decisions learnt."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = read_metrics(folder)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for name in opponents:
        points = [(row["decisions"], *row[f"eval/{name}"]) for row in rows if f"eval/{name}" in row]
        if points:
            x, mean, low, high = zip(*points, strict=True)
            left.plot(x, mean, marker=".", label=f"against {name}")
            left.fill_between(x, low, high, alpha=0.2)
    left.axhline(0, color="black", linewidth=0.8)
    left.set(title="payment a hand, duplicate deals", xlabel="decisions learnt", ylabel="units (95 % interval)")
    if left.get_legend_handles_labels()[0]:
        left.legend()
    played = [row for row in rows if "hands/won" in row]  # the others learnt from vines
    decisions = [row["decisions"] for row in played]
    for name in ("won", "hard", "double"):
        right.plot(decisions, [row[f"hands/{name}"] for row in played], label=f"{name}, share of hands")
    right.plot(decisions, [row["losses/entropy"] for row in played], label="entropy of the policy (nats)", linestyle=":")
    right.set(title="self-play", xlabel="decisions learnt")
    right.legend()
    path = folder / "learning_curve.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
