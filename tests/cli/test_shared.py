"""What all commands share: one-line errors, results on standard output, progress beside them."""

import json
import os
import re
import subprocess
import sys
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


def test_a_reader_that_has_gone_is_no_error():
    result = run(BrokenPipeError(32, "Broken pipe"))
    assert result.exit_code == 1
    assert result.stderr == "working\n"


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


STOPPED = """
import click
from sklar.cli.shared import OneLineErrors

@click.group(cls=OneLineErrors)
def main():
    pass

@main.command()
def act():
    exec("raise KeyboardInterrupt")  # as in the code that a dataclass is made of

main(["act"])
"""


def test_ctrl_c_in_code_that_was_a_string_ends_with_130_too(tmp_path):
    """Python itself would end a module that it runs by the signal."""
    (tmp_path / "stopped.py").write_text(STOPPED)
    command = [sys.executable, "-m", "stopped"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "interrupted: nothing was written\n")


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory"), RuntimeError("CUDA out of memory")],
)
def test_no_memory_is_one_line(error):
    result = run(error)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1:] == [
        "error: not enough memory; give fewer rows or columns, a smaller --batch-size, or more memory"
    ]


def test_another_runtime_error_is_a_bug():
    assert isinstance(run(RuntimeError("a bug")).exception, RuntimeError)


def test_a_limit_of_memory_is_one_line(tmp_path):
    """As `ulimit -v` sets it, on a fit that needs more."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "t.csv"
    rows = "\n".join(",".join(["0.5", "1", "2"] * 10 + [str(i % 2)]) for i in range(4000))
    path.write_text(",".join(f"x{j}" for j in range(30)) + ",y\n" + rows + "\n")
    code = f"""
import resource, sys
import torch, sklar.estimators
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
from sklar.cli import main
sys.argv = ["sklar", "fit", {str(path)!r}, "--target", "y", "--out", {str(tmp_path / "m.sklar")!r}, "--quiet",
            "--objective", "joint", "--penalty", "0.01", "--batch-size", "4000", "--predict-hidden", "8000"]
main()
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert resource
    assert finished.returncode == 1, finished.stderr
    assert re.fullmatch(r"error: not enough memory[^\n]+\n", finished.stderr)
    assert not (tmp_path / "m.sklar").exists()
