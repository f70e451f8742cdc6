"""The draws of the noise benchmark are what they say, and its table counts right."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

SPEC = importlib.util.spec_from_file_location("noise", Path(__file__).parents[2] / "benchmarks" / "noise.py")
noise = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(noise)


@pytest.mark.parametrize("deciding", [1, 2, 3])
def test_labels_are_decided_without_noise(deciding):
    X, y, count = noise.draw(f"decided-by-{deciding}", "classes", 0)
    assert (X.shape, count) == ((1500, 9), deciding)
    np.testing.assert_array_equal(y, X[:, :deciding].sum(axis=1) > 0)


def test_rows_are_kept_and_counted(tmp_path, monkeypatch, capsys):
    asked = []

    def measure(case, target, number):
        asked.append((case, target, number))
        return {"case": case, "target": target, "draw": number, "deciding": [], "others": float(number)}

    monkeypatch.setattr(noise, "measure", measure)
    out = tmp_path / "noise.jsonl"
    for _ in range(2):
        noise.main(["--cases", "300x200", "--draws", "2", "--out", str(out)])
    assert len(asked) == len([json.loads(line) for line in out.read_text().splitlines()]) == 4
    assert "| 300x200 | values | 2 | 1 |" in capsys.readouterr().out
