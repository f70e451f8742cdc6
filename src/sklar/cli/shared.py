"""What all commands share: options that mean the same everywhere, and how results, progress and mistakes are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

PATH = click.Path(dir_okay=False)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
SQL = click.option("--sql", help="DuckDB query to run; DATA is its table `data`, or its database.")


class OneLineErrors(click.Group):
    """A group whose known mistakes are one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what the library raises about bad input into `error: ...`."""
        try:
            with saying_if_interrupted("interrupted: nothing was written"):
                return super().invoke(ctx)
        except (ValueError, TypeError, OSError, ImportError) as error:
            click.echo(f"error: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)


@contextmanager
def saying_if_interrupted(text: str) -> Iterator[None]:
    """Inside, Ctrl-C ends the command with this line and exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        note(text)
        # Python remembers a Ctrl-C that passed through code in a string, as dataclasses have, and would then end by
        # that signal instead of with this code; running any makes it forget.
        exec("")
        click.get_current_context().exit(130)


def note(text: str) -> None:
    """Progress: on standard error, so that standard output holds results alone."""
    click.echo(text, err=True)


def silent(result: object) -> None:
    """Say nothing."""


def print_json(value: dict[str, Any]) -> None:
    """A result for programs, on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False))
