import os
import sys
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sklar.table.files import TableError, read_table, require_format, require_writable
from sklar.table.writing import write_table


def csv_file(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return path


# Reading.


def test_columns_get_the_narrowest_type_that_holds_them(tmp_path):
    table = read_table(csv_file(tmp_path, "i,f,e,t,m\n1,1.5,1e30,x,1\n-2,2, -3e-5,,\n"))
    kinds = {name: values.dtype.kind for name, values in table.columns.items()}
    assert kinds == {"i": "i", "f": "f", "e": "f", "t": "O", "m": "f"}
    assert table.column("f").tolist() == [1.5, 2.0]
    assert table.column("e").tolist() == [1e30, -3e-5]
    assert table.column("t").tolist() == ["x", ""]
    assert np.isnan(table.column("m")[1])


def test_quoted_cells_may_hold_commas_quotes_and_line_breaks(tmp_path):
    table = read_table(csv_file(tmp_path, '"a, b","say ""hi""",c\r\n"1","x,\ny",3\r\n'))
    assert list(table.columns) == ["a, b", 'say "hi"', "c"]
    assert table.column("a, b").tolist() == [1]
    assert table.column('say "hi"').tolist() == ["x,\ny"]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    assert list(read_table(csv_file(tmp_path, "a,b\n1,2\n", "utf-8-sig")).columns) == ["a", "b"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_and_a_missing_last_line_break_are_no_matter(tmp_path, end):
    table = read_table(csv_file(tmp_path, end.join(["ä,b", "1,2", "", "3,4"])))
    assert table.matrix(["b", "ä"]).tolist() == [[2, 1], [4, 3]]


def test_integers_beyond_64_bits_become_floats(tmp_path):
    assert read_table(csv_file(tmp_path, "a\n1\n99999999999999999999\n")).column("a").dtype == float


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n3\n", "line 3: 1 cells where the header has 2"),
        ("a,b\n1,2,3\n", "line 2: 3 cells where the header has 2"),
        ("a,b,a\n1,2,3\n", "column 'a' stands in the header more than once"),
        ("", "has no rows"),
        ("a,b\n", "has no rows"),
        (b"a,b\n\xff\xfe,2\n", "not a CSV file in UTF-8"),
        (b"a,b\n1,\x002\n", None),
    ],
)
def test_a_broken_csv_says_where(tmp_path, content, says):
    path = csv_file(tmp_path, content)
    if says is None:  # a NUL byte: refused or kept as text, but no crash
        read_table(path)
        return
    with pytest.raises(TableError, match=says):
        read_table(path)


