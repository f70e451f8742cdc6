"""Ways out, as a mixin: a fitted estimator in the formats of other tools. The work is done elsewhere."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.utils.validation import check_is_fitted


class Exports:
    """What a fitted estimator can become."""

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write scaling, mask and prediction as one ONNX graph, for runtimes without Python.

        Needs the package `onnx`: `pip install "sklar[onnx]"`. The answers are those of this estimator on the same
        float32 rows. The graph does not look for NaN or infinity, as the estimator does.

        Input: `X`, float32 (n, d), all columns of `fit`, any number of rows.
        Outputs: `prediction` (n,), classes (whole numbers, truth values, numbers or text) or values; for classifiers
        `probabilities`, float64 (n, classes); `mask`, bool (n, d). Names of features and classes are in the metadata.

        Raises ValueError for models that the graph cannot equal: text or missing values, several outputs of another
        kind than classes, groups, forced columns, and rankers of several models.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import onnxruntime
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((100, 3)).astype(np.float32)
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     selector.to_onnx(f"{folder}/model.onnx")
        ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        >>> prediction, mask = session.run(["prediction", "mask"], {"X": X})
        >>> bool((mask == selector.select(X)).all())
        True
        """
        check_is_fitted(self)
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise ImportError("to_onnx needs the package 'onnx': pip install \"sklar[onnx]\"") from error
        from sklar.export.onnx_export import write_onnx

        write_onnx(self, path)

    def to_shap(self, X: Any, label: Any = None) -> Any:
        """The selections of rows as a `shap.Explanation`, for shap's plots.

        Needs the package `shap`: `pip install "sklar[baselines]"`. These are not Shapley values. A feature's value is
        what the prediction loses if that feature alone is hidden from the model's own predictor, the row's other
        selected features staying shown:

            values[i] = z_i (f(x, z) - f(x, z without i)),   base_values = f(x, nothing shown)

        Features that were not selected are exactly 0. The values need not add up to f(x, z) - f(x, nothing): where two
        features work together both get their common effect, where one can stand for the other neither does. What a
        waterfall shows as f(x) is base plus sum, therefore not the prediction in general.

        Parameters
        ----------
        X : rows
        label : for classifiers, f is the probability of this class
            None is the second of two classes, and the predicted class of each row where there are more. For regressors
            f is the predicted value, and there is no label.

        Returns
        -------
        shap.Explanation
            values and data (n, d), base_values (n,), feature_names

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
        >>> explanation = selector.to_shap(X)
        >>> explanation.shape, bool((explanation.values[~selector.select(X)] == 0).all())
        ((100, 3), True)
        """
        check_is_fitted(self)
        from sklar.export.shap_export import shap_explanation

        return shap_explanation(self, X, label)
