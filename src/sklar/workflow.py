"""From file to file: what the command line does, as functions a Python user could call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from sklar.tables import Table, TableError, read_table, require_format, require_writable, write_table

# A target of whole numbers with at most this many different values is taken for classes.
MOST_CLASSES_GUESSED = 20


def fit_file(
    data: str,
    target: str | Sequence[str],
    out: str,
    *,
    task: str = "auto",
    ignore: Iterable[str] = (),
    text: Iterable[str] = (),
    sample_weight: str | None = None,
    event: str | None = None,
    sql: str | None = None,
    echo: Callable[[str], object] = print,
    **words: Any,
) -> Any:
    """Fit an estimator to a table on disk and save it; a word `k` makes it a ranker. Returns the estimator.

    `ignore` are columns to leave out, `text` those of a CSV to take as text whatever they hold, `sample_weight` the
    column that says what rows count, `event` the one that says whether the time in `target` is an event's (a Cox
    model), `sql` a DuckDB query in which the file is `data`.
    """
    as_text = set(text)
    table = read_table(data, as_text, sql)
    require_writable(out)
    targets = [target] if isinstance(target, str) else list(target)
    ignored = {*ignore, *(name for name in (sample_weight, event) if name is not None)}
    for name in (*targets, *sorted(ignored), *sorted(as_text)):
        table.column(name)
    said = ", ".join(map(repr, targets))
    names = [name for name in table.columns if name not in targets and name not in ignored]
    if not names:
        raise TableError(f"{table.source} has no columns besides the target {said}")
    X, y = table.features(names, as_text), _targets(table, targets, event)
    if event is not None:
        words["loss"] = "cox"
    if "loss" in words:
        task = "regression"
    if task == "auto":
        task = guess_task(y)
        echo(f"target {said} looks like {task} (say --task to decide)")
    if task == "regression" and event is None and not np.issubdtype(y.dtype, np.number):
        raise TableError(f"{table.source}: the target {said} is text, which --task regression cannot use")
    weight = None if sample_weight is None else table.matrix([sample_weight])[:, 0]
    estimator = _estimator_class(task, ranker="k" in words)(**words).fit(X, y, weight)
    _summarise(estimator, X, names, echo)
    estimator.save(out)
    echo(f"wrote {out}")
    return estimator


def answer_file(what: str, model: str, data: str, out: str, sql: str | None = None) -> int:
    """Write what a saved model says about a table on disk: "select", "rank" or "predict". Returns the rows."""
    from sklar.estimators import load

    require_format(out)
    estimator = load(model)
    names = estimator._names()
    as_text = [name for name, kept in zip(names, estimator.encoding_.categories, strict=True) if kept]
    table = read_table(data, as_text, sql)
    require_writable(out)
    if what == "rank" and not callable(getattr(estimator, "rank", None)):
        raise ValueError(f"{model} is a selector; only a ranker (fit with --k) can rank")
    answer = _ANSWERS[what](estimator, table.features(names, as_text), names)
    write_table(out, answer)
    return len(next(iter(answer.values())))


def guess_task(y: np.ndarray) -> str:
    """Text and few whole numbers are classes; everything else is a quantity.

    Examples
    --------
    >>> guess_task(np.array([0, 1, 1])), guess_task(np.array([0.5, 1.5]))
    ('classification', 'regression')
    """
    if not np.issubdtype(y.dtype, np.number):
        return "classification"
    if y.ndim == 2:  # several: labels, or quantities
        return "classification" if np.isin(y, (0, 1)).all() else "regression"
    whole = np.all(np.isfinite(y)) and np.all(y == np.round(y))
    return "classification" if whole and len(np.unique(y)) <= MOST_CLASSES_GUESSED else "regression"


def _select(estimator: Any, X: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    masks = estimator.select(X).astype(np.int8)
    return {name: masks[:, j] for j, name in enumerate(names)}


def _rank(estimator: Any, X: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    ranks = np.array(names, dtype=object)[estimator.rank(X)]
    return {f"rank_{j + 1}": ranks[:, j] for j in range(ranks.shape[1])}


def _predict(estimator: Any, X: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    answer = estimator.predict(X)
    if answer.ndim == 2:  # several targets
        columns = {f"prediction_{j + 1}": values for j, values in enumerate(answer.T)}
    else:
        columns = {"prediction": answer}
    if hasattr(estimator, "classes_"):
        first = 1 if answer.ndim == 2 else 0  # labels have no names: they are counted as the predictions are
        for label, column in zip(estimator.classes_, estimator.predict_proba(X).T, strict=True):
            columns[f"proba_{label + 1 if first else label}"] = column
    return columns


_ANSWERS = {"select": _select, "rank": _rank, "predict": _predict}


def _estimator_class(task: str, ranker: bool) -> Any:
    import sklar

    kind = "Ranker" if ranker else "Selector"
    return getattr(sklar, f"Copula{kind}{'Classifier' if task == 'classification' else 'Regressor'}")


def _targets(table: Table, names: list[str], event: str | None) -> np.ndarray:
    """One target (n,), several (n, targets), or an event and its time."""
    if event is not None:
        seen, time = _target(table, event), _target(table, names[0])
        if len(names) > 1 or not np.isin(seen.astype(str), ("0", "1", "0.0", "1.0", "True", "False")).all():
            raise TableError(f"{table.source}: --event takes a column of 0 and 1 (or True and False) and one target")
        if not np.issubdtype(time.dtype, np.number):
            raise TableError(f"{table.source}: the target {names[0]!r} is text, and should be a time")
        pairs = np.empty(len(time), dtype=[("event", bool), ("time", float)])
        pairs["event"], pairs["time"] = np.isin(seen.astype(str), ("1", "1.0", "True")), time
        return pairs
    columns = [_target(table, name) for name in names]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _target(table: Table, name: str) -> np.ndarray:
    y = table.column(name)
    missing = [v is None or v != v or v == "" for v in y.tolist()]
    if any(missing):
        raise TableError(f"{table.source}: the target {name!r} is missing in row {missing.index(True)}")
    return y if np.issubdtype(y.dtype, np.number) else y.astype(str)


def _summarise(estimator: Any, X: dict[str, np.ndarray], names: list[str], echo: Callable[[str], object]) -> None:
    selected = estimator.select(X)
    shares = 100 * selected.mean(axis=0)
    top = [f"{names[j]} {shares[j]:.0f}%" for j in np.argsort(-shares)[:8] if shares[j] > 0]
    echo(f"fitted {type(estimator).__name__} on {len(selected)} rows x {len(names)} features")
    if estimator.path_:
        echo(f"penalty {estimator.penalty_:.3g}, chosen from {len(estimator.path_['penalty'])}")
    echo(f"{selected.sum(axis=1).mean():.1f} features a row; most often {', '.join(top) or 'none'}")
