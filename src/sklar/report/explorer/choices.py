"""What a fit tried and what rows chose, in words, from its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklar.report.explorer.tables import four_digits


def choices(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for everything that was tried, the chosen marked; of several models those of the first.

    A strength that was chosen before the fit, and is then the fit's own, is said once.

    Examples
    --------
    >>> record = {"part": "strength", "strength": 0.1, "loss": 0.5, "mean_features": 4.25, "chosen": True}
    >>> choices([record, {"part": "final", "loss": 0.4}])
    [{'what': 'selector', 'how': 'group lasso of its inputs x 0.1', 'loss': 0.5, 'features': 4.25, 'chosen': True}]
    """
    known = {"predictors": _of_predictors, "strength": _of_selector, "one set": _of_one_set}
    own = [record for record in history if record.get("part") in known and record.get("model", 0) == 0]
    lines: list[dict[str, Any]] = [
        {
            "what": "predictors" if record["part"] == "predictors" else "selector",
            "how": known[record["part"]](record),
            "loss": four_digits(float(record["loss"])),
            "features": four_digits(float(record["mean_features"])) if "mean_features" in record else None,
            "chosen": bool(record["chosen"]),
        }
        for record in own
    ]
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        first.setdefault((line["what"], line["how"]), line)
    return list(first.values())


def _of_predictors(record: dict[str, Any]) -> str:
    bins = int(record["n_bins"])
    numbers = f"numbers also in {bins} intervals" if bins else "numbers as they are"
    return f"{numbers}, regularised x {record['regularisation']:g}"


def _of_selector(record: dict[str, Any]) -> str:
    return f"group lasso of its inputs x {record['strength']:g}"


def _of_one_set(record: dict[str, Any]) -> str:
    return (
        f"one set for all rows, against a loss of {four_digits(float(record['loss_of_selector']))} by rows of their own"
    )
