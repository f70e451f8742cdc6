"""What `fit` leaves behind: a table's schema, the networks and the target, as one object that answers about rows.

Rows are what `read` makes of a table. Every answer is given in blocks of rows, in bounded memory. Networks answer in
float64, so that what a row gets does not depend on rounding, and hence not on which other rows are in the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.asked import at_penalty, is_close, told_k
from sklar.interchange import Interchangeable, interchangeable_groups
from sklar.model.few_rows import MOST_ROWS, FewRows
from sklar.model.honest_model import HonestModel
from sklar.model.row_blocks import RowAnswers, row_blocks
from sklar.model.selection import GateModel
from sklar.model.topk_mask import ranking
from sklar.predictor.answers import UserPredictor
from sklar.table.adapter import adapt
from sklar.table.schema import Schema
from sklar.table.sparse import where_selected
from sklar.target import Target
from sklar.training.engine.loop import Record
from sklar.training.engine.runtime import generator_on, resolve_device
from sklar.training.penalty_path import PenaltyPath
from sklar.training.replacement import MOST_LOST, Replacement

PROBABILITY_DRAWS = 256  # that a ranker's probabilities of selection are estimated from
COPULA_HEAD = "choice.copula.weight"

Answer = Callable[[GateModel, Tensor], Tensor]  # inputs (1, b, D) -> (1, b, ...)


@dataclass(frozen=True)
class FittedModel:
    """A fitted selector or ranker, without the parameters that made it.

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> fitted = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0]).fitted_
    >>> rows = fitted.read(X)
    >>> fitted.masks(rows).shape, fitted.outputs(rows).shape, fitted.draws(rows, 2, seed=0).shape
    ((100, 3), (100, 1), (2, 100, 3))
    """

    objective: str  # "honest" or "joint"
    schema: Schema
    network: GateModel
    target: Target
    penalty: float
    path: PenaltyPath  # what the penalty was chosen from; empty where it was given
    history: list[Record]
    device: str = "auto"
    priced: GateModel | None = None  # what answers at other penalties
    replacements: tuple[Replacement, ...] = ()  # of features by name, as rows of fit judged out of fold bear them out
    copies: tuple[tuple[str, ...], ...] = ()  # columns that say exactly the same, of which the first is read
    predictor: UserPredictor | None = None  # what predicts instead of the networks
    missing_cells: tuple[str, ...] = ()  # what a CSV had in place of missing values, besides empty cells
    decimal: str | None = None  # the sign in its numbers; None where none had any

    @property
    def name(self) -> str:
        """The estimator that fitted it."""
        return self.schema.owner

    @property
    def k(self) -> int | None:
        """Features per row of a ranker; None for a selector."""
        return self.network.architecture.k

    @property
    def n_models(self) -> int:
        """How many models were trained."""
        return max(1, len(getattr(self.network.architecture, "members", ())))

    def at(self, penalty: float | None = None, k: int | None = None) -> FittedModel:
        """The same, answering at another penalty (a selector), or with the best k features (a ranker)."""
        if penalty is not None and self.k is not None:
            raise ValueError("a ranker has no penalty; k says how many features a row gets")
        if k is not None and self.k is None:
            raise ValueError("a selector has no k; penalty says what a feature costs, and features_at(n) which gives n")
        if penalty is not None and not is_close(penalty, self.penalty):
            network = at_penalty(self.priced, self.path, self.penalty, penalty)
            return replace(self, network=network, penalty=float(penalty))
        if k is not None and k != self.k:
            return replace(self, network=told_k(self.network, self.priced, self.path, k))
        return self

    def on(self, device: str) -> FittedModel:
        """The same, answering on a device: "auto", "cpu" or "cuda"."""
        return self if device == self.device else replace(self, device=device)

    def read_from(self, targets: Sequence[str], missing_cells: Sequence[str], decimal: str | None) -> FittedModel:
        """The same, knowing the file of fit: its target columns, its cells for missing values, its decimal sign."""
        target = replace(self.target, names=tuple(targets))
        return replace(self, target=target, missing_cells=tuple(missing_cells), decimal=decimal)

    def read(self, X: Any) -> Any:
        """The rows of a table, checked against that of `fit`: float64 (n, d), categories as codes; or CSR."""
        return self.schema.read(X)

    def like(self, X: Any, values: Any, per_row: bool = True) -> Any:
        """Answers about columns (n, d) as the same kind of table as X; `per_row` keeps the labels of its rows."""
        return adapt(X).like(values, list(self.schema.names), per_row)

    # Features.

    def masks(self, rows: Any) -> Any:
        """Which features decide each row: bool (n, d); sparse for sparse rows."""
        if (few := self._few_rows(rows)) is not None:
            return self.schema.widen(rows, few.mask(self.schema.inputs(rows)))
        return self._per_column(rows, lambda network, x: network.mask(x))

    def scores(self, rows: Any) -> np.ndarray:
        """alpha: above 0 is more probable than not, larger ranks higher; -inf for columns not read: (n, d)."""
        inside = self._map(rows, lambda network, x: network.ordered(x))
        wide = np.full(rows.shape, -np.inf)
        wide[:, self.schema.columns] = inside[:, self.schema.gates]
        return wide

    def selection_proba(self, rows: Any) -> Any:
        """P(z_i = 1 | x), the probability of the gates: float (n, d).

        sigmoid(alpha) for a selector; for a ranker estimated from draws that all rows share, so that a row's answer
        does not depend on the others.
        """
        if self.k is None:
            return self._per_column(rows, lambda network, x: torch.sigmoid(network.gate_scores(x)))
        return self._per_column(rows, self._share_of_draws, self._loadings_per_row())

    def votes(self, rows: Any) -> Any:
        """The share of the models that select each feature: float (n, d)."""
        return self._per_column(rows, lambda network, x: network.votes(x), self.n_models * len(self.schema.columns))

    def draws(self, rows: Any, n_draws: int, seed: int) -> np.ndarray:
        """Masks drawn from the copula: bool (n_draws, n, d)."""
        generator = generator_on(resolve_device(self.device), seed)
        masks = np.zeros((n_draws, *rows.shape), dtype=bool)
        for part, network, x in self.blocks(rows, self._loadings_per_row()):
            choice = network.gates(x)
            for index in range(n_draws):
                draw = network.draw(choice, choice.scores.shape[:-1], generator)
                masks[index, part][:, self.schema.columns] = draw[0].cpu().numpy()[:, self.schema.gates]
        return masks

    def ranks(self, rows: Any) -> np.ndarray:
        """The k features of each row, best first, as column numbers: int (n, k); a group by its first column.

        Features that have nothing to show (see `withheld`) are last; where fewer than k have, `masks` leaves them out.
        """
        return self.schema.first_columns[self._map(rows, lambda network, x: ranking(network.ordered(x), self.k or 0))]

    def places(self, rows: Any, level: float) -> np.ndarray:
        """Lowest and highest place that a share of the models gives the features of `ranks`: int (n, k, 2)."""
        result = np.empty((rows.shape[0], self.k or 0, 2), dtype=int)
        for part, network, x in self.blocks(rows, self.n_models * len(self.schema.columns)):
            listed = ranking(network.ordered(x), self.k or 0)  # (1, b, k)
            places = network.places(x)  # (models, b, w)
            of_listed = places.gather(-1, listed.expand(len(places), -1, -1)).cpu().numpy()
            edges = np.quantile(of_listed, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
            result[part] = np.moveaxis(edges, 0, -1)
        return result

    def selected_values(self, rows: Any) -> Any:
        """The rows where selected, 0 elsewhere; categories are numbered from 1: (n, d)."""
        encoding = self.schema.encoding
        values = rows + [kept is not None for kept in encoding.categories] if encoding.has_text else rows
        return where_selected(values, self.masks(rows))

    # Dependence.

    def correlation(self, rows: Any = None) -> np.ndarray:
        """R of the gates, averaged over rows: (d, d); 1 inside a group, 0 for columns that are not read.

        Without rows it is the part that all rows share; joint training gives every row its own.
        """
        if rows is None:
            if self.objective == "joint":
                raise ValueError("with objective='joint' every row has its own correlation: pass X")
            rows = self.schema.encoding.scaling.centre[np.newaxis]
            return replace(self, network=self.network.shared()).correlation(rows)
        columns, gates = self.schema.columns, self.schema.gates
        result = np.eye(self.schema.n_columns)
        result[np.ix_(columns, columns)] = self._gate_correlation(rows)[np.ix_(gates, gates)]
        return result

    def interchangeable(self, most_lost: float = MOST_LOST) -> list[Interchangeable]:
        """Groups of features of which each stands for each, losing at most a share of what one is worth."""
        return interchangeable_groups(self.schema.names, self.replacements, self.copies, most_lost)

    def withheld(self, rows: Any) -> np.ndarray:
        """Where a value is missing here and was in no row of fit, so that it cannot be selected: bool (n, d)."""
        return self.schema.absent(rows)

    # Predictions.

    def outputs(self, rows: Any) -> np.ndarray:
        """What is predicted from the selected features: logits or values, (n, out)."""
        few = self._few_rows(rows) if self.predictor is None else None
        if few is not None:
            x = self.schema.inputs(rows)
            return few.output(x, few.mask(x))
        return self._map(rows, lambda network, x: self.output_of(network, x, network.mask(x).to(x.dtype)))

    def output_of(self, network: GateModel, x: Tensor, mask: Tensor) -> Tensor:
        """What is predicted from the gates that a mask (1, b, w) opens, by the network or the user's predictor.

        `network` and its inputs x (1, b, D) are as `blocks` gives them; (1, b, out).
        """
        return network.output(x, mask) if self.predictor is None else self.predictor.output(network, x, mask)

    def predictions(self, rows: Any) -> np.ndarray:
        """Classes or values from the selected features alone: (n,) or (n, targets)."""
        return self.target.predictions(self.outputs(rows))

    def probabilities(self, rows: Any) -> np.ndarray:
        """P(class) from the selected features alone: (n, classes)."""
        return self.target.probabilities(self.outputs(rows))

    # Blocks.

    def blocks(self, rows: Any, width: int = 1) -> Iterator[tuple[slice, GateModel, Tensor]]:
        """Parts of the rows, the network, and its inputs x (1, b, D), both on the device.

        Where a value is missing that never was in fit, the network is one that withholds its gate.
        """
        device, n_rows = resolve_device(self.device), rows.shape[0]
        read, widest = partial(self.schema.inputs, rows), self._widest(width)
        for part, network, x in row_blocks(self.network, n_rows, read, device, widest):
            gates = self.schema.withheld(rows, part)
            if gates is not None:
                network = network.withholding(torch.from_numpy(gates).unsqueeze(0).to(device))
            yield part, network, x

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: the networks in numpy are made anew there."""
        return {name: value for name, value in vars(self).items() if name != "_in_numpy"}

    @cached_property
    def _in_numpy(self) -> FewRows | None:
        return FewRows.of(self.network)

    def _few_rows(self, rows: Any) -> FewRows | None:
        """The networks in numpy, where there are so few rows that calling torch takes longest."""
        if rows.shape[0] > MOST_ROWS or self._in_numpy is None or self.schema.withheld(rows) is not None:
            return None
        on_cpu = self.device == "cpu" or (self.device == "auto" and not torch.cuda.is_available())
        return self._in_numpy if on_cpu else None

    def _map(self, rows: Any, answer: Answer, width: int = 1) -> np.ndarray:
        """`answer` for every row: (n, ...)."""
        answers = RowAnswers(rows.shape[0])
        for part, network, x in self.blocks(rows, width):
            answers.put(part, answer(network, x))
        return answers.values

    def _per_column(self, rows: Any, answer: Answer, width: int = 1) -> Any:
        """`answer` about the gates of every row, as columns of the table: (n, d)."""
        return self.schema.widen(rows, self._map(rows, answer, width))

    def _widest(self, width: int) -> int:
        """Entries per row of the widest array that answering makes."""
        a = self.network.architecture
        return max(width, a.n_inputs, a.choice_hidden, 4 * a.predict_hidden)

    def _share_of_draws(self, network: GateModel, x: Tensor) -> Tensor:
        generator = generator_on(x.device, 0)
        choice = network.gates(x)
        total = torch.zeros_like(choice.scores)
        for _ in range(PROBABILITY_DRAWS):
            total += network.draw(choice, (1, 1), generator)
        return total / PROBABILITY_DRAWS

    def _gate_correlation(self, rows: Any) -> np.ndarray:
        """R among the gates, averaged over rows: (gates, gates)."""
        width = self.network.architecture.n_features
        total = np.zeros((width, width))
        for _, network, x in self.blocks(rows, width * max(width, self._loadings_per_row())):
            correlation = network.covariance(network.gates(x)).correlation()
            total += correlation.expand(1, x.shape[1], width, width).sum((0, 1)).cpu().numpy()
        return total / rows.shape[0]

    def _loadings_per_row(self) -> int:
        """Entries of L and sigma for one row; none where all rows share L."""
        heads = sum(value.shape[-1] for name, value in self.network.named_parameters() if name.endswith(COPULA_HEAD))
        parts = [m for m in self.network.modules() if isinstance(m, HonestModel) and m.row_factors is not None]
        return heads + sum(part.loadings.numel() for part in parts)
