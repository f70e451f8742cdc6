"""Runs the code of the pages: a page's Python blocks and `sklar` commands, in order, in one namespace and folder.

A block of language `text` right after a block that ran is what it prints. `python docs/pages.py --write` runs the
pages and updates that text; the tests check only that they run, since numbers differ a little between processors.

The tutorial is about the Adult table. Where `$SKLAR_DATA` does not have it, the code runs on a small stand-in with the
same columns, and `--write` refuses: what the page prints is of the real table.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ON_ADULT = {"tutorial.md"}
# The block of baselines.md shows the interface of all baselines, some of which train for hours.
NOT_RUN = {"baselines.md"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, and where it stands."""

    language: str
    text: str
    start: int
    end: int


def pages() -> list[Path]:
    """The Markdown pages whose code runs."""
    built = (HERE / "_build", HERE / "gallery")
    found = (page for page in HERE.rglob("*.md") if not any(folder in page.parents for folder in built))
    return sorted(page for page in found if page.name not in NOT_RUN)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page that name a language."""
    return [Block(found[1], found[2], found.start(), found.end()) for found in BLOCK.finditer(text)]


def run(page: Path) -> Iterator[tuple[Block, str]]:
    """Run a page's blocks in a folder of its own; yields each with what it printed."""
    text, names = page.read_text(encoding="utf-8"), {"__name__": page.stem}
    stand_in = page.name in ON_ADULT and not has_adult()
    with (
        tempfile.TemporaryDirectory() as folder,
        adult_stand_in() if stand_in else contextlib.nullcontext(),
        contextlib.chdir(folder),
    ):
        for block in blocks(text):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                if block.language == "python":
                    # Blank lines in front, so that a traceback names the line of the page.
                    lines = "\n" * (text.count("\n", 0, block.start) + 1)
                    exec(compile(lines + block.text, str(page), "exec"), names)
                elif block.language == "sh":
                    run_commands(block.text)
                else:
                    continue
            yield block, printed.getvalue()


def has_adult() -> bool:
    """Whether the real table is where `load_table` looks first."""
    folder = Path(os.environ.get("SKLAR_DATA", "")) / "tables"
    return "SKLAR_DATA" in os.environ and any((folder / f"adult.csv{ending}").is_file() for ending in ("", ".gz"))


@contextlib.contextmanager
def adult_stand_in(n: int = 300) -> Iterator[None]:
    """Inside, `load_table("adult")` gives a small table with Adult's columns: enough to run code, and nothing else."""
    import numpy as np

    rng = np.random.default_rng(0)
    married, gain = rng.random(n) < 0.5, np.where(rng.random(n) < 0.1, 15_024, 0)
    rich = (gain > 0) | (married & (rng.random(n) < 0.6))
    words = {
        "workclass": ("Private", "State-gov", ""),
        "education": ("Bachelors", "HS-grad"),
        "occupation": ("Sales", "Tech-support", ""),
        "relationship": ("Husband", "Not-in-family"),
        "race": ("White", "Black"),
        "sex": ("Female", "Male"),
        "native-country": ("United-States", "Mexico", ""),
    }
    columns = {name: rng.choice(choices, n) for name, choices in words.items()} | {
        "age": rng.integers(17, 90, n),
        "fnlwgt": rng.integers(10**4, 10**6, n),
        "education-num": rng.integers(1, 17, n),
        "marital-status": np.where(married, "Married-civ-spouse", "Never-married"),
        "capital-gain": gain,
        "capital-loss": np.zeros(n, dtype=int),
        "hours-per-week": rng.integers(1, 99, n),
        "income": np.where(rich, ">50K", "<=50K"),
        "split": np.where(np.arange(n) < 2 * n // 3, "train", "test"),
    }
    before = os.environ.get("SKLAR_DATA")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tables").mkdir()
        lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        (Path(folder) / "tables" / "adult.csv").write_text("\n".join([",".join(columns), *lines]), encoding="utf-8")
        os.environ["SKLAR_DATA"] = folder
        try:
            yield
        finally:
            os.environ.pop("SKLAR_DATA") if before is None else os.environ.update(SKLAR_DATA=before)


def run_commands(text: str) -> None:
    """Run the lines that call sklar, as the command line would; other lines are for the reader's shell."""
    import shlex

    from sklar.cli import main

    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["sklar"]:
            code = main(words[1:], standalone_mode=False)
            if code:
                raise RuntimeError(f"{line}: exit code {code}")


def rewritten(page: Path) -> str:
    """The page, with the output blocks as they are now."""
    text = page.read_text(encoding="utf-8")
    outputs = {block.end: printed for block, printed in run(page)}
    previous = None
    parts, done = [], 0
    for block in blocks(text):
        if block.language == "text" and previous in outputs and not text[previous : block.start].strip():
            printed = "\n".join(line.rstrip() for line in outputs[previous].splitlines())
            parts += [text[done : block.start], f"```text\n{printed}\n```"]
            done = block.end
        previous = block.end
    return "".join(parts) + text[done:]


def main() -> None:
    """Run all pages, or those named; `--write` updates their output blocks."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    words = sys.argv[1:]
    chosen = [Path(word).resolve() for word in words if word != "--write"] or pages()
    for page in chosen:
        if "--write" in words and page.name in ON_ADULT and not has_adult():
            sys.exit(f"{page.name} prints what the real Adult table gives: set SKLAR_DATA to a folder with it")
        text = rewritten(page)
        if "--write" in words:
            page.write_text(text, encoding="utf-8")
        print(f"ran {page.relative_to(HERE)}", file=sys.stderr)


if __name__ == "__main__":
    main()
