"""What the tests of baselines share."""

import sys

import pytest


@pytest.fixture
def without_packages(monkeypatch):
    """Makes a package look as if it were not installed."""

    def hide(*packages):
        for name in list(sys.modules):
            if name.split(".")[0] in packages:
                monkeypatch.delitem(sys.modules, name)
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return hide
