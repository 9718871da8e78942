"""Ratings out of results: Bradley-Terry strengths over a whole tournament, and a running ladder's. Extra `eval`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

ELO = 400 / math.log(10)  # points of one unit of log-strength
REGULARISATION = 0.1  # of choix: keeps a player who has won or lost all deals at a finite rating
RESAMPLES, RESAMPLING_SEED = 200, 20_260_102
MEAN, DEVIATION = 25.0, 25.0 / 3  # of a newcomer on the ladder, as openskill has them


class MissingExtra(ValueError):
    """An optional package is not installed."""


def _extra(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        raise MissingExtra(f"ratings need {module}, which is not installed: pip install 'wzmj[eval]'") from None


def wins(scores: Sequence[tuple[int, int, np.ndarray]], n: int, deals: np.ndarray | None = None) -> np.ndarray:
    """`(n, n)`: how many deals each has won against each, a tie being half of one for both.

    `scores` holds for pairs (a, b) what a got in each deal against b, `(D,)`; `deals` picks deals, with repetition.
    """
    table = np.zeros((n, n))
    for a, b, score in scores:
        picked = score if deals is None else score[deals[deals < len(score)]]
        table[a, b] += (picked > 0).sum() + (picked == 0).sum() / 2
        table[b, a] += (picked < 0).sum() + (picked == 0).sum() / 2
    return table


def elo(scores: Sequence[tuple[int, int, np.ndarray]], n: int) -> np.ndarray:
    """`(n, 3)`: rating, and the ends of its 95 % bootstrap interval over deals, in Elo points around 0.

    A deal between two is won by whoever gets more in it over all seatings (`wins`). MissingExtra without choix.
    """
    choix = _extra("choix")

    def rated(table: np.ndarray) -> np.ndarray:
        return np.asarray(choix.ilsr_pairwise_dense(table, alpha=REGULARISATION)) * ELO

    rng = np.random.default_rng(RESAMPLING_SEED)
    num_deals = max(len(score) for _, _, score in scores)
    drawn = [rated(wins(scores, n, rng.integers(num_deals, size=num_deals))) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return np.stack([rated(wins(scores, n)), low, high], axis=1)


def after_game(skills: Sequence[tuple[float, float]], payments: Sequence[int]) -> list[tuple[float, float]]:
    """The skills (mean, deviation) of those who have played a game, after it; more payment is a better place.

    MissingExtra without openskill.
    """
    models = _extra("openskill.models")
    model = models.PlackettLuce(mu=MEAN, sigma=DEVIATION)
    teams = [[model.rating(mu=mu, sigma=sigma)] for mu, sigma in skills]
    rated = model.rate(teams, scores=list(map(float, payments)))
    return [(team[0].mu, team[0].sigma) for team in rated]
