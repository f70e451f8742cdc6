"""What an estimator is written to or turned into, as a mixin: a model file, an ONNX graph, an explanation of shap's."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklar.export.model_file import write_fitted
from sklar.fitted import FittedModel


class Exports:
    """The ways out of an estimator; `export` has them as functions of a `FittedModel`."""

    get_params: Any

    @property
    def _fitted(self) -> FittedModel:
        """The fitted model, which the estimator has."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file that `sklar.load` reads without running code."""
        write_fitted(path, self._fitted, self.get_params(deep=False))

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
