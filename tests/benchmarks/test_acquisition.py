"""The accuracy of every prefix of a ranking that chooses from what it has shown."""

import json

import numpy as np


def test_rows_and_a_table(tmp_path, monkeypatch, capsys):
    from tests.benchmarks.test_benchmarks import FOLDER

    monkeypatch.syspath_prepend(str(FOLDER))
    import acquisition

    monkeypatch.setattr(acquisition, "votes", lambda seed: _votes(seed))
    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr("sys.argv", ["acquisition.py", "--k", "3", "--out", str(out)])
    acquisition.main()
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["features"] for row in rows] == [1, 2, 3]
    assert all(40 < row["accuracy"] < 90 for row in rows)
    assert "votes, column scaling, k = 3" in capsys.readouterr().out


def _votes(seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], 300)
    return np.where(rng.random((300, 5)) < 0.7, 1.0, -1.0) * y[:, None], y
