"""The scikit-learn contract, shared by all four estimators: check, scale, train; then answer in blocks of rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
from torch import Tensor

from sklar.estimators.frames import frame_like
from sklar.estimators.scaling import Scaling, require_finite
from sklar.model.blocks import correlated_blocks
from sklar.model.selection import Architecture, GateModel
from sklar.training.joint import Fitted, Split, fit_joint
from sklar.training.loop import LoopSettings
from sklar.training.objectives import Task
from sklar.training.runtime import generator_on, resolve_device, spawn_seeds

# Fewer rows than this are all needed for training: none is kept aside for early stopping.
FEWEST_ROWS_TO_SPLIT = 50
# Entries of the widest array that answering a block of rows may make (float64: 16 MiB).
BLOCK_ENTRIES = 2**21


class CopulaEstimator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Everything but the task (classifier, regressor) and the mask (selector, ranker).

    Networks train in float32 and answer in float64, so that what a row gets does not depend on rounding, and
    hence not on which other rows are in the call.
    """

    def fit(self, X: Any, y: Any) -> CopulaEstimator:
        """Learn which features decide each row.

        Parameters
        ----------
        X : table of numbers, (n, d): numpy, pandas, polars or pyarrow
        y : target, (n,)

        Returns
        -------
        self
        """
        self._validate_params()
        device = resolve_device(self.device)
        X, y = validate_data(
            self, X, y, dtype="numeric", ensure_all_finite=False, ensure_min_samples=2, y_numeric=False
        )
        names = self._names()
        require_finite(X, names)
        self._check_width(X.shape[1])
        target, task = self._encode_target(y)
        self.scaling_ = Scaling.of(X, names)
        split_seed, model_seed = spawn_seeds(self.random_state, 2)
        split = self._split(X, target, split_seed, device)
        fitted = self._train(split, task, model_seed)
        self.model_ = fitted.model.cpu().double().eval()
        self.penalty_, self.path_, self.history_ = fitted.penalty, fitted.path, fitted.history
        return self

    def select(self, X: Any) -> Any:
        """Which features decide each row: bool (n, d); a DataFrame in gives a DataFrame out."""
        return self._per_feature(X, lambda model, x: model.decide(model.scores(x)), bool)

    def sample_masks(
        self, X: Any, n_draws: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Draw masks from the learned copula itself: bool (n_draws, n, d)."""
        rows = self._check_rows(X)
        device = resolve_device(self.device)
        generator = generator_on(device, spawn_seeds(random_state, 1)[0])
        masks = np.empty((n_draws, *rows.shape), dtype=bool)
        for part, model, x in self._blocks(rows, self._widest_draw()):
            choice = model.gates(x)
            for index in range(n_draws):
                draw = model.sample(choice, choice.scores.shape[:-1], generator)
                masks[index, part] = (draw[0] > 0.5).cpu().numpy()
        return masks

    def correlation(self, X: Any) -> Any:
        """The learned correlation R of the gates, averaged over the rows of X: (d, d)."""
        rows = self._check_rows(X)
        total = np.zeros((rows.shape[1], rows.shape[1]))
        for _, model, x in self._blocks(rows, rows.shape[1] * max(rows.shape[1], self._widest_draw())):
            covariance = model.covariance(model.gates(x))
            total += covariance.correlation().expand(1, x.shape[1], -1, -1).sum((0, 1)).cpu().numpy()
        return frame_like(X, total / len(rows), self._names(), per_row=False)

    def transform(self, X: Any) -> np.ndarray:
        """X where selected, 0 elsewhere, at full width (n, d)."""
        rows = self._check_rows(X)
        masks = self._map_rows(rows, lambda model, x: model.decide(model.scores(x)), rows.shape[1], bool)
        return np.where(masks, rows, np.zeros((), dtype=rows.dtype))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file that `sklar.load` reads without running code."""
        from sklar.estimators.files import save

        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        """Say that y is needed and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # What subclasses fill in.

    def _encode_target(self, y: np.ndarray) -> tuple[np.ndarray, Task]:
        raise NotImplementedError

    def _architecture_words(self) -> dict[str, Any]:
        """The words of Architecture that only a selector or only a ranker has."""
        raise NotImplementedError

    def _check_width(self, n_features: int) -> None:
        """Refuse what does not go with this number of features."""

    # Training.

    def _split(self, X: np.ndarray, target: np.ndarray, seed: int, device: torch.device) -> Split:
        n_held = round(self.validation_fraction * len(X)) if len(X) >= FEWEST_ROWS_TO_SPLIT else 0
        order = np.random.default_rng(seed).permutation(len(X))
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        tensors = (
            torch.from_numpy(array).to(device)
            for rows in (kept, held)
            for array in (self.scaling_.apply(X[rows]).astype(np.float32), target[rows])
        )
        return Split(*tensors)

    def _train(self, split: Split, task: Task, seed: int) -> Fitted:
        n_features = split.x.shape[1]
        blocks = correlated_blocks(split.x.cpu().numpy()) if self.covariance == "block" else ()
        architecture = Architecture(
            n_features=n_features,
            n_outputs=task.n_outputs,
            covariance=self.covariance,
            rank=min(self.get_params(deep=False)["rank"], n_features),
            blocks=blocks,
            temperature=float(self.temperature),
            choice_hidden=self.choice_hidden,
            predict_hidden=self.predict_hidden,
            activation=self.activation,
            loadings_activation=self.loadings_activation,
            **self._architecture_words(),
        )
        settings = LoopSettings(
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            patience=self.patience,
            verbose=bool(self.verbose),
        )
        return fit_joint(split, task, architecture, getattr(self, "penalty", 0.0), settings, seed)

    # Answering.

    def _names(self) -> list[str]:
        return [str(name) for name in _check_feature_names_in(self)]

    def _check_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=False)
        require_finite(rows, self._names())
        return rows

    def _blocks(self, rows: np.ndarray, width: int) -> Iterator[tuple[slice, GateModel, Tensor]]:
        """Blocks of rows, scaled, on the device, with the model there: bounded memory for any number of rows."""
        device = resolve_device(self.device)
        model = self.model_ if device.type == "cpu" else copy.deepcopy(self.model_).to(device)
        size = max(1, BLOCK_ENTRIES // max(width, self.choice_hidden, self.predict_hidden))
        with torch.inference_mode():
            for start in range(0, len(rows), size):
                part = slice(start, start + size)
                yield part, model, torch.from_numpy(self.scaling_.apply(rows[part])).unsqueeze(0).to(device)

    def _map_rows(
        self,
        rows: np.ndarray,
        answer: Callable[[GateModel, Tensor], Tensor],
        width: int,
        dtype: type,
    ) -> np.ndarray:
        """`answer` for every row: (n, width)."""
        result: np.ndarray = np.empty((len(rows), width), dtype=dtype)
        for part, model, x in self._blocks(rows, rows.shape[1]):
            result[part] = answer(model, x)[0].cpu().numpy()
        return result

    def _per_feature(self, X: Any, answer: Callable[[GateModel, Tensor], Tensor], dtype: type) -> Any:
        rows = self._check_rows(X)
        return frame_like(X, self._map_rows(rows, answer, rows.shape[1], dtype), self._names())

    def _outputs(self, X: Any) -> np.ndarray:
        """PredictNet's outputs on the selected features: (n, out)."""

        def answer(model: GateModel, x: Tensor) -> Tensor:
            return model.output(x, model.decide(model.scores(x)).to(x.dtype))

        return self._map_rows(self._check_rows(X), answer, self.model_.architecture.n_outputs, float)

    def _widest_draw(self) -> int:
        """Entries of L for one row."""
        loadings = self.model_.choice.loadings
        return 1 if loadings is None else loadings.weight.shape[-1]
