"""The import arrows: a file imports only from its own folder and from folders to its left."""

import ast
from pathlib import Path

import pytest

import sklar

ROOT = Path(sklar.__file__).parent
# Left to right; the parts that DESIGN names together may look to their left, not at each other both ways.
CHAIN = [
    "atomic",
    "locking",
    "params",
    "metrics",
    "datasets",
    "kernels",
    "model",
    "table",
    "training",
    "target",
    "predictor",
    "control",
    "judgement",
    "outcomes",
    "selection_scores",
    "asked",
    "interchange",
    "fitted",
    "retesting",
    "prices",
    "effects",
    "rules",
    "stability",
    "summary",
    "audit",
    "explain",
    "acquire",
    "report",
    "export",
    "estimators",
    "scale",
    "paper",
    "workflow",
    "demo",
    "cli",
    "fit",
]
LEVELS = {part: position for position, part in enumerate(CHAIN)}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(module):
    """sklar.model.copula -> model; a public name of sklar -> the part that has it."""
    path = module.removeprefix("sklar.").split(".")
    if ".".join(path[:2]) in CHAIN:  # a part of a folder with a place of its own
        return ".".join(path[:2])
    return (sklar._HOMES | sklar._MODULES).get(path[0], f"sklar.{path[0]}").split(".")[1]


def imported_parts(path):
    """The parts of sklar that a file imports, anywhere in it; `import sklar` alone names none."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (part_of(alias.name) for alias in node.names if alias.name.startswith("sklar."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} line {node.lineno}: relative import"
            if node.module == "sklar":
                yield from (part_of(alias.name) for alias in node.names)
            elif (node.module or "").startswith("sklar."):
                yield part_of(node.module)


def own_part(path):
    return part_of("sklar." + ".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_the_left(path):
    own = own_part(path)
    for part in imported_parts(path):
        assert part in LEVELS, f"{path.name} imports {part}, which has no place in the house"
        assert part == own or LEVELS[part] < LEVELS[own], f"{path.name} ({own}) imports {part}"


def test_every_file_has_a_place():
    assert {own_part(path) for path in FILES} <= set(LEVELS)


def test_the_arrows_are_seen(tmp_path):
    """The test sees what it forbids: imports inside functions, and public names."""
    file = tmp_path / "x.py"
    file.write_text("import sklar\ndef f():\n    from sklar.cli import main\n    from sklar import load, metrics\n")
    assert set(imported_parts(file)) == {"cli", "estimators", "metrics"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_why_it_exists(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def module_of(path):
    return ".".join(("sklar", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imported_modules(path):
    """The modules of sklar that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def test_no_module_needs_itself():
    """No cycle of imports, also not through imports inside functions; a package's `__init__` only collects names."""
    modules = {module_of(path): path for path in FILES if path.name != "__init__.py"}
    needs = {name: {m for m in imported_modules(path) if m in modules} for name, path in modules.items()}
    done: set[str] = set()
    while ready := {name for name, needed in needs.items() if name not in done and needed <= done}:
        done |= ready
    assert not needs.keys() - done, f"these import each other: {sorted(needs.keys() - done)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_has_its_test(path):
    if path.name in ("__init__.py", "__main__.py"):
        return
    inside = path.relative_to(ROOT)
    assert (Path(__file__).parent / inside.parent / f"test_{inside.name}").is_file()


def test_files_and_functions_are_short():
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= 300
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    )
    assert lengths[int(0.9 * len(lengths))] <= 18


DRAWS = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "bernoulli", "multinomial"}


def draws_without_a_seed(path):
    """Lines of a file that draw from torch's global generator, or from a fresh one of numpy."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = {keyword.arg for keyword in node.keywords}
            of_torch = (
                isinstance(node.func.value, ast.Name) and node.func.value.id == "torch" and node.func.attr in DRAWS
            )
            fresh = node.func.attr == "default_rng" and not node.args and not given
            if fresh or (of_torch and "generator" not in given):
                yield node.lineno


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_tests_draw_with_a_seed(path):
    """A test that passes once passes always: the seed policy of `tests/helpers.py`."""
    assert list(draws_without_a_seed(path)) == []


def test_draws_without_a_seed_are_seen(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("torch.randn(3)\ntorch.randn(3, generator=g)\nnp.random.default_rng()\nnp.random.default_rng(0)\n")
    assert list(draws_without_a_seed(file)) == [1, 3]
