"""Views of a fitted model beyond its masks: effects of features, rules over rows, and forms for other tools."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from sklar.effects import effects
from sklar.fitted import FittedModel
from sklar.rules import Rules, rules


class Views:
    """What selectors and rankers can be asked about many rows at once, and written as."""

    @property
    def _fitted(self) -> FittedModel:
        raise NotImplementedError

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

    def to_onnx(self, path: str | PathLike[str], *, penalty: float | None = None, k: int | None = None) -> None:
        """Write scaling, mask and prediction as one ONNX graph, for runtimes without Python.

        The graph has one price or number of features: the fitted one, or `penalty` or `k`, as in `select`.

        Needs the package `onnx`: `pip install "sklar[onnx]"`. The answers are those of this estimator on the same
        float32 rows, NaN and infinity apart. `sklar.export.onnx_export` has inputs, outputs and an example.
        """
        from sklar.export.onnx_export import write_onnx

        write_onnx(self._fitted.at(penalty, k), path)

    def to_shap(self, X: Any, label: Any = None) -> Any:
        """The selections of rows as a `shap.Explanation`, for shap's plots.

        Needs the package `shap`: `pip install "sklar[baselines]"`. These are not Shapley values: a feature's value is
        what the prediction loses if that feature alone is hidden from the model's own predictor.

        Parameters
        ----------
        X : rows
        label : for classifiers, the class whose probability is explained
            None is the second of two classes, and the predicted class of each row where there are more.

        `sklar.export.shap_export` has the formula and an example.
        """
        from sklar.export.shap_export import shap_explanation

        return shap_explanation(self._fitted, X, label)


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
