"""What all commands share: options that mean the same everywhere, and how results, progress and mistakes are shown."""

from __future__ import annotations

import json
from typing import Any

import click

PATH = click.Path(dir_okay=False)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
SQL = click.option("--sql", help="DuckDB query to run; DATA is its table `data`, or its database.")
PENALTY = click.option("--penalty", type=float, help="Price of a feature, for selectors: another than the fitted one.")
FEWER = click.option("--k", type=int, help="Features per row, for rankers: up to that of the fit.")


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


def note(text: str) -> None:
    """Progress: on standard error, so that standard output holds results alone."""
    click.echo(text, err=True)


def silent(result: object) -> None:
    """Say nothing."""


def print_json(value: dict[str, Any]) -> None:
    """A result for programs, on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False))
