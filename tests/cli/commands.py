"""Commands run as a person would, and what a mistake must look like."""

import re

from click.testing import CliRunner

from sklar.cli import main
from tests.helpers import QUICK

QUICK_OPTIONS = [text for word, value in QUICK.items() for text in (f"--{word.replace('_', '-')}", str(value))]
COMMANDS = ["audit", "bench", "demo", "explain", "fit", "predict", "rank", "report", "reproduce", "select"]


def run(*arguments, input=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def fit(data, target, out, *more, quiet=True, input=None):
    told = ["--quiet"] if quiet else []
    return run("fit", data, "--target", target, "--out", out, *told, *QUICK_OPTIONS, *more, input=input)


def assert_one_line_error(result, says):
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    assert re.search(says, result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
