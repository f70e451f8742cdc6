"""Choose a parameter by cross-validation, as with any scikit-learn estimator: here k, in a pipeline.

python examples/grid_search.py
"""

import argparse

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer

from sklar import CopulaRankerClassifier
from sklar.datasets import make_synthetic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="rows to learn from")
    rows = parser.parse_args().rows

    X, y, _ = make_synthetic("syn1", n_samples=rows, random_state=0)  # x1 * x2 decides
    X_new, y_new, _ = make_synthetic("syn1", n_samples=rows, random_state=1)

    normal = QuantileTransformer(n_quantiles=100, output_distribution="normal")
    ranker = CopulaRankerClassifier(objective="joint", max_epochs=30, batch_size=250, random_state=0)
    pipeline = Pipeline([("normal", normal), ("ranker", ranker)])
    search = GridSearchCV(pipeline, {"ranker__k": [1, 2, 4]}, cv=3, scoring="neg_log_loss").fit(X, y)

    for tried, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        print(f"k = {tried['ranker__k']}: log loss {-score:.3f}")
    best = search.best_estimator_
    print(f"chosen: k = {search.best_params_['ranker__k']}; accuracy on new rows {best.score(X_new, y_new):.3f}")
    shares = best["ranker"].select(best["normal"].transform(X_new)).mean(axis=0)
    print("selected in % of the rows:", ", ".join(f"x{i + 1} {share:.0%}" for i, share in enumerate(shares) if share))


if __name__ == "__main__":
    main()
