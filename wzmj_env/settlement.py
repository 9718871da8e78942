"""Every line of a hand's payment (R9), for people to read: who pays whom how much, and what it is made of."""

from __future__ import annotations

from typing import Any

from .game import Game
from .hand import count
from .scoring import base_between, caishen_amount


def settlement(game: Game) -> dict[str, Any]:
    """The payment of a hand that is over, as plain values. ValueError for one that is not.

    wins      payer, ladder (the base before doubling), bought, topped, value, points: what the payer pays the winner (R9.1)
    caishen   seat, held, points: what the seat takes from every other (R9.2)
    payments  by seat, the sum of all lines

    >>> game = Game(seed=1)
    >>> while not game.done:
    ...     game.step(game.legal_actions()[-1])
    >>> settlement(game)["payments"] == game.result.payments.tolist()
    True
    """
    result = game.result
    if result is None:
        raise ValueError("the hand is not over: there is nothing to settle")
    s, rules, n = game._states[0], game.rules, game.num_players
    dealer = int(s.dealer)
    wins = []
    if result.winner is not None:
        ladder_value = rules.dealer_ladder[int(s.ladder)]
        for payer in range(n):
            if payer == result.winner:
                continue
            with_dealer = dealer in (payer, result.winner)
            other = payer if result.winner == dealer else result.winner
            base = base_between(payer, result.winner, dealer, ladder_value, rules.non_dealer_base, bool(s.bought), s.topped)
            wins.append(
                {
                    "payer": payer,
                    "ladder": ladder_value if with_dealer else rules.non_dealer_base,
                    "bought": with_dealer and bool(s.bought),
                    "topped": with_dealer and bool(s.topped[other]),
                    "value": result.value,
                    "points": rules.unit * result.value * int(base),
                }
            )
    caishen = []
    if result.winner is not None or rules.caishen_bonus_on_draw:
        each = int(caishen_amount(result.value, rules.unit, rules.caishen_bonus, rules.caishen_bonus_double))
        held = [int(count(s.held[p], int(s.caishen))) for p in range(n)]
        caishen = [{"seat": p, "held": h, "points": h * each} for p, h in enumerate(held) if h]
    payments = [0] * n
    for line in wins:
        payments[line["payer"]] -= line["points"]
        payments[result.winner or 0] += line["points"]
    for line in caishen:
        for p in range(n):
            payments[p] += line["points"] * (n - 1 if p == line["seat"] else -1)
    return {"wins": wins, "caishen": caishen, "payments": payments}
