"""Views of a fitted model beyond its masks: one row in words, effects of features, rules over rows, stand-ins."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.effects import effects
from sklar.explain import Explanation, explain
from sklar.fitted import FittedModel
from sklar.interchange import Interchangeable
from sklar.retesting import retested
from sklar.rules import Rules, rules
from sklar.training.replacement import MOST_LOST


class Views:
    """What selectors and rankers say about a row, and about many at once."""

    @property
    def _fitted(self) -> FittedModel:
        raise NotImplementedError

    def explain(self, row: Any, *, penalty: float | None = None, k: int | None = None) -> Explanation:
        """One row in a few lines: the prediction, the features behind it, how sure, what could stand in for them.

        Parameters
        ----------
        row : a 1-d array or list, a pandas Series or a dict (values by name, in any order), or a table of one row
        penalty, k : as in `select`

        Returns
        -------
        Explanation
            prints as text; `to_dict()` gives the same as plain values

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
        >>> explanation = selector.explain(X[7])
        >>> sorted(explanation.to_dict())[:3]
        ['hidden', 'kind', 'n_features']
        """
        return explain(self._fitted.at(penalty, k), row)

    def effects(self, X: Any, label: Any = None, *, penalty: float | None = None, k: int | None = None) -> Any:
        """Which way and how much each selected feature moved its row's prediction: float (n, d), 0 where not selected.

        It is what hiding the feature takes: probability for classes, else what `predict` predicts; (n, d, targets)
        for several targets or labels. See `sklar.effects`.

        Parameters
        ----------
        X : rows
        label : for classifiers, the class whose probability is meant; None is each row's predicted one
        penalty, k : as in `select`

        Examples
        --------
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
        >>> selector.effects(X).shape
        (200, 3)
        """
        fitted = self._fitted.at(penalty, k)
        values = effects(fitted, fitted.read(X), _number_of(label, fitted)).values
        return fitted.like(X, values) if values.ndim == 2 else values

    def rules(self, X: Any, max_depth: int = 3, *, penalty: float | None = None, k: int | None = None) -> Rules:
        """Which features, for which kind of rows: a shallow tree over the masks, as rules.

        Parameters
        ----------
        X : rows
        max_depth : conditions of a rule, at most
        penalty, k : as in `select`

        Returns
        -------
        Rules
            prints a line a rule; `to_list()` gives plain values

        Examples
        --------
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
        >>> len(selector.rules(X)) >= 1
        True
        """
        fitted = self._fitted.at(penalty, k)
        return rules(fitted, fitted.read(X), max_depth)

    def interchangeable(self, threshold: float = MOST_LOST, X: Any = None, y: Any = None) -> list[Interchangeable]:
        """Groups of features of which each stands for each: what was checked on rows, not what gates suggest.

        Rows are shown one feature in the place of another, and judged by predictors that never saw them: those of
        `fit` by the predictors of their folds. Features that rows are shown together are in no group. Exact copies and
        recodings of a column are never read, and listed beside it.

        Parameters
        ----------
        threshold : share of what a feature is worth that a replacement may lose, at most, with confidence (two errors)
        X, y : rows that fit did not see, to judge by instead; needed with objective="joint", whose predictor learned
            from the masks it would judge

        Returns
        -------
        list of groups
            Each is a list of names; its `replacements` say what every replacement costs: `cost`, and `worth`, what is
            lost with neither, in units of the loss and with their standard errors `error`, `worth_error`.

        Examples
        --------
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> X[:, 2] = 10 * X[:, 0]
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=20, random_state=0).fit(X, X[:, 0])
        >>> groups = selector.interchangeable()
        >>> groups, str(groups[0])
        ([['x0', 'x2']], 'x0, x2 (x2 for x0 says exactly the same)')
        """
        fitted = self._fitted
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold must be in (0, 1]; got {threshold}")
        if (X is None) != (y is None):
            raise ValueError("rows can judge replacements by their targets alone: pass X and y, or neither")
        if X is not None:
            return retested(fitted, X, y).interchangeable(threshold)
        if fitted.objective == "joint":
            raise ValueError(
                "with objective='joint' nothing was judged at fit: pass X and y of rows that fit did not see"
            )
        return fitted.interchangeable(threshold)


def _number_of(label: Any, fitted: FittedModel) -> int | None:
    """Which class a label is; None stays None."""
    if label is None:
        return None
    if fitted.target.kind != "classes" or fitted.target.classes is None:
        raise ValueError(f"this model has no classes; leave label out (got {label!r})")
    found = np.flatnonzero(fitted.target.classes == label)
    if not len(found):
        known = ", ".join(map(str, fitted.target.classes))
        raise ValueError(f"label must be one of the model's classes ({known}); got {label!r}")
    return int(found[0])
