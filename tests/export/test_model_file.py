"""A fitted model to a file and back, without its estimator."""

import numpy as np
import pytest

from sklar.export.model_file import read_fitted, write_fitted
from sklar.export.storage import ModelFileError, read_model, write_model
from tests.helpers import toy_rows


def test_all_of_it_comes_back(fitted, tmp_path):
    X, _ = toy_rows()
    before = fitted.fitted_.read_from(["y"], ["?"], ",")
    write_fitted(tmp_path / "m.sklar", before, fitted.get_params())
    saved = read_fitted(tmp_path / "m.sklar")
    after = saved.fitted
    assert saved.parameters == fitted.get_params()
    assert (after.name, after.objective, after.penalty, after.path, after.history) == (
        before.name,
        before.objective,
        before.penalty,
        before.path,
        before.history,
    )
    assert (after.target.names, after.missing_cells, after.decimal) == (("y",), ("?",), ",")
    assert (after.schema.names, after.schema.labels) == (before.schema.names, before.schema.labels)
    np.testing.assert_array_equal(after.schema.columns, before.schema.columns)
    assert after.network.architecture == before.network.architecture
    np.testing.assert_array_equal(after.scores(after.read(X)), before.scores(before.read(X)))
    np.testing.assert_array_equal(after.predictions(after.read(X)), before.predictions(before.read(X)))


def test_equal_models_are_equal_files(fitted, tmp_path):
    for name in ("a", "b"):
        write_fitted(tmp_path / name, fitted.fitted_, fitted.get_params())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("part", ["schema", "target", "training", "architecture", "network", "objective", "parameters"])
def test_a_file_without_a_part_is_refused(fitted, tmp_path, part):
    path = tmp_path / "m.sklar"
    write_fitted(path, fitted.fitted_, fitted.get_params())
    tensors, metadata = read_model(path)
    del metadata[part]
    write_model(path, tensors, metadata)
    with pytest.raises(ModelFileError, match=part):
        read_fitted(path)
