"""The methods: the settings of the paper's appendix, and of the baselines' authors."""

from sklar.paper.baselines import REGISTRY
from sklar.paper.experiments.methods import IMAGE_BASELINES
from sklar.paper.experiments.specs import SPECS


def test_the_papers_settings():
    synthetic = SPECS["table-11d"].method("joint").params_for(False, "syn1")
    assert {name: synthetic[name] for name in ("choice_hidden", "predict_hidden", "max_epochs", "batch_size")} == {
        "choice_hidden": 100,
        "predict_hidden": 200,
        "max_epochs": 1000,
        "batch_size": 1000,
    }
    assert (synthetic["learning_rate"], synthetic["weight_decay"]) == (1e-4, 1e-3)
    assert synthetic["temperature"] in (3, 5)
    images = SPECS["figure-accuracy"].method("joint-full")
    mnist, isolet = (images.params_for(False, dataset) for dataset in ("mnist", "isolet"))
    assert mnist["choice_hidden"] == mnist["predict_hidden"] == 16
    assert (mnist["max_epochs"], mnist["temperature"], mnist["covariance"]) == (100, 1.0, "full")
    assert (mnist["learning_rate"], mnist["batch_size"]) == (1e-3, 1000)
    assert (isolet["learning_rate"], isolet["batch_size"]) == (1e-4, 64)
    assert [images.params_for(False, "isolet", k)["loadings_precision"] for k in (10, 20)] == ["float32", "bfloat16"]
    assert images.params_for(False, "isolet", 10)["batch_size"] == 64


def test_gdfs_and_dime_have_their_authors_networks():
    by_name = {method.name: method.params_for(False, "mnist") for method in IMAGE_BASELINES}
    gdfs, dime = (REGISTRY[name](**by_name[name]) for name in ("gdfs", "dime"))
    assert (gdfs.policy_hidden, gdfs.predictor_hidden, dime.hidden) == (512, 512, 512)
    assert gdfs.dropout == dime.dropout == 0.3
    assert (gdfs.n_temperatures, gdfs.patience, dime.n_levels) == (5, 5, 10)
    assert not gdfs.scale
    assert {method.params_for(False, "isolet").get("patience") for method in IMAGE_BASELINES[-2:]} == {50}