@pytest.mark.parametrize("name", ["none.csv", "none.parquet"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(TableError, match=f"{name}: no such file"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.gz"])
def test_other_endings_are_refused(tmp_path, name):
    for action in (read_table, require_format, lambda path: write_table(path, {})):
        with pytest.raises(TableError, match=r"\.csv, \.tsv, \.txt or \.data \(also with \.gz\), \.parquet"):
            action(tmp_path / name)


def test_endings_may_be_upper_case(tmp_path):
    (tmp_path / "T.CSV").write_text("a\n1\n")
    assert read_table(tmp_path / "T.CSV").column("a").tolist() == [1]


def test_parquet_columns_of_every_usual_type(tmp_path):
    frame = pd.DataFrame(
        {
            "i": pd.array([1, 2], dtype="int32"),
            "f": [0.5, np.nan],
            "flag": [True, False],
            "text": ["x", "y"],
            "kind": pd.Categorical(["u", "v"]),
            "maybe": pd.array([1, None], dtype="Int64"),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.matrix(["i", "flag"]).tolist() == [[1, 1], [2, 0]]
    assert table.column("kind").tolist() == ["u", "v"]
    assert np.isnan(table.matrix(["f", "maybe"])[1]).all()


def test_parquet_with_a_repeated_name_is_refused(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="'a' stands in the header more than once"):
        read_table(tmp_path / "t.parquet")


def test_what_is_not_parquet_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="not a Parquet file"):
        read_table(tmp_path / "t.parquet")


def test_an_unknown_column_lists_the_known_ones(tmp_path):
    table = read_table(csv_file(tmp_path, "a,b\n1,2\n"))
    with pytest.raises(TableError, match=r"no column 'z'; it has a, b"):
        table.column("z")
    wide = read_table(csv_file(tmp_path, ",".join(f"c{i}" for i in range(40)) + "\n" + ",".join("1" * 40) + "\n"))
    with pytest.raises(TableError, match=r"c9, \.\.\.$"):
        wide.column("z")


def test_a_text_column_is_not_a_number_and_shows_why(tmp_path):
    table = read_table(csv_file(tmp_path, "a,b\n1,2\noops,3\n"))
    with pytest.raises(TableError, match=r"column 'a' is not numeric \(it holds 'oops'\)"):
        table.matrix(["b", "a"])


# Writing.

COLUMNS = {
    "naïve, name": np.array([1, 0], dtype=np.int8),
    "x": np.array([0.1, 1e-300]),
    "label": np.array(["a,b", 'c"d'], dtype=object),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_reads_back_the_same(tmp_path, ending):
    write_table(tmp_path / f"t.{ending}", COLUMNS)
    table = read_table(tmp_path / f"t.{ending}")
    assert list(table.columns) == list(COLUMNS)
    for name, values in COLUMNS.items():
        assert table.column(name).tolist() == values.tolist()


def test_other_programs_read_what_is_written(tmp_path):
    write_table(tmp_path / "t.csv", COLUMNS)
    write_table(tmp_path / "t.parquet", COLUMNS)
    for frame in (pd.read_csv(tmp_path / "t.csv"), pd.read_parquet(tmp_path / "t.parquet")):
        assert frame.columns.tolist() == list(COLUMNS)
        assert frame["x"].tolist() == [0.1, 1e-300]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_interrupted_write_keeps_what_was_there(tmp_path, monkeypatch, ending):
    def interrupt(*args):
        raise KeyboardInterrupt

    path = tmp_path / f"t.{ending}"
    write_table(path, COLUMNS)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(path, {"a": np.arange(3)})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_writable_path_is_left_as_it_was(tmp_path):
    require_writable(tmp_path / "new.csv")
    assert not list(tmp_path.iterdir())
    path = csv_file(tmp_path, "keep me")
    require_writable(path)
    assert path.read_text() == "keep me"


def test_what_cannot_be_written_is_refused_at_once(tmp_path, monkeypatch):
    with pytest.raises(TableError, match="is not a folder"):
        require_writable(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(TableError, match="it is a folder"):
        require_writable(tmp_path)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(TableError, match=r"cannot write .*t\.csv: Permission denied"):
        require_writable(tmp_path / "t.csv")


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    import builtins

    plain_import = builtins.__import__

    def no_arrow(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_arrow)
    with pytest.raises(TableError, match=r'pip install "sklar\[parquet\]"'):
        require_format(tmp_path / "t.parquet")
    require_format(tmp_path / "t.csv")


# Text and holes.


@pytest.mark.parametrize("word", ["", " ", "NA", "N/A", "null", "NaN", "None"])
def test_words_for_nothing_are_missing_numbers(tmp_path, word):
    values = read_table(csv_file(tmp_path, f"a,b\n1,{word}\n2,5\n")).column("b")
    assert values.dtype == float
    assert np.isnan(values).tolist() == [True, False]


def test_features_are_numbers_or_text_with_none_where_empty(tmp_path):
    table = read_table(csv_file(tmp_path, "a,b,c\n1,x,\n,,2\n"))
    chosen = table.features(["b", "a"])
    assert list(chosen) == ["b", "a"]
    assert chosen["b"].tolist() == ["x", None]
    assert np.isnan(chosen["a"][1])


def test_numbers_among_text_are_refused_unless_called_text(tmp_path):
    path = csv_file(tmp_path, "children,zip\n1,01234\n3+,99999\n2,00001\n")
    with pytest.raises(
        TableError, match=r"column 'children' mixes numbers \('1' in row 0\) and text \('3\+' in row 1\)"
    ):
        read_table(path).features(["children"])
    table = read_table(path, text=["children", "zip"])
    assert table.features(["children"], ["children"])["children"].tolist() == ["1", "3+", "2"]
    assert table.column("zip").tolist() == ["01234", "99999", "00001"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'a,b\n"1,040",1\n999,2\n',
            r"\('1,040' in row 0\); write them without commas between thousands or say --decimal , if .* --text a",
        ),
        ("a,b\n1,1\nabc,2\n", r"say --missing 'abc' if that is a missing value, correct it, or say --text a to"),
        ("a,b\n1,1\nabc,2\nx,3\n", r"row 1\); correct it, or say --text a to"),
        ("a;b\n1,5;0,5\n1.25;0,5\n", r"mixes numbers \('1,5' in row 0\) .* say --decimal \. if these are decimal p"),
        ("a;b\n1.25;0,5\n", r"column 'a' holds '1\.25', which is no number here; say --decimal \. if"),
    ],
)
def test_hints_about_numbers_among_text_fit(tmp_path, text, says):
    with pytest.raises(TableError, match=says):
        read_table(csv_file(tmp_path, text)).features(["a"])


def test_a_fitted_model_gets_no_hints_of_fit(tmp_path):
    table = read_table(csv_file(tmp_path, 'a,b,c\n1,x,"1,5"\nabc,2,"2,5"\nxy,3,"3,5"\n'))
    with pytest.raises(TableError, match=r"row 1\); correct it$"):
        table.features(["a", "b"], read=["a"])
    with pytest.raises(TableError, match=r"column 'c' holds '1,5', which is no number here; say --decimal ,"):
        table.features(["c"], read=["c"])
    assert table.features(["a"], read=["b"])["a"].tolist() == ["1", "abc", "xy"]  # nobody reads it


@pytest.mark.parametrize("ending", ["arrow", "feather", "parquet"])
def test_arrow_files_come_back_as_they_were_written(tmp_path, ending):
    columns = {"a": np.array([1.5, 2.5]), "w": np.array(["x", None], dtype=object)}
    write_table(tmp_path / f"t.{ending}", columns)
    table = read_table(tmp_path / f"t.{ending}")
    assert table.is_typed
    assert table.column("a").tolist() == [1.5, 2.5]
    assert table.features(["w"])["w"].tolist() == ["x", None]


def test_what_is_not_an_arrow_file_is_refused(tmp_path):
    (tmp_path / "t.arrow").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="not an Arrow file"):
        read_table(tmp_path / "t.arrow")


# Queries.


def test_a_query_reads_the_file_as_data(tmp_path):
    pytest.importorskip("duckdb")
    path = csv_file(tmp_path, "a,w\n1,x\n2,y\n3,\n")
    table = read_table(path, sql="select a * 10 as ten, w from data where a > 1 order by a")
    assert table.column("ten").tolist() == [20, 30]
    assert table.features(["w"])["w"].tolist() == ["y", None]


def test_a_query_reads_a_database(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as base:
        base.execute("create table orders as select 7 as n")
    assert read_table(tmp_path / "shop.duckdb", sql="select n from orders").column("n").tolist() == [7]
    assert read_table(":memory:", sql="select 1 as one").column("one").tolist() == [1]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("select nothing from data", "the query failed"),
        ("select 1 where false", "has no rows"),
        ("create table t as select 1", "gives no table"),
    ],
)
def test_a_bad_query_is_one_clear_error(tmp_path, sql, says):
    pytest.importorskip("duckdb")
    with pytest.raises(TableError, match=says):
        read_table(csv_file(tmp_path, "a\n1\n"), sql=sql)


def test_without_duckdb_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(TableError, match=r'pip install "sklar\[sql\]"'):
        read_table(csv_file(tmp_path, "a\n1\n"), sql="select * from data")


@pytest.mark.parametrize("name", ["g*.csv", "g?.csv", "g[ab].csv", "it's.csv"])
def test_a_query_reads_the_one_file_that_is_named(tmp_path, name):
    pytest.importorskip("duckdb")
    for file in (name, "ga.csv", "gb.csv"):
        (tmp_path / file).write_text(f"a\n{file}\n")
    assert read_table(tmp_path / name, sql="select * from data").column("a").tolist() == [name]


@pytest.mark.parametrize("inputs", [(), ("in.csv",)])
def test_a_name_too_long_is_found_before(tmp_path, inputs):
    (tmp_path / "in.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="too long"):
        require_writable(tmp_path / ("x" * 300), *(tmp_path / name for name in inputs))
