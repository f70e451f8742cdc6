"""The command line. Thin: every command calls what a Python user could call, and torch loads only when needed.

A known mistake is one line, `error: ...`, and exit code 1; wrong usage is exit code 2; a traceback is a bug.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sklar.config import config_option

PATH = click.Path(dir_okay=False)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
SQL = click.option("--sql", help="DuckDB query to run; DATA is its table `data`, or its database.")


class OneLineErrors(click.Group):
    """A group whose known mistakes are one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what the library raises about bad input into `error: ...`."""
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, OSError, ImportError) as error:
            click.echo(f"error: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("interrupted: nothing was written", err=True)
            ctx.exit(130)


class NumberOr(click.ParamType):
    """A number, or one of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.name = "|".join(("number", *words))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        if value in self.words:
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number or {' or '.join(map(repr, self.words))}", param, ctx)


class Columns(click.ParamType):
    """Column names with commas between them; with `groups`, groups with semicolons between them."""

    def __init__(self, groups: bool = False) -> None:
        self.groups = groups
        self.name = "a,b;c,d" if groups else "a,b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`; a configuration file may hold lists already."""
        if not isinstance(value, str):
            return value
        lists = [[name.strip() for name in part.split(",") if name.strip()] for part in value.split(";")]
        return lists if self.groups else lists[0]


class Prices(click.ParamType):
    """Columns with their prices: a=2,b=0.5."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.name = "|".join(("a=2,b=0.5", *words))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `value`."""
        if not isinstance(value, str) or value in self.words:
            return value
        try:
            pairs = [part.rsplit("=", 1) for part in value.split(",")]
            return {name.strip(): float(price) for name, price in pairs}
        except ValueError:
            self.fail(f"{value!r} is not of the form {self.name}", param, ctx)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sklar")
def main() -> None:
    """Which few features decide each row of a table?

    \b
    sklar demo
    sklar fit train.csv --target y --out model.sklar
    sklar select model.sklar new.csv --out masks.csv
    sklar report model.sklar new.csv --target y --out report.html

    Words may stand in a file: --config run.toml. The Tab key completes them after one line in a shell's start file:

    \b
    eval "$(_SKLAR_COMPLETE=bash_source sklar)"   # ~/.bashrc; zsh_source in ~/.zshrc
    _SKLAR_COMPLETE=fish_source sklar | source    # ~/.config/fish/config.fish
    """


def _note(text: str) -> None:
    """Progress: on standard error, so that standard output holds results alone."""
    click.echo(text, err=True)


def _silent(result: object) -> None:
    """Say nothing."""


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


