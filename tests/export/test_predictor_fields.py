"""A predictor of the user's, as a file describes it."""

import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

import sklar
from sklar.export.storage import ModelFileError, read_model
from tests.export.hostile import write_edited
from tests.helpers import quick, toy_rows


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The tensors and metadata of a file with trees."""
    X, value = toy_rows(60)
    path = tmp_path_factory.mktemp("saved") / "m.sklar"
    predictor = HistGradientBoostingClassifier(max_iter=2)
    quick(sklar.CopulaSelectorClassifier, predictor=predictor).fit(X, value > 0).save(path)
    return read_model(path)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("starts", [0, 1, 2, 3], "first input of every gate"),
        ("starts", [0, 2, 1, 3, 4], "ascending"),
        ("starts", [0, 1, 2, 3, 5], "whole number"),
        ("links", ["log"], "'logit'"),
        ("links", [], "a list of 1"),
        ("name", 3, "text"),
    ],
)
def test_fields(saved, tmp_path, field, value, said):
    tensors, metadata = saved
    write_edited(tmp_path / "m", tensors, {**metadata, "predictor": {**metadata["predictor"], field: value}})
    with pytest.raises(ModelFileError, match=rf"predictor\.{field}.*{said}"):
        sklar.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("0.left", torch.zeros(3, dtype=torch.float64), "must"),
        ("0.baseline", torch.zeros(2, dtype=torch.float64), "1 entries"),
        ("0.value", torch.zeros(2, 2, dtype=torch.float64), "list of float64"),
        ("0.root", None, "missing"),
        ("1.root", torch.zeros(1, dtype=torch.float64), "unknown"),
        ("weight", torch.zeros(4, dtype=torch.float64), "each of the 5 inputs"),
        ("weight", torch.full((5,), 1e300, dtype=torch.float64), "float32"),
    ],
)
def test_tensors(saved, tmp_path, name, value, said):
    tensors, metadata = saved
    changed = {key: one for key, one in {**tensors, f"predictor.{name}": value}.items() if one is not None}
    write_edited(tmp_path / "m", changed, metadata)
    with pytest.raises(ModelFileError, match=rf"predictor\.{name}.*{said}"):
        sklar.load(tmp_path / "m")


@pytest.mark.parametrize("part", ["predictor", "parameters"])
def test_a_predictor_and_its_parameter_come_together(saved, tmp_path, part):
    tensors, metadata = saved
    parameters = {**metadata["parameters"], "predictor": None}
    write_edited(tmp_path / "m", tensors, {**metadata, part: None if part == "predictor" else parameters})
    with pytest.raises(ModelFileError, match="predictor"):
        sklar.load(tmp_path / "m")


def test_times_have_none(saved, tmp_path):
    tensors, metadata = saved
    write_edited(tmp_path / "m", tensors, {**metadata, "target": {**metadata["target"], "kind": "risk"}})
    with pytest.raises(ModelFileError, match="target"):
        sklar.load(tmp_path / "m")
