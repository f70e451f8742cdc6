"""The page of licences names every package that the project asks for, with the licence that the package states."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# How packages write what the page calls by its short name.
FAMILIES = {
    "BSD": r"BSD",
    "MIT": r"MIT",
    "Apache": r"Apache",
    "MPL": r"MPL|Mozilla",
    "matplotlib": r"matplotlib|Python Software Foundation",
}


def listed():
    rows = re.findall(
        r"^\| ([\w-]+) \| ([^|]+) \|", (ROOT / "docs/licences.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: licence.strip() for name, licence in rows if name != "package"}


def asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {re.match(r"[\w.-]+", line)[0] for group in groups for line in group} - {"sklar"}


def stated(name):
    """What an installed package says; None where it is not installed."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    classifiers = [line for line in about.get_all("Classifier") or [] if line.startswith("License")]
    return " ".join([about.get("License-Expression") or "", (about.get("License") or "")[:200], *classifiers])


def test_every_package_is_listed():
    assert set(listed()) == asked_for()


def test_the_licences_are_those_that_packages_state():
    checked = 0
    for name, licence in listed().items():
        said = stated(name)
        if said is not None and said.strip():
            family = next(pattern for word, pattern in FAMILIES.items() if licence.startswith(word))
            assert re.search(family, said), f"{name} says {said!r}"
            checked += 1
    assert checked > 15
