"""The page of a folder of results: every table published and measured side by side, every figure, how each was made.

One file that works offline: pictures and style are inside it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklar.atomic import replace_file, replacing
from sklar.paper.experiments.results import TableView, for_the_page, tables_of
from sklar.paper.experiments.rows import Row, read_rows
from sklar.paper.experiments.specs import SPECS

DRAWN_FROM_FILE = ("figure-psd", "figure-pixels")
MADE_BY = ("command", "commit", "device")  # fields of a row, and of a figure file


def write_results_page(folder: str | Path, out: str | Path) -> Path:
    """Draw the figures of a results folder and write its page; returns the page's path.

    Parameters
    ----------
    folder : holds rows*.jsonl and figure-*.json, as `sklar reproduce` writes them; figures are drawn into it as PNG
    out : the page, .html
    """
    from jinja2 import Environment, PackageLoader

    folder, out = Path(folder), Path(out)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    rows, quick = for_the_page(read_rows(folder))
    sections = [section for name in SPECS if (section := _section(name, folder, rows, quick))]
    if not sections:
        raise ValueError(f"{folder} holds no rows and no figures of `sklar reproduce` that a page could show")
    environment = Environment(loader=PackageLoader("sklar.paper"), autoescape=True)  # rows may come from others
    page = environment.get_template("results.html.j2").render(sections=sections, quick=quick)
    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, page)
    return out


def _section(name: str, folder: Path, rows: list[Row], quick: bool) -> dict[str, Any] | None:
    """What the page says about one experiment, or None where nothing was measured."""
    if name in DRAWN_FROM_FILE:
        return _figure_section(name, folder)
    tables = [view for view in tables_of(name, rows, quick) if _has_measured(view)]
    if not tables:
        return None
    mine = _rows_of(name, rows)
    picture = None
    if name == "figure-accuracy":
        from sklar.paper.figures import accuracy_figure

        picture = _picture(lambda: accuracy_figure(mine, quick), folder / f"{name}.png")
    made = {f"{field}s": _distinct(mine, field) for field in MADE_BY}
    facts = {"tables": tables, "picture": picture, **made, "seconds": _seconds(mine), "earlier": _earlier(name, mine)}
    return {**_heading(name), **facts}


def _figure_section(name: str, folder: Path) -> dict[str, Any] | None:
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["overrides"]:
        return None  # a trial
    from sklar.paper import figures

    draw = {"figure-psd": figures.psd_figure, "figure-pixels": figures.pixels_figure}[name]
    picture = _picture(lambda: draw(data), folder / f"{name}.png")
    made = {f"{field}s": [data[field]] for field in MADE_BY}
    return {**_heading(name), "tables": [], "picture": picture, **made, "seconds": data["seconds"], "earlier": {}}


def _heading(name: str) -> dict[str, str]:
    return {"name": name, "title": SPECS[name].title}


def _picture(draw: Callable[[], Any], path: Path) -> str:
    """Draw, save as PNG, and return it as text that a page can hold."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError('the figures need matplotlib: pip install "sklar[plot]"') from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = draw()
    with replacing(path) as part:
        figure.savefig(part, dpi=110, format="png")
    plt.close(figure)
    return base64.b64encode(path.read_bytes()).decode()


def _rows_of(name: str, rows: list[Row]) -> list[Row]:
    """The rows that a table shows, whichever experiment measured them."""
    spec = SPECS[name]
    methods = {method.name for method in spec.methods}
    datasets = {*spec.datasets, "digits"} if spec.kind == "real" else set(spec.datasets)
    return [
        row
        for row in rows
        if row["method"] in methods
        and row["dataset"] in datasets
        and row["setting"] == spec.setting
        and (row["k"] in spec.ks if spec.ks else True)
    ]


def _has_measured(view: TableView) -> bool:
    return any(cell.measured for _, cells in view.lines for cell in cells)


def _earlier(name: str, rows: list[Row]) -> dict[str, list[str]]:
    """Methods whose rows, or some of them, are of earlier settings, by their labels, and what these were where."""
    found: dict[str, list[str]] = {}
    for method in SPECS[name].methods:
        mine = [row for row in rows if row["method"] == method.name]
        for words in dict.fromkeys(row["earlier"] for row in mine if "earlier" in row):
            where = _distinct([row for row in mine if row.get("earlier") == words], "dataset")
            is_part = len(where) < len(_distinct(mine, "dataset"))
            found.setdefault(method.label, []).append(f"{words}; {', '.join(where)}" if is_part else words)
    return found


def _distinct(rows: list[Row], field: str) -> list[str]:
    return list(dict.fromkeys(str(row.get(field, "unknown")) for row in rows))


def _seconds(rows: list[Row]) -> float:
    """All cells together; a cell's metrics share its seconds."""
    cells = {
        (row["method"], row["dataset"], row["setting"], row["k"], row["seed"]): row.get("seconds", 0.0) for row in rows
    }
    return sum(cells.values())
