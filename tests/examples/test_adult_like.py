"""The example runs, and its table is as messy as it says."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

import sklar

PATH = Path(__file__).parents[2] / "examples" / "adult_like.py"


def example():
    spec = importlib.util.spec_from_file_location("adult_like", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_messy():
    table = example().make_table(3000)
    assert table["hours"].isna().mean() > 0.1
    assert table["licence"].isna().mean() > 0.2
    assert table["years"].corr(table["months"]) > 0.99
    assert table["city"].value_counts().min() < 20
    assert {str(kind) for kind in table.dtypes} & {"object", "str", "string"}


@pytest.mark.filterwarnings("ignore:column 'city'")  # 120 rows hold few of its cities
def test_from_csv_to_result(tmp_path, capsys):
    selector = example().main(120, tmp_path)
    assert isinstance(selector, sklar.CopulaSelectorClassifier)
    assert list(pd.read_csv(tmp_path / "people.csv").columns[:-1]) == selector.feature_names_in_.tolist()
    said = capsys.readouterr().out
    assert "self-employed" in said
    assert "accuracy on new rows" in said
    assert "self-employed" in (tmp_path / "report.html").read_text(encoding="utf-8")