@main.command()
@click.option("--out", default="demo", show_default=True, type=click.Path(file_okay=False), help="Folder to write to.")
@click.option("--samples", default=6_000, show_default=True, type=click.IntRange(100), help="Rows to train on.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@AS_JSON
def demo(out: str, samples: int, quiet: bool, as_json: bool) -> None:
    """Train on embedded data, say what was found, draw a picture.

    \b
    sklar demo
    sklar demo --out pictures --samples 2000
    """
    from sklar.demo import run_demo

    picture = run_demo(out, n_samples=samples, verbose=not quiet, echo=_note if as_json else click.echo)
    if as_json:
        _print_json({"out": out, "picture": str(picture)})


# The estimators' constructor words as options; a test holds them to the constructors'.
WORDS: tuple[tuple[str, Any, str], ...] = (
    ("penalty", NumberOr("auto"), "Price of a feature, or 'auto'."),
    ("k", int, "Rank exactly K features a row (makes a ranker)."),
    ("groups", Columns(groups=True), "Columns that are selected together."),
    ("forced", Columns(), "Columns that are always selected."),
    ("forbidden", Columns(), "Columns that are never selected, nor read."),
    ("costs", Prices(), "Prices of columns (1 where none is given)."),
    ("loss", str, "squared, poisson or cox (regression)."),
    ("class-weight", Prices("balanced"), "What rows of a class count (classification)."),
    ("min-features", int, "Features a row gets at least."),
    ("objective", str, "What is minimised."),
    ("covariance", str, "low-rank, full, block or independent."),
    ("rank", int, "Columns of the loadings."),
    ("temperature", float, "Of the relaxed mask."),
    ("step-exponent", float, "Of the top-k relaxation (ranker)."),
    ("correlation-strength", float, "Of the gates (ranker)."),
    ("choice-hidden", int, "Width of ChoiceNet."),
    ("predict-hidden", int, "Width of PredictNet."),
    ("activation", str, "relu or selu."),
    ("loadings-activation", str, "tanh or relu."),
    ("max-epochs", int, "Passes over the rows, at most."),
    ("batch-size", int, "Rows a step."),
    ("learning-rate", float, "Of the optimiser."),
    ("weight-decay", float, "Of the optimiser."),
    ("n-models", int, "Models that vote, each from its own seed."),
    ("n-folds", int, "Folds of cross-fitting."),
    ("validation-fraction", float, "Share of rows kept aside."),
    ("patience", int, "Epochs without progress before stopping."),
    ("device", str, "auto, cpu or cuda."),
    ("random-state", int, "Seed that fixes the result."),
)


def constructor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option a constructor word; one that is not given keeps the estimator's default."""
    for word, kind, text in reversed(WORDS):
        command = click.option(f"--{word}", type=kind, default=None, help=text)(command)
    return command


@main.command()
@click.argument("data", type=PATH)
@click.option("--target", required=True, multiple=True, help="Column to predict; may be repeated.")
@click.option("--event", help="Column that says whether the event was seen; the target is its time (makes --loss cox).")
@click.option("--out", required=True, type=PATH, help="Model file to write.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
    help="auto: text and few whole numbers are classes.",
)
@click.option("--ignore", multiple=True, help="Column to leave out; may be repeated.")
@click.option("--text", multiple=True, help="Column of a CSV to take as text, whatever it holds; may be repeated.")
@click.option("--sample-weight", help="Column that says what each row counts.")
@SQL
@click.option("--quiet", is_flag=True, help="No progress bar, no summary.")
@AS_JSON
@config_option
@constructor_options
def fit(
    data: str,
    target: tuple[str, ...],
    out: str,
    quiet: bool,
    as_json: bool,
    **words: Any,
) -> None:
    """Learn from DATA (CSV, Parquet or Arrow) and write a model file.

    Text is categories; an empty cell is a missing value, which is a state of its own.

    \b
    sklar fit train.csv --target y --out model.sklar
    sklar fit train.parquet --target price --ignore id --out model.sklar --k 5
    sklar fit train.csv --config run.toml
    sklar fit shop.duckdb --sql "select * from orders where year = 2024" --target y --out model.sklar
    """
    from sklar.workflow import fit_file

    given = {word: value for word, value in words.items() if value is not None}
    echo, tell = _silent if quiet else _note, _print_json if as_json else _silent
    fit_file(data, target, out, echo=echo, tell=tell, verbose=not quiet, **given)


def _answers(name: str, text: str) -> None:
    """Register a command that reads a model and a table and writes a table."""

    @main.command(name=name, help=text)
    @click.argument("model", type=PATH)
    @click.argument("data", type=PATH)
    @click.option("--out", required=True, type=PATH, help="Table to write, .csv, .parquet or .arrow.")
    @SQL
    @AS_JSON
    @config_option
    def command(model: str, data: str, out: str, sql: str | None, as_json: bool) -> None:
        from sklar.workflow import answer_file

        rows = answer_file(name, model, data, out, sql)
        _note(f"wrote {rows} rows to {out}")
        if as_json:
            _print_json({"n_rows": rows, "out": out})


_answers(
    "select",
    """Say which features decide each row of DATA: a table of 0 and 1 with DATA's feature names.

    \b
    sklar select model.sklar new.csv --out masks.csv""",
)
_answers(
    "rank",
    """List the k features of each row of DATA, best first: columns rank_1 .. rank_k of names (for rankers).

    \b
    sklar rank model.sklar new.csv --out ranks.csv""",
)
_answers(
    "predict",
    """Predict the target of each row of DATA from its selected features alone.

    \b
    sklar predict model.sklar new.csv --out predictions.csv""",
)


def _settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """WORD=VALUE pairs; a value is a number, true, false, null or text."""
    import json

    found: dict[str, Any] = {}
    for pair in given:
        word, equals, text = pair.partition("=")
        if not word or not equals:
            raise click.BadParameter(f"{pair!r} is not WORD=VALUE", ctx=ctx, param=param)
        try:
            found[word] = json.loads(text)
        except ValueError:
            found[word] = text
    return found


@main.command()
@click.argument("name")
@click.option("--seeds", type=click.IntRange(1), default=None, help="How many; 10 for synthetic data, 3 for real.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--out", default="results", show_default=True, type=click.Path(file_okay=False), help="Folder of rows.")
@click.option("--quick", is_flag=True, help="A small version, in minutes on two cores, without downloads.")
@click.option("--method", "methods", multiple=True, help="Only this method; may be repeated.")
@click.option("--dataset", "datasets", multiple=True, help="Only this data set; may be repeated.")
@click.option("--k", "ks", type=int, multiple=True, help="Only this number of features; may be repeated.")
@click.option(
    "--set", "overrides", multiple=True, callback=_settings, help="WORD=VALUE for a trial; kept off the page."
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes, on a CPU.")
@AS_JSON
def reproduce(name: str, out: str, as_json: bool, **words: Any) -> None:
    """Measure a table or figure of the paper: NAME, or "all". Goes on where an earlier run stopped.

    \b
    table-11d table-100d table-correlated table-low-rank table-nola
    figure-accuracy figure-psd figure-pixels all
    \b
    sklar reproduce table-11d --seeds 10 --device cuda --out results/
    sklar reproduce all --quick --out /tmp/quick
    """
    from sklar.experiments.runner import reproduce as run

    try:
        run(name, out=out, echo=lambda text: click.echo(text, err=True), **words)
    except KeyboardInterrupt:
        click.echo(f"interrupted: what was measured so far is in {out}; the same command goes on", err=True)
        click.get_current_context().exit(130)
    click.echo(f"rows are in {out}; for the page: sklar report {out} --out {out.rstrip('/')}/index.html", err=True)
    if as_json:
        _print_json({"name": name, "out": out})


@main.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@click.option("--target", required=True, help="Column that the model predicts.")
@click.option(
    "--refits", default=0, show_default=True, type=click.IntRange(0), help="Models to train anew and compare."
)
@SQL
@AS_JSON
@config_option
def audit(model: str, data: str, target: str, refits: int, sql: str | None, as_json: bool) -> None:
    """Ask whether the selections of MODEL leak the target, on rows of DATA that it was not fitted on.

    \b
    sklar audit model.sklar new.csv --target y
    sklar audit model.sklar new.csv --target y --refits 2 --json
    """
    from sklar.workflow import audit_file

    found = audit_file(model, data, target, n_refits=refits, sql=sql, echo=_note)
    _print_json(found.to_dict()) if as_json else click.echo(str(found))


@main.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@click.option("--row", required=True, type=int, help="Which row of DATA, from 0.")
@SQL
@AS_JSON
@config_option
def explain(model: str, data: str, row: int, sql: str | None, as_json: bool) -> None:
    """Explain one row of DATA in a few lines: the prediction, the features behind it, and how sure.

    \b
    sklar explain model.sklar new.csv --row 3
    """
    from sklar.workflow import explain_file

    found = explain_file(model, data, row, sql)
    _print_json(found.to_dict()) if as_json else click.echo(str(found))


@main.command()
@click.argument("model", type=click.Path())
@click.argument("data", type=PATH, required=False)
@click.option("--target", help="Column that the model predicts.")
@click.option("--out", default="report.html", show_default=True, type=PATH, help="Page to write.")
@click.option("--audit/--no-audit", default=True, show_default=True, help="Check for leaks too: takes longer.")
@click.option("--max-rows", default=1000, show_default=True, type=click.IntRange(1), help="Rows of the page's table.")
@click.option("--title", help="Of the page.")
@SQL
@click.option("--quiet", is_flag=True, help="No progress.")
@AS_JSON
@config_option
def report(
    model: str, data: str | None, target: str | None, out: str, quiet: bool, as_json: bool, **words: Any
) -> None:
    """Write a page to explore MODEL with, on the rows of DATA: one HTML file that needs no network.

    For a folder of rows that `sklar reproduce` wrote, draw its figures and write the page of its results.

    \b
    sklar report model.sklar new.csv --target y --out report.html
    sklar report results/ --out results/index.html
    """
    from sklar.workflow import report_file, report_results

    note = _silent if quiet else _note
    if Path(model).is_dir():
        report_results(model, out, echo=note)
    elif data is None or target is None:
        raise click.UsageError(f"Missing {'argument DATA' if data is None else 'option --target'}.")
    else:
        report_file(model, data, target, out, echo=note, **words)
    if as_json:
        _print_json({"out": out})


@main.command()
@click.option("--line", "lines", type=click.IntRange(1, 7), multiple=True, help="Claim to measure; may be repeated.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--quick", is_flag=True, help="Tiny sizes, to see that each runs.")
def bench(lines: tuple[int, ...], device: str, quick: bool) -> None:
    """Measure every claim about speed against its rival, in one run (in a clone of the repository).

    \b
    sklar bench --quick
    sklar bench --line 1 --line 2 --device cuda
    """
    from sklar.workflow import run_benchmarks

    run_benchmarks(lines, device, quick)


if __name__ == "__main__":
    sys.exit(main())
