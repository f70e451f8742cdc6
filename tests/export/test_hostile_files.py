"""Files with edited contents and a right checksum: they load and answer everything, or are refused naming the field."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import sklar
from sklar.export.storage import ModelFileError, read_model
from sklar.training.replacement import Replacement
from tests.export.hostile import edited, every_answer, write_edited
from tests.helpers import quick, toy_rows


def _tables():
    """One model of every kind, as (class, parameters, X, y)."""
    X, value = toy_rows(60)
    mixed = pd.DataFrame(X, columns=list("abcde"))
    mixed["a"] = np.where(value > 0, "ja", "nein")
    mixed["b"] = pd.Categorical(np.arange(60) % 3)
    mixed.loc[::7, "c"] = np.nan
    classes = (value > 0).astype(int)
    events = np.array(list(zip(classes > 0, np.abs(value), strict=True)), dtype=[("e", bool), ("t", float)])
    honest = {"objective": "honest", "max_epochs": 1, "n_folds": 2}
    yield sklar.CopulaSelectorClassifier, {"groups": [["d", "e"]], "forced": ["c"]}, mixed, classes
    yield sklar.CopulaSelectorClassifier, {"penalty": "auto"}, X, np.where(classes, "ja", "nein")
    yield sklar.CopulaSelectorRegressor, {**honest, "costs": {"d": 2.0}}, mixed, value
    yield sklar.CopulaRankerClassifier, {**honest, "n_models": 2}, mixed, classes.astype(bool)
    yield sklar.CopulaRankerClassifier, {**honest, "chooses_from": "shown", "forced": ["a"]}, mixed, classes
    yield sklar.CopulaRankerRegressor, {"covariance": "block"}, X, np.column_stack([value, -value])
    yield (
        sklar.CopulaSelectorClassifier,
        {"covariance": "full", "n_models": 2},
        X,
        np.column_stack([classes, 1 - classes]),
    )
    yield sklar.CopulaSelectorRegressor, {"loss": "poisson"}, X, classes + 1.0
    yield sklar.CopulaSelectorRegressor, {"loss": "cox"}, X, events
    few = {"predictor": HistGradientBoostingClassifier(max_iter=2)}
    yield sklar.CopulaSelectorClassifier, {**few, "groups": [["d", "e"]]}, mixed, np.arange(60) % 3
    yield sklar.CopulaRankerClassifier, few, X, np.column_stack([classes, 1 - classes])


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Contents of model files of every kind."""
    folder, found = tmp_path_factory.mktemp("originals"), []
    for cls, words, X, y in _tables():
        path = folder / f"{len(found)}.sklar"
        quick(cls, **words).fit(X, y).save(path)
        tensors, metadata = read_model(path)
        a, b, c, d, *_ = metadata["schema"]["names"]
        metadata["replacements"] = [Replacement(a, b, 0.01, 0.01, 0.2, 0.02, 0.15, 50)._asdict()]
        found.append((tensors, metadata | {"copies": [[c, d]]}))
    return found


def outcome(seed, originals, folder):
    """None where a file was loaded and answered, or the error that refused it."""
    random = np.random.default_rng(seed)
    path = folder / "edited.sklar"
    write_edited(path, *edited(random, *originals[random.integers(len(originals))]))
    try:
        estimator = sklar.load(path)
    except ModelFileError as error:
        return str(error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # weights of 1e38 overflow: an answer, if a useless one
        every_answer(estimator, folder)
    return None


def check(seeds, originals, folder):
    refused = [outcome(seed, originals, folder) for seed in seeds]
    assert all("edited.sklar: " in error for error in refused if error is not None)
    assert 0 < sum(error is None for error in refused) < len(refused)


def test_files_as_written_answer_everything(originals, tmp_path):
    for tensors, metadata in originals:
        write_edited(tmp_path / "m.sklar", tensors, metadata)
        estimator = sklar.load(tmp_path / "m.sklar")
        every_answer(estimator, tmp_path)
        assert estimator.fitted_.network.architecture.n_features == metadata["architecture"]["n_features"]


def test_three_hundred_edited_files(originals, tmp_path):
    check(range(300), originals, tmp_path)


@pytest.mark.slow
def test_ten_thousand_edited_files(originals, tmp_path):
    check(range(1000, 11_000), originals, tmp_path)
