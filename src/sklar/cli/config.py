"""A file of options, so that a command needs none: `--config run.toml`.

    target = "y"
    [fit]
    max-epochs = 50
    ignore = ["id"]

Options above all tables are for whichever command reads the file, those of a table for the command of its name. What is
given on the command line wins.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click


def config_option(command: Any) -> Any:
    """Add `--config`, read before all other options."""
    return click.option(
        "--config",
        type=click.Path(dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_read,
        help="TOML file of these options; the command line wins.",
    )(command)


def _read(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Make a file's options the command's defaults."""
    if path is None:
        return
    known = {spelling: other for other in ctx.command.params if other is not param for spelling in _spellings(other)}
    options: dict[str, Any] = {}
    for key, value in _options_for(ctx, Path(path)).items():
        found = known.get(key.replace("_", "-"))
        if found is None:
            raise ValueError(f"{path}: unknown option {key!r}; see sklar {ctx.info_name} --help")
        options[str(found.name)] = _as_given(path, key, value, found)
    ctx.default_map = {**(ctx.default_map or {}), **options}


def _options_for(ctx: click.Context, path: Path) -> dict[str, Any]:
    """The options above all tables, and those of the command's own."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file ({error})") from error
    group = ctx.parent.command if ctx.parent else None
    commands = group.commands if isinstance(group, click.Group) else {}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for name in tables:
        if name not in commands:
            raise ValueError(f"{path}: unknown table [{name}]; a table has the name of a command")
    return {key: value for key, value in content.items() if key not in tables} | tables.get(str(ctx.info_name), {})


def _spellings(param: click.Parameter) -> list[str]:
    """The spellings of an option or argument, without leading dashes."""
    if isinstance(param, click.Argument):
        return [str(param.name)]
    return [name.lstrip("-") for name in param.opts if name.startswith("--")]


def _as_given(path: str, key: str, value: Any, param: click.Parameter) -> Any:
    """A value as the command line would have it: text, but for switches."""
    if isinstance(value, dict):
        raise ValueError(f"{path}: {key!r} must be one value, not a table")
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"{path}: {key!r} is a switch: true or false; got {value!r}")
        return value
    if isinstance(param, click.Option) and param.multiple:
        return [str(item) for item in (value if isinstance(value, list) else [value])]
    if isinstance(value, list):
        raise ValueError(f"{path}: {key!r} takes one value; got a list")
    return str(value)
