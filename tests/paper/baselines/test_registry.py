"""The registry: names, laziness, and what it says about a name it does not have."""

import pytest

import sklar.paper.baselines
from sklar.paper.baselines import REGISTRY
from tests.helpers import run_python


def test_the_baselines_of_the_paper_are_all_there():
    named_by_the_issue = (
        "invase invase-minus l2x stg cae realx gdfs lime shap knockoff tree forest boosting lasso scfs nola "
        "constant-union random"
    )
    ours = ("gradient-shap", "treeshap", "dime", "suwr", "lspin", "llspin", "protogate", "tabnet")
    assert [name for name in REGISTRY if name not in ours] == named_by_the_issue.split()
    assert len(REGISTRY) == len(named_by_the_issue.split()) + len(ours)


def test_unknown_name_lists_the_known():
    with pytest.raises(KeyError, match=r"no baseline is called 'invaze'.*invase"):
        REGISTRY["invaze"]


def test_classes_can_be_imported_by_name():
    assert sklar.paper.baselines.Invase is REGISTRY["invase"]
    assert "Invase" in dir(sklar.paper.baselines)
    with pytest.raises(AttributeError, match="Nothing"):
        _ = sklar.paper.baselines.Nothing


def test_listing_baselines_loads_none():
    code = "import sys; from sklar.paper.baselines import REGISTRY; list(REGISTRY); 'lime' in REGISTRY; print(len(%s))"
    heavy = "[m for m in sys.modules if m in ('torch', 'sklearn', 'shap', 'lime', 'xgboost', 'lightgbm')]"
    assert run_python(code % heavy).strip() == "0"


def test_trees_need_no_optional_package():
    code = "import sys; from sklar.paper.baselines import REGISTRY; REGISTRY['tree']; print('xgboost' in sys.modules)"
    assert run_python(code).strip() == "False"
