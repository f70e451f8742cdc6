"""Commands on a user's table: learn from it, ask a model about it, check the model and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sklar.cli.config import config_option
from sklar.cli.params import constructor_options
from sklar.cli.shared import (
    AS_JSON,
    FEATURES_AT,
    FEWER,
    MISSING_TARGET,
    PATH,
    PENALTY,
    SQL,
    TABLE,
    csv_options,
    note,
    print_json,
    saying_if_interrupted,
    silent,
)


@click.command(short_help="Train a model on a table.")
@click.argument("data", type=TABLE)
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
@MISSING_TARGET
@click.option("--checkpoint", type=click.Path(file_okay=False), help="Folder to go on from after a kill or Ctrl-C.")
@SQL
@csv_options
@click.option("--quiet", is_flag=True, help="No progress bar, no summary.")
@AS_JSON
@config_option
@constructor_options
def fit(
    data: str,
    target: tuple[str, ...],
    out: str,
    checkpoint: str | None,
    quiet: bool,
    as_json: bool,
    **params: Any,
) -> None:
    """Learn from DATA (CSV, Parquet or Arrow; "-" is a CSV from standard input) and write a model file.

    A folder of Parquet or Arrow files, or a pattern of their names, is one table, of any size.

    Text is categories; an empty cell is a missing value, which is a state of its own.

    \b
    sklar fit train.csv --target y --out model.sklar
    sklar fit train.parquet --target price --ignore id --out model.sklar --k 5
    sklar fit adult.csv.gz --missing '?' --target income --out model.sklar
    sklar fit train.csv --config run.toml
    sklar fit folder/ --target y --out model.sklar
    sklar fit large.parquet --target y --out model.sklar --checkpoint run/
    sklar fit shop.duckdb --sql "select * from orders where year = 2024" --target y --out model.sklar
    """
    from sklar.workflow import fit_file

    given = {name: value for name, value in params.items() if value is not None}
    echo, tell = silent if quiet else note, print_json if as_json else silent
    kept = f"the same command goes on from {checkpoint}" if checkpoint else "nothing was written"
    with saying_if_interrupted(f"interrupted: {kept}"):
        fit_file(data, target, out, checkpoint=checkpoint, echo=echo, tell=tell, verbose=not quiet, **given)


def _answers(name: str, short: str, text: str) -> click.Command:
    """A command that reads a model and a table and writes a table."""

    @click.command(name=name, short_help=short, help=text)
    @click.argument("model", type=PATH)
    @click.argument("data", type=TABLE)
    @click.option("--out", required=True, type=PATH, help="Table to write (.csv, .tsv, .parquet, .arrow), or -.")
    @PENALTY
    @FEATURES_AT
    @FEWER
    @SQL
    @csv_options
    @AS_JSON
    @config_option
    def command(model: str, data: str, out: str, as_json: bool, **asked: Any) -> None:
        from sklar.workflow import answer_file

        if as_json and out == "-":
            raise click.UsageError("--json and --out - both write to standard output.")
        rows = answer_file(name, model, data, out, **asked)
        note(f"wrote {rows} rows to {'standard output' if out == '-' else out}")
        if as_json:
            print_json({"n_rows": rows, "out": out})

    return command


select = _answers(
    "select",
    "Write which features decide each row.",
    """Say which features decide each row of DATA: a table of 0 and 1 with DATA's feature names.

    \b
    sklar select model.sklar new.csv --out masks.csv
    sklar select model.sklar new.csv --penalty 0.02 --out masks.csv
    sklar select model.sklar new.csv --features-at 3 --out masks.csv""",
)
rank = _answers(
    "rank",
    "Write the k features of each row, best first.",
    """List the k features of each row of DATA, best first: columns rank_1 .. rank_k of names (for rankers).

    \b
    sklar rank model.sklar new.csv --out ranks.csv
    sklar rank model.sklar new.csv --k 3 --out ranks.csv""",
)
predict = _answers(
    "predict",
    "Predict each row from its selected features.",
    """Predict the target of each row of DATA from its selected features alone.

    \b
    sklar predict model.sklar new.csv --out predictions.csv""",
)


@click.command(short_help="Check whether selections leak the target.")
@click.argument("model", type=PATH)
@click.argument("data", type=TABLE)
@click.option("--target", help="Column that the model predicts; default: that of fit.")
@click.option(
    "--refits", default=0, show_default=True, type=click.IntRange(0), help="Models to train anew and compare."
)
@MISSING_TARGET
@SQL
@csv_options
@AS_JSON
@config_option
def audit(model: str, data: str, target: str | None, refits: int, as_json: bool, **params: Any) -> None:
    """Ask whether the selections of MODEL leak the target, on rows of DATA that it was not fitted on.

    \b
    sklar audit model.sklar new.csv
    sklar audit model.sklar new.csv --refits 2 --json
    """
    from sklar.workflow import audit_file

    found = audit_file(model, data, target, n_refits=refits, echo=note, **params)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


@click.command(short_help="Explain one row in a few lines.")
@click.argument("model", type=PATH)
@click.argument("data", type=TABLE)
@click.option("--row", required=True, type=int, help="Which row of DATA, from 0.")
@PENALTY
@FEATURES_AT
@FEWER
@SQL
@csv_options
@AS_JSON
@config_option
def explain(model: str, data: str, row: int, as_json: bool, **asked: Any) -> None:
    """Explain one row of DATA in a few lines: the prediction, the features behind it, and how sure.

    \b
    sklar explain model.sklar new.csv --row 3
    """
    from sklar.workflow import explain_file

    found = explain_file(model, data, row, **asked)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


@click.command(short_help="Write an HTML page about a model.")
@click.argument("model", type=click.Path())
@click.argument("data", type=TABLE, required=False)
@click.option("--target", help="Column that the model predicts; default: that of fit.")
@click.option("--out", default="report.html", show_default=True, type=PATH, help="Page to write.")
@click.option("--audit/--no-audit", default=True, show_default=True, help="Check for leaks too: takes longer.")
@click.option(
    "--refits",
    "n_refits",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Models to train anew and compare.",
)
@click.option("--max-rows", default=1000, show_default=True, type=click.IntRange(1), help="Rows of the page's table.")
@click.option("--title", help="Title of the page.")
@MISSING_TARGET
@SQL
@csv_options
@click.option("--quiet", is_flag=True, help="No progress.")
@AS_JSON
@config_option
def report(
    model: str, data: str | None, target: str | None, out: str, quiet: bool, as_json: bool, **params: Any
) -> None:
    """Write a page to explore MODEL with, on the rows of DATA: one HTML file that needs no network.

    For a folder of rows that `sklar reproduce` wrote, draw its figures and write the page of its results.

    \b
    sklar report model.sklar new.csv --out report.html
    sklar report results/ --out results/index.html
    """
    from sklar.paper.results_page import write_results_page
    from sklar.workflow import report_file

    echo = silent if quiet else note
    if Path(model).is_dir():
        write_results_page(model, out)
        echo(f"wrote {out}")
    elif data is None:
        raise click.UsageError("Missing argument DATA.")
    else:
        report_file(model, data, target, out, echo=echo, **params)
    if as_json:
        print_json({"out": out})
