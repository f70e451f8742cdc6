"""What `import sklar` gives, and how fast."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest

import sklar
from tests.helpers import run_python

EXPORTS = [
    "CheckpointError",
    "CopulaRankerClassifier",
    "CopulaRankerRegressor",
    "CopulaSelectorClassifier",
    "CopulaSelectorRegressor",
    "ModelFileError",
    "datasets",
    "load",
    "metrics",
    "plots",
]
METHODS = [
    "fit",
    "select",
    "selection_proba",
    "sample_masks",
    "transform",
    "correlation",
    "predict",
    "score",
    "save",
    "explain",
]
PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def test_the_export_list():
    assert sorted(sklar.__all__) == EXPORTS
    assert dir(sklar) == sorted([*EXPORTS, "__version__"])


@pytest.mark.parametrize("name", EXPORTS)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(sklar, name)
    assert len(inspect.getdoc(value)) > 20


@pytest.mark.parametrize("name", [name for name in EXPORTS if name.startswith("Copula")])
def test_every_public_method_is_documented(name):
    cls = getattr(sklar, name)
    extra = (["predict_proba"] if "Classifier" in name else []) + (["rank"] if "Ranker" in name else [])
    for method in METHODS + extra:
        assert inspect.getdoc(inspect.getattr_static(cls, method)), method
    assert "Examples" in cls.__doc__


@pytest.mark.parametrize("module", ["datasets", "metrics", "plots"])
def test_every_public_function_has_an_example(module):
    module = getattr(sklar, module)
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        value = getattr(module, name)
        if inspect.isfunction(value):
            assert ">>>" in inspect.getdoc(value), name


@pytest.mark.parametrize("name", [name for name in EXPORTS if name.startswith("Copula")])
def test_words_are_keyword_only(name):
    parameters = inspect.signature(getattr(sklar, name)).parameters.values()
    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Copula'"):
        _ = sklar.Copula


def test_the_version_stands_once():
    assert tomllib.loads(PROJECT.read_text())["project"]["version"] == sklar.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", sklar.__version__)


def test_importing_needs_nothing_else():
    code = """
import sys
import sklar
assert not {"torch", "sklearn", "numpy", "scipy"} & set(sys.modules)
print("ok")
"""
    assert run_python(code).strip() == "ok"


def test_help_needs_neither_torch_nor_numpy():
    code = """
import contextlib, io, sys
from sklar.cli import main
with contextlib.redirect_stdout(io.StringIO()) as page:
    main(["--help"], standalone_mode=False)
assert "sklar fit train.csv" in page.getvalue()
assert not {"torch", "sklearn", "numpy"} & set(sys.modules)
print("ok")
"""
    assert run_python(code).strip() == "ok"


def test_names_load_on_first_use():
    code = """
import sys, sklar
sklar.metrics
assert "torch" not in sys.modules
sklar.load
assert "torch" in sys.modules
print("ok")
"""
    assert run_python(code).strip() == "ok"


def base_imports():
    """The packages that a plain installation has, by their import names: all that the project asks for, and theirs."""
    names = {"scikit-learn": "sklearn"}
    asked = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    return {names.get(name, name) for name in (re.match(r"[\w-]+", line).group() for line in asked)}


def test_the_first_example_of_the_readme_needs_no_extra():
    """The example runs, on fewer rows, where no optional package can be imported."""
    readme = (PROJECT.parent / "README.md").read_text(encoding="utf-8")
    example = re.search(r"## First example\n\n```python\n(.*?)```", readme, re.DOTALL).group(1)
    example = example.replace('make_synthetic("syn4", ', 'make_synthetic("syn4", n_samples=40, ')
    extras = {
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "duckdb",
        "onnx",
        "onnxruntime",
        "shap",
        "lightgbm",
        "optuna",
    }
    assert not extras & base_imports()
    code = f"""
import sys, warnings
warnings.simplefilter("ignore")
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in {sorted(extras)} else find(name, *more)
{example}
"""
    assert "Predicted" in run_python(code)


def test_all_extras_have_one_name():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    ours = {"all", "test", "docs", "triton-test", "rivals"}
    (everything,) = extras["all"]
    assert set(re.fullmatch(r"sklar\[(.*)\]", everything).group(1).split(",")) == set(extras) - ours
