"""What all commands share: one-line errors, results on standard output, progress beside them."""

import json
import warnings

import click
import pytest
from click.testing import CliRunner

from sklar.cli.shared import OneLineErrors, note, print_json


def run(error=None):
    @click.group(cls=OneLineErrors)
    def main():
        """A program."""

    @main.command()
    def act():
        note("working")
        if error is not None:
            raise error
        print_json({"grün": 1})

    return CliRunner().invoke(main, ["act"])


def test_results_and_progress_do_not_mix():
    result = run()
    assert json.loads(result.stdout) == {"grün": 1}
    assert result.stderr == "working\n"


def test_a_warning_is_one_line():
    @click.group(cls=OneLineErrors)
    def main():
        """A program."""

    @main.command()
    def act():
        warnings.warn("two\nlines", stacklevel=1)

    assert CliRunner().invoke(main, ["act"]).stderr == "warning: two lines\n"


@pytest.mark.parametrize("kind", [ValueError, TypeError, OSError, ImportError])
def test_a_known_mistake_is_one_line(kind):
    result = run(kind("two\nlines"))
    assert result.exit_code == 1
    assert result.stderr == "working\nerror: two lines\n"
    assert result.stdout == ""


def test_ctrl_c_is_one_line_and_130():
    result = run(KeyboardInterrupt())
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


def test_anything_else_is_a_bug_and_shows():
    assert isinstance(run(ZeroDivisionError()).exception, ZeroDivisionError)
