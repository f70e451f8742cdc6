"""Fitted estimators to files and back."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError

import sklar
from sklar.export.storage import ModelFileError, read_model, write_model
from tests.estimators.test_base import answers
from tests.helpers import COVARIANCES, quick, toy_rows, toy_target


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_round_trip_of_all_four_with_every_covariance(cls, covariance, tmp_path):
    X, value = toy_rows()
    model = quick(cls, covariance=covariance).fit(X, toy_target(cls, value))
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert type(again) is cls
    assert again.get_params() == model.get_params()
    for one, other in zip(answers(again, X), answers(model, X), strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    np.testing.assert_array_equal(again.sample_masks(X, 2, 7), model.sample_masks(X, 2, 7))
    np.testing.assert_array_equal(again.correlation(X), model.correlation(X))
    assert (again.history_, again.path_, again.penalty_) == (model.history_, model.path_, model.penalty_)
    assert again.n_features_in_ == 5


@pytest.mark.parametrize(
    "labels", [["no", "ja"], [False, True], [1.0, 2.0], [3, 7], np.array(["a", "b"], dtype=object)]
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    X, _ = toy_rows(60)
    y = np.array(labels)[np.arange(60) % 2]
    model = quick(sklar.CopulaSelectorClassifier).fit(X, y)
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_names_come_back_and_are_still_checked(cls, tmp_path):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=["ä", "b", "c", "d", "e e"])
    quick(cls).fit(frame, toy_target(cls, value)).save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert list(again.select(frame).columns) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        again.select(frame.rename(columns={"b": "z"}))


def test_a_path_of_penalties_comes_back(tmp_path):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, penalty="auto").fit(X, value)
    model.save(str(tmp_path / "m.sklar"))
    assert sklar.load(str(tmp_path / "m.sklar")).path_ == model.path_


def test_a_random_generator_is_left_out(tmp_path):
    X, value = toy_rows(60)
    state = np.random.RandomState(0)
    quick(sklar.CopulaSelectorRegressor, random_state=state).fit(X, value).save(tmp_path / "m.sklar")
    assert sklar.load(tmp_path / "m.sklar").random_state is None


def test_numpy_numbers_as_parameters_can_be_saved(tmp_path):
    X, value = toy_rows(60)
    words = {"penalty": np.float64(0.01), "n_factors": np.int64(2), "temperature": np.float32(0.5)}
    quick(sklar.CopulaSelectorRegressor, **words).fit(X, value).save(tmp_path / "m.sklar")
    assert sklar.load(tmp_path / "m.sklar").get_params()["n_factors"] == 2


def test_an_unfitted_model_is_not_saved(cls, tmp_path):
    with pytest.raises(NotFittedError):
        cls().save(tmp_path / "m.sklar")
    assert not list(tmp_path.iterdir())


def test_loading_never_unpickles(fitted, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("something was unpickled")

    fitted.save(tmp_path / "m.sklar")
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(np, "load", refuse)
    assert type(sklar.load(tmp_path / "m.sklar")) is type(fitted)


def test_the_file_says_what_it_is(fitted, tmp_path):
    fitted.save(tmp_path / "m.sklar")
    _, metadata = read_model(tmp_path / "m.sklar")
    assert metadata["class"] == type(fitted).__name__
    assert metadata["library_version"] == sklar.__version__
    assert metadata["parameters"].keys() == fitted.get_params().keys()
    assert json.dumps(metadata)


def drop(*keys):
    def change(tensors, metadata):
        for key in keys:
            tensors.pop(key, None)
            metadata.pop(key, None)

    return change


def put(key, value):
    def change(tensors, metadata):
        metadata[key] = value

    return change


def put_parameter(tensors, metadata):
    metadata["parameters"]["nonsense"] = 1


def put_wide(tensors, metadata):
    metadata["architecture"]["n_features"] = 6


def put_classes(value):
    def change(tensors, metadata):
        metadata["target"]["classes"] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("class", "os.system"),
        put("class", "BaseEstimator"),
        put("class", None),
        put("architecture", {}),
        put("architecture", 3),
        put("training", [1]),
        put("schema", {}),
        put_classes({"dtype": "nonsense", "values": []}),
        put_classes(3),
        put_parameter,
        put_wide,
        drop("class"),
        drop("parameters"),
        drop("scaling.centre"),
        drop("network.choice.first.weight"),
    ],
)
def test_well_formed_files_of_nonsense_are_refused(fit_of, tmp_path, change):
    path = tmp_path / "m.sklar"
    fit_of(sklar.CopulaSelectorClassifier).save(path)
    tensors, metadata = read_model(path)
    change(tensors, metadata)
    write_model(path, tensors, metadata)
    with pytest.raises(ModelFileError, match=r"m\.sklar"):
        sklar.load(path)


def test_truncated_at_every_interesting_offset(fitted, tmp_path):
    path = tmp_path / "m.sklar"
    fitted.save(path)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for length in (0, 1, 7, 8, 9, header // 2, header - 1, header, header + 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            sklar.load(path)


def test_a_failed_save_keeps_the_old_model(fitted, tmp_path, monkeypatch):
    from sklar import atomic

    def crash(*args):
        raise OSError("disk on fire")

    path = tmp_path / "m.sklar"
    fitted.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(atomic.os, "replace", crash)
    with pytest.raises(OSError, match="disk on fire"):
        fitted.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["m.sklar"]
