"""The words of commands, and their help."""

import inspect
import re

import pytest

import sklar
from sklar.cli import main
from sklar.cli.params import PARAMS
from tests.cli.commands import COMMANDS, run


def test_the_words_are_the_constructors():
    constructors = (
        sklar.CopulaSelectorClassifier,
        sklar.CopulaRankerClassifier,
        sklar.CopulaSelectorRegressor,
        sklar.CopulaRankerRegressor,
    )
    words = {word for cls in constructors for word in inspect.signature(cls).parameters}
    assert {word.replace("-", "_") for word, _, _ in PARAMS} == words - {"verbose"}  # whose word is --quiet
    options = {option.name for option in main.commands["fit"].params}
    assert words - {"verbose"} <= options


def test_the_commands():
    assert sorted(set(main.commands) & set(COMMANDS)) == COMMANDS


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_an_example(command, flag):
    result = run(*command, flag)
    assert result.exit_code == 0
    assert re.search(rf"^ +sklar {' '.join(command)}", result.stdout, re.MULTILINE), result.stdout


def test_the_version():
    assert run("--version").stdout.strip().endswith(sklar.__version__)


def test_the_list_of_commands_cuts_no_line_off():
    listed = run("--help").output.split("Commands:")[1].strip().splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    assert not any(line.endswith("...") for line in listed)
