"""Killed at random moments of fit, save, report, reproduce and checkpoint writing: nothing half, nothing lost."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks what it kills")


@pytest.mark.parametrize("n", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_at_random_moments(tmp_path, n):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore:no feature can be shown", "-m", "tests.killing", str(tmp_path), str(n), "0"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    killed, interrupted = map(int, re.findall(r"^(\d+) ", ended.stdout, re.MULTILINE))
    assert killed >= n / 2  # the others were done before
    assert interrupted >= 1
