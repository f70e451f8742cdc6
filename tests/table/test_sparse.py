"""Sparse tables: the same answers as their dense twins, sparse in and sparse out, and never dense whole when wide."""

import sys

import numpy as np
import pytest
from scipy import sparse

from sklar import CopulaSelectorClassifier
from sklar.table.scaling import Scaling, require_finite
from sklar.table.weights import arranged
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
    monkeypatch.setattr("sklar.table.scaling.BLOCK_ENTRIES", 240)
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
    monkeypatch.setattr("sklar.estimators.preparation.WIDEST", 20)
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
from sklar.estimators import preparation
from sklar import CopulaSelectorClassifier
preparation.WIDEST = 64
torch.set_num_threads(1)
def run(d):
    X = sparse.random_array((300, d), density=0.01, format="csr", random_state=np.random.default_rng(0))
    y = np.arange(300) % 2
    model = CopulaSelectorClassifier(penalty=0.01, max_epochs=1, random_state=0).fit(X, y)
    model.select(X), model.predict(X)
run(5_000)
before = peak()
run(100_000)
print(peak() - before)
"""
    assert float(run_python(code)) < 100  # MiB


def test_a_hole_in_a_sparse_table_is_refused_by_name(cls):
    _, S, value = sparse_rows()
    model = quick(cls, max_epochs=1).fit(S, toy_target(cls, value))
    S.data[5] = np.nan
    for call in (model.predict, lambda table: model.fit(table, toy_target(cls, value))):
        with pytest.raises(ValueError, match=r"column 'x\d' contains NaN .*; X must be finite"):
            call(S)


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_weights_groups_and_forced_columns_of_a_sparse_table(objective):
    X, S, value = sparse_rows(kind=sparse.csc_array)
    words = {"groups": [[0, 4]], "forced": [2], "forbidden": [5], "objective": objective, "max_epochs": 2}
    for weight in (np.arange(120) % 3, np.linspace(0.5, 1.5, 120)):
        from_dense, from_sparse = (
            quick(CopulaSelectorClassifier, **words).fit(table, value > 0, weight) for table in (X, S)
        )
        masks = from_sparse.select(S).toarray()
        np.testing.assert_array_equal(masks, from_dense.select(X))
        np.testing.assert_array_equal(masks[:, 0], masks[:, 4])
        assert masks[:, 2].all()
        assert not masks[:, 5].any()


def test_repeated_rows_are_put_in_the_order_of_the_dense_twin():
    X, _, value = sparse_rows()
    X, value = np.concatenate([X, X[:20], -0.0 * X[:2]]), np.concatenate([value, value[:20], [0, 0]])
    order = arranged(X, value, None).order
    assert sorted(order) == list(range(142))
    np.testing.assert_array_equal(arranged(sparse.csr_array(X), value, None).order, order)


def test_a_sparse_table_for_a_model_of_text_is_one_clear_error():
    X, S, value = sparse_rows()
    table = X.astype(object)
    table[:, 3] = np.where(value > 0, "a", "b")
    model = quick(CopulaSelectorClassifier, max_epochs=1).fit(table, value > 0)
    with pytest.raises(ValueError, match="column 'x3' held text in fit"):
        model.predict(S)


def test_the_audit_and_the_page_of_a_sparse_table(tmp_path):
    _, S, value = sparse_rows()
    model = quick(CopulaSelectorClassifier, max_epochs=1).fit(S, value > 0)
    assert model.audit(S, value > 0, n_refits=1).n_rows == 120
    assert model.report(S, value > 0, tmp_path / "r.html", audit=False).stat().st_size > 1000
