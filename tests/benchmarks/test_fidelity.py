"""The benchmark of baselines on their own data: rows, none twice, and the table from rows."""

import importlib.util
import json
from pathlib import Path

FILE = Path(__file__).parents[2] / "benchmarks" / "fidelity.py"
SPEC = importlib.util.spec_from_file_location("fidelity", FILE)
fidelity = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fidelity)


def test_a_fit_is_measured_once_with_what_was_printed_for_it(tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    words = ["--quick", "--cases", "l2x", "tabnet", "llspin", "lspin", "--data", "syn2", "two linear groups"]
    rows = fidelity.main([*words, "--out", str(out)])
    assert [(row["method"], row["metric"], row["printed"]) for row in rows] == [
        ("l2x", "TPR", 100.0),
        ("l2x", "FDR", 0.0),
        ("tabnet", "AUC", 0.892),
        ("llspin", "R2", 0.989),
    ]
    before = out.read_text()
    assert fidelity.main([*words, "--out", str(out)]) == [json.loads(line) for line in before.splitlines()]
    assert out.read_text() == before
    assert "| `l2x` | syn2 | TPR/FDR | 100.0/0.0 |" in capsys.readouterr().out


def test_l2x_is_given_as_many_features_as_the_data_of_invase_have():
    for name, k in fidelity.K_OF_INVASE.items():
        relevant = fidelity.make_synthetic(name, 2000, variant="invase", random_state=0)[2]
        assert abs(relevant.sum(axis=1).mean() - k) < 0.6


def test_the_table_has_means_over_seeds():
    shared = {"method": "tabnet", "case": "syn1", "metric": "AUC", "printed": 0.682, "source": "its paper"}
    rows = [{**shared, "seed": seed, "value": value} for seed, value in ((0, 0.6), (1, 0.7))]
    assert fidelity.table(rows).splitlines()[-1] == "| `tabnet` | syn1 | AUC | 0.682 | its paper | 0.650 | 2 |"
