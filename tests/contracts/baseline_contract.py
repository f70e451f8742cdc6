"""What every entry of `sklar.paper.baselines.REGISTRY` promises. A subclass names the entry, and inherits the tests.

The parameters it gives make a fit take a fraction of a second: these tests are about the contract, not about quality.
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.base import Baseline
from sklar.params import check_params

N_ROWS, N_FEATURES = 80, 5


def make_table(n_classes: int | None = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A small table whose target follows x1 + x2: labels, every one present, or (None) real numbers."""
    X = np.random.default_rng(seed).standard_normal((N_ROWS, N_FEATURES))
    signal = X[:, 0] + X[:, 1]
    if n_classes is None:
        return X, signal
    codes = np.argsort(np.argsort(signal)) * n_classes // N_ROWS  # equal shares
    return X, np.array([f"class {c}" for c in range(n_classes)])[codes]


class BaselineContract:
    """The tests. `quick` are constructor parameters for a quick fit."""

    name: ClassVar[str]
    quick: ClassVar[dict[str, Any]] = {}
    predicts: ClassVar[bool] = True
    depends_on_seed: ClassVar[bool] = True
    package: ClassVar[str | None] = None  # the optional package it cannot do without
    n_asked: ClassVar[int] = N_ROWS  # rows that are scored; fewer for those that take long over a row

    fits: ClassVar[dict[int | None, Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.fits = {}

    @pytest.fixture(autouse=True)
    def package_or_skip(self, request):
        """Without its package, the only thing to test is what the baseline says about that."""
        if self.package and request.node.originalname != "test_missing_package_says_what_to_install":
            pytest.importorskip(self.package, reason="the extra [baselines] is not installed")

    def make(self, **params: Any) -> Any:
        return REGISTRY[self.name](**{"random_state": 0, **self.quick, **params})

    def fit_params(self, X: np.ndarray) -> dict[str, Any]:
        """What `fit` is given beside X and y."""
        return {}

    def fit_once(self, n_classes: int | None = 2, **params: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """A fitted baseline, and the rows and target to ask it about."""
        X, y = make_table(n_classes)
        return self.make(**params).fit(X, y, **self.fit_params(X)), X[: self.n_asked], y[: self.n_asked]

    def fitted(self, n_classes: int | None = 2) -> tuple[Any, np.ndarray, np.ndarray]:
        """The same, from a fit that the tests of a class share: for those that only ask."""
        if n_classes not in self.fits:
            self.fits[n_classes] = self.fit_once(n_classes)
        return self.fits[n_classes]

    def test_shapes_and_types(self, global_seeds_untouched):
        baseline, X, _ = self.fit_once()
        scores, masks = baseline.scores(X), baseline.select(X)
        assert isinstance(baseline, Baseline)
        assert scores.shape == X.shape
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()
        assert masks.shape == X.shape
        assert masks.dtype == bool
        assert baseline.n_features_in_ == N_FEATURES

    def test_instance_wise_as_claimed(self):
        baseline, X, _ = self.fitted()
        same_for_all = bool((baseline.scores(X) == baseline.scores(X)[0]).all())
        assert same_for_all != baseline.is_instance_wise

    def test_k_is_honoured_and_nested(self):
        baseline, X, _ = self.fitted()
        masks = [baseline.select(X, k=k) for k in range(1, N_FEATURES + 1)]
        for k, mask in enumerate(masks, start=1):
            assert (mask.sum(axis=1) == k).all()
        for small, large in pairwise(masks):
            assert not (small & ~large).any()

    @pytest.mark.parametrize("k", [0, N_FEATURES + 1])
    def test_k_out_of_range(self, k):
        baseline, X, _ = self.fitted()
        with pytest.raises(ValueError, match="k must be from 1"):
            baseline.select(X, k=k)

    def test_k_must_be_whole(self):
        baseline, X, _ = self.fitted()
        with pytest.raises(TypeError, match="whole number"):
            baseline.select(X, k=1.5)

    def test_clone_keeps_params_and_drops_the_fit(self):
        baseline, X, _ = self.fitted()
        twin = clone(baseline)
        assert twin.get_params() == baseline.get_params()
        with pytest.raises(NotFittedError):
            twin.scores(X)

    def test_every_parameter_has_a_constraint_that_its_default_meets(self):
        baseline = REGISTRY[self.name]
        assert set(baseline._parameter_constraints) == set(baseline().get_params())
        check_params(baseline())
        for name in baseline().get_params():
            with pytest.raises(ValueError, match=f"The '{name}' parameter of {baseline.__name__}"):
                check_params(baseline(**{name: object()}))

    def test_seed_fixes_the_result(self, global_seeds_untouched):
        (one, X, _), (two, _, _) = self.fit_once(), self.fit_once()
        np.testing.assert_array_equal(one.scores(X), two.scores(X))
        np.testing.assert_array_equal(one.scores(X), one.scores(X))
        np.testing.assert_array_equal(one.select(X), two.select(X))
        if self.depends_on_seed:
            other, _, _ = self.fit_once(random_state=1)
            assert not np.array_equal(one.scores(X), other.scores(X))

    def test_frames_keep_names(self):
        X, y = make_table()
        names = [f"feature {i}" for i in range(N_FEATURES)]
        frame = pd.DataFrame(X, columns=names, index=np.arange(N_ROWS) * 10)
        baseline = self.make().fit(frame, y, **self.fit_params(X))
        frame = frame.head(self.n_asked)
        assert list(baseline.feature_names_in_) == names
        for answer in (baseline.scores(frame), baseline.select(frame), baseline.select(frame, k=2)):
            assert list(answer.columns) == names
            assert list(answer.index) == list(frame.index)
        assert baseline.select(frame).dtypes.eq(bool).all()
        with pytest.raises(ValueError, match="feature names"):
            baseline.scores(frame.rename(columns={names[0]: "else"}))

    def test_polars_frames(self):
        X, y = make_table()
        frame = pl.DataFrame(X, schema=[f"f{i}" for i in range(N_FEATURES)])
        answer = self.make().fit(frame, y, **self.fit_params(X)).select(frame.head(self.n_asked))
        assert isinstance(answer, pl.DataFrame)
        assert answer.columns == frame.columns

    def test_one_row(self):
        baseline, X, _ = self.fitted()
        assert baseline.scores(X[:1]).shape == (1, N_FEATURES)
        assert baseline.select(X[:1]).shape == (1, N_FEATURES)
        if self.predicts:
            assert baseline.predict(X[:1]).shape == (1,)
        if self.name != "random":  # whose masks are of the place in the table, not of the row
            np.testing.assert_allclose(baseline.scores(X[3:4]), baseline.scores(X)[3:4], rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("n_classes", [2, 10])
    def test_classification(self, n_classes):
        baseline, X, y = self.fitted(n_classes)
        assert baseline.task_ == "classification"
        assert len(baseline.classes_) == n_classes
        assert baseline.select(X).shape == X.shape
        assert hasattr(baseline, "predict") == self.predicts
        if self.predicts:
            assert set(baseline.predict(X)) <= set(baseline.classes_)
            assert 0 <= baseline.score(X, y) <= 1
        else:
            with pytest.raises(AttributeError, match="does not predict"):
                baseline.score(X, y)
        if hasattr(baseline, "predict_proba"):
            chances = baseline.predict_proba(X)
            assert chances.shape == (len(X), n_classes)
            np.testing.assert_allclose(chances.sum(axis=1), 1)

    def test_regression_where_claimed(self):
        if not REGISTRY[self.name].handles_regression:
            with pytest.raises(ValueError, match="classification"):
                self.fitted(None)
            return
        baseline, X, y = self.fitted(None)
        assert baseline.task_ == "regression"
        assert baseline.select(X, k=2).shape == X.shape
        if self.predicts:
            assert baseline.predict(X).shape == y.shape
            assert baseline.score(X, y) <= 1

    def test_task_can_be_said(self):
        X, _ = make_table()
        counts = np.arange(N_ROWS) % 7  # whole numbers, meant as a quantity
        if not REGISTRY[self.name].handles_regression:
            assert self.make().fit(X, counts, **self.fit_params(X)).task_ == "classification"
            return
        baseline = self.make(task="regression").fit(X, counts, **self.fit_params(X))
        assert baseline.task_ == "regression"

    def test_errors_name_the_fault(self):
        X, y = make_table()
        spoilt = X.copy()
        spoilt[3, 2] = np.inf if REGISTRY[self.name].handles_missing else np.nan
        with pytest.raises(ValueError, match=r"'x2' contains (NaN|infinity)"):
            self.make().fit(spoilt, y, **self.fit_params(X))
        with pytest.raises(ValueError, match="at least 2 classes"):
            self.make().fit(X, np.zeros(N_ROWS, dtype=int), **self.fit_params(X))
        with pytest.raises(ValueError, match="task"):
            self.make(task="guess").fit(X, y, **self.fit_params(X))
        baseline = self.make().fit(X, y, **self.fit_params(X))
        with pytest.raises(ValueError, match="features"):
            baseline.scores(X[:, :-1])

    def test_missing_values_where_claimed(self):
        if not REGISTRY[self.name].handles_missing:
            return
        X, y = make_table()
        X[::3, 2] = np.nan
        baseline = self.make().fit(X, y, **self.fit_params(X))
        assert np.isfinite(baseline.scores(X)).all()
        assert baseline.select(X, k=2).sum() == 2 * len(X)

    def test_missing_package_says_what_to_install(self, without_packages):
        if self.package is None:
            return
        without_packages(self.package)
        with pytest.raises(ImportError, match=r'pip install "sklar\[baselines\]"'):
            self.fit_once()


class NetworkContract(BaselineContract):
    """And what those that train networks promise beside."""

    def test_seeds_side_by_side(self):
        X, y = make_table()
        baselines = self.make().fit_seeds(X, y, [0, 1, 2])
        X = X[: self.n_asked]
        assert [baseline.random_state for baseline in baselines] == [0, 1, 2]
        assert all(baseline.scores(X).shape == X.shape for baseline in baselines)
        assert not np.array_equal(baselines[0].scores(X), baselines[1].scores(X))
        assert all(len(baseline.predict(X)) == len(X) for baseline in baselines)

    def test_problems_side_by_side(self):
        """Each data set has a fit of its own: its own seed, labels and columns' scale, and shapes as ever."""
        (X, y), (X2, _) = make_table(), make_table(seed=1)
        problems = [(X, y), (9 + 3 * X2, np.where(X2[:, 4] > 0, "yes", "no"))]
        baselines = self.make().fit_problems(problems, [5, 6])
        assert [baseline.random_state for baseline in baselines] == [5, 6]
        assert [baseline.classes_.tolist() for baseline in baselines] == [["class 0", "class 1"], ["no", "yes"]]
        assert [round(baseline.scaling_.centre.mean()) for baseline in baselines] == [0, 9]
        for baseline, (X, y) in zip(baselines, problems, strict=True):
            asked = X[: self.n_asked]
            assert baseline.scores(asked).shape == baseline.select(asked).shape == asked.shape
            assert set(baseline.predict(asked)) <= set(y)
            assert baseline.predict_proba(asked).shape == (len(asked), 2)

    def test_problems_do_not_mix(self):
        """What one data set learns does not depend on its neighbour."""
        first, *others = (make_table(seed=seed) for seed in range(3))
        one, other = (self.make().fit_problems([first, beside], [0, 1])[0] for beside in others)
        asked = first[0][: self.n_asked]
        np.testing.assert_allclose(one.scores(asked), other.scores(asked), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(one.predict_proba(asked), other.predict_proba(asked), rtol=1e-6)

    def test_real_targets_side_by_side(self):
        problems = [make_table(None), make_table(None, seed=1)]
        if not REGISTRY[self.name].handles_regression:
            with pytest.raises(ValueError, match="is for classification"):
                self.make().fit_problems(problems, [0, 1])
            return
        for baseline, (X, _) in zip(self.make().fit_problems(problems, [0, 1]), problems, strict=True):
            assert baseline.predict(X[: self.n_asked]).shape == (self.n_asked,)

    def test_progress_only_when_verbose(self, capsys):
        self.fit_once()
        assert capsys.readouterr().err == ""
        self.fit_once(verbose=True)
        assert "/" in capsys.readouterr().err

    def test_cuda_without_cuda_is_a_clear_error(self):
        import torch

        if torch.cuda.is_available():
            assert self.fit_once(device="cuda")[0].select(make_table()[0]).any()
            return
        with pytest.raises(ValueError, match="no CUDA device"):
            self.fit_once(device="cuda")
