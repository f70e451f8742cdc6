import pytest

from sklar.table.csv_format import CsvFormat, TableError, sniffed


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


def test_what_the_file_of_fit_had():
    form = CsvFormat(sep=";", missing=("?",)).as_in_fit(["?", "-9"], ",")
    assert form == CsvFormat(sep=";", missing=("?", "-9"), usual=",")


def sign(text, **given):
    return CsvFormat(**given).completed(text.splitlines(keepends=True), "t.csv").decimal


@pytest.mark.parametrize(
    ("text", "given", "decimal"),
    [
        ("a;b\n1,5;2\n", {}, ","),
        ("a;b\n0.5;2\n", {}, "."),
        ("a;b\n1;2\n", {}, None),
        ("a,b\n1.234,2\n", {}, None),  # commas separate: points are decimal
        ("a,b\n0.5,2\n", {}, "."),
        ("a;b\n1,5;2\n?;3\n", {"missing": ("?",)}, ","),
        ("1,5;2\n3;4\n", {"header": False}, ","),
        ("a;b\n0.030;1,5\n", {"usual": "."}, "."),  # the sign of fit wins ...
        ("a;b\n1.234;2\n", {"usual": ","}, ","),
        ("a,b\n1.5,2\n", {"usual": ","}, "."),  # ... but where commas separate
        ("a,b\n1,2\n", {"usual": ","}, ","),
        ('a,b\n"1,5",2\n', {"usual": ","}, ","),
        ("a;b\n1,5;2\n", {"usual": ",", "decimal": "."}, "."),  # what is said wins over all
    ],
)
def test_the_decimal_sign_of_a_file(text, given, decimal):
    assert sign(text, **given) == decimal


@pytest.mark.parametrize(
    ("text", "usual"), [("a;b\n1.234;2\n999;3\n", None), ("1.234\t2\n1.500\t3\n" * 2, None), ("a,b\n1.234,2\n", ",")]
)
def test_points_that_may_stand_between_thousands_are_asked_about(text, usual):
    says = r"t\.csv: column .* holds '1\.\d+', which may be 1\.\d+ or 1\d+; say --decimal \. if the point is"
    with pytest.raises(TableError, match=says):
        sign(text, usual=usual)


def test_a_column_of_text_is_not_asked_about():
    assert CsvFormat().completed(["a;b\n", "1.234;2\n"], "t.csv", ["a"]).decimal is None


def test_points_beside_decimal_commas_are_read_as_thousands_and_warned_about():
    with pytest.warns(UserWarning, match=r"column 'lat' holds '52\.520', read as 52520: commas are decimal"):
        assert sign("lat;c\n52.520;1,5\n") == ","


@pytest.mark.parametrize(
    ("cells", "kind"), [(["1", "2"], "i"), (["1", ""], "f"), (["1,5", "NA"], "f"), (["1.5x", ""], "O")]
)
def test_cells_get_the_narrowest_type(cells, kind):
    assert CsvFormat(decimal=",").typed(cells).dtype.kind == kind


@pytest.mark.parametrize("cell", ["1_2", "1_000.5", "\u0663"])
def test_numbers_that_only_python_reads_are_text(cell):
    """Codes such as 12_3 and 1_23 are two, not 123 both."""
    assert CsvFormat().typed(["1", cell]).tolist() == ["1", cell]
    assert CsvFormat().typed(["1", "\xa02.5"]).tolist() == [1, 2.5]  # a space of another kind is no digit


def test_text_keeps_its_spelling_where_decimals_are_commas():
    assert CsvFormat(decimal=",").typed(["1.000", "x"]).tolist() == ["1.000", "x"]


def test_a_file_has_one_decimal_sign():
    assert CsvFormat(decimal=",").typed(["1.5", "2.25"]).tolist() == ["1.5", "2.25"]
