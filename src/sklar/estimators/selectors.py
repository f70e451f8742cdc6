"""Binary feature selection: as many features as each row needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from numpy.typing import ArrayLike

from sklar.estimators.base import CopulaEstimator
from sklar.estimators.tasks import ClassifierTask, RegressorTask
from sklar.model.gates import Gates
from sklar.params import NonNegative, at_least
from sklar.prices import features_at

Prices = Annotated[Mapping[str | int, float] | ArrayLike | None, None, dict, "array-like"]


class CopulaSelector(CopulaEstimator):
    """What both selectors share."""

    penalty: Literal["auto"] | NonNegative = "auto"
    costs: Prices = None
    min_features: Annotated[int, at_least(0)] = 0

    def features_at(self, n: float, X: Any = None) -> float:
        """The penalty that gives about n features per row: `select(X, penalty=selector.features_at(3))`.

        Parameters
        ----------
        n : features per row, in the mean
        X : rows to count on; None takes the counts of `path_`, and warns where none of them is near n

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 4))
        >>> selector = CopulaSelectorRegressor(max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
        >>> low, high = min(selector.path_["penalty"]), max(selector.path_["penalty"])
        >>> bool(low <= selector.features_at(1) <= high)
        True
        """
        return features_at(self._fitted, n, X)

    def _features_per_row(self, gates: Gates) -> None:
        if self.min_features > gates.n:
            raise ValueError(
                f"min_features must be at most the number of features; got {self.min_features} for {gates.n}"
            )


class CopulaSelectorClassifier(ClassifierTask, CopulaSelector):
    """For every row, the few features that decide its class.

    Parameters
    ----------
    penalty : float or "auto", default "auto"
        Price of one feature (lambda), in units of the loss. "auto" trains a path of penalties side by side and
        keeps the sparsest within one standard error of the best held-out loss.
    groups : list of lists of columns, or None
        Columns that are selected together, by name or number: one gate, and the price of one feature.
    forced, forbidden : list of columns, or None
        Always selected; never selected, nor read at all. One forced column forces its group.
    costs : dict of column to price, one number a column, or None
        The penalty of a feature is lambda times its price; 1 where none is given. A group has its dearest column's.
    dates : "ordinal", "parts" or None
        How columns of dates and times are read: as days since 1970-01-01, or also as season, weekday and hour (sine and
        cosine of each), all behind one gate. None refuses them.
    scaling : "column" or "global", default "column"
        What numbers are divided by: the deviation of their column, or one deviation for all columns. "global" suits
        columns of one kind and unit (pixels, spectra), where those that hardly vary say little.
    class_weight : dict of class to weight, "balanced" or None
        What the rows of a class count; "balanced" makes all classes count the same.
    min_features : int, default 0
        A row with fewer features gets its most probable ones, up to so many.
    objective : "honest" or "joint", default "honest"
        "honest" learns through predictors that no mask can tell anything about its row, so a selection cannot leak
        the label. "joint" is the paper's: both networks minimise one loss.
    covariance : "low-rank", "full", "block" or "independent"
        How the gates of a row depend on each other: L L^T + diag(sigma^2), L L^T, L L^T inside blocks of
        correlated features, or not at all (the paper's NOLA). Joint training gives every row its own L, honest
        training one to all rows, scaled by row where features stand for each other in some rows alone.
    n_factors : int, default 8
        Columns of L (p), for "low-rank".
    union_width : int or "auto", default "auto"
        The features that honest training goes on with after screening, at most, or four times as many as a row is to
        get. "auto" is 128 or, with many rows, one for ten of them, up to 1,024. More take longer, and matter where each
        says a little, as in images and spectra. `union_` has those that were kept.
    selector_sparsity : float or "auto", default "auto"
        Factor on the group lasso of ChoiceNet's inputs in honest training. With 1 it looks at few features, and rows
        differ by a few clear switches; with 0.1 it may look at all. "auto" tries both and chooses by held-out rows;
        below 1,500 rows by several splits and, of more features than rows, tries one set for all rows too, the 20
        features most related to the target one by one. `history_` has what was tried.
    predictor_regularization : float or "auto", default "auto"
        Factor on the weight decay and group lasso of the predictors in honest training. "auto" tries 1 and 3, with
        more than 128 features 0.3 too, and chooses by cross-validation on training rows. `history_` has what was tried.
    quantile_bins : int or "auto", default "auto"
        Intervals between quantiles that the predictors of honest training see each number in, beside its value, so
        that they can follow steps and thresholds; 0 is none. "auto" tries 0 and, with at most 128 features, 8, and
        chooses as above. Rankers with chooses_from="shown" read numbers as they are.
    mask : "relaxed" or "rounded", default "relaxed"
        What joint training shows its predictor: the relaxed mask, between 0 and 1, the output of the paper's layer for
        selection; or that mask rounded, with the relaxed one's gradient. Answers always have whole features; honest
        training has no relaxed mask. Of rankers the default is "rounded".
    temperature : float, default 1
        t of the relaxed mask in joint training.
    choice_hidden, predict_hidden : int
        Width of the hidden layers of ChoiceNet (h_c) and PredictNet (h_p; None is 64 for honest, 200 for joint).
    activation : "relu" or "selu"
    loadings_activation : "tanh" or "relu"
        On L in joint training; sigma gets the other. The paper's text says tanh, its Algorithm 4 ReLU, which cannot
        express a negative correlation.
    max_epochs : int or None
        Passes over the rows, at most. None is 1000 for joint; honest training has its own number of steps.
    batch_size : int, default 1000
    learning_rate, weight_decay : float or None
        Of the optimiser (of ChoiceNet, in honest training). None is the objective's own.
    predictor : "auto", "networks", "trees" or an estimator, default "auto"
        What predicts from the selected features, on which the selection does not depend. "networks" are those that the
        selector learned through. An estimator is a scikit-learn classifier or regressor that accepts missing values
        (`HistGradientBoosting*`, LightGBM, XGBoost, ...): a clone of it learns, after the selector, from rows with
        features hidden (NaN) by masks of other rows and by random ones. "trees" is boosted trees, cross-fitted in the
        same way; "auto" is the networks, such trees or the mean of both, as rows say that these did not learn from
        (the networks below 500 rows, and in joint training, which has no such rows). `history_` has what was chosen.
    n_models : int, default 1
        Models to train side by side, each from a seed of its own. Most of them decide a selection, the mean of them a
        prediction, and `selection_frequency` says how many agree. On a CPU they cost about as much as so many fits.
    n_folds : int
        Folds of cross-fitting; the joint objective has none.
    validation_fraction : float, default 0.2
        Share of rows held out to choose the penalty (both), `selector_sparsity` (honest) and when to stop (joint); 0
        turns these off.
    patience : int
        Epochs without a better held-out loss after which joint training stops.
    device : "auto", "cpu" or "cuda"
    random_state : int, RandomState or None
        An int fixes the result, bit for bit on a CPU; with objective="joint" only for the same number of threads
        (`torch.set_num_threads`), since sums in another order round otherwise.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    classes_ : the labels, in the order of `predict_proba`'s columns
    penalty_ : the penalty that was used
    path_ : what each penalty gives on held-out rows, as columns penalty, mean_features (per row), loss, error (of its
        difference to the best), score (accuracy, R^2) and score_error; empty for a given penalty. With
        objective="honest" it is of the selector that answers at other penalties; `history_` has that of the fit itself
    history_ : one record an epoch (joint) or a part of the training (honest). Those of part "penalty" say, with the
        columns of `path_`, what the fit's own selector gave held-out rows when they chose its penalty
    union_ : the columns that the model reads; the others were screened away, or say exactly what one of these says, and
        are never selected
    encoding_ : how columns became inputs: `categories`, `missing`, `scaling` (see `sklar.table.encoding`)
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklar import CopulaSelectorClassifier
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=600, random_state=0)
    >>> selector = CopulaSelectorClassifier(penalty=0.01, max_epochs=100, random_state=0).fit(X, y)
    >>> selector.select(X).mean(axis=0).round().astype(int)
    array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None


class CopulaSelectorRegressor(RegressorTask, CopulaSelector):
    """For every row, the few features that decide its value.

    The parameters are those of `CopulaSelectorClassifier`, with `loss` for `class_weight`; y may have several columns.

    Parameters
    ----------
    loss : "squared", "poisson" or "cox"
        The squared error of the standardised target, so that a penalty is a share of the target's variance; counts; or
        times to an event, y then being a structured array of a bool (event seen) and a time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
    >>> selector.predict(X).shape
    (200,)
    """

    loss: Literal["squared", "poisson", "cox"] = "squared"
