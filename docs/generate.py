"""Write the pages that are made from the code: `python docs/generate.py`. A test keeps them up to date."""

import re
from collections.abc import Callable
from pathlib import Path

from wzmj_env import ACTION_VERSION, OBSERVATION_VERSION, Rules, actions, observe
from wzmj_env.aec import largest_loss
from wzmj_env.protocol import PROTOCOL_VERSION
from wzmj_env.record import ENVIRONMENT, FORMAT_VERSION

import figures

HERE = Path(__file__).resolve().parent
NAMED_RULES = {"classic": Rules(), "classic, stakes off": Rules(stakes=False), "duel": Rules.preset("duel")}


def observation_page() -> str:
    rows = "\n".join(f"| {a} | {actions.name(a)} |" for a in range(actions.NUM_ACTIONS))
    losses = "\n".join(f"| {name} | {largest_loss(rules):g} |" for name, rules in NAMED_RULES.items())
    return f"""# Observation, state, actions, rewards

Made from the code by `python docs/generate.py`. Observation version {OBSERVATION_VERSION}, action version {ACTION_VERSION}: both
are written into every checkpoint and record, and checked when one is read.

An observation is `{observe.OBSERVATION_SHAPE} uint8`, planes of 34 kinds (`1m–9m 1p–9p 1s–9s`, then East South West North
white green red). Seats are relative: the observer's own first, then the others in turn order; absent seats are zero.
`state()` adds the planes from {observe.PLANE["OTHER_HAND"]} on, `{observe.STATE_SHAPE} uint8`, seen from the seat to act.

While stakes are asked no tile is to be seen. A seat that is not asked cannot tell who is: the mask is zeros for it, and
`TO_MOVE` is 0 for all while a tile is claimed or robbed.

{observe.layout_table((*observe.PLANES, *observe.STATE_PLANES))}

{observe.columns_table("TABLE", observe.TABLE_COLUMNS)}

{observe.columns_table("SEAT", observe.SEAT_COLUMNS)}

## The compact form

`VectorEnv(..., observe="counts")` gives `{observe.COUNTS_SHAPE}` in place of the planes: counts, and no history of the discards.

{observe.layout_table(observe.COUNT_PLANES)}

Either form is `uint8`, or with `dtype=np.float32` the same numbers as floats, unscaled.

## Rewards and actions

Rewards are payments in units, paid to every seat when a hand is settled, and sum to zero
([R9](rules.md#r9-settlement)); before that they are 0.

| rules | the most that a seat can lose in a hand |
|---|---|
{losses}

The actions ([R11](rules.md#r11-actions)):

| action | name |
|---|---|
{rows}

## Versions

| what | version | where it is written |
|---|---|---|
| environment | `{ENVIRONMENT}` | records |
| observation | {OBSERVATION_VERSION} | records, checkpoints |
| actions | {ACTION_VERSION} | records, checkpoints, the greeting of bots |
| record format | {FORMAT_VERSION} | records |
| protocol of bots | {PROTOCOL_VERSION} | the greeting of bots |
"""


def rules_page() -> str:
    """The page as it is, with the blocks between its marks made anew."""

    def made(found: re.Match[str]) -> str:
        return f"{found[1]}\n{figures.BLOCKS[found[2]]()}\n{found[4]}"

    mark = r"(<!-- made by docs/generate.py: (\w+) -->)\n(.*?)(<!-- end -->)"
    return re.sub(mark, made, (HERE / "rules.md").read_text(encoding="utf-8"), flags=re.DOTALL)


PAGES: dict[str, Callable[[], str]] = {
    "observation.md": observation_page,
    "rules.md": rules_page,
    **{f"rules/{name}.svg": picture for name, picture in figures.PICTURES.items()},
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
