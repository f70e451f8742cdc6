"""A file of options, so that a command needs none: `--config run.toml`.

    target = "y"
    [fit]
    max-epochs = 50
    ignore = ["id"]

Options above all tables are for whichever command reads the file and knows them, those of a table for the command of
its name. What is given on the command line wins.
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
    known = _known(ctx.command)
    others = {spelling for command in _commands(ctx).values() for spelling in _known(command)}
    options: dict[str, Any] = {}
    for key, value, is_own in _options_for(ctx, Path(path)):
        found = known.get(key.replace("_", "-"))
        if found is None and not is_own and key.replace("_", "-") in others:
            continue  # of another command that reads the file
        if found is None:
            raise ValueError(f"{path}: unknown option {key!r}; see sklar {ctx.info_name} --help")
        options[str(found.name)] = _as_given(path, key, value, found)
    ctx.default_map = {**(ctx.default_map or {}), **options}


def _options_for(ctx: click.Context, path: Path) -> list[tuple[str, Any, bool]]:
    """The options above all tables, and those of the command's own, which are marked as such and win."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file ({error})") from error
    commands = _commands(ctx)
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for name in tables:
        if name not in commands:
            raise ValueError(f"{path}: unknown table [{name}]; a table has the name of a command")
    above = [(key, value, False) for key, value in content.items() if key not in tables]
    return above + [(key, value, True) for key, value in tables.get(str(ctx.info_name), {}).items()]


def _commands(ctx: click.Context) -> dict[str, click.Command]:
    """Those that a file may be about."""
    group = ctx.parent.command if ctx.parent else None
    return dict(group.commands) if isinstance(group, click.Group) else {}


def _known(command: click.Command) -> dict[str, click.Parameter]:
    """What a file may say to a command, by every spelling."""
    params = (param for param in command.params if param.name != "config")
    return {spelling: param for param in params for spelling in _spellings(param)}


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
