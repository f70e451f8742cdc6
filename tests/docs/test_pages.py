"""Every block of code in the documentation runs, and the gallery's scripts do."""

import importlib.util
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("docs_pages", ROOT / "docs" / "pages.py")
docs_pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs_pages)
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize("page", docs_pages.pages(), ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_the_code_of_a_page_runs_and_prints_where_it_says_so(page):
    printed = {block.end: text for block, text in docs_pages.run(page)}
    text = page.read_text(encoding="utf-8")
    previous = None
    for block in docs_pages.blocks(text):
        if block.language == "text" and previous in printed and not text[previous : block.start].strip():
            assert printed[previous].count("\n") > 0, f"{page.name}: a block with an output below it prints nothing"
        previous = block.end


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_draws(script):
    from matplotlib import pyplot

    runpy.run_path(str(script))
    assert pyplot.get_fignums()


def test_the_gallery_and_the_guides_are_found():
    assert len(GALLERY) >= 3
    assert {"tutorial.md", "comparison.md", "audit.md"} <= {page.name for page in docs_pages.pages()}


def test_a_page_is_run_in_order_and_its_output_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\na = 2\n```\n\n```python\nprint(a + 1)\n```\n\n```text\nold\n```\n", encoding="utf-8")
    assert docs_pages.rewritten(page).endswith("```text\n3\n```\n")


def test_a_mistake_in_a_page_is_an_error_that_names_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nmissing_name\n```\n", encoding="utf-8")
    with pytest.raises(NameError) as caught:
        list(docs_pages.run(page))
    assert caught.traceback[-1].lineno + 1 == 4


def test_a_command_that_fails_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\nsklar select missing.sklar missing.csv --out masks.csv\n```\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="exit code 1"):
        list(docs_pages.run(page))
