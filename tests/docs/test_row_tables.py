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
    assert sorted(found) == sorted(row_tables.TABLES)


def test_a_table_is_rewritten_and_the_text_around_it_kept(monkeypatch):
    monkeypatch.setitem(row_tables.TABLES, "small", lambda: "| a |\n|---|\n| 2 |")
    text = "before\n\n<!-- rows: small -->\n\n| a |\n|---|\n| 1 |\n\nafter\n"
    assert row_tables.rewritten(text) == text.replace("| 1 |", "| 2 |")


def test_numbers_are_printed_as_the_pages_print_them():
    assert [row_tables.plain(value) for value in (0.04, 100.0, 99.96, 2.0, 3.78)] == ["0", "100", "100", "2.0", "3.8"]
