"""What all four estimators are: parameters, `fit`, and questions that the fitted model answers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklar.audit import AuditReport, audit
from sklar.estimators.answers import ask
from sklar.estimators.dask_training import Work, cluster_of, train_on
from sklar.estimators.exports import Exports
from sklar.estimators.parameters import CopulaParameters
from sklar.estimators.prediction import require_predictor, with_predictor
from sklar.estimators.preparation import checkpoint_of, copies_read, named, prepare, require_finite_weights
from sklar.estimators.streaming import Names, Request, judged_rows, read_rows
from sklar.estimators.views import Views
from sklar.explain import one_row
from sklar.export.plain import plain_parameters
from sklar.fitted import FittedModel
from sklar.model.gates import Gates
from sklar.params import check_params
from sklar.report.explorer import to_stderr, write_report
from sklar.table.cells import said
from sklar.table.schema import Schema
from sklar.target import EncodedTarget
from sklar.training.data import Trained
from sklar.training.engine.runtime import resolve_device, spawn_seeds
from sklar.training.honest.fit import train_honest
from sklar.training.joint.fit import train_joint

Train = Callable[..., Trained]  # parameters, data, task, k and a seed


class CopulaEstimator(Views, Exports, OneToOneFeatureMixin, TransformerMixin, CopulaParameters):
    """Everything but the task (classifier, regressor) and the mask (selector, ranker)."""

    fitted_: ClassVar[FittedModel]  # all that fit leaves behind, of each instance

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: Names | None = None,
        max_rows: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn which features decide each row.

        Parameters
        ----------
        X : table, (n, d): numpy, pandas, polars or pyarrow; numbers, booleans, categories or text, also missing
            A value that is missing later alone is hidden; a column without any value is never selected.
            Or a sparse matrix of numbers (read as CSR), nothing in it missing. Or a table larger than memory: the path
            of a Parquet or Arrow file, a folder or a pattern of them, an Arrow dataset, a DuckDB relation.
        y : target, (n,); several, (n, targets); or for loss="cox" a structured array of an event and a time
        sample_weight : what each row counts, (n,), from 0: 2 is a row twice, 0 none; None is 1 for all
            Of a file the name of its column.
        target : of a file, dataset or query, instead of y: the column, or columns, to predict
            With loss="cox" two, the event and the time.
        max_rows : of a file, dataset or query the rows to train on, at most, drawn uniformly; None is what 2 GiB hold
            Others of the table take their places while the training goes on (docs/guides/scale.md says when not).
        checkpoint : folder that the fit keeps itself in, about every minute; None is none
            The same call again, after a kill, goes on from there and ends with the same result.

        Returns
        -------
        self
        """
        check_params(self)
        params, device = self.get_params(deep=False), resolve_device(self.device)
        plain_parameters(params)  # what cannot be saved is refused before the work
        asked = Request(target, sample_weight, max_rows, type(self).__name__, params)
        table, encoding, reader = read_rows(X, y, asked)
        schema = Schema.of(table, params, encoding)
        k = self._features_per_row(schema.gating.gates)
        encoded = self._encode_target(table.y, table.weight)
        require_predictor(self.predictor, encoded)
        honest, least = self.objective == "honest", params.get("min_features", 0)
        schema, data, copies = prepare(schema, table.rows, encoded, k, device, screen=honest, least=least)
        if reader is not None:
            data = reader.beside(data, table, schema, encoded)
        seed = spawn_seeds(self.random_state, 1)[0]
        train = self._training()
        client = cluster_of(X, self.n_models) if checkpoint is None and train is train_honest else None
        if client is not None:
            trained = train_on(client, Work(params, data, encoded.task, k), seed)
        else:
            with checkpoint_of(checkpoint, type(self).__name__, params, data, encoded.task, seed) as kept:
                seed = kept.seed if kept else seed
                trained = train(params, data, encoded.task, k, seed, kept)
        require_finite_weights(trained.model)
        fitted = FittedModel(
            objective=self.objective,
            schema=schema.only(trained.union),
            network=trained.model.cpu().double().eval(),
            target=encoded.target,
            penalty=trained.penalty,
            path=trained.path,
            history=trained.history,
            device=self.device,
            priced=None if trained.priced is None else trained.priced.cpu().double().eval(),
            replacements=named(schema, trained.replacements),
            copies=copies_read(schema, trained.union, copies),
        )
        return self._adopt(
            with_predictor(fitted, self.predictor, table.rows, encoded, trained.folds, seed, self.verbose)
        )

    def select(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """Which features decide each row: bool (n, d); a DataFrame in gives a DataFrame out.

        This and other answers about rows of a file, dataset or query are Arrow streams (`pyarrow.RecordBatchReader`).

        Parameters
        ----------
        X : rows
        penalty : for selectors, another price of a feature than the chosen `penalty_`, within those of `path_`
        k : for rankers, how many features a row gets, up to the k of `fit`
        """
        return ask(self._fitted.at(penalty, k), "masks", X)

    def selection_proba(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """The probability of each gate, P(z_i = 1 | x): float (n, d).

        For a selector it is sigmoid(alpha_i), of several models (`n_models`) the median. `select` is where it exceeds
        1/2, but for features that stand for each other, of which a row gets one, and for `min_features`. For a ranker
        it is estimated from 256 draws of the copula, which all rows share. `penalty` and `k` are as in `select`.
        """
        return ask(self._fitted.at(penalty, k), "selection_proba", X)

    def selection_frequency(self, X: Any) -> Any:
        """The share of the models (`n_models`) that select each feature of each row: float (n, d).

        With one model it is 0 or 1: `select` as numbers.
        """
        return ask(self._fitted, "votes", X)

    def sample_masks(
        self, X: Any, n_draws: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Draw masks from the learned copula itself: bool (n_draws, n, d)."""
        rows = self._fitted.read(X)
        if not isinstance(n_draws, Integral) or n_draws < 1:
            raise ValueError(f"n_draws must be a whole number from 1; got {said(n_draws)}")
        return self._fitted.draws(rows, int(n_draws), spawn_seeds(random_state, 1)[0])

    def transform(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """X where selected, 0 elsewhere, at full width (n, d); `penalty` and `k` are as in `select`.

        Categories are numbered from 1 in the order of `fitted_.schema.encoding.categories`, unseen ones last; missing
        values that were selected stay missing (NaN).
        """
        return ask(self._fitted.at(penalty, k), "selected_values", X)

    def correlation(self, X: Any) -> Any:
        """The learned correlation R of the gates, averaged over the rows of X, or of one row: (d, d).

        With the honest objective R < 0 says that gates exclude each other, R > 0 that they open together. All rows
        share one R, unless features stand for each other in some rows alone; joint training gives every row its own.
        Which features can stand for each other, `interchangeable` says.
        """
        fitted = self._fitted
        X = one_row(fitted, X) if getattr(X, "shape", None) == (fitted.schema.n_columns,) else X
        return fitted.like(X, fitted.correlation(fitted.read(X)), per_row=False)

    def audit(
        self,
        X: Any,
        y: Any = None,
        *,
        n_refits: int = 1,
        random_state: int | None = 0,
        target: Names | None = None,
    ) -> AuditReport:
        """Does the mask leak the label, and how stable is it? See `sklar.audit.audit`; use rows not fitted on.

        Of a file, dataset or query, `target` names the column of y, and 100,000 rows drawn at random are audited.
        """

        def refit(X: Any, y: Any, seed: int) -> FittedModel:
            return clone(self).set_params(random_state=seed, verbose=False).fit(X, y).fitted_

        X, y = judged_rows(X, y, target, self._fitted)
        return audit(self._fitted, X, y, n_refits=n_refits, random_state=random_state, refit=refit)

    def report(
        self,
        X: Any,
        y: Any = None,
        path: str | PathLike[str] = "report.html",
        *,
        audit: bool | AuditReport = True,
        max_rows: int = 1000,
        title: str | None = None,
        target: Names | None = None,
    ) -> Path:
        """Write a page to explore: one HTML file that works without a network and on a phone.

        Parameters
        ----------
        X, y : rows and targets, best others than those of `fit`
        path : the file to write
        audit : run the audit (it trains small predictors: seconds to a minute); False leaves it out, an AuditReport is
            shown as it is
        max_rows : rows in the page's table, at most (and so many that the page stays below 3 MB), evenly spread; the
            page's numbers are of all rows
        title : of the page
        target : of a file, dataset or query the column of y; 100,000 of its rows, drawn at random, make the page

        Returns
        -------
        Path
            of the file

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = selector.report(X, X[:, 0], f"{folder}/report.html", audit=False).read_text()
        >>> page.startswith("<!doctype html>")
        True
        """
        progress = to_stderr if self.verbose else lambda text: None
        X, y = judged_rows(X, y, target, self._fitted)
        return write_report(self._fitted, X, y, path, audit=audit, max_rows=max_rows, title=title, progress=progress)

    @property
    def n_models_(self) -> int:
        """How many models were trained; the parameter may have changed since."""
        return self._fitted.n_models

    def __sklearn_tags__(self) -> Tags:
        """Say that y is needed, that values may be missing, and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _fitted(self) -> FittedModel:
        """The fitted model, answering on the device that the parameter names now."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.on(self.device)

    def _adopt(self, fitted: FittedModel) -> Self:
        """Set all that `fit` sets, at once: a fit that fails or is interrupted leaves the estimator as it was."""
        schema = fitted.schema
        learned = {
            "fitted_": fitted,
            "n_features_in_": schema.n_columns,
            "union_": schema.columns,
            "penalty_": fitted.penalty,
            "path_": fitted.path,
            "history_": fitted.history,
        }
        if fitted.target.classes is not None:
            learned["classes_"] = fitted.target.classes
        if schema.labels == "text":
            learned["feature_names_in_"] = np.array(schema.names, dtype=object)
        earlier = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        self.__dict__ = earlier | learned
        return self

    def _training(self) -> Train:
        """What trains as the parameters say."""
        return {"honest": train_honest, "joint": train_joint}[self.objective]

    # What subclasses fill in.

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> EncodedTarget:
        """Numbers to learn, what to learn them by, and what rows count."""
        raise NotImplementedError

    def _features_per_row(self, gates: Gates) -> int | None:
        """Exactly how many features per row gets, or None for as many as it needs."""
        raise NotImplementedError
