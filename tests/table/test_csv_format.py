import pytest

from sklar.table.csv_format import CsvFormat, is_number, sniffed


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb c\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a b\n1   2\n", " "),
        ("a;b\n1,5;2,5\n", ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),  # three cells by commas, two by semicolons: these commas are decimal ones
        ("a,b\nx;y,1\nz;u,2\n", ","),
        ('"a;b","c;d"\n"x;y","z;u"\n', ","),
        ("a, b;c\n1;2\n3;4\n", ";"),
        ("a;b;c\n1;2;3\n4;5\n", ";"),  # one broken line
        ("just one column\nand one more row of it\n", ","),
        ("a\n1\n", ","),
        ("", ","),
    ],
)
def test_the_separator_is_read_off_the_lines(text, sep):
    assert sniffed(text.splitlines(keepends=True)) == sep


def test_more_missing_cells():
    assert CsvFormat(sep=";", missing=("?",)).also_missing(["?", "-9"]) == CsvFormat(sep=";", missing=("?", "-9"))


@pytest.mark.parametrize(
    ("cells", "kind"), [(["1", "2"], "i"), (["1", ""], "f"), (["1,5", "NA"], "f"), (["1.5x", ""], "O")]
)
def test_cells_get_the_narrowest_type(cells, kind):
    assert CsvFormat(decimal=",").typed(cells).dtype.kind == kind


def test_text_keeps_its_spelling_where_decimals_are_commas():
    assert CsvFormat(decimal=",").typed(["1.000", "x"]).tolist() == ["1.000", "x"]


def test_what_is_a_number():
    assert [is_number(value) for value in ("1e5", " 2", "x", None, "")] == [True, True, False, False, False]
