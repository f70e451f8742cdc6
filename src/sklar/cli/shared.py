"""What all commands share: options that mean the same everywhere, and how results, progress and mistakes are shown."""

from __future__ import annotations

import codecs
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

PATH = click.Path(dir_okay=False)
TABLE = click.Path()  # of a file, a folder of files, or a pattern
AS_JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
SQL = click.option("--sql", help="DuckDB query to run; DATA is its table `data`, or its database.")
PENALTY = click.option("--penalty", type=float, help="Price of a feature, for selectors: another than the fitted one.")
FEATURES_AT = click.option(
    "--features-at", type=float, help="Instead of a penalty, for selectors: about so many features per row."
)
FEWER = click.option("--k", type=int, help="Features per row, for rankers: up to that of the fit.")
MISSING_TARGET = click.option(
    "--missing-target",
    type=click.Choice(["drop", "refuse"]),
    default="drop",
    show_default=True,
    help="Rows without a target: leave them out, or stop.",
)
WORDS_FOR_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


class Separator(click.ParamType):
    """One character, or a word for it."""

    name = "character"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse `value`."""
        sep = WORDS_FOR_SEPARATORS.get(value, value)
        if len(sep) != 1:
            self.fail(f"{value!r} is not one character, nor tab, space, comma or semicolon", param, ctx)
        return sep


class Encoding(click.ParamType):
    """The name of an encoding that Python knows."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse `value`."""
        try:
            codecs.lookup(value)
        except LookupError:
            self.fail(f"{value!r} is no encoding; try utf-8, cp1252, latin-1 or utf-16", param, ctx)
        return value


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a CSV file does not say itself; the command gets it as `csv`."""

    @wraps(command)
    def with_format(
        sep: str | None,
        missing: tuple[str, ...],
        no_header: bool,
        decimal: str | None,
        encoding: str,
        **params: Any,
    ) -> Any:
        from sklar.table.csv_format import CsvFormat

        return command(csv=CsvFormat(sep, missing, not no_header, decimal, encoding), **params)

    for option in (
        click.option("--encoding", type=Encoding(), default="utf-8", show_default=True, help="Encoding of a CSV."),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal sign of a CSV; default: as in fit, or read off it.",
        ),
        click.option("--no-header", is_flag=True, help="A CSV without names: columns are x0, x1, ..."),
        click.option("--missing", multiple=True, help="Cell of a CSV that is a missing value ('?'); may be repeated."),
        click.option("--sep", type=Separator(), help="Separator of a CSV, also tab or space; default: read off it."),
    ):
        with_format = option(with_format)
    return with_format


OUT_OF_MEMORY = ("allocate memory", "out of memory", "can't start new thread", "bad_alloc")


class OneLineErrors(click.Group):
    """A group whose known mistakes, and warnings, are one line on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn what the library raises about bad input into `error: ...`."""
        try:
            with warnings.catch_warnings(), saying_if_interrupted("interrupted: nothing was written"):
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _one_line_warnings()
                return super().invoke(ctx)
        except BrokenPipeError:  # who read our output has gone: click ends quietly
            raise
        except (ValueError, TypeError, OSError, ImportError) as error:
            click.echo(f"error: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)
        except (MemoryError, RuntimeError) as error:
            if not _is_about_memory(error):
                raise
            note("error: not enough memory; give fewer rows or columns, a smaller --batch-size, or more memory")
            ctx.exit(1)


@contextmanager
def saying_if_interrupted(text: str) -> Iterator[None]:
    """Inside, Ctrl-C ends the command with this line and exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        note(text)
        # Python remembers a Ctrl-C that passed through code in a string, as dataclasses have, and would then end
        # `python -m sklar.cli` by that signal instead of with this code; running any such code makes it forget.
        exec("")
        click.get_current_context().exit(130)


def _is_about_memory(error: BaseException) -> bool:
    """Whether memory has run out: torch says so in words, also where a thread cannot be started for lack of it."""
    said = str(error)
    return isinstance(error, MemoryError) or any(sign in said for sign in OUT_OF_MEMORY)


def _one_line_warnings() -> Callable[..., None]:
    """Prints what the library warns a user about, each once; other warnings are for developers."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        text = f"warning: {' '.join(str(message).split())}"
        if issubclass(category, UserWarning) and text not in said:
            said.add(text)
            note(text)

    return show


def note(text: str) -> None:
    """Progress: on standard error, so that standard output holds results alone."""
    click.echo(text, err=True)


def silent(result: object) -> None:
    """Say nothing."""


def print_json(value: dict[str, Any]) -> None:
    """A result for programs, on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False))
