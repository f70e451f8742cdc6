"""Every entry of the registry keeps the contract; a registry entry without a class here fails the last test."""

import numpy as np

from sklar.paper.baselines import REGISTRY
from tests.contracts.baseline_contract import BaselineContract, NetworkContract

TINY = {"iterations": 12, "batch_size": 40}


class TestInvase(NetworkContract):
    name = "invase"
    quick = {**TINY, "actor_hidden": 8, "critic_hidden": 8}


class TestInvaseMinus(NetworkContract):
    name = "invase-minus"
    quick = TestInvase.quick


class TestL2X(NetworkContract):
    name = "l2x"
    quick = {**TINY, "k": 2, "selector_hidden": 8, "predictor_hidden": 8}


class TestStochasticGates(NetworkContract):
    name = "stg"
    quick = {**TINY, "predictor_hidden": 8}


class TestConcreteAutoencoder(NetworkContract):
    name = "cae"
    quick = {**TINY, "k": 2, "tries": 1, "decoder_hidden": 8, "predictor_hidden": 8}


class TestRealX(NetworkContract):
    name = "realx"
    quick = {**TINY, "warmup": 4, "selector_hidden": 8, "predictor_hidden": 8}


class TestGreedyDynamicSelection(NetworkContract):
    name = "gdfs"
    quick = {**TINY, "k": 2, "warmup": 4, "policy_hidden": 8, "predictor_hidden": 8, "n_temperatures": 2}


class TestDime(NetworkContract):
    name = "dime"
    quick = {**TINY, "k": 2, "warmup": 4, "hidden": 8, "n_levels": 2}


class TestSuwr(NetworkContract):
    name = "suwr"
    quick = {**TINY, "k": 5, "exploration": 3, "hidden": 8}


class TestLspin(NetworkContract):
    name = "lspin"
    quick = {**TINY, "selector_hidden": 8, "predictor_hidden": 8}


class TestLlspin(NetworkContract):
    name = "llspin"
    quick = {**TINY, "selector_hidden": 8}


class TestProtoGate(NetworkContract):
    name = "protogate"
    quick = {**TINY, "hidden": 8}


class TestTabNet(NetworkContract):
    name = "tabnet"
    quick = {**TINY, "width": 4}


class TestLime(BaselineContract):
    name = "lime"
    package = "lime"
    n_asked = 4
    quick = {"n_trees": 3, "n_perturbations": 20}


class TestShap(BaselineContract):
    name = "shap"
    package = "shap"
    n_asked = 4
    quick = {"n_trees": 3, "n_permutations": 1, "n_background": 5}


class TestGradientShap(NetworkContract):
    name = "gradient-shap"
    quick = {**TINY, "predictor_hidden": 8, "n_draws": 4, "n_background": 5}


class TestTreeShap(BaselineContract):
    name = "treeshap"
    package = "lightgbm"
    quick = {"n_trees": 5, "min_leaf": 5}
    depends_on_seed = False


class TestKnockoff(BaselineContract):
    name = "knockoff"
    predicts = False
    quick = {"n_folds": 2}


class TestTree(BaselineContract):
    name = "tree"
    quick = {"n_trees": 5}


class TestForest(BaselineContract):
    name = "forest"
    quick = {"n_trees": 5}


class TestBoosting(BaselineContract):
    name = "boosting"
    quick = {"n_trees": 5}
    depends_on_seed = False


class TestLasso(BaselineContract):
    name = "lasso"
    quick = {"n_folds": 2}
    depends_on_seed = False


class TestScfs(BaselineContract):
    name = "scfs"
    predicts = False
    depends_on_seed = False


class TestNola(BaselineContract):
    name = "nola"
    quick = {"penalty": 0.01, "max_epochs": 3, "choice_hidden": 8, "predict_hidden": 8}


class TestConstantUnion(BaselineContract):
    name = "constant-union"
    predicts = False
    depends_on_seed = False

    def fit_params(self, X):
        return {"relevant": np.abs(X) > 1}


class TestRandomMasks(BaselineContract):
    name = "random"
    predicts = False


def test_every_entry_has_its_contract():
    covered = {case.name for case in globals().values() if isinstance(case, type) and hasattr(case, "name")}
    assert covered == set(REGISTRY)
