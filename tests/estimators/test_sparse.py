"""Sparse tables: the same answers as their dense twins, sparse in and sparse out, and never dense whole when wide."""

import sys

import numpy as np
import pytest
from scipy import sparse

from sklar import CopulaSelectorClassifier
from sklar.estimators.scaling import Scaling, require_finite
from tests.helpers import PEAK, four, quick, run_python, toy_target


def sparse_rows(n=120, d=6, seed=0, kind=sparse.csr_array):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    return X, kind(X), X[:, 0] - 2 * X[:, 1]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("objective", ["joint", "honest"])
@pytest.mark.parametrize("cls", four())
def test_a_sparse_table_gets_the_answers_of_its_dense_twin(cls, objective, kind):
    X, S, value = sparse_rows(kind=kind)
    y = toy_target(cls, value)
    from_dense, from_sparse = (quick(cls, objective=objective, max_epochs=1).fit(table, y) for table in (X, S))
    assert sparse.issparse(from_sparse.select(S))
    for method in ("select", "selection_proba", "transform"):
        answer = getattr(from_sparse, method)(S)
        assert answer.format == "csr"
        np.testing.assert_allclose(answer.toarray(), getattr(from_dense, method)(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        np.asarray(from_sparse.predict(S), dtype=float), np.asarray(from_dense.predict(X), dtype=float), rtol=1e-6
    )
    np.testing.assert_allclose(from_sparse.correlation(S), from_dense.correlation(X), rtol=1e-6, atol=1e-9)


def test_the_scaling_of_a_sparse_table_in_many_blocks(monkeypatch):
    X, S, _ = sparse_rows()
    names = [f"x{j}" for j in range(6)]
    whole = Scaling.of(X, names)
    monkeypatch.setattr("sklar.estimators.scaling.BLOCK_ENTRIES", 240)
    for table in (X, S):
        blocks = Scaling.of(table, names)
        np.testing.assert_allclose(blocks.centre, whole.centre, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(blocks.spread, whole.spread, rtol=1e-12)


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_what_is_not_finite_is_named(bad, word):
    X, _, _ = sparse_rows()
    X[7, 3] = bad
    names = [f"x{j}" for j in range(6)]
    with pytest.raises(ValueError, match=rf"column 'x3' contains {word}.* \(first in row 7\)"):
        require_finite(sparse.csr_array(X), names)
    require_finite(sparse.csr_array(X), names, np.array([0, 5]))


def test_a_wide_table_keeps_what_a_look_at_each_column_finds(monkeypatch):
    monkeypatch.setattr("sklar.estimators.base.WIDEST", 20)
    X = np.random.default_rng(0).standard_normal((400, 50))
    y = (X[:, 41] + X[:, 3] > 0).astype(int)
    selector = CopulaSelectorClassifier(random_state=0, max_epochs=1).fit(X, y)
    assert {3, 41} <= set(selector.union_.tolist())
    assert len(selector.union_) <= 20
    assert selector.select(X).shape == (400, 50)
    assert not selector.select(X)[:, np.setdiff1d(np.arange(50), selector.union_)].any()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
def test_a_wide_sparse_table_is_never_dense_whole():
    """300 x 100,000 is 240 MB dense; the table has 300,000 entries."""
    code = f"""{PEAK}
import numpy as np, torch
from scipy import sparse
import sklar.estimators.base as base
from sklar import CopulaSelectorClassifier
base.WIDEST = 64
torch.set_num_threads(1)
def run(d):
    X, y = sparse.random_array((300, d), density=0.01, format="csr", rng=np.random.default_rng(0)), np.arange(300) % 2
    model = CopulaSelectorClassifier(penalty=0.01, max_epochs=1, random_state=0).fit(X, y)
    model.select(X), model.predict(X)
run(5_000)
before = peak()
run(100_000)
print(peak() - before)
"""
    assert float(run_python(code)) < 100  # MiB
