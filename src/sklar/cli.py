"""The command line. Thin: every command calls what a Python user could call, and torch loads only when needed.

A known mistake is one line, `error: ...`, and exit code 1; wrong usage is exit code 2; a traceback is a bug.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

PATH = click.Path(dir_okay=False)
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
    """


@main.command()
@click.option("--out", default="demo", show_default=True, type=click.Path(file_okay=False), help="Folder to write to.")
@click.option("--samples", default=6_000, show_default=True, type=click.IntRange(100), help="Rows to train on.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def demo(out: str, samples: int, quiet: bool) -> None:
    """Train on embedded data, say what was found, draw a picture.

    \b
    sklar demo
    sklar demo --out pictures --samples 2000
    """
    from sklar.demo import run_demo

    run_demo(out, n_samples=samples, verbose=not quiet, echo=click.echo)


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
@constructor_options
def fit(
    data: str,
    target: tuple[str, ...],
    event: str | None,
    out: str,
    task: str,
    ignore: tuple[str, ...],
    text: tuple[str, ...],
    sample_weight: str | None,
    sql: str | None,
    quiet: bool,
    **words: Any,
) -> None:
    """Learn from DATA (CSV, Parquet or Arrow) and write a model file.

    Text is categories; an empty cell is a missing value, which is a state of its own.

    \b
    sklar fit train.csv --target y --out model.sklar
    sklar fit train.parquet --target price --ignore id --out model.sklar --k 5
    sklar fit shop.duckdb --sql "select * from orders where year = 2024" --target y --out model.sklar
    """
    from sklar.workflow import fit_file

    given = {word: value for word, value in words.items() if value is not None}
    echo = (lambda text: None) if quiet else (lambda text: click.echo(text, err=True))
    file: dict[str, Any] = {
        "task": task,
        "ignore": ignore,
        "text": text,
        "sample_weight": sample_weight,
        "event": event,
        "sql": sql,
    }
    fit_file(data, target, out, **file, echo=echo, verbose=not quiet, **given)


def _answers(name: str, text: str) -> None:
    """Register a command that reads a model and a table and writes a table."""

    @main.command(name=name, help=text)
    @click.argument("model", type=PATH)
    @click.argument("data", type=PATH)
    @click.option("--out", required=True, type=PATH, help="Table to write, .csv, .parquet or .arrow.")
    @SQL
    def command(model: str, data: str, out: str, sql: str | None) -> None:
        from sklar.workflow import answer_file

        rows = answer_file(name, model, data, out, sql)
        click.echo(f"wrote {rows} rows to {out}", err=True)


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

if __name__ == "__main__":
    sys.exit(main())
