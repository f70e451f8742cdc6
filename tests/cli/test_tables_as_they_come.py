"""Eleven public tables from their file to the page by the command line: tables like them, small, with their quirks.

The files are written as their sources write them: separators, names or none, spaces, signs for missing values.
"""

import gzip
import json
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.cli.commands import assert_one_line_error, fit, run

N, NEW = 60, 15  # rows to learn from, and rows to ask about


@dataclass
class Like:
    """A table: its columns as text, how its file looks, and what has to be said about it."""

    columns: dict[str, np.ndarray]
    target: str
    sep: str = ","
    header: bool = True
    ending: str = "csv"
    before: str = ""  # every line begins with this, and ends with `after`
    after: str = ""
    words: tuple[str, ...] = ()  # about the file, for every command
    fit_words: tuple[str, ...] = ()
    says: list[str] = field(default_factory=list)  # what fit must say

    def write(self, path, rows):
        lines = [self.sep.join(row) for row in zip(*(values[rows] for values in self.columns.values()), strict=True)]
        lines = [self.sep.join(self.columns), *lines] if self.header else lines
        text = "".join(f"{self.before}{line}{self.after}\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


rng = np.random.default_rng(0)


def numbers(scale=1.0, digits=2):
    return np.array([f"{value:.{digits}f}" for value in scale * rng.standard_normal(N + NEW)], dtype=object)


def words(*choices):
    return rng.choice(np.array(choices, dtype=object), N + NEW)


def holes(values, share=0.2, sign="?", rows=slice(None)):
    values = values.copy()
    values[rows] = np.where(rng.random(len(values[rows])) < share, sign, values[rows])
    return values


def by(values, low, high):
    """A target that a column of numbers decides."""
    return np.where([float(value) > 0 for value in values], high, low).astype(object)


def numbered(columns):
    """Columns of a file without names."""
    return {f"x{j}": values for j, values in enumerate(columns)}


def adult():
    hours = numbers(10, 0)
    columns = [hours, holes(words("Private", "State-gov")), words("Bachelors", "HS-grad"), by(hours, "<=50K", ">50K")]
    return Like(numbered(columns), "x3", sep=", ", header=False, ending="data", words=("--no-header", "--missing", "?"))


def pollution():
    count = np.array([str(i + 1) for i in range(N + NEW)], dtype=object)
    dew = numbers(10, 0)
    particles = holes(by(dew, "129", "30") + numbers(1, 0), 0.3, "NA", slice(N))
    particles[particles != "NA"] = [f"{100 + 10 * float(value[-1])}" for value in particles[particles != "NA"]]
    columns = {"No": count, "DEWP": dew, "cbwd": words("SE", "NW", "cv"), "pm2.5": particles}
    says = ["rows have no value of 'pm2.5' and are left out", "column 'No' holds the number of the row, like an id"]
    return Like(columns, "pm2.5", says=says)


def phoneme():
    first = numbers()
    return Like({"V1": first, "V2": numbers(), "Class": by(first, "1", "2")}, "Class", ending="csv.gz")


def wine():
    """As its source has it: semicolons, and names in quotes."""
    acid = numbers()
    columns = {'"fixed acidity"': acid, '"residual sugar"': numbers(), '"quality"': by(acid, "5", "6")}
    return Like(columns, "quality", sep=";", fit_words=("--task", "regression"))


def wine_in_europe():
    like = wine()
    like.columns = {name: np.array([cell.replace(".", ",") for cell in v]) for name, v in like.columns.items()}
    return like


def abalone():
    length = numbers()
    rings = np.array([f"{10 + 3 * float(value):.0f}" for value in length], dtype=object)
    columns = [words("M", "F", "I"), length, rings]
    return Like(numbered(columns), "x2", header=False, words=("--no-header",), fit_words=("--task", "regression"))


def german():
    months = numbers(10, 0)
    columns = [words("A11", "A12", "A14"), months, words("A30", "A34"), by(months, "1", "2")]
    return Like(numbered(columns), "x3", sep=" ", header=False, ending="data", words=("--no-header", "--sep", "space"))


def pima():
    glucose = numbers(30, 0)
    columns = {"preg": numbers(3, 0), "plas": glucose, "class": by(glucose, "tested_negative", "tested_positive")}
    return Like(columns, "class", sep="\t", ending="tsv")


def housing():
    """Columns in line, by spaces, also ahead of the first."""
    rooms = numbers()
    value = np.array([f"{20 + 5 * float(v):.1f}" for v in rooms], dtype=object)
    columns = numbered([np.char.rjust(v.astype(str), 9) for v in (numbers(), rooms, value)])
    return Like(columns, "x2", sep="  ", before=" ", header=False, ending="txt", words=("--no-header",))


def ionosphere():
    pulse = numbers()
    columns = [words("0"), pulse, numbers(), by(pulse, "b", "g")]
    return Like(numbered(columns), "x3", header=False, ending="data", words=("--no-header",))


def horse_colic():
    """Most of it is missing, one column all of it; a space stands behind the last cell."""
    pulse = numbers(20, 0)
    columns = [holes(pulse, 0.4), holes(words("1", "2", "3"), 0.5), words("?"), by(pulse, "1", "2")]
    given = ("--no-header", "--missing", "?")
    says = ["no row has a value in column 'x2': never selected"]
    return Like(numbered(columns), "x3", sep=" ", after=" ", header=False, ending="data", words=given, says=says)


def autos():
    """A hole in a column that had none in fit, and a name of every car."""
    power = numbers(30, 0)
    price = np.array([f"{9000 + 100 * float(value):.0f}" for value in power], dtype=object)
    name = np.array([f"car {i}" for i in range(N + NEW)], dtype=object)
    columns = {
        "name": name,
        "losses": holes(numbers(20, 0)),
        "horsepower": holes(power, 0.5, rows=slice(N, None)),
        "make": holes(words("audi", "bmw"), 0.5, rows=slice(N, None)),
        "price": price,
    }
    says = ["column 'name' holds a different text in every row, like an id"]
    return Like(columns, "price", words=("--missing", "?"), fit_words=("--task", "regression"), says=says)


TABLES = (
    adult, pollution, phoneme, wine, wine_in_europe, abalone, german, pima, housing, ionosphere, horse_colic, autos
)  # fmt: skip


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_a_table_from_its_file_to_the_page(tmp_path, make):
    like = make()
    train, new, model = (tmp_path / name for name in (f"train.{like.ending}", f"new.{like.ending}", "m.sklar"))
    like.write(train, slice(N))
    like.write(new, slice(N, None))
    ranked = make in (german, ionosphere)
    kind = ("--k", "2") if ranked else ("--penalty", "0.001")
    result = fit(train, like.target, model, *like.words, *like.fit_words, *kind, quiet=False)
    assert result.exit_code == 0, result.stderr
    for said in like.says:
        assert said in result.stderr, result.stderr
    # The model knows the name of its target, and which cells were missing values.
    words = [word for word in like.words if word not in ("--missing", "?")]
    answers = {}
    for command in ("select", "predict", *(("rank",) if ranked else ())):
        result = run(command, model, new, "--out", "-", *words)
        assert result.exit_code == 0, result.stderr
        answers[command] = [line.split(",") for line in result.stdout.splitlines()]
        assert len(answers[command]) == NEW + 1
    features = [name.strip('"') for name in like.columns if name.strip('"') != like.target]
    assert answers["select"][0] == features
    for name, cells in zip(features, zip(*answers["select"][1:], strict=True), strict=True):
        given = next(values for key, values in like.columns.items() if key.strip('"') == name)
        if "?" not in given[:N]:  # missing later alone: hidden
            assert not any(cell == "1" for cell, value in zip(cells, given[N:], strict=True) if value == "?")
    result = run("explain", model, new, "--row", 3, "--json", *words)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["n_features"] == len(features)
    page = tmp_path / "page.html"
    result = run("report", model, new, "--no-audit", "--out", page, *words)
    assert result.exit_code == 0, result.stderr
    assert f"<h1>What decides {like.target}</h1>" in page.read_text(encoding="utf-8")


def test_what_is_missing_later_is_told(tmp_path):
    like = autos()
    like.write(tmp_path / "train.csv", slice(N))
    like.columns["make"][N:] = "?"
    like.write(tmp_path / "new.csv", slice(N, None))
    model = tmp_path / "m.sklar"
    assert fit(tmp_path / "train.csv", "price", model, *like.words, "--penalty", "0").exit_code == 0
    result = run("explain", model, tmp_path / "new.csv", "--row", 0)
    assert "Hidden: " in result.stdout, result.stdout
    assert "no value here, and had one in every row of fit" in result.stdout
    # A ranker lists what is left.
    few = ("--k", "4", "--ignore", "name", "--ignore", "losses", "--forced", "make")
    assert_one_line_error(fit(tmp_path / "train.csv", "price", model, *like.words, *few), "k must be at most")
    few = ("--k", "2", "--ignore", "name", "--ignore", "losses")
    assert fit(tmp_path / "train.csv", "price", model, *like.words, *few).exit_code == 0
    ranks = run("rank", model, tmp_path / "new.csv", "--out", "-").stdout
    assert "make" not in ranks
    assert "horsepower," in ranks


def test_standard_input_and_output(tmp_path):
    like = phoneme()
    like.write(tmp_path / "t.csv", slice(None))
    model = tmp_path / "m.sklar"
    text = (tmp_path / "t.csv").read_text()
    assert fit("-", "Class", model, "--penalty", "0.01", input=text).exit_code == 0
    piped = run("predict", model, "-", "--out", "-", input=text)
    assert piped.exit_code == 0
    assert run("predict", model, tmp_path / "t.csv", "--out", tmp_path / "out.csv").exit_code == 0
    assert piped.stdout.splitlines() == (tmp_path / "out.csv").read_text().splitlines()
    for command, out in (("fit", ()), ("report", (model,))):
        words = [command, *out, tmp_path / "t.csv", "--target", "Class", "--out", "-"]
        assert_one_line_error(run(*words), "--out - is for tables")


def test_rows_without_a_target_may_be_refused(tmp_path):
    like = pollution()
    like.write(tmp_path / "t.csv", slice(None))
    model = tmp_path / "m.sklar"
    words = (tmp_path / "t.csv", "pm2.5", model, "--penalty", "0.01", "--ignore", "No")
    assert_one_line_error(fit(*words, "--missing-target", "refuse"), "the target 'pm2.5' is missing in row")
    result = fit(*words, "--json")
    assert result.exit_code == 0, result.stderr
    dropped = int((like.columns["pm2.5"] == "NA").sum())
    assert json.loads(result.stdout)["n_rows_without_target"] == dropped
    assert json.loads(result.stdout)["n_rows"] == N + NEW - dropped
    result = run("audit", model, tmp_path / "t.csv")
    assert f"{dropped} of {N + NEW} rows have no value of 'pm2.5' and are left out" in result.stderr
    assert f"Audit on {N + NEW - dropped} rows" in result.stdout


def test_dates_from_a_file(tmp_path):
    days = np.array([f"2024-01-{1 + i % 28:02d}" for i in range(N)])
    lines = ["when,noise,y", *(f"{day},{i % 7},{int(day[-2:]) % 7 < 2}" for i, day in enumerate(days))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = (tmp_path / "t.csv", "y", tmp_path / "m.sklar", "--penalty", "0")
    assert_one_line_error(fit(*words), "column 'when' holds dates: say dates='ordinal'")
    assert fit(*words, "--dates", "parts").exit_code == 0
    result = run("explain", tmp_path / "m.sklar", tmp_path / "t.csv", "--row", 5)
    assert result.exit_code == 0, result.stderr
