"""The benchmarks of the claims about speed: they are files of the repository, not of the package."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import sklar


def run_benchmarks(lines: Iterable[int] = (), device: str = "auto", quick: bool = False) -> None:
    """Run the benchmarks of the repository that this package was installed from, or that is the present folder.

    All seven lines, or those given; each prints a table of ratios.
    """
    chosen = ["--lines", *map(str, lines)] if lines else []
    _benchmarks().main([*chosen, "--device", device, *(["--quick"] if quick else [])])


def _benchmarks() -> ModuleType:
    """benchmarks/run.py of the repository."""
    places = [folder / "benchmarks" / "run.py" for folder in (Path(sklar.__file__).parents[2], Path.cwd())]
    script = next((place for place in places if place.is_file()), None)
    if script is None:
        raise FileNotFoundError(
            "the benchmarks are not part of the installed package: run `sklar bench` in a clone of the repository"
        )
    specification = importlib.util.spec_from_file_location("sklar_benchmarks", script)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
