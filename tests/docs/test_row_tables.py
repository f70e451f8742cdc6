"""The pages' tables are what the rows give: a number without its row, or another than the rows', fails here."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("row_tables", ROOT / "docs" / "row_tables.py")
row_tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(row_tables)


@pytest.mark.parametrize("page", row_tables.PAGES)
def test_the_tables_of_a_page_are_those_of_the_rows(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    marked = row_tables.MARKED.findall(text)
    assert marked, "no table of this page is named"
    for name, table in marked:
        assert table.rstrip("\n") == row_tables.TABLES[name](), f"python docs/row_tables.py --write; {page}: {name}"


def test_every_table_is_on_a_page():
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in row_tables.PAGES]
    found = [name for text in pages for name, _ in row_tables.MARKED.findall(text)]
    assert set(found) == set(row_tables.TABLES)


def test_a_table_is_rewritten_and_the_text_around_it_kept(monkeypatch):
    monkeypatch.setitem(row_tables.TABLES, "small", lambda: "| a |\n|---|\n| 2 |")
    text = "before\n\n<!-- rows: small -->\n\n| a |\n|---|\n| 1 |\n\nafter\n"
    assert row_tables.rewritten(text) == text.replace("| 1 |", "| 2 |")


def test_numbers_are_printed_as_the_pages_print_them():
    assert [row_tables.plain(value) for value in (0.04, 100.0, 99.96, 2.0, 3.78)] == ["0", "100", "100", "2.0", "3.8"]


def test_rivals_are_shown_by_the_rows_with_most_seeds_and_earlier_settings_not_at_all(monkeypatch):
    shared = {"setting": "d=11", "overrides": {}, "quick": False, "metric": "tpr"}
    rows = [
        {**shared, "method": "tree", "dataset": "syn1", "seed": 0, "value": 80.0},
        {**shared, "method": "tree", "dataset": "syn1", "seed": 0, "metric": "fdr", "value": 20.0},
        {**shared, "method": "invase", "dataset": "syn1", "seed": 0, "value": 1.0, "earlier": "ReLU"},
        {**shared, "method": "sklar", "dataset": "syn1", "seed": 0, "value": 1.0},
    ]
    few = {"method": "tree", "dataset": "syn1", "d": 11, "preset": "full", "tpr": 1.0, "fdr": 1.0}
    monkeypatch.setattr(row_tables, "rows_of", lambda name: rows if name == "rows-synthetic" else [few])
    lines = row_tables.rivals_found(11).splitlines()
    assert lines[2] == "| `tree` | 80.0/20.0 | | | | | |"
    assert len(lines) == 4  # and what was published for it
