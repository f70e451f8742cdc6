"""What every entry of `sklar.paper.baselines.REGISTRY` promises. A subclass names the entry, and inherits the tests.

The words it gives make a fit take a fraction of a second: these tests are about the contract, not about quality.
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
    """The tests. `quick` are constructor words for a quick fit."""

    name: ClassVar[str]
    quick: ClassVar[dict[str, Any]] = {}
    predicts: ClassVar[bool] = True
    depends_on_seed: ClassVar[bool] = True
    package: ClassVar[str | None] = None  # the optional package it cannot do without
    n_asked: ClassVar[int] = N_ROWS  # rows that are scored; fewer for those that take long over a row

    @pytest.fixture(autouse=True)
    def package_or_skip(self, request):
        """Without its package, the only thing to test is what the rival says about that."""
        if self.package and request.node.originalname != "test_missing_package_says_what_to_install":
            pytest.importorskip(self.package, reason="the extra [baselines] is not installed")

    def make(self, **words: Any) -> Any:
        return REGISTRY[self.name](**{"random_state": 0, **self.quick, **words})

    def told(self, X: np.ndarray) -> dict[str, Any]:
        """What `fit` is given beside X and y."""
        return {}

    def fitted(self, n_classes: int | None = 2, **words: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """A fitted rival, and the rows and target to ask it about."""
        X, y = make_table(n_classes)
        return self.make(**words).fit(X, y, **self.told(X)), X[: self.n_asked], y[: self.n_asked]

    def test_shapes_and_types(self, global_seeds_untouched):
        rival, X, _ = self.fitted()
        scores, masks = rival.scores(X), rival.select(X)
        assert isinstance(rival, Baseline)
        assert scores.shape == X.shape
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()
        assert masks.shape == X.shape
        assert masks.dtype == bool
        assert rival.n_features_in_ == N_FEATURES

    def test_instance_wise_as_claimed(self):
        rival, X, _ = self.fitted()
        same_for_all = bool((rival.scores(X) == rival.scores(X)[0]).all())
        assert same_for_all != rival.is_instance_wise

    def test_k_is_honoured_and_nested(self):
        rival, X, _ = self.fitted()
        masks = [rival.select(X, k=k) for k in range(1, N_FEATURES + 1)]
        for k, mask in enumerate(masks, start=1):
            assert (mask.sum(axis=1) == k).all()
        for small, large in pairwise(masks):
            assert not (small & ~large).any()

    @pytest.mark.parametrize("k", [0, N_FEATURES + 1])
    def test_k_out_of_range(self, k):
        rival, X, _ = self.fitted()
        with pytest.raises(ValueError, match="k must be from 1"):
            rival.select(X, k=k)

    def test_k_must_be_whole(self):
        rival, X, _ = self.fitted()
        with pytest.raises(TypeError, match="whole number"):
            rival.select(X, k=1.5)

    def test_clone_keeps_words_and_drops_the_fit(self):
        rival, X, _ = self.fitted()
        twin = clone(rival)
        assert twin.get_params() == rival.get_params()
        with pytest.raises(NotFittedError):
            twin.scores(X)

    def test_seed_fixes_the_result(self, global_seeds_untouched):
        (one, X, _), (two, _, _) = self.fitted(), self.fitted()
        np.testing.assert_array_equal(one.scores(X), two.scores(X))
        np.testing.assert_array_equal(one.scores(X), one.scores(X))
        np.testing.assert_array_equal(one.select(X), two.select(X))
        if self.depends_on_seed:
            other, _, _ = self.fitted(random_state=1)
            assert not np.array_equal(one.scores(X), other.scores(X))

    def test_frames_keep_names(self):
        X, y = make_table()
        names = [f"feature {i}" for i in range(N_FEATURES)]
        frame = pd.DataFrame(X, columns=names, index=np.arange(N_ROWS) * 10)
        rival = self.make().fit(frame, y, **self.told(X))
        frame = frame.head(self.n_asked)
        assert list(rival.feature_names_in_) == names
        for answer in (rival.scores(frame), rival.select(frame), rival.select(frame, k=2)):
            assert list(answer.columns) == names
            assert list(answer.index) == list(frame.index)
        assert rival.select(frame).dtypes.eq(bool).all()
        with pytest.raises(ValueError, match="feature names"):
            rival.scores(frame.rename(columns={names[0]: "else"}))

    def test_polars_frames(self):
        X, y = make_table()
        frame = pl.DataFrame(X, schema=[f"f{i}" for i in range(N_FEATURES)])
        answer = self.make().fit(frame, y, **self.told(X)).select(frame.head(self.n_asked))
        assert isinstance(answer, pl.DataFrame)
        assert answer.columns == frame.columns

    def test_one_row(self):
        rival, X, _ = self.fitted()
        assert rival.scores(X[:1]).shape == (1, N_FEATURES)
        assert rival.select(X[:1]).shape == (1, N_FEATURES)
        if self.predicts:
            assert rival.predict(X[:1]).shape == (1,)
        if self.name != "random":  # whose masks are of the place in the table, not of the row
            np.testing.assert_allclose(rival.scores(X[3:4]), rival.scores(X)[3:4], rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("n_classes", [2, 10])
    def test_classification(self, n_classes):
        rival, X, y = self.fitted(n_classes)
        assert rival.task_ == "classification"
        assert len(rival.classes_) == n_classes
        assert rival.select(X).shape == X.shape
        assert hasattr(rival, "predict") == self.predicts
        if self.predicts:
            assert set(rival.predict(X)) <= set(rival.classes_)
            assert 0 <= rival.score(X, y) <= 1
        else:
            with pytest.raises(AttributeError, match="does not predict"):
                rival.score(X, y)
        if hasattr(rival, "predict_proba"):
            chances = rival.predict_proba(X)
            assert chances.shape == (len(X), n_classes)
            np.testing.assert_allclose(chances.sum(axis=1), 1)

    def test_regression_where_claimed(self):
        if not REGISTRY[self.name].handles_regression:
            with pytest.raises(ValueError, match="classification"):
                self.fitted(None)
            return
        rival, X, y = self.fitted(None)
        assert rival.task_ == "regression"
        assert rival.select(X, k=2).shape == X.shape
        if self.predicts:
            assert rival.predict(X).shape == y.shape
            assert rival.score(X, y) <= 1

    def test_task_can_be_said(self):
        X, _ = make_table()
        counts = np.arange(N_ROWS) % 7  # whole numbers, meant as a quantity
        rival = self.make(task="regression").fit(X, counts, **self.told(X))
        assert rival.task_ == "regression"

    def test_errors_name_the_fault(self):
        X, y = make_table()
        spoilt = X.copy()
        spoilt[3, 2] = np.nan
        with pytest.raises(ValueError, match="'x2' contains NaN"):
            self.make().fit(spoilt, y, **self.told(X))
        with pytest.raises(ValueError, match="at least 2 classes"):
            self.make().fit(X, np.zeros(N_ROWS, dtype=int), **self.told(X))
        with pytest.raises(ValueError, match="task"):
            self.make(task="guess").fit(X, y, **self.told(X))
        rival = self.make().fit(X, y, **self.told(X))
        with pytest.raises(ValueError, match="features"):
            rival.scores(X[:, :-1])

    def test_missing_package_says_what_to_install(self, without_packages):
        if self.package is None:
            return
        without_packages(self.package)
        with pytest.raises(ImportError, match=r'pip install "sklar\[baselines\]"'):
            self.fitted()


class NetworkContract(BaselineContract):
    """And what those that train networks promise beside."""

    def test_seeds_side_by_side(self):
        X, y = make_table()
        rivals = self.make().fit_seeds(X, y, [0, 1, 2])
        X = X[: self.n_asked]
        assert [rival.random_state for rival in rivals] == [0, 1, 2]
        assert all(rival.scores(X).shape == X.shape for rival in rivals)
        assert not np.array_equal(rivals[0].scores(X), rivals[1].scores(X))
        assert all(len(rival.predict(X)) == len(X) for rival in rivals)

    def test_problems_side_by_side(self):
        """Each data set has a rival of its own: its own seed, labels and columns' scale, and shapes as ever."""
        (X, y), (X2, _) = make_table(), make_table(seed=1)
        problems = [(X, y), (9 + 3 * X2, np.where(X2[:, 4] > 0, "yes", "no"))]
        rivals = self.make().fit_problems(problems, [5, 6])
        assert [rival.random_state for rival in rivals] == [5, 6]
        assert [rival.classes_.tolist() for rival in rivals] == [["class 0", "class 1"], ["no", "yes"]]
        assert [round(rival.scaling_.centre.mean()) for rival in rivals] == [0, 9]
        for rival, (X, y) in zip(rivals, problems, strict=True):
            asked = X[: self.n_asked]
            assert rival.scores(asked).shape == rival.select(asked).shape == asked.shape
            assert set(rival.predict(asked)) <= set(y)
            assert rival.predict_proba(asked).shape == (len(asked), 2)

    def test_problems_do_not_mix(self):
        """What one data set learns does not depend on its neighbour."""
        first, *others = (make_table(seed=seed) for seed in range(3))
        one, other = (self.make().fit_problems([first, beside], [0, 1])[0] for beside in others)
        asked = first[0][: self.n_asked]
        np.testing.assert_allclose(one.scores(asked), other.scores(asked), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(one.predict_proba(asked), other.predict_proba(asked), rtol=1e-6)

    def test_real_targets_side_by_side(self):
        problems = [make_table(None), make_table(None, seed=1)]
        for rival, (X, _) in zip(self.make().fit_problems(problems, [0, 1]), problems, strict=True):
            assert rival.predict(X[: self.n_asked]).shape == (self.n_asked,)

    def test_progress_only_when_verbose(self, capsys):
        self.fitted()
        assert capsys.readouterr().err == ""
        self.fitted(verbose=True)
        assert "/" in capsys.readouterr().err

    def test_cuda_without_cuda_is_a_clear_error(self):
        import torch

        if torch.cuda.is_available():
            assert self.fitted(device="cuda")[0].select(make_table()[0]).any()
            return
        with pytest.raises(ValueError, match="no CUDA device"):
            self.fitted(device="cuda")
