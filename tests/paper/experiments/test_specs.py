"""The specs: complete, frozen, picklable, with the settings of the paper's appendix."""

import dataclasses
import pickle

import pytest

from sklar.paper.baselines import REGISTRY
from sklar.paper.experiments.specs import NAMES, SPECS, spec_of


def test_the_names_that_a_user_can_say():
    assert NAMES == (
        "table-11d",
        "table-100d",
        "table-correlated",
        "figure-accuracy",
        "table-low-rank",
        "table-nola",
        "figure-psd",
        "figure-pixels",
        "all",
    )


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_specs_are_frozen_and_travel_to_other_processes(name, quick):
    spec = spec_of(name, quick)
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.seeds = 5
    names = [method.name for method in spec.methods]
    assert len(names) == len(set(names))
    for method in spec.methods:
        assert method.engine in ("honest", "joint", "baseline")
        if method.engine == "baseline":
            assert set(method.params_for(quick, "mnist")) <= set(REGISTRY[method.name]().get_params(deep=False))


def test_the_figure_has_all_methods_of_the_paper():
    names = {method.name for method in SPECS["figure-accuracy"].methods}
    assert names >= {"sklar", "stg", "cae", "l2x", "gradient-shap", "lasso", "forest", "boosting", "gdfs"}
    assert SPECS["figure-accuracy"].ks == (10, 20, 30, 40)


def test_unknown():
    with pytest.raises(ValueError, match="there is no experiment 'table-9'; there are table-11d"):
        spec_of("table-9")
