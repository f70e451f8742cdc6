"""Folders and large files go through the commands as small files do, with the same answers."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar import load
from sklar.scale import disk
from sklar.scale.disk import Asked, some_rows, streamed, to_learn
from sklar.table.files import TableError, read_table
from sklar.workflow import answer_file, audit_file, explain_file, fit_file, report_file
from tests.helpers import QUICK, toy_rows

WORDS = {**QUICK, "penalty": 0.01}


def silent(text):
    pass


@pytest.fixture
def table():
    X, value = toy_rows()
    columns = {f"x{j}": X[:, j] for j in range(4)} | {"text": np.where(X[:, 4] > 0, "up", "down")}
    return pa.table({**columns, "id": np.arange(120), "label": np.where(value > 0, "yes", "no"), "value": value})


@pytest.fixture
def folder(table, tmp_path):
    """The table as a file, and as a folder of three."""
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "many").mkdir()
    for part in range(3):
        pq.write_table(table.slice(40 * part, 40), tmp_path / "many" / f"{part}.parquet")
    return tmp_path


def test_folders_patterns_and_large_files_are_streamed(folder, monkeypatch):
    assert streamed(str(folder / "many")).n_rows == 120
    assert streamed(str(folder / "many" / "[01].parquet")).n_rows == 80
    assert streamed(str(folder / "one.parquet")) is None
    monkeypatch.setattr(disk, "STREAMED_FROM", 100)
    assert streamed(str(folder / "one.parquet")).n_rows == 120
    (folder / "t.csv").write_text("a\n" * 200)
    assert streamed(str(folder / "t.csv")) is None
    assert streamed(str(folder / "none.parquet")) is None


@pytest.mark.parametrize("what", ["select", "predict"])
def test_a_folder_gives_what_its_file_gives(folder, what):
    for name in ("one.parquet", "many"):
        fit_file(
            str(folder / name), "label", str(folder / f"{name}.sklar"), ignore=["id", "value"], echo=silent, **WORDS
        )
        rows = answer_file(
            what, str(folder / "one.parquet.sklar"), str(folder / name), str(folder / f"{name}.out.parquet")
        )
        assert rows == 120
    one, many = (load(folder / f"{name}.sklar").fitted_ for name in ("one.parquet", "many"))
    assert one.schema.names == many.schema.names
    assert all((a == b).all() for a, b in zip(one.network.parameters(), many.network.parameters(), strict=True))
    assert one.target.classes.tolist() == many.target.classes.tolist()
    first, second = (read_table(folder / f"{name}.out.parquet").columns for name in ("one.parquet", "many"))
    assert first.keys() == second.keys()
    for name, values in first.items():
        same = np.allclose(values, second[name], rtol=1e-12) if values.dtype == float else values == second[name]
        assert np.all(same)


def test_one_target_of_numbers_and_several(folder):
    said = []
    model = fit_file(
        str(folder / "many"), "value", str(folder / "m"), ignore=["label", "id"], echo=said.append, **WORDS
    )
    assert type(model).__name__ == "CopulaSelectorRegressor"
    assert any("120 rows" in line for line in said)
    two = fit_file(
        str(folder / "many"), ["value", "x0"], str(folder / "m"), ignore=["label", "id"], echo=silent, **WORDS
    )
    assert two.predict(streamed(str(folder / "many"))).read_all().column_names == ["prediction_1", "prediction_2"]


def test_a_row_a_report_and_an_audit_of_a_folder(folder, tmp_path, monkeypatch):
    data, model = str(folder / "many"), str(folder / "m.sklar")
    fit_file(data, "label", model, ignore=["id", "value"], echo=silent, **WORDS)
    assert str(explain_file(model, data, 77)) == str(explain_file(model, str(folder / "one.parquet"), 77))
    with pytest.raises(TableError, match="has rows 0 to 119; there is no row 120"):
        explain_file(model, data, 120)
    assert report_file(model, data, "label", str(tmp_path / "p.html"), audit=False, echo=silent).exists()
    monkeypatch.setattr(disk, "MOST_JUDGED", 90)
    assert audit_file(model, data, "label", echo=silent).n_rows == 90
    assert len(some_rows(data, (), None, None).column("x0")) == 90


def test_mistakes_are_named(folder):
    data, out = str(folder / "many"), str(folder / "m")
    with pytest.raises(TableError, match="has no column 'z'"):
        fit_file(data, "z", out, echo=silent)
    with pytest.raises(TableError, match="has no column 'q'"):
        fit_file(data, "label", out, ignore=["q"], echo=silent)
    with pytest.raises(TableError, match="is text, which --task regression cannot use"):
        fit_file(data, "label", out, task="regression", echo=silent)
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match="no Parquet or Arrow file"):
        fit_file(str(folder / "empty"), "label", out, echo=silent)


def test_rows_without_a_target_are_left_out_and_counted(folder, table):
    holes = pa.array([None if i % 10 == 0 else str(v) for i, v in enumerate(table["label"].to_pylist())])
    pq.write_table(table.set_column(6, "label", holes), folder / "many" / "0.parquet")
    pq.write_table(table.set_column(6, "label", holes), folder / "one.parquet")
    for name in ("1.parquet", "2.parquet"):
        (folder / "many" / name).unlink()
    said, told = [], []
    words = {**WORDS, "ignore": ["id", "value"], "echo": said.append, "tell": told.append}
    fits = [fit_file(str(folder / name), "label", str(folder / "m"), **words) for name in ("many", "one.parquet")]
    assert said.count("12 of 120 rows have no value of 'label' and are left out") == 2
    assert [one["n_rows_without_target"] for one in told] == [12, 12]
    weights = [list(fit.fitted_.network.parameters()) for fit in fits]
    assert all((a == b).all() for a, b in zip(*weights, strict=True))
    with pytest.raises(TableError, match="the target 'label' is missing in row 0"):
        fit_file(str(folder / "many"), "label", str(folder / "m"), missing_target="refuse", **words)


def test_events_and_weights_by_name(folder):
    asked = Asked(["value"], "id", "label", {"id", "label", "text"}, set())
    with pytest.raises(TableError, match="--event takes a column of 0 and 1"):
        to_learn(str(folder / "many"), None, None, asked, silent)
    words = to_learn(str(folder / "many"), None, None, asked._replace(event=None), silent).words
    assert words["target"] == ["value"]
    assert words["sample_weight"] == "id"
    assert words["X"].columns == ["x0", "x1", "x2", "x3", "id", "value"]
