"""The estimators' parameters as options of `sklar fit`, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class NumberOr(click.ParamType):
    """A number, or one of a few words."""

    def __init__(self, *words: str, kind: type[int] | type[float] = float) -> None:
        self.words, self.kind = words, kind
        self.name = "|".join(("number", *words))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        if value in self.words:
            return value
        try:
            return self.kind(value)
        except ValueError:
            what = "a whole number" if self.kind is int else "a number"
            self.fail(f"{value!r} is not {what} or {' or '.join(map(repr, self.words))}", param, ctx)


class Columns(click.ParamType):
    """Column names with commas between them; with `groups`, groups with semicolons between them."""

    def __init__(self, groups: bool = False) -> None:
        self.groups = groups
        self.name = "a,b;c,d" if groups else "a,b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`; a configuration file may hold lists already."""
        if not isinstance(value, str):
            return value
        lists = [[name.strip() for name in part.split(",") if name.strip()] for part in value.split(";")]
        return lists if self.groups else lists[0]


class Prices(click.ParamType):
    """Columns with their prices: a=2,b=0.5."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.name = "|".join(("a=2,b=0.5", *words))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        if not isinstance(value, str) or value in self.words:
            return value
        try:
            pairs = [part.rsplit("=", 1) for part in value.split(",")]
            return {name.strip(): float(price) for name, price in pairs}
        except ValueError:
            self.fail(f"{value!r} is not of the form {self.name}", param, ctx)


# A test compares them with the constructors'.
PARAMS: tuple[tuple[str, Any, str], ...] = (
    ("penalty", NumberOr("auto"), "Price of a feature, or 'auto'."),
    ("k", int, "Rank exactly K features per row (makes a ranker)."),
    ("max-excess", float, "What a ranker's choice may say beyond the values it shows."),
    ("chooses-from", str, "row or shown: what a ranker chooses each feature from."),
    ("groups", Columns(groups=True), "Columns that are selected together."),
    ("forced", Columns(), "Columns that are always selected."),
    ("forbidden", Columns(), "Columns that are never selected, nor read."),
    ("costs", Prices(), "Prices of columns (1 where none is given)."),
    ("dates", str, "ordinal or parts: dates as days, or as season, weekday and hour too."),
    ("scaling", str, "column or global: deviations of each column, or of all of them."),
    ("loss", str, "squared, poisson or cox (regression)."),
    ("class-weight", Prices("balanced"), "What rows of a class count (classification)."),
    ("min-features", int, "Features a row gets at least."),
    ("objective", str, "honest or joint: what training minimises."),
    ("covariance", str, "low-rank, full, block or independent."),
    ("n-factors", int, "Factors of a low-rank covariance."),
    ("union-width", NumberOr("auto", kind=int), "Features that are left after screening, at most, or 'auto'."),
    ("selector-sparsity", NumberOr("auto"), "How few inputs the selector may look at, or 'auto'."),
    ("predictor-regularization", NumberOr("auto"), "How strongly the predictors are regularised, or 'auto'."),
    ("quantile-bins", NumberOr("auto", kind=int), "Intervals that predictors see numbers in, or 'auto'."),
    ("mask", str, "relaxed or rounded: what joint training shows its predictor."),
    ("temperature", float, "Temperature of the relaxed mask."),
    ("step-exponent", float, "Exponent of the top-k relaxation (ranker)."),
    ("correlation-strength", float, "Strength of the gates' correlation (ranker)."),
    ("choice-hidden", int, "Width of ChoiceNet."),
    ("predict-hidden", int, "Width of PredictNet."),
    ("activation", str, "relu or selu."),
    ("loadings-activation", str, "tanh or relu."),
    ("max-epochs", int, "Passes over the rows, at most."),
    ("batch-size", int, "Rows per step."),
    ("learning-rate", float, "Learning rate of the optimiser."),
    ("weight-decay", float, "Weight decay of the optimiser."),
    ("predictor", str, "auto, networks or trees: what predicts from the selected features."),
    ("n-models", int, "Models that vote, each from its own seed."),
    ("n-folds", int, "Folds of cross-fitting."),
    ("validation-fraction", float, "Share of rows held out for validation."),
    ("patience", int, "Epochs without progress before stopping."),
    ("device", str, "auto, cpu or cuda."),
    ("random-state", int, "Seed that fixes the result."),
)


def constructor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option per parameter; one that is not given keeps the estimator's default."""
    for name, kind, text in reversed(PARAMS):
        command = click.option(f"--{name}", type=kind, default=None, help=text)(command)
    return command
