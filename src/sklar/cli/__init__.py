"""The command line. Thin: every command calls what a Python user could call, and torch loads only when needed.

A known mistake is one line, `error: ...`, and exit code 1; wrong usage is exit code 2; a traceback is a bug.
"""

from __future__ import annotations

import click

from sklar.cli.model_commands import audit, explain, fit, predict, rank, report, select
from sklar.cli.paper_commands import bench, demo, reproduce
from sklar.cli.shared import OneLineErrors


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sklar")
def main() -> None:
    """Which few features decide each row of a table?

    \b
    sklar demo
    sklar fit train.csv --target y --out model.sklar
    sklar select model.sklar new.csv --out masks.csv
    sklar report model.sklar new.csv --out report.html

    Options may stand in a file: --config run.toml. The Tab key completes them after one line in a shell's start file:

    \b
    eval "$(_SKLAR_COMPLETE=bash_source sklar)"   # ~/.bashrc; zsh_source in ~/.zshrc
    _SKLAR_COMPLETE=fish_source sklar | source    # ~/.config/fish/config.fish
    """


for command in (fit, select, rank, predict, explain, audit, report, demo, reproduce, bench):
    main.add_command(command)
