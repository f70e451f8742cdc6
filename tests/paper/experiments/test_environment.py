"""What a row records about its run."""

import platform
import subprocess

import pytest
import torch

from sklar.paper.experiments import environment

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _no_memory_of_a_commit():
    environment.commit.cache_clear()
    yield
    environment.commit.cache_clear()


def test_versions_are_those_that_run():
    found = environment.versions()
    assert found["python"] == platform.python_version()
    assert found["torch"] == torch.__version__
    assert found["sklar"]


def test_the_commit_can_be_given(monkeypatch):
    monkeypatch.setenv("SKLAR_COMMIT", "abc")
    assert environment.commit() == "abc"


def test_a_changed_tree_is_marked(monkeypatch):
    monkeypatch.delenv("SKLAR_COMMIT", raising=False)
    for changes, expected in (("", "0123"), (" M file.py", "0123+")):
        environment.commit.cache_clear()
        monkeypatch.setattr(environment, "_git", lambda folder, *a, c=changes: "0123" if a[0] == "rev-parse" else c)
        assert environment.commit() == expected


def test_without_git_the_commit_is_unknown(monkeypatch):
    def fail(*arguments, **options):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.delenv("SKLAR_COMMIT", raising=False)
    monkeypatch.setattr(environment.subprocess, "run", fail)
    assert environment.commit() == "unknown"


def test_device_and_memory():
    assert environment.device_name(CPU).startswith("cpu (")
    environment.reset_peak_memory(CPU)
    before = environment.peak_mebibytes(CPU)
    assert 10 < before < 1_000_000
    held = bytearray(64 * 2**20)
    assert environment.peak_mebibytes(CPU) >= before
    assert held
