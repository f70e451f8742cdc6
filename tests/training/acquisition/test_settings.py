"""How long acquisition learns, and from what."""

from sklar.training.acquisition.settings import AcquisitionSettings

PARAMS = {
    "learning_rate": None,
    "weight_decay": None,
    "max_epochs": None,
    "predict_hidden": None,
    "batch_size": 1000,
    "n_folds": 4,
}


def settings(n_rows=3000, n_features=20, **params):
    return AcquisitionSettings.from_params({**PARAMS, **params}, n_rows, n_features, k=5)


def test_few_rows_take_fewer_steps_and_many_values_more():
    usual = settings()
    assert settings(n_rows=600).steps < usual.steps < settings(n_rows=60_000, n_features=784).steps


def test_max_epochs_bounds_the_steps():
    few = settings(max_epochs=10)
    assert few.steps + few.warm_steps <= 31
    assert settings(max_epochs=10**6) == settings()


def test_what_users_give_is_taken():
    given = settings(predict_hidden=33, learning_rate=0.5, weight_decay=0.25, n_folds=2, batch_size=64)
    assert (given.hidden, given.learning_rate, given.weight_decay) == (33, 0.5, 0.25)
    assert (given.n_folds, given.batch_size) == (2, 64)
