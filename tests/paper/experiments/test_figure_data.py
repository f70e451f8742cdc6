"""The numbers behind the pictures."""

import json

import numpy as np
import pytest
import torch

from sklar.paper.experiments.figure_data import covariance_components, make_figure, tsne
from sklar.paper.experiments.joint_stack import fit_joint_stack
from sklar.paper.experiments.specs import spec_of

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def stack():
    X = np.random.default_rng(0).standard_normal((60, 5))
    params = {"covariance": "full", "max_epochs": 2, "batch_size": 20, "choice_hidden": 8, "predict_hidden": 8}
    return fit_joint_stack([(X, (X[:, 0] > 0).astype(np.int64))], params, CPU, 0, 2), X


def test_components_keep_the_distances_of_the_covariances(stack):
    """Against the covariances themselves, row by row."""
    fitted, X = stack
    parts = covariance_components(fitted, X[:20])

    def sigma(model, x):
        return model.covariance(model.gates(x)).dense().flatten(-2)

    sigmas = fitted.map_rows(0, X[:20], sigma)
    expected = np.linalg.norm(sigmas[:, None] - sigmas[None], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(parts[:, None] - parts[None], axis=-1), expected, atol=1e-3)


def test_neighbours_stay_neighbours():
    groups = np.repeat([[0.0, 0.0], [50.0, 0.0]], 20, axis=0) + np.random.default_rng(0).standard_normal((40, 2))
    points = tsne(groups)
    inside = np.linalg.norm(points[:20] - points[:20].mean(0), axis=1).max()
    assert np.linalg.norm(points[:20].mean(0) - points[20:].mean(0)) > inside


def test_pixels(tmp_path):
    spec = spec_of("figure-pixels", quick=True)
    params = (("max_epochs", 1),)
    made = []
    from dataclasses import replace

    spec = replace(spec, methods=spec.methods[:1])
    make_figure(spec, CPU, tmp_path, "the command", params, made.append)
    data = json.loads((tmp_path / "figure-pixels.json").read_text())
    assert (data["quick"], data["overrides"], data["command"]) == (True, {"max_epochs": 1}, "the command")
    (panel,) = data["panels"]
    assert panel["labels"] == list(range(10))
    assert all(len(set(pixels)) == 10 for pixels in panel["pixels"])
    make_figure(spec, CPU, tmp_path, "another", params, made.append)
    assert made[-1].endswith("is there")
    assert json.loads((tmp_path / "figure-pixels.json").read_text())["command"] == "the command"
