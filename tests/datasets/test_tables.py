"""Real tables: what their files become. Every file here is written by the test; no real data is needed."""

import gzip
import hashlib
import sys

import numpy as np
import pandas as pd
import pytest

from sklar.datasets import load_table, table_names
from sklar.datasets.store import DataError
from sklar.datasets.tables import FILES, parse_csv

ADULT = "age,workclass,income,split\n39,State-gov,<=50K,train\n50,,>50K,test\n,Private,<=50K,train\n"
WINE = "acid,quality\n7.0,6\n6.3,5\n8.1,9\n"
POLLUTION = "No,year,pm2.5,cbwd\n1,2010,,NW\n2,2010,129.0,SE\n3,2011,148.0,\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    (tmp_path / "tables").mkdir()
    return tmp_path / "tables"


def put(folder, name, text):
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_text_missing_values_and_the_official_split(folder):
    put(folder, "adult", ADULT)
    table = load_table("adult")
    assert list(table.X.columns) == ["age", "workclass"]
    assert table.X["age"].tolist()[:2] == [39.0, 50.0]
    assert table.X.isna().to_numpy().tolist() == [[False, False], [False, True], [True, False]]
    assert table.X["workclass"][0] == "State-gov"
    assert table.y.tolist() == ["<=50K", ">50K", "<=50K"]
    assert table.y.dtype.kind == "U"
    assert (table.name, table.task) == ("adult", "classification")
    assert table.train_rows.tolist() == [0, 2]
    assert table.test_rows.tolist() == [1]


def test_wine_as_classes_and_as_a_value(folder):
    put(folder, "wine-quality-white", WINE)
    classes, values = load_table("wine-quality-white"), load_table("wine-quality-white-value")
    assert (classes.task, classes.y.tolist()) == ("classification", [1, 0, 1])
    assert (values.task, values.y.tolist()) == ("regression", [6.0, 5.0, 9.0])
    assert list(classes.X.columns) == list(values.X.columns) == ["acid"]
    assert classes.train_rows is None


def test_pollution_without_row_numbers_and_rows_without_a_target(folder):
    put(folder, "pollution", POLLUTION)
    table = load_table("pollution")
    assert list(table.X.columns) == ["year", "cbwd"]
    assert table.y.tolist() == [129.0, 148.0]
    assert table.X["year"].tolist() == [2010, 2011]


def test_arrays(folder):
    np.savez(folder / "colon.npz", X=np.eye(3, dtype=np.int16), y=np.array([[-1], [1], [1]]))
    table = load_table("colon")
    assert table.X.dtype == np.float64
    assert table.y.tolist() == [-1, 1, 1]
    np.savez(folder / "allaml.npz", X=np.eye(3))
    with pytest.raises(DataError, match=r"allaml\.npz is damaged: it must hold the arrays X and y"):
        load_table("allaml")


@pytest.mark.parametrize("name", ["digits", "breast-cancer", "wine", "diabetes"])
def test_tables_of_scikit_learn(name):
    table = load_table(name)
    assert isinstance(table.X, pd.DataFrame)
    assert len(table.X) == len(table.y) > 100
    assert table.task == ("regression" if name == "diabetes" else "classification")


def test_without_pandas_a_dict_of_columns(folder, monkeypatch):
    put(folder, "adult", ADULT)
    monkeypatch.setitem(sys.modules, "pandas", None)
    X = load_table("adult").X
    assert list(X) == ["age", "workclass"]
    assert X["workclass"].tolist() == ["State-gov", None, "Private"]
    assert np.isnan(X["age"][2])


def test_sums_are_checked(folder):
    put(folder, "wine-quality-white", WINE)
    path = folder / "wine-quality-white.csv.gz"
    good = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{good}  {path.name}\n{'0' * 64}  other.csv.gz\n")
    assert len(load_table("wine-quality-white").y) == 3
    put(folder, "wine-quality-white", WINE + "1.0,4\n")
    with pytest.raises(DataError, match=r"wine-quality-white\.csv\.gz is damaged: its SHA-256 sum is"):
        load_table("wine-quality-white")


def test_a_wrong_name_lists_the_known():
    with pytest.raises(ValueError, match=r"no table 'adlut'; there are adult, spambase, .*diabetes"):
        load_table("adlut")
    assert len(set(table_names())) == len(table_names()) == 16


@pytest.mark.parametrize(("name", "file"), [("abalone", r"abalone\.csv\.gz"), ("colon", r"colon\.npz")])
def test_missing_says_what_to_put_where(folder, name, file):
    with pytest.raises(DataError, match=rf"tables/{file} is not in .*put it there, or set SKLAR_DATA"):
        load_table(name)


def test_a_file_without_its_target(folder):
    put(folder, "abalone", "sex,length\nM,1\n")
    with pytest.raises(DataError, match="abalone has no column 'rings'; it has sex, length"):
        load_table("abalone")


@pytest.mark.parametrize(
    ("text", "fault"), [("a,b\n1,2\n3\n", "line 3 has 1 cells, not 2"), ("a,b\n", "it has no rows")]
)
def test_damaged_text(text, fault):
    with pytest.raises(DataError, match=fault):
        parse_csv(text.encode(), "file")


def test_openml_where_no_folder_is_given(tmp_path, monkeypatch):
    """Downloaded once, then from the cache; its wine has the qualities 3 to 9 as classes 1 to 7."""
    import sklearn.datasets

    asked = []

    def fetch_openml(data_id, **_):
        asked.append(data_id)
        target = pd.Series(["4", "3", "7"], dtype="category")
        return type("Bunch", (), {"data": pd.DataFrame({"V1": [7.0, 6.3, 8.1]}), "target": target})

    monkeypatch.delenv("SKLAR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    assert load_table("wine-quality-white-value").y.tolist() == [6.0, 5.0, 9.0]
    assert load_table("wine-quality-white").y.tolist() == [1, 0, 1]
    assert asked == [40498]
    assert (tmp_path / "sklar/tables/wine-quality-white.csv.gz").is_file()
    with pytest.raises(DataError, match="put it there"):
        load_table("autos")


def test_only_tables_of_openml_have_a_number():
    assert {name for name, source in FILES.items() if source.openml is None} == {
        *("abalone", "autos", "pollution", "colon", "allaml")
    }
