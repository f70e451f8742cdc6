import gzip
import io

import numpy as np
import pytest

from sklar.table import csv_files, csv_lines
from sklar.table.csv_files import read_csv, read_csv_and_sign, write_csv
from sklar.table.csv_format import CsvFormat, TableError
from sklar.table.files import read_table
from sklar.table.writing import write_table


def csv_file(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def plain(columns):
    return {name: values.tolist() for name, values in columns.items()}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", " "])
def test_a_separator_may_be_found_or_said(tmp_path, sep):
    path = csv_file(tmp_path, f"a{sep}b\n1{sep}x\n2{sep}y\n")
    for given in (CsvFormat(), CsvFormat(sep=sep)):
        assert plain(read_csv(path, given=given)) == {"a": [1, 2], "b": ["x", "y"]}


def test_a_separator_that_is_said_wins(tmp_path):
    path = csv_file(tmp_path, "a;b,c\n1;2,3\n")
    assert list(read_csv(path, given=CsvFormat(sep=";"))) == ["a", "b,c"]


def test_spaces_after_separators_and_around_names_are_no_part_of_cells(tmp_path):
    path = csv_file(tmp_path, 'age , job\n39, State-gov\n50, "Self, employed"\n 52, ?\n')
    table = read_csv(path, given=CsvFormat(missing=("?",)))
    assert plain(table) == {"age": [39, 50, 52], "job": ["State-gov", "Self, employed", ""]}


def test_spaces_before_separators_and_at_the_end_of_lines_are_no_part_of_cells(tmp_path):
    path = csv_file(tmp_path, 'a,c,y\r\n1 ,rot ,ja \r\n2,rot,"ja "\r\n3,"b\n ,""" ,nein\r\n')
    assert plain(read_csv(path)) == {"a": [1, 2, 3], "c": ["rot", "rot", 'b\n ,"'], "y": ["ja", "ja ", "nein"]}


def test_a_first_line_of_excel_says_the_separator(tmp_path):
    path = csv_file(tmp_path, "sep=;\r\na,1;b\r\n1,0;2\r\n")
    assert plain(read_csv(path)) == {"a,1": [1.0], "b": [2]}
    assert list(read_csv(path, given=CsvFormat(sep=","))) == ["a", "1;b"]
    with pytest.raises(TableError, match="line 3: 1 cells where the header has 2"):
        read_csv(csv_file(tmp_path, "sep=;\na;b\n1\n"))


def test_spaces_at_the_end_of_lines_separate_nothing(tmp_path):
    assert plain(read_csv(csv_file(tmp_path, "a b \n1  2 \n"))) == {"a": [1], "b": [2]}


# Missing cells, names, decimal commas.


def test_missing_cells_are_missing_in_numbers_and_in_text(tmp_path):
    path = csv_file(tmp_path, "n,t\n1,x\n?,?\n-9,y\n")
    table = read_table(path, csv=CsvFormat(missing=("?", "-9")))
    assert np.isnan(table.column("n")[1:]).all()
    assert table.features(["t"])["t"].tolist() == ["x", None, "y"]
    again = read_table(path, ["t"], csv=CsvFormat(missing=("?",)))
    assert again.features(["t"], ["t"])["t"].tolist() == ["x", None, "y"]
    with pytest.raises(TableError, match="say --missing '\\?' if that is a missing value"):
        read_table(path).features(["n"])
    with pytest.raises(TableError, match="in row 0\\) and text"):
        read_table(csv_file(tmp_path, "n\n1\n?\nx\n")).features(["n"])


def test_without_a_header_columns_are_numbered(tmp_path):
    path = csv_file(tmp_path, "5.1,setosa\n4.9,virginica\n")
    assert plain(read_csv(path, given=CsvFormat(header=False))) == {"x0": [5.1, 4.9], "x1": ["setosa", "virginica"]}


def test_a_row_taken_for_names_is_asked_about(tmp_path):
    path = csv_file(tmp_path, "5.1,setosa\n4.9,virginica\n")
    with pytest.raises(TableError, match=r"has no column 'x0'; it has 5\.1, setosa; say --no-header if"):
        read_table(path).column("x0")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_letters_in_another_encoding(tmp_path, encoding):
    path = tmp_path / "letters.csv"
    path.write_bytes("höhe;farbe\n1,5;grün\n".encode(encoding))
    given = CsvFormat(encoding=encoding.removesuffix("-sig"))
    assert plain(read_csv(path, given=given)) == {"höhe": [1.5], "farbe": ["grün"]}


def test_decimal_commas_are_found_where_they_can_be_nothing_else(tmp_path):
    path = csv_file(tmp_path, "a;b;c;d\n1,5;2;x,1;0,125\n-2;3;y;\n")
    assert plain(read_csv(path))["a"] == [1.5, -2.0]
    assert plain(read_csv(path))["b"] == [2, 3]
    assert plain(read_csv(path))["c"] == ["x,1", "y"]
    assert read_csv(path)["d"][0] == 0.125
    assert plain(read_csv(path, given=CsvFormat(decimal=".")))["a"] == ["1,5", "-2"]


def test_a_comma_that_may_stand_between_thousands_is_asked_about(tmp_path):
    path = csv_file(tmp_path, "a;b\n1,000;2\n500;3\n")
    with pytest.raises(TableError, match=r"column 'a' holds '1,000', which may be 1\.000 or 1000; say --decimal ,"):
        read_csv(path)
    assert plain(read_csv(path, given=CsvFormat(decimal=",")))["a"] == [1.0, 500.0]


def test_a_comma_elsewhere_in_the_file_says_what_commas_are(tmp_path):
    assert plain(read_csv(csv_file(tmp_path, "a;b\n1,000;2,5\n500;3\n")))["a"] == [1.0, 500.0]


def test_commas_below_the_first_lines_are_not_guessed(tmp_path):
    path = csv_file(tmp_path, "a;b\n" + "1;2\n" * csv_files.SAMPLE + "1,5;2\n")
    with pytest.raises(TableError, match="say --decimal , if these are decimal commas"):
        read_table(path).features(["a"])
    assert read_table(path, csv=CsvFormat(decimal=",")).column("a")[-1] == 1.5


def test_points_between_thousands_beside_decimal_commas(tmp_path):
    path = csv_file(tmp_path, "a;b\n1.234,5;2\n1.000;3\n")
    assert plain(read_csv(path))["a"] == [1234.5, 1000.0]
    path = csv_file(tmp_path, "a;b\n1.234;2\n1.5;3\n")  # no comma at all: points are decimal points
    assert plain(read_csv(path))["a"] == [1.234, 1.5]


def test_points_that_only_later_lines_have(tmp_path):
    lines = "1;2\n" * csv_files.SAMPLE
    with pytest.raises(TableError, match=r"column 'a' holds '1\.234', which may be 1\.234 or 1234"):
        read_csv(csv_file(tmp_path, f"a;b\n{lines}1.234;2\n"))
    table, sign = read_csv_and_sign(csv_file(tmp_path, f"a;b\n{lines}1.234;0.5\n"))
    assert (table["a"][-1], sign) == (1.234, ".")
    table, sign = read_csv_and_sign(csv_file(tmp_path, f"a,b\n{lines}1.234;2\n".replace(";", ",")))
    assert (table["a"][-1], sign) == (1.234, None)


# Where files lie.


def test_compressed_files_and_tabs_go_by_their_ending(tmp_path):
    columns = {"a": np.array([1, 2]), "b": np.array(["x y", "z"], dtype=object)}
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.tsv.gz"):
        write_table(tmp_path / name, columns)
        assert plain(read_table(tmp_path / name).columns) == plain(columns), name
    assert (tmp_path / "t.tsv").read_text().startswith("a\tb")
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()).startswith(b"a,b")
    first = (tmp_path / "t.csv.gz").read_bytes()
    write_table(tmp_path / "t.csv.gz", columns)
    assert (tmp_path / "t.csv.gz").read_bytes() == first  # no time of writing in it


