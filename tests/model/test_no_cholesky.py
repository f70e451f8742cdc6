"""The paper factorises Sigma on every row of every step; here nothing does."""

import re
from pathlib import Path

import pytest
import torch

import sklar
from tests.helpers import COVARIANCES, four, quick, toy_rows, toy_target

SOURCES = sorted(Path(sklar.__file__).parent.rglob("*.py"))
CALL = re.compile(r"cholesky\w*\s*\(|\.cholesky\b|import.*cholesky", re.IGNORECASE)


def test_there_are_sources():
    assert len(SOURCES) > 10


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_source_calls_cholesky(path):
    assert not CALL.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("cls", four())
def test_fit_and_draws_factorise_nothing(cls, covariance, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a matrix was factorised")

    for name in ("cholesky", "cholesky_ex", "eigh", "svd", "qr", "inv", "solve", "ldl_factor", "lu_factor"):
        monkeypatch.setattr(torch.linalg, name, refuse)
    monkeypatch.setattr(torch, "cholesky", refuse)
    X, value = toy_rows(60)
    model = quick(cls, covariance=covariance, max_epochs=1).fit(X, toy_target(cls, value))
    assert model.sample_masks(X, 2, random_state=0).shape == (2, 60, 5)
