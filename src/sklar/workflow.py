"""From file to file: what the command line does, as functions a Python user could call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.prices import features_at as penalty_at
from sklar.scale.disk import Asked, some_rows, streamed, to_learn
from sklar.summary import fit_summary, summary_lines
from sklar.table.csv_files import STANDARD
from sklar.table.csv_format import CsvFormat, TableError
from sklar.table.files import Table, require_format, require_writable
from sklar.table.sparse import dense
from sklar.table.target_columns import Judged, read_target
from sklar.table.writing import write_blocks
from sklar.target import spelled_as

if TYPE_CHECKING:
    from sklar.audit import AuditReport
    from sklar.explain import Explanation
    from sklar.fitted import FittedModel

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
    missing_target: str = "drop",
    checkpoint: str | None = None,
    sql: str | None = None,
    csv: CsvFormat | None = None,
    echo: Callable[[str], object] = print,
    tell: Callable[[dict[str, Any]], object] = lambda summary: None,
    **params: Any,
) -> Any:
    """Fit an estimator to a table on disk and save it; a parameter `k` makes it a ranker. Returns the estimator.

    `ignore` are columns to leave out, `text` those of a CSV to take as text whatever they hold, `sample_weight` the
    column that says what rows count, `event` the one that says whether the time in `target` is an event's (a Cox
    model), `checkpoint` a folder to go on from after a kill, `sql` a DuckDB query in which the file is `data`. Rows
    without a target are left out and counted, or with `missing_target="refuse"` an error. `csv` says what a CSV file
    does not say itself. `echo` gets progress in lines of text, `tell` the result as plain values.
    """
    _require_file(out, "a model")
    targets = [target] if isinstance(target, str) else list(target)
    beside = [name for name in (sample_weight, event) if name is not None]
    asked = Asked(targets, sample_weight, event, {*ignore, *beside}, set(text), drop=missing_target == "drop")
    learned = to_learn(data, sql, csv, asked, echo)
    require_writable(out, data)
    if event is not None:
        params["loss"] = "cox"
    if "loss" in params:
        task = "regression"
    said = ", ".join(map(repr, targets))
    if task == "auto":
        task = guess_task(learned.y)
        echo(f"target {said} looks like {task} (say --task to decide)")
    if task == "regression" and event is None and not np.issubdtype(learned.y.dtype, np.number):
        raise TableError(f"{data}: the target {said} is text, which --task regression cannot use")
    from sklar.estimators.choosing import estimator_for

    estimator = estimator_for(task, params).fit(**learned.words, checkpoint=checkpoint)
    estimator.fitted_ = estimator.fitted_.read_from(targets, csv.missing if csv else (), learned.decimal)
    summary = fit_summary(estimator.fitted_, learned.shown(), learned.n_rows)
    for line in summary_lines(estimator.fitted_, summary):
        echo(line)
    estimator.save(out)
    echo(f"wrote {out}")
    tell({**summary, "n_rows_without_target": learned.n_left_out, "out": str(out)})
    return estimator


def answer_file(
    what: str,
    model: str,
    data: str,
    out: str,
    sql: str | None = None,
    csv: CsvFormat | None = None,
    penalty: float | None = None,
    k: int | None = None,
    features_at: float | None = None,
) -> int:
    """Write what a saved model says about a table on disk: "select", "rank" or "predict". Returns the rows.

    "-" as `data` is standard input, as `out` standard output. `penalty` and `k` ask the model at another price, or for
    fewer features, than it was fitted with; `features_at` at the price that gives about so many features per row.
    """
    require_format(out)
    source = streamed(data) if sql is None else None
    fitted = _load(model).fitted_
    fitted = fitted.at(_penalty(fitted, penalty, features_at), k)
    read = [] if source is not None else [_model_and_table(model, data, sql, csv)[2]]
    require_writable(out, data, model)
    if what == "rank" and fitted.k is None:
        raise ValueError(f"{model} is a selector; only a ranker (fit with --k) can rank")
    tables = read if source is None else source.batches(fitted.schema.names)
    n_rows = 0

    def answers() -> Iterator[dict[str, np.ndarray]]:
        nonlocal n_rows
        for X in tables:
            answer = _ANSWERS[what](fitted, X)
            n_rows += len(next(iter(answer.values())))
            yield answer

    write_blocks(out, answers())
    return n_rows


def audit_file(
    model: str,
    data: str,
    target: str | None = None,
    *,
    n_refits: int = 0,
    missing_target: str = "drop",
    sql: str | None = None,
    csv: CsvFormat | None = None,
    echo: Callable[[str], object] = print,
) -> AuditReport:
    """Audit a saved model on a table on disk, best on rows that it was not fitted on.

    `target` is the column that the model was fitted to, unless it is named.
    """
    estimator, table, X = _model_and_table(model, data, sql, csv)
    judged = _known_target(estimator.fitted_, table, target, missing_target, echo)
    echo(f"auditing {model} on {len(judged.y)} rows with predictors of its own ...")
    return estimator.audit(judged.of(X), judged.y, n_refits=n_refits)


def explain_file(
    model: str,
    data: str,
    row: int,
    sql: str | None = None,
    csv: CsvFormat | None = None,
    penalty: float | None = None,
    k: int | None = None,
    features_at: float | None = None,
) -> Explanation:
    """What a saved model says about one row of a table on disk; rows count from 0. The rest is as in `answer_file`."""
    source = streamed(data) if sql is None else None
    if source is not None:
        estimator = _load(model)
        penalty = _penalty(estimator.fitted_, penalty, features_at)
        return estimator.explain(source.row(row, estimator.fitted_.schema.names), penalty=penalty, k=k)
    estimator, table, X = _model_and_table(model, data, sql, csv)
    penalty = _penalty(estimator.fitted_, penalty, features_at)
    if not 0 <= row < table.n_rows:
        raise TableError(f"{table.source} has rows 0 to {table.n_rows - 1}; there is no row {row}")
    one = {name: values[row : row + 1] for name, values in X.items()}
    return estimator.explain(one, penalty=penalty, k=k)


def report_file(
    model: str,
    data: str,
    target: str | None,
    out: str,
    *,
    n_refits: int = 0,
    missing_target: str = "drop",
    sql: str | None = None,
    csv: CsvFormat | None = None,
    echo: Callable[[str], object] = print,
    **params: Any,
) -> Path:
    """Write the page about a saved model on a table on disk; the parameters are those of an estimator's `report`.

    With `n_refits` its audit trains so many models anew, and the page says how far their selections agree.
    """
    from sklar.report.explorer import write_report

    _require_file(out, "a page")
    require_writable(out, data, model)
    estimator, table, X = _model_and_table(model, data, sql, csv)
    fitted = estimator.fitted_
    judged = _known_target(fitted, table, target, missing_target, echo)
    if n_refits:
        if not params.get("audit", True):
            raise TableError("--refits is a part of the audit, which --no-audit leaves out")
        echo(f"report: auditing with predictors of its own, and {n_refits} refits ...")
        params["audit"] = estimator.audit(judged.of(X), judged.y, n_refits=n_refits)
    params = {**params, "title": params.get("title") or f"What decides {target or fitted.target.names[0]}"}
    return write_report(fitted, judged.of(X), judged.y, out, progress=echo, **params)


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


def _select(fitted: FittedModel, X: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    masks = fitted.masks(fitted.read(X)).astype(np.int8)
    return {name: masks[:, j] for j, name in enumerate(fitted.schema.names)}


def _rank(fitted: FittedModel, X: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rows = fitted.read(X)
    listed = fitted.ranks(rows)
    ranks = np.array(fitted.schema.names, dtype=object)[listed]
    ranks[~np.take_along_axis(dense(fitted.masks(rows)), listed, axis=1)] = ""  # what has no value is not selected
    return {f"rank_{j + 1}": ranks[:, j] for j in range(ranks.shape[1])}


def _predict(fitted: FittedModel, X: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rows, classes = fitted.read(X), fitted.target.classes
    answer = fitted.predictions(rows)
    if answer.ndim == 2:  # several targets
        columns = {f"prediction_{j + 1}": values for j, values in enumerate(answer.T)}
    else:
        columns = {"prediction": answer}
    if classes is not None:
        first = 1 if answer.ndim == 2 else 0  # labels have no names: they are counted as the predictions are
        for label, column in zip(classes, fitted.probabilities(rows).T, strict=True):
            columns[f"proba_{label + 1 if first else label}"] = column
    return columns


_ANSWERS = {"select": _select, "rank": _rank, "predict": _predict}


def _penalty(fitted: FittedModel, penalty: float | None, n: float | None) -> float | None:
    """The penalty that is asked at: given, or the one that gives about n features per row; None is that of fit."""
    if n is None:
        return penalty
    if penalty is not None:
        raise ValueError("--penalty and --features-at both say what a feature costs; give one of them")
    if fitted.k is not None:
        raise ValueError("--features-at is for selectors; --k says how many features a ranker gives")
    return penalty_at(fitted, n)


def _require_file(out: str, what: str) -> None:
    if out == STANDARD:
        raise TableError(f"--out - is for tables; {what} is a file: name one")


def _model_and_table(
    model: str, data: str, sql: str | None, csv: CsvFormat | None
) -> tuple[Any, Table, dict[str, np.ndarray]]:
    """A saved model, a table on disk (a sample of a streamed one), and its columns: text where they were so in fit."""
    estimator = _load(model)
    fitted = estimator.fitted_
    schema = fitted.schema
    form = (csv or CsvFormat()).as_in_fit(fitted.missing_cells, fitted.decimal)
    table = some_rows(data, schema.text_columns, sql, form)
    return estimator, table, table.features(schema.names, schema.text_columns, schema.names)


def _load(model: str) -> Any:
    from sklar.estimators import load

    return load(model)


def _known_target(
    fitted: FittedModel, table: Table, target: str | None, missing: str, echo: Callable[[str], object]
) -> Judged:
    """The target of rows to judge a model by: numbers for values, and of the classes' kind for classes."""
    names = [target] if target else list(fitted.target.names)
    if not names:
        raise TableError("the model does not know the name of its target; say --target")
    judged = read_target(table, names, drop=missing == "drop", echo=echo)
    classes, said = fitted.target.classes, ", ".join(map(repr, names))
    if classes is not None and judged.y.ndim == 1:
        judged = judged._replace(y=spelled_as(classes, judged.y))
    y = judged.y
    if classes is None and not np.issubdtype(y.dtype, np.number):
        raise TableError(f"{table.source}: the target {said} is text, but the model predicts numbers")
    if classes is not None and not np.isin(y, classes).any():
        known = ", ".join(map(str, classes[:10]))
        raise TableError(f"{table.source}: the target {said} holds none of the model's classes ({known})")
    return judged
