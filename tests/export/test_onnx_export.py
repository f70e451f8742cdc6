"""ONNX graphs answer what the model answers, on a runtime that knows nothing of it."""

import builtins
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import sklar
from sklar.model.honest_model import HonestModel
from tests.helpers import quick, seeded, toy_rows, toy_target

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the [onnx] extra")
pytest.importorskip("onnx", reason="needs the [onnx] extra")

SELECTOR, RANKER = sklar.CopulaSelectorClassifier, sklar.CopulaRankerClassifier


def session_of(model, tmp_path):
    model.to_onnx(tmp_path / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(tmp_path / "model.onnx", options)


def assert_same_answers(model, tmp_path, scale=1.0):
    """On several random tables of several lengths, far out too."""
    session = session_of(model, tmp_path)
    names = [output.name for output in session.get_outputs()]
    shown = []
    for seed, n in enumerate((1, 7, 300)):
        X = (scale * np.random.default_rng(seed).standard_normal((n, model.n_features_in_))).astype(np.float32)
        X[0, 0] = 1e30  # clipped
        told = dict(zip(names, session.run(None, {"X": X}), strict=True))
        assert told["mask"].dtype == bool
        np.testing.assert_array_equal(told["mask"], model.select(X))
        if hasattr(model, "classes_"):
            np.testing.assert_array_equal(told["prediction"], model.predict(X))
            np.testing.assert_allclose(told["probabilities"], model.predict_proba(X), rtol=0, atol=1e-10)
        else:
            np.testing.assert_allclose(told["prediction"], model.predict(X), rtol=1e-9, atol=1e-9)
        shown.append(told["mask"])
    return np.concatenate(shown)


def fitted(cls, n=100, d=18, seed=0, **words):
    X, value = toy_rows(n, d, seed)
    return quick(cls, **words).fit(X, toy_target(cls, value))


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_the_graph_is_the_model(cls, objective, tmp_path):
    model = fitted(cls, objective=objective)  # 18 features: honest training screens some away
    mask = assert_same_answers(model, tmp_path, scale=1.5)
    assert 0 < mask.mean() < 1


@pytest.mark.parametrize("n_models", [1, 2])
def test_numbers_cut_at_quantiles(cls, n_models, tmp_path):
    model = fitted(cls, objective="honest", quantile_bins=4, n_models=1 if "k" in cls().get_params() else n_models)
    networks = getattr(model.fitted_.network, "members", [model.fitted_.network])
    assert all(network.architecture.n_bins == 4 for network in networks)
    assert_same_answers(model, tmp_path, scale=1.5)


def test_selu(tmp_path):
    assert_same_answers(fitted(SELECTOR, d=5, activation="selu"), tmp_path)


@pytest.mark.parametrize("objective", ["joint", "honest"])
@pytest.mark.parametrize("n_models", [2, 3])
def test_models_that_vote(objective, n_models, tmp_path):
    for cls in (SELECTOR, sklar.CopulaSelectorRegressor):
        assert_same_answers(fitted(cls, objective=objective, n_models=n_models), tmp_path)


def test_of_features_that_stand_for_each_other_the_best_is_kept(tmp_path):
    X, value = toy_rows(100, 6)
    model = quick(SELECTOR, objective="honest").fit(X, value > 0)
    model.fitted_.network.choice.scores.bias.data += 1.0  # many gates open
    before = assert_same_answers(model, tmp_path).sum()
    groups = model.fitted_.network.substitutes
    groups[:2, :2] = groups[-3:, -3:] = True
    groups.fill_diagonal_(False)
    model.fitted_ = replace(model.fitted_)  # which has decided nothing yet
    assert assert_same_answers(model, tmp_path).sum() < before


def test_a_ranker_gives_one_of_each_group_a_place(tmp_path):
    X, value = toy_rows(100, 6)
    model = quick(sklar.CopulaRankerClassifier, objective="honest", k=3).fit(X, value > 0)
    before = assert_same_answers(model, tmp_path)
    model.fitted_.network.substitutes[:2, :2] = True
    model.fitted_.network.substitutes[2:4, 2:4] = True
    model.fitted_.network.substitutes.fill_diagonal_(False)
    model.fitted_ = replace(model.fitted_)
    after = assert_same_answers(model, tmp_path)
    assert (before[:, :2].all(axis=1) | before[:, 2:4].all(axis=1)).any()
    assert not (after[:, :2].all(axis=1) | after[:, 2:4].all(axis=1)).any()
    assert (after.sum(axis=1) == 3).all()
    np.testing.assert_array_equal(np.sort(model.rank(X)), np.argwhere(model.select(X))[:, 1].reshape(-1, 3))


@pytest.mark.parametrize("grouped", [False, True])
def test_the_beginning_of_a_ranking(grouped, tmp_path):
    X, value = toy_rows(200, 9)
    model = quick(sklar.CopulaRankerRegressor, objective="honest", k=6, max_epochs=4).fit(X, value)
    if grouped:
        model.fitted_.network.substitutes[:3, :3] = True
        model.fitted_.network.substitutes.fill_diagonal_(False)
    model.fitted_ = replace(model.fitted_, priced=None)  # so that the fitted ranking answers
    for k in (1, 2, 4, 5):
        path = tmp_path / f"{k}.onnx"
        model.to_onnx(path, k=k)
        (mask,) = onnxruntime.InferenceSession(path).run(["mask"], {"X": X.astype(np.float32)})
        np.testing.assert_array_equal(mask, model.select(X.astype(np.float32), k=k))
        expected = np.zeros(X.shape, dtype=bool)
        np.put_along_axis(expected, model.rank(X.astype(np.float32))[:, :k], True, axis=1)
        np.testing.assert_array_equal(mask, expected)


def give_row_part(estimator):
    """Let the rows of a fitted honest selector decide which of its features exclude each other."""
    old = estimator.fitted_.network
    architecture = replace(old.architecture, row_hidden=3)
    network = HonestModel(architecture, seeded()).double().eval()
    network.load_state_dict(old.state_dict(), strict=False)
    with torch.no_grad():
        network.loadings.normal_(0.0, 3.0, generator=seeded(1))
        network.row_factors.last.weight.normal_(0.0, 3.0, generator=seeded(2))
        network.contested.fill_(True).fill_diagonal_(False)
    estimator.fitted_ = replace(estimator.fitted_, network=network)


def test_substitutes_of_single_rows(tmp_path):
    X, value = toy_rows(100, 6)
    model = quick(SELECTOR, objective="honest").fit(X, value > 0)
    model.fitted_.network.choice.scores.bias.data += 1.0
    before = assert_same_answers(model, tmp_path).sum()
    give_row_part(model)
    after = assert_same_answers(model, tmp_path)
    assert after.sum() < before
    model.save(tmp_path / "model.sklar")
    loaded = sklar.load(tmp_path / "model.sklar")
    np.testing.assert_array_equal(loaded.select(X), model.select(X))
    np.testing.assert_allclose(loaded.correlation(X), model.correlation(X), atol=1e-6)
    assert np.abs(model.correlation(X[0]) - model.correlation(X[1])).max() > 0.01  # each row has its own
    np.testing.assert_allclose(model.correlation(X[:2]), (model.correlation(X[0]) + model.correlation(X[1])) / 2)
    np.testing.assert_array_equal(model.select(X[:3]), model.select(X)[:3])


def test_substitutes_of_models_that_vote(tmp_path):
    X, value = toy_rows(100, 6)
    model = quick(SELECTOR, objective="honest", n_models=3).fit(X, value > 0)
    for member in model.fitted_.network.members:
        member.choice.scores.bias.data += 1.0
    before = assert_same_answers(model, tmp_path).sum()
    for member in model.fitted_.network.members:
        member.substitutes.fill_(True).fill_diagonal_(False)
    assert assert_same_answers(model, tmp_path).sum() < before


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "häufig"], [10, 20, 30], [False, True], [-1.0, 1.0]],
    ids=["text", "whole numbers", "truth values", "numbers"],
)
def test_predictions_are_the_classes(labels, tmp_path):
    X, _ = toy_rows(90)
    model = quick(RANKER).fit(X, np.array(labels)[np.arange(90) % len(labels)])
    assert_same_answers(model, tmp_path)
    told = session_of(model, tmp_path).get_modelmeta().custom_metadata_map
    assert json.loads(told["features"]) == [f"x{i}" for i in range(5)]
    assert json.loads(told["classes"]) == [str(label) for label in model.classes_]