def test_a_damaged_compressed_file_is_refused(tmp_path):
    whole = gzip.compress(b"a,b\n1,2\n" * 100)
    for content in (b"a,b\n1,2\n", whole[:-20], whole[:30] + b"?" + whole[31:]):
        with pytest.raises(TableError, match=r"t\.csv\.gz"):
            read_csv(csv_file(tmp_path, content, "t.csv.gz"))


def test_standard_input_and_output(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("ä;b\n1;2\n".encode())))
    table = read_table("-")
    assert (table.source, plain(table.columns)) == ("standard input", {"ä": [1], "b": [2]})
    write_table("-", table.columns)
    assert capsys.readouterr().out.splitlines() == ["ä,b", "1,2"]


def test_standard_input_is_read_twice_where_a_column_turns_out_to_be_text(monkeypatch):
    monkeypatch.setattr("sklar.table.growing.BLOCK_CELLS", 2)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n01,2\nx,3\n")))
    assert plain(read_table("-").columns) == {"a": ["01", "x"], "b": [2, 3]}


def test_what_is_written_is_what_the_name_says(tmp_path):
    write_csv(tmp_path / "part", "t.tsv", [{"a": np.array([1])}])
    assert (tmp_path / "part").read_bytes() == b"a\r\n1\r\n"


# Bounds.


def test_a_huge_cell_or_line_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST_CELL", 100)
    path = csv_file(tmp_path, "a,b\n1,x\n2," + "y" * 101 + "\n")
    with pytest.raises(TableError, match="line 3: a cell of more than 100 characters"):
        read_table(path)
    monkeypatch.setattr(csv_lines, "LONGEST_LINE", 50)
    with pytest.raises(TableError, match="line 3: longer than 50 characters"):
        read_table(path)


def test_a_quote_that_never_closes_is_a_huge_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST_CELL", 100)
    with pytest.raises(TableError, match="a missing quote"):
        read_table(csv_file(tmp_path, 'a,b\n1,"x\n' + "2,y\n" * 100))


def test_utf_16_and_gzip_are_seen_by_their_first_bytes(tmp_path, monkeypatch):
    text = "höhe;farbe\n1,5;grün\n"
    expected = {"höhe": [1.5], "farbe": ["grün"]}
    assert plain(read_csv(csv_file(tmp_path, text.encode("utf-16")))) == expected
    packed = gzip.compress(text.encode("utf-16"))
    assert plain(read_csv(csv_file(tmp_path, packed))) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(text.encode()))))
    assert plain(read_csv(csv_files.Path("-"))) == expected


def test_a_mistake_in_standard_input_is_called_so(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2,3\n")))
    with pytest.raises(TableError, match=r"^standard input, line 2: 3 cells where the header has 2"):
        read_csv(csv_files.Path("-"))


def test_columns_without_a_name_are_named_by_their_place(tmp_path):
    table = read_csv(csv_file(tmp_path, ",age,\n0,39,\n1,50,\n"))
    assert list(table) == ["x0", "age", "x2"]
