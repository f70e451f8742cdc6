"""How Sphinx builds these pages: Markdown guides, the API from docstrings, a gallery from scripts that run."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the gallery's tables are small: threads would only wait for each other

import sklar  # noqa: E402

project = "sklar"
release = sklar.__version__
copyright = "the authors of sklar, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build"]
highlight_language = "none"  # method.md's indented blocks are formulas

myst_heading_anchors = 3
autodoc_typehints = "none"  # the docstrings describe the types
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as a list; by default each is an entry of its own

html_theme = "furo"
html_title = "sklar"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "capture_repr": (),  # pictures, not the names of their Axes
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
}
