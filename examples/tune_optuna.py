"""Tune parameters with optuna. Trials are kept in a journal file: run it again, or several at once, to add more.

pip install "sklar[tune]"
python examples/tune_optuna.py --trials 8 --journal tune.log
"""

import argparse

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="rows to learn from")
    parser.add_argument("--trials", type=int, default=8, help="trials to add")
    parser.add_argument("--journal", default="tune.log", help="file that keeps the trials")
    given = parser.parse_args()

    X, y, _ = make_synthetic("syn1", n_samples=given.rows, random_state=0)
    X_fit, X_held, y_fit, y_held = train_test_split(X, y, random_state=0, stratify=y)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        """Held-out loss and features per row, both to be minimised."""
        selector = CopulaSelectorClassifier(
            objective="joint",
            penalty=trial.suggest_float("penalty", 1e-3, 0.1, log=True),
            learning_rate=trial.suggest_float("learning_rate", 1e-3, 1e-2, log=True),
            max_epochs=30,
            batch_size=250,
            random_state=0,
        ).fit(X_fit, y_fit)
        return log_loss(y_held, selector.predict_proba(X_held)), float(selector.select(X_held).sum(axis=1).mean())

    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(given.journal)),
        study_name="sklar",
        directions=["minimize", "minimize"],
        sampler=optuna.samplers.TPESampler(seed=0),
        load_if_exists=True,
    )
    study.optimize(objective, n_trials=given.trials)

    print(f"{len(study.trials)} trials in {given.journal}; those that no other beats in both:")
    for trial in sorted(study.best_trials, key=lambda trial: trial.values[1]):
        print(f"{trial.values[1]:5.2f} features per row, log loss {trial.values[0]:.3f}: {trial.params}")


if __name__ == "__main__":
    main()
