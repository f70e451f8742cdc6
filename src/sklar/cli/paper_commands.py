"""Commands of the paper: its demonstration, its tables and figures measured again, and the claims about speed."""

from __future__ import annotations

import json
from typing import Any

import click

from sklar.cli.shared import AS_JSON, note, print_json, saying_if_interrupted


@click.command(short_help="Train on embedded data and draw a picture.")
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

    picture = run_demo(out, n_samples=samples, verbose=not quiet, echo=note if as_json else click.echo)
    if as_json:
        print_json({"out": out, "picture": str(picture)})


def _settings(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value is a number, true, false, null or text."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", ctx=ctx, param=param)
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


@click.command(short_help="Measure a table or figure of the paper.")
@click.argument("name")
@click.option("--seeds", type=click.IntRange(1), default=None, help="How many; 10 for synthetic data, 3 for real.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--out", default="results", show_default=True, type=click.Path(file_okay=False), help="Folder of rows.")
@click.option("--quick", is_flag=True, help="A small version, in minutes on two cores, without downloads.")
@click.option("--method", "methods", multiple=True, help="Only this method; may be repeated.")
@click.option("--dataset", "datasets", multiple=True, help="Only this data set; may be repeated.")
@click.option("--k", "ks", type=int, multiple=True, help="Only this number of features; may be repeated.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=_settings,
    help="NAME=VALUE for a trial, which stays off the page.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes, on a CPU.")
@click.option("--dask", help="Address of a Dask scheduler, whose workers measure instead.")
@AS_JSON
def reproduce(name: str, out: str, as_json: bool, **params: Any) -> None:
    """Measure a table or figure of the paper: NAME, or "all". Goes on where an earlier run stopped.

    \b
    table-11d table-100d table-correlated table-low-rank table-nola
    figure-accuracy figure-psd figure-pixels all
    \b
    sklar reproduce table-11d --seeds 10 --device cuda --out results/
    sklar reproduce all --quick --out /tmp/quick
    """
    from sklar.paper.experiments.runner import reproduce as run

    with saying_if_interrupted(f"interrupted: what was measured so far is in {out}; the same command goes on"):
        run(name, out=out, echo=note, **params)
    note(f"rows are in {out}; for the page: sklar report {out} --out {out.rstrip('/')}/index.html")
    if as_json:
        print_json({"name": name, "out": out})


@click.command(short_help="Measure speed against other methods.")
@click.option("--line", "lines", type=click.IntRange(1, 7), multiple=True, help="Claim to measure; may be repeated.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--quick", is_flag=True, help="Tiny sizes, to see that each runs.")
def bench(lines: tuple[int, ...], device: str, quick: bool) -> None:
    """Measure every claim about speed against its rival, in one run (in a clone of the repository).

    \b
    sklar bench --quick
    sklar bench --line 1 --line 2 --device cuda
    """
    from sklar.paper.bench import run_benchmarks

    run_benchmarks(lines, device, quick)
