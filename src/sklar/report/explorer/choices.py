"""What a fit tried and what rows chose, in words, from its history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklar.report.explorer.tables import four_digits


def choices(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for everything that was tried, the chosen marked; of several models those of the first.

    A strength that was chosen before the fit, and is then the fit's own, is said once. Of prices `above` is how far the
    loss is above the least, and `error` the standard error of that.

    Examples
    --------
    >>> record = {"part": "strength", "strength": 0.1, "loss": 0.5, "mean_features": 4.25, "chosen": True}
    >>> line, = choices([record, {"part": "final", "loss": 0.4}])
    >>> line["what"], line["how"], line["loss"], line["features"], line["chosen"]
    ('selector', 'group lasso of its inputs x 0.1', 0.5, 4.25, True)
    """
    own = [record for record in history if record.get("part") in KNOWN and record.get("model", 0) == 0]
    least = min((float(record["loss"]) for record in own if record["part"] == "penalty"), default=0.0)
    lines = [_line(record, least) for record in own]
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        first.setdefault((line["what"], line["how"]), line)
    return list(first.values())


def _line(record: dict[str, Any], least: float) -> dict[str, Any]:
    """One record; `least` is the smallest loss of all prices."""
    what, how = KNOWN[record["part"]]
    loss, is_price = float(record["loss"]), record["part"] == "penalty"
    return {
        "what": what,
        "how": how(record),
        "loss": four_digits(loss),
        "above": four_digits(loss - least) if is_price else None,
        "error": four_digits(float(record.get("error", 0.0))) if is_price else None,
        "features": four_digits(float(record["mean_features"])) if "mean_features" in record else None,
        "chosen": bool(record["chosen"]),
    }


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


def _of_penalty(record: dict[str, Any]) -> str:
    return f"{float(record['penalty']):.2g}"


# Of each part of a history: what was tried, and how a record says it.
KNOWN: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "predictors": ("predictors", _of_predictors),
    "strength": ("selector", _of_selector),
    "one set": ("selector", _of_one_set),
    "penalty": ("price", _of_penalty),
}