def test_the_input_and_outputs_have_the_promised_shapes(tmp_path):
    session = session_of(fitted(SELECTOR), tmp_path)
    (table,) = session.get_inputs()
    assert (table.name, table.type, table.shape) == ("X", "tensor(float)", ["n", 18])
    shapes = {output.name: output.shape for output in session.get_outputs()}
    assert shapes == {"prediction": ["n"], "probabilities": ["n", 2], "mask": ["n", 18]}


def test_values_in_the_targets_units(tmp_path):
    X, value = toy_rows()
    assert_same_answers(quick(sklar.CopulaSelectorRegressor).fit(X, 1e3 * value + 1e6), tmp_path)


def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="a ranker of one model"):
        fitted(RANKER, d=5, n_models=2).to_onnx(tmp_path / "m.onnx")
    X, value = toy_rows(100)
    X[0, 0] = np.nan
    model = quick(SELECTOR).fit(X, value > 0)
    with pytest.raises(ValueError, match="text columns, dates or missing values"):
        model.to_onnx(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_without_the_package_the_error_names_the_extra(monkeypatch, fit_of, tmp_path):
    real = builtins.__import__
    monkeypatch.delitem(sys.modules, "sklar.export.onnx_export", raising=False)

    def refuse(name, *more):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"sklar\[onnx\]"):
        fit_of(SELECTOR).to_onnx(tmp_path / "m.onnx")


def test_a_graph_has_the_price_or_k_that_it_was_asked_for(tmp_path):
    X, value = toy_rows(150)
    X = X.astype(np.float32)
    selector = quick(sklar.CopulaSelectorRegressor, objective="honest", penalty="auto", max_epochs=60).fit(X, value)
    ranker = quick(sklar.CopulaRankerRegressor, objective="honest", k=3).fit(X, value)
    for model, asked in ((selector, {"penalty": max(selector.path_["penalty"])}), (ranker, {"k": 1})):
        model.to_onnx(tmp_path / "m.onnx", **asked)
        session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
        prediction, mask = session.run(["prediction", "mask"], {"X": X})
        np.testing.assert_array_equal(mask, model.select(X, **asked))
        np.testing.assert_allclose(prediction, model.predict(X, **asked), rtol=1e-6, atol=1e-9)
