"""Runs the code of the pages: a page's Python blocks and `sklar` commands, in order, in one namespace and folder.

A block of language `text` right after a block that ran is what it prints. `python docs/pages.py --write` runs the
pages and updates that text; the tests check only that they run, since numbers differ a little between processors.
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
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
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
        text = rewritten(page)
        if "--write" in words:
            page.write_text(text, encoding="utf-8")
        print(f"ran {page.relative_to(HERE)}", file=sys.stderr)


if __name__ == "__main__":
    main()
