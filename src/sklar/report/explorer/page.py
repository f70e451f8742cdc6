"""The facts in their template: one HTML file that needs no network and runs no script but its own."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import sklar
from sklar.atomic import replace_file
from sklar.audit import AuditReport
from sklar.audit import audit as run_audit
from sklar.explain import names_by_position
from sklar.fitted import FittedModel
from sklar.report.explorer.facts import collect
from sklar.table.files import require_writable

# In the order in which they need each other.
SCRIPTS = (
    "read.js",
    "features.js",
    "effects.js",
    "card.js",
    "rows.js",
    "links.js",
    "levels.js",
    "path.js",
    "page.js",
)


def write_report(
    fitted: FittedModel,
    X: Any,
    y: Any,
    path: str | PathLike[str],
    *,
    audit: bool | AuditReport = True,
    max_rows: int = 1000,
    title: str | None = None,
    progress: Callable[[str], object] = lambda text: None,
) -> Path:
    """Write the page about a model on the rows of X; `progress` is called with a line of text as each part begins."""
    path = Path(path)
    require_writable(path)
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1; got {max_rows}")
    with names_by_position():
        if audit is True:
            progress("report: auditing with predictors of its own (audit=False, or --no-audit, skips this) ...")
            audit = run_audit(fitted, X, y)
        progress("report: asking the model ...")
        facts = collect(fitted, X, y, max_rows=max_rows, audit=audit or None)
    target = getattr(y, "name", None)
    page = render(facts, title or (f"What decides {target}" if target else "What decides each row"))
    replace_file(path, page)
    progress(f"report: wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")
    return path


def to_stderr(text: str) -> None:
    """Progress where it does not mix with results."""
    print(text, file=sys.stderr)


def render(facts: dict[str, Any], title: str) -> str:
    """The page. All text is escaped; the facts travel as JSON, which no browser runs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sklar.report.explorer"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False, "ensure_ascii": False}
    style = _template("page.css")
    script = "'use strict';\n(() => {\n" + "\n".join(map(_template, SCRIPTS)) + "})();\n"
    return environment.get_template("page.html").render(
        facts=facts,
        title=title,
        version=sklar.__version__,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What a content security policy calls this text: nothing else may run or style the page."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
