"""`--config run.toml`: the same words from a file."""

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sklar
from sklar.cli import main
from tests.helpers import QUICK, toy_rows


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def toml(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.fixture
def folder(tmp_path):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(value > 0, "yes", "no"))
    frame.to_csv(tmp_path / "good.csv", index=False)
    return tmp_path


def config(folder, *lines):
    """A file that fits quickly, and these lines."""
    quick = [f"{word} = {toml(value)}" for word, value in QUICK.items()]
    path = folder / "run.toml"
    path.write_text("\n".join([f'out = "{folder}/m.sklar"', 'target = "y"', "quiet = true", *quick, *lines]))
    return path


def assert_one_line_error(result, says):
    assert result.exit_code == 1, result.output
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    assert re.search(says, result.stderr), result.stderr


def test_a_file_holds_the_words_and_the_command_line_wins(folder):
    file = config(folder, "penalty = 0.5", "temperature = 0.3", 'ignore = ["e"]')
    result = run("fit", folder / "good.csv", "--config", file, "--temperature", 0.7)
    assert (result.exit_code, result.output) == (0, "")  # quiet, too
    model = sklar.load(folder / "m.sklar")
    words = model.get_params()
    assert (words["penalty"], words["temperature"], words["batch_size"]) == (0.5, 0.7, QUICK["batch_size"])
    assert model.feature_names_in_.tolist() == list("abcd")


def test_dashes_arguments_and_one_value_for_many(folder):
    file = config(folder, f'data = "{folder}/good.csv"', "n-folds = 3", 'ignore = "e"', 'penalty = "auto"')
    assert run("fit", "--config", file, "--penalty", 0).exit_code == 0
    words = sklar.load(folder / "m.sklar").get_params()
    assert (words["n_folds"], words["penalty"]) == (3, 0)


def test_an_option_above_all_tables_is_for_the_commands_that_know_it(folder):
    config(folder)
    file = folder / "run.toml"
    file.write_text(f"target = 'y'\n[fit]\n{file.read_text()}\npenalty = 0.01\n[select]\nout = '{folder}/masks.csv'\n")
    for command, given in (("fit", ["good.csv"]), ("select", ["m.sklar", "good.csv"])):
        result = run(command, *(folder / name for name in given), "--config", file)
        assert result.exit_code == 0, result.output
    file.write_text("[select]\ntarget = 'y'\n")
    result = run("select", folder / "m.sklar", folder / "good.csv", "--config", file)
    assert (result.exit_code, "unknown option 'target'" in result.output) == (1, True)


def test_one_file_for_several_commands(folder):
    file = folder / "run.toml"
    config(folder)
    fit = file.read_text()
    answer = f'[select]\nout = "{folder}/masks.csv"\n[report]\naudit = false\nout = "{folder}/page.html"\n'
    file.write_text(f"[fit]\n{fit}\npenalty = 0.01\n{answer}\ntarget = 'y'\n")
    assert run("fit", folder / "good.csv", "--config", file).exit_code == 0
    for command in ("select", "report"):
        result = run(command, folder / "m.sklar", folder / "good.csv", "--config", file)
        assert result.exit_code == 0, result.output
    assert len(pd.read_csv(folder / "masks.csv")) == 60
    assert (folder / "page.html").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("penality = 1", r"run\.toml: unknown option 'penality'; see sklar fit --help"),
        ('config = "b.toml"', "unknown option 'config'"),
        ("as_json = true", "unknown option 'as_json'"),
        ("[fitt]", r"unknown table \[fitt\]"),
        ("json = 1", "'json' is a switch: true or false; got 1"),
        ("n-factors = [1, 2]", "'n-factors' takes one value; got a list"),
        ("[fit]\nn-factors = {a = 1}", "'n-factors' must be one value, not a table"),
        ("n-factors = = 1", "not a TOML file"),
    ],
)
def test_mistakes_are_one_line(folder, line, says):
    if line.startswith(("json", "n-factors")):
        (folder / "run.toml").write_text(line)
    else:
        config(folder, line)
    assert_one_line_error(run("fit", folder / "good.csv", "--config", folder / "run.toml"), says)
    assert not (folder / "m.sklar").exists()


def test_a_value_is_checked_as_on_the_command_line(folder):
    result = run("fit", folder / "good.csv", "--config", config(folder, "k = 2.5"))
    assert result.exit_code == 2
    assert "'2.5' is not a valid integer" in result.stderr


def test_a_file_that_is_not_there(folder):
    assert_one_line_error(run("fit", folder / "good.csv", "--config", folder / "no.toml"), "no.toml: no such file")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_prints_a_script(shell):
    words = {"_SKLAR_COMPLETE": f"{shell}_source"}
    result = CliRunner().invoke(main, [], env=words, prog_name="sklar")
    assert result.exit_code == 0, result.output
    assert "_SKLAR_COMPLETE" in result.stdout
    assert f"{shell}_complete" in result.stdout
    assert f"_SKLAR_COMPLETE={shell}_source" in run("--help").stdout or shell == "zsh"


def test_completion_knows_commands_and_words():
    def completed(line):
        words = {"_SKLAR_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        return CliRunner().invoke(main, [], env=words, prog_name="sklar").stdout

    assert "plain,report" in completed("sklar rep")
    assert "plain,--max-epochs" in completed("sklar fit --max")
