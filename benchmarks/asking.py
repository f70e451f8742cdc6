"""Many rows asked for one feature after the other, side by side: with prices and a budget, or until a rule says stop.

Rankers of `sklar` with `chooses_from="shown"`, GDFS and DIME are asked in the same words (`Asker`), and by the same
rule: the best of what is not known and what the budget still allows. Best is by worth for price (`sklar`, as `acquire`
has it, and DIME), or by the policy's logits, which know no price (GDFS).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import softmax

ROUNDING = 1e-9  # as in `sklar.acquire`


@dataclass(frozen=True)
class Asker:
    """A fitted method and the rows that it is asked about."""

    n_rows: int
    columns: np.ndarray  # of the table, by feature: (d,)
    wanted: Callable[[np.ndarray], np.ndarray]  # known, bool (n, d) -> how much each feature is wanted next (n, d)
    outputs: Callable[[np.ndarray], np.ndarray]  # known -> (n, out); logits where there are classes
    decoded: Callable[[np.ndarray], np.ndarray]  # outputs -> predictions (n,)
    knows_prices: bool = True

    @classmethod
    def of_ranker(cls, ranker: Any, X: Any) -> Asker:
        """Of a ranker that chooses from what it has shown."""
        fitted = ranker.fitted_
        rows = fitted.read(X)

        def answer(what: Callable[..., torch.Tensor], known: np.ndarray) -> np.ndarray:
            parts = []
            for part, network, x in fitted.blocks(rows):
                mask = torch.from_numpy(known[part])[None].to(x)
                with torch.inference_mode():
                    parts.append(what(network, x, mask)[0].numpy())
            return np.concatenate(parts)

        return cls(
            rows.shape[0],
            fitted.schema.first_columns,
            lambda known: answer(lambda network, x, mask: network.next_worth(x, mask), known),
            lambda known: answer(fitted.output_of, known),
            fitted.target.predictions,
        )

    @classmethod
    def of_baseline(cls, model: Any, X: np.ndarray, knows_prices: bool) -> Asker:
        """Of GDFS or DIME, fitted without costs."""
        rows, d = model._check_rows(X), X.shape[1]

        def wanted(known: np.ndarray) -> np.ndarray:
            both = np.concatenate([rows, known], axis=1)
            return model._answer(both, lambda network, x: model._preference(network, x[..., :d], x[..., d:]))

        return cls(
            len(rows),
            np.arange(d),
            wanted,
            lambda known: model._masked_outputs(rows, known),
            lambda outputs: model._decoded(model._answers(outputs)),
            knows_prices,
        )


class Trail(NamedTuple):
    """What is known of rows after 0 to k questions, and how much the question was wanted that came next."""

    known: np.ndarray  # bool (k + 1, n, d)
    outputs: np.ndarray  # (k + 1, n, out)
    wanted: np.ndarray  # for its price: (k, n)


def trail(asker: Asker, k: int, prices: np.ndarray | None = None, budget: float = np.inf) -> Trail:
    """Ask up to k questions, as long as the budget allows one."""
    prices = np.ones(len(asker.columns)) if prices is None else prices[asker.columns]
    known = [np.zeros((asker.n_rows, len(prices)), dtype=bool)]
    wanted: list[np.ndarray] = []
    for _ in range(k):
        left = budget * (1 + ROUNDING) - known[-1] @ prices if np.isfinite(budget) else np.full(asker.n_rows, np.inf)
        open_to = ~known[-1] & (prices <= left[:, np.newaxis])
        gain = np.where(open_to, _for_price(asker, known[-1], prices), -np.inf)
        rows, best = np.flatnonzero(open_to.any(axis=1)), gain.argmax(axis=1)
        known.append(known[-1].copy())
        known[-1][rows, best[rows]] = True
        wanted.append(gain.max(axis=1))
    return Trail(np.stack(known), np.stack([asker.outputs(one) for one in known]), np.stack(wanted))


def _for_price(asker: Asker, known: np.ndarray, prices: np.ndarray) -> np.ndarray:
    wanted = asker.wanted(known)
    return np.where(wanted > 0, wanted / prices, wanted * prices) if asker.knows_prices else wanted


def when_sure(found: Trail, confidence: float) -> np.ndarray:
    """After how many questions a row's class has this probability; k where it never has: (n,)."""
    sure = softmax(found.outputs, axis=-1).max(axis=-1) >= confidence
    sure[-1] = True
    return sure.argmax(axis=0)


def when_not_worth(found: Trail, price: float) -> np.ndarray:
    """After how many questions nothing is wanted more than a price, DIME's rule; k where something always is: (n,)."""
    ends = np.vstack([found.wanted <= price, np.ones((1, found.wanted.shape[1]), dtype=bool)])
    return ends.argmax(axis=0)


def predicted(asker: Asker, found: Trail, asked: np.ndarray) -> np.ndarray:
    """The predictions after so many questions of each row: (n,)."""
    return asker.decoded(found.outputs[asked, np.arange(asker.n_rows)])
