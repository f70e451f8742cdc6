"""Does a selection leak the outcome, or persuade, and is it stable?

A selector that is trained together with its predictor can tell it the answer through the choice of features. The
audit asks predictors that cannot have agreed on anything with it: cross-fitted networks that learn from random masks
alone (EVAL-X; Jethani et al., 2021), and trees that see the mask without a single value. A selector that sees the whole
row can also pick the evidence for its answer, which no code needs: EVAL-X is then right more often than the values it
is shown let it expect. That excess (see `judgement`) is measured too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sklar.fitted import FittedModel
from sklar.outcomes import outcome_of
from sklar.selection_scores import UNION_SHARE, selection_scores
from sklar.stability import jaccard, stand_ins
from sklar.table.adapter import SparseTable, adapt
from sklar.table.target_values import check_outcomes
from sklar.table.weights import arranged

# The networks may be ahead of EVAL-X by this much (points) before it counts: they saw the masks they are asked about.
# With fewer rows than 10,000 EVAL-X, which learns from the audited rows, falls behind: measured on a model without a
# leak, by 0.7 points with 6,000 rows, 1.5 with 3,000 and 5.2 with 1,000.
TOLERATED_GAP = 3.0
ROWS_OF_TOLERANCE = 10_000
# A difference of scores counts if it is also this many standard errors.
SIGNIFICANT = 2.0
# The excess counts from here on (nats), and from so many standard errors; docs/method.md has false alarms and power.
TOLERATED_EXCESS = 0.02
SIGNIFICANT_EXCESS = 3.0
# Of fewer rows a gap of 30 points and more would be tolerated: nothing found says nothing.
LEAST_ROWS = 100
NOISE = 0.05  # of the input, in standard deviations
MOST_REFIT_ROWS = 5_000  # and fewer rows take fewer steps


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Scores are accuracy for classes, R^2 for values and concordance for times, in percent; agreement is in percent.
    """

    score_name: str
    own_score: float  # the model's own predictor, on its masks
    evalx_score: float  # predictors trained on random masks only, on the same masks
    expected_score: float  # what these predictors expect it to be, from the values shown
    excess: float  # what the choice says about the outcome beyond these values, nats
    excess_error: float  # its standard error
    constant_excess: float  # that of one set for all rows, which cannot say anything: the predictors' own error
    everything_score: float  # the same, shown all features
    union_score: float  # the same, shown the union of the selected features, for every row alike
    mask_score: float  # a predictor that sees which features were selected, and no value
    guess_score: float  # the best constant guess
    score_error: float  # standard error of a score, points
    mean_features: float
    union_features: int
    noise_agreement: float  # of the masks, under small noise on the input (Jaccard)
    refit_agreement: float | None  # of the masks, between this model and refits (Jaccard)
    n_rows: int
    grouped_refit_agreement: float | None = None  # that of refits, features that stand for each other counted as one
    network_score: float | None = None  # of the networks that the selector learned with, where others predict
    outcomes_differ: bool = True  # whether the rows have different outcomes

    @property
    def gap(self) -> float:
        """How far the networks that the selector learned with are ahead of EVAL-X, in points.

        Only these could have agreed on a code with it. A predictor that was trained afterwards, on masks of other rows,
        may be ahead because it is better.
        """
        return (self.own_score if self.network_score is None else self.network_score) - self.evalx_score

    @property
    def encodes(self) -> bool:
        """Whether the choice of features is a code: the mask says more than the values.

        Either the networks read something in the masks that EVAL-X cannot, or the mask alone predicts better than
        EVAL-X does from the values shown.
        """
        sure = SIGNIFICANT * 2**0.5 * self.score_error
        tolerated = TOLERATED_GAP * max(1.0, ROWS_OF_TOLERANCE / self.n_rows) ** 0.5
        return self.gap > max(tolerated, sure) or self.mask_score - self.evalx_score > max(tolerated / 2, sure)

    @property
    def persuades(self) -> bool:
        """Whether evidence was picked: EVAL-X is right more often than the values shown let it expect."""
        found = self.excess - max(0.0, self.constant_excess)
        return found > max(TOLERATED_EXCESS, SIGNIFICANT_EXCESS * self.excess_error)

    @property
    def leaks(self) -> bool:
        """Whether the choice of features says more about y than the features chosen, in either way."""
        return self.encodes or self.persuades

    @property
    def can_tell(self) -> bool:
        """Whether a leak would be seen, if there were one: in enough rows, of different outcomes."""
        return self.n_rows >= LEAST_ROWS and self.outcomes_differ

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        if self.encodes:
            return "LEAKS: the choice of features tells the outcome"
        if self.persuades:
            return (
                f"PERSUADES: the choice tells more than the values shown: {self.score_name} {self.evalx_score:.1f}, of "
                f"which the values support {self.expected_score:.1f}"
            )
        if self.can_tell:
            return "passes: no sign of a leak"
        few = self.n_rows < LEAST_ROWS
        return f"cannot tell: {f'fewer than {LEAST_ROWS} rows' if few else 'all rows have the same outcome'}"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the verdict."""
        found = {"gap": self.gap, "encodes": self.encodes, "persuades": self.persuades, "leaks": self.leaks}
        return {**asdict(self), **found, "can_tell": self.can_tell, "verdict": self.verdict}

    def __str__(self) -> str:
        """A page a person can read."""
        refit = "not measured" if self.refit_agreement is None else f"{self.refit_agreement:5.1f} %"
        if self.grouped_refit_agreement is not None:
            refit += f"   ({self.grouped_refit_agreement:.1f} % with stand-ins as one)"
        networks = () if self.network_score is None else (_score_line("its networks", self.network_score),)
        return "\n".join(
            (
                f"Audit on {self.n_rows} rows: {self.verdict}",
                f"  {self.score_name}, %",
                _score_line("own predictor", self.own_score),
                *networks,
                f"    EVAL-X, selected features          {self.evalx_score:6.1f}   (gap {self.gap:+.1f} points)",
                f"      supported by the values shown    {self.expected_score:6.1f}   "
                f"(excess {self.excess:+.3f} +- {self.excess_error:.3f} nats)",
                f"    EVAL-X, all features               {self.everything_score:6.1f}",
                f"    EVAL-X, the constant union         {self.union_score:6.1f}   ({self.union_features} features)",
                f"    the mask alone                     {self.mask_score:6.1f}",
                f"    best constant guess                {self.guess_score:6.1f}",
                f"  features per row                       {self.mean_features:6.1f}",
                f"  masks agree under {100 * NOISE:.0f} % input noise     {self.noise_agreement:5.1f} %",
                f"  masks agree over refits              {refit}",
            )
        )


def _score_line(name: str, score: float) -> str:
    return f"    {name + ', selected features':<33}  {score:6.1f}"


Refit = Callable[[Any, np.ndarray, int], FittedModel]  # a table, a target and a seed -> a model of them


def audit(
    fitted: FittedModel,
    X: Any,
    y: Any,
    *,
    n_refits: int = 0,
    random_state: int | None = 0,
    refit: Refit | None = None,
) -> AuditReport:
    """Audit a fitted model on rows that it was not trained on.

    Parameters
    ----------
    fitted : the model, an estimator's `fitted_`
    X, y : rows and targets, best others than those of `fit`; where many are copies, each counts once
    n_refits : how many models to train anew on these rows (at most 5,000) to compare masks with; 0 saves the time
    random_state : seed of the audit's own predictors, noise and refits
    refit : fits a model to a table, a target and a seed; an estimator's `audit` gives its own `fit`

    Returns
    -------
    AuditReport
        prints as a page; `leaks` is the verdict, `to_dict()` the numbers
    """
    _require_refits(n_refits, refit)
    rng = np.random.default_rng(random_state)
    table = adapt(X)
    X = table.dense() if isinstance(table, SparseTable) else X  # noise leaves no value of a sparse table 0
    rows, y = fitted.read(X), np.asarray(y)
    _require_one_target(fitted, rows, y)
    once = arranged(rows, y, None).order
    if once is not None and len(once) < len(y):
        once = np.sort(once)
        X, rows, y = adapt(X).take(once), rows[once], y[once]
    schema, masks = fitted.schema, fitted.masks(rows)
    outcome = outcome_of(y, fitted.target.classes, counts=fitted.target.kind == "counts")
    scores = selection_scores(
        schema.inputs(rows),
        outcome,
        masks[:, schema.first_columns],
        fitted.predictions(rows),
        random_state=int(rng.integers(2**31)),
        gate_of_input=fitted.network.architecture.gate_of_input,
    )
    networks = None if fitted.predictor is None else replace(fitted, predictor=None)
    noisy = rows + NOISE * schema.encoding.noise() * rng.standard_normal(rows.shape)
    noise_agreement = jaccard(masks, fitted.masks(noisy))
    refit_agreement, grouped = _refit_agreement(fitted, X, y, n_refits, rng, refit)
    return AuditReport(
        **scores,
        mean_features=float(masks.sum(axis=1).mean()),
        union_features=int((masks.mean(axis=0) > UNION_SHARE).sum()),
        noise_agreement=noise_agreement,
        refit_agreement=refit_agreement,
        grouped_refit_agreement=grouped,
        n_rows=len(rows),
        network_score=None if networks is None else outcome.score(networks.predictions(rows)),
        outcomes_differ=bool((y[1:] != y[:-1]).any()),
    )


def _require_refits(n_refits: int, refit: Refit | None) -> None:
    if isinstance(n_refits, bool) or not isinstance(n_refits, int | np.integer) or n_refits < 0:
        raise ValueError(f"n_refits must be a whole number from 0; got {n_refits!r}")
    if n_refits and refit is None:
        raise ValueError("n_refits needs `refit`, which fits a model to a table, a target and a seed")


def _require_one_target(fitted: FittedModel, rows: np.ndarray, y: np.ndarray) -> None:
    """Raise unless model and y have one class, value or time per row, of those that the model knows."""
    target, n_outputs = fitted.target, fitted.network.architecture.n_outputs
    several = target.kind == "labels" or (target.kind == "values" and n_outputs > 1)
    if y.ndim > 1 or several or (y.dtype.names is not None) != (target.kind == "risk"):
        raise ValueError(
            "an audit takes one class, one value or one time (a structured array, for a model of times) a row; this y, "
            "or this model, has several or another kind"
        )
    if y.shape != (len(rows),):
        raise ValueError(f"y must have one value for each of the {len(rows)} rows of X; got shape {y.shape}")
    classes = target.classes
    if classes is not None and not np.isin(y, classes).all():
        new = y[~np.isin(y, classes)][0]
        raise ValueError(f"y holds {_some(np.array([new]))}, which is not one of the model's classes: {_some(classes)}")
    check_outcomes(y)
    if target.kind == "counts" and (y < 0).any():
        raise ValueError(f"y must hold counts from 0; got {y.min():g} as the least")


def _some(classes: np.ndarray) -> str:
    return ", ".join(repr(label) for label in classes[:10].tolist()) + (", ..." if len(classes) > 10 else "")


def _refit_agreement(
    fitted: FittedModel, X: Any, y: np.ndarray, n_refits: int, rng: np.random.Generator, refit: Refit | None
) -> tuple[float | None, float | None]:
    """How far the masks of refits agree with the model's: column by column, and with stand-ins as one."""
    if not n_refits or refit is None:
        return None, None
    rows, agreements = fitted.read(X), []
    masks = fitted.masks(rows)
    for _ in range(n_refits):
        part = rng.permutation(len(y))[:MOST_REFIT_ROWS]
        seed = int(rng.integers(2**31))
        again = refit(adapt(X).take(part), y[part], seed)
        others, groups = again.masks(again.read(X)), stand_ins([fitted, again])
        agreements.append((jaccard(masks, others), jaccard(masks, others, groups)))
    plain, grouped = np.mean(agreements, axis=0)
    return float(plain), float(grouped)
