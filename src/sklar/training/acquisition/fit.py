"""Training a ranker that chooses from what it has shown.

    predictors learn from random masks -> rows are asked side by side, question after question; at every state the
    network of the features' worth learns what some of them gain, exactly, and predictors learn on

What a feature gains is the loss without it minus the loss with it, by the predictor that never saw the row: a step of
the predictor's first layer and one small layer (`MaskedPredictor.flip_step`). Given the values shown, its mean is the
worth: gains vary with what is not shown, and the network cannot see that. So nothing about the outcome gets into a
choice but what the values shown say.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sklar.model.acquisition_model import AcquisitionArchitecture, AcquisitionModel
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.acquisition.episodes import Episodes
from sklar.training.acquisition.settings import AcquisitionSettings
from sklar.training.data import Trained, TrainingData
from sklar.training.engine.averaging import AveragedLearner
from sklar.training.engine.checkpoint import Checkpoint
from sklar.training.engine.graphs import graphed
from sklar.training.engine.optim import RateSchedule, adamw
from sklar.training.engine.progress import Part, Progress
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import generator_on, threads_for
from sklar.training.engine.state import State
from sklar.training.honest.draws import Draw, Trial
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors, random_masks
from sklar.training.honest.settings import PredictorSettings
from sklar.training.tasks import Task


def train_acquisition(
    params: dict[str, Any],
    data: TrainingData,
    task: Task,
    k: int | None,
    seed: int,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train as an estimator's parameters say."""
    assert k is not None
    settings = AcquisitionSettings.from_params(params, len(data.x), data.gates.n, k)
    parts = [Part("predictors", settings.warm_steps), Part("questions", settings.steps)]
    with Progress(parts, bool(params["verbose"])) as bar:
        training = AcquisitionTraining(data, task.to(data.x.device), settings, seed)
        with threads_for(data.gates.n):
            training.run(Run(bar, checkpoint))
    union = list(range(data.gates.n))
    return Trained(training.model(), union, 0.0, {}, [{"part": "final", "loss": training.loss, "mean_features": k}])


class AcquisitionTraining:
    """Predictors, the network of the features' worth, and the rows that are being asked."""

    def __init__(self, data: TrainingData, task: Task, settings: AcquisitionSettings, seed: int) -> None:
        self.settings = s = settings
        self.generator = generator_on(data.x.device, seed)
        weight = None if data.weight is None else data.weight[None]
        gates = data.gates.to(data.x.device)
        self.folds = deal(data.x[None], data.y[None], s.n_folds, 0.0, self.generator, gates=gates, weight=weight)
        of_predictors = PredictorSettings(
            hidden=s.hidden,
            learning_rate=s.learning_rate,
            weight_decay=s.predictor_decay,
            sparsity=0.0,  # a feature that few rows are asked for is no less true for that
            ema_decay=s.ema_decay,
            batch_size=s.batch_size,
            k=s.k,
        )
        self.predictors = FoldPredictors(self.folds, task, of_predictors, self.generator, seed)
        start = torch.Generator().manual_seed(seed + 1)
        worth = MaskedPredictor(gates.n, s.worth_hidden, gates.n, 1, start, gates.of_input)
        worth.last.start(0.1, 0.0, start)
        worth.to(data.x.device)
        self.worth = AveragedLearner(worth, adamw(worth, s.learning_rate, s.weight_decay), s.ema_decay)
        self.episodes = Episodes(self.folds, self.predictors.batch_rows, s.k, s.given, self.generator)
        self.mean_squares = torch.ones(s.k + 1, device=data.x.device)  # of gains, by how many features are shown
        self.mattered = torch.ones(gates.n, device=data.x.device)  # what features gain or lose, in units
        self.exploration = torch.zeros((), device=data.x.device)
        self.loss = 0.0

    @property
    def state(self) -> State:
        """All that a step changes."""
        return {
            "worth": self.worth.state,
            "predictors": self.predictors.state,
            "episodes": self.episodes.state,
            "mean_squares": self.mean_squares,
            "mattered": self.mattered,
            "exploration": self.exploration,
        }

    def run(self, run: Run) -> None:
        """All steps."""
        s, predictors = self.settings, self.predictors
        predictors.warm_up(s.warm_steps, run)
        predictors.renew_task()
        predictors.learner.begin(s.steps)
        self.worth.begin(s.steps)
        rates = [
            (self.worth.optimiser, RateSchedule(s.learning_rate, 50)),
            (predictors.learner.optimiser, RateSchedule(s.learning_rate)),
        ]
        step = graphed(self.step, self.generator)
        first, last = s.exploration
        for number in run.steps(s.steps, self.state, rates):
            self.exploration.fill_(first + (last - first) * min(1.0, 2 * number / s.steps))
            step()
        self.loss = self.final_loss()

    def step(self) -> None:
        """Learn from the states as they are, then ask every row one more question."""
        e = self.episodes
        x, y, mask = e.x.flatten(0, 1), e.y.flatten(0, 1), e.mask.flatten(0, 1)  # (F, b, ...)
        worth = self.worth.network(x.flatten(0, 1)[None], mask.flatten(0, 1)[None]).view_as(mask)
        hidden = mask < 0.5
        index = self.candidates(worth.detach(), hidden)
        with torch.no_grad():
            known = hidden.gather(-1, index)
            gains = self.in_units(self.gains(x, y, mask, index), known, mask)
            self.remember(self.mattered, index, gains.abs(), known.to(gains.dtype))
        wrong = (worth.gather(-1, index) - gains) * known
        wrong.square().sum(-1).mean().backward()
        self.worth.step()
        self.worth.update_average()
        self.teach(e.x, e.y, e.mask)
        e.advance(self.questions(worth.detach(), hidden, index))

    def candidates(self, worth: Tensor, hidden: Tensor) -> Tensor:
        """Features whose gains are learned: half those that look best, half at random, more often those that gain."""
        half = max(1, min(self.settings.candidates, worth.shape[-1]) // 2)
        best = worth.masked_fill(~hidden, -torch.inf).topk(half, -1).indices
        # The largest of u^(1 / w) are a sample with weights w (Efraimidis and Spirakis, 2006).
        weight = self.mattered.clamp_min(self.settings.least_chance)
        chance = torch.rand(worth.shape, generator=self.generator, device=worth.device).log() / weight
        chance = chance.masked_fill(~hidden, -torch.inf).scatter(-1, best, -torch.inf)
        return torch.cat([best, chance.topk(min(half, worth.shape[-1] - half), -1).indices], -1)

    def gains(self, x: Tensor, y: Tensor, mask: Tensor, index: Tensor) -> Tensor:
        """Loss as shown minus loss with each of the features `index` (F, b, K) shown too: (F, b, K)."""
        judge = self.predictors.judge
        trial = Trial(judge, self.predictors.task.row_loss, x, y, Draw(mask))
        moved = trial.hidden.unsqueeze(2) + judge.flip_step(x, mask, index)
        return trial.drawn_loss.unsqueeze(-1) - trial.losses(moved)

    def in_units(self, gains: Tensor, known: Tensor, mask: Tensor) -> Tensor:
        """Gains in units of those of rows that show as many: the first answers gain a hundred times what later do."""
        place = mask.sum(-1).long()  # (F, b)
        squares = (gains * known).square().sum(-1) / known.sum(-1).clamp_min(1)
        self.remember(self.mean_squares, place, squares, torch.ones_like(squares))
        return gains / self.unit[place].unsqueeze(-1)

    def remember(self, average: Tensor, index: Tensor, values: Tensor, counted: Tensor) -> None:
        """Move the entries `index` of a running average toward the values that are `counted`."""
        count = torch.zeros_like(average).index_add(0, index.flatten(), counted.flatten())
        total = torch.zeros_like(average).index_add(0, index.flatten(), (values * counted).flatten())
        average.lerp_(torch.where(count > 0, total / count.clamp_min(1), average), 1 - self.settings.memory)

    @property
    def unit(self) -> Tensor:
        """The root mean square of gains, by how many features are shown: (k + 1,)."""
        return self.mean_squares.sqrt().clamp_min(1e-6)

    def questions(self, worth: Tensor, hidden: Tensor, index: Tensor) -> Tensor:
        """What each row is asked next: the best by its worth or, to explore, a candidate: (F, b, 1)."""
        best = worth.masked_fill(~hidden, -torch.inf).argmax(-1, keepdim=True)
        explore, which = torch.rand(2, *best.shape, generator=self.generator, device=worth.device)
        other = index.gather(-1, (which * index.shape[-1]).long())
        usable = hidden.gather(-1, other) & (explore < self.exploration)
        return torch.where(usable, other, best)

    def teach(self, x: Tensor, y: Tensor, mask: Tensor) -> None:
        """Let the predictors learn from the states, which say nothing beyond their values, and from random masks."""
        random = random_masks(mask, self.generator, self.settings.k)
        chance = torch.rand(mask.shape[:-1], generator=self.generator, device=mask.device).unsqueeze(-1)
        self.predictors.learn(x, y, torch.where(chance < self.settings.random_share, random, mask))
        self.predictors.update_judge()

    @torch.no_grad()
    def final_loss(self) -> float:
        """The loss of training rows shown k features, judged out of fold."""
        x, _ = self.folds.training
        model = self.model().to(x.device)
        masks = torch.stack([model.mask(part[None])[0] for part in x.flatten(0, 1)]).to(x.dtype)
        return float(self.predictors.out_of_fold_losses(masks[None]).mean())

    def model(self) -> AcquisitionModel:
        """The model, on the CPU."""
        predictors, gates, s = self.predictors, self.folds.gates, self.settings
        architecture = AcquisitionArchitecture(
            n_features=gates.n,
            n_outputs=predictors.task.n_predicted,
            output_kind=predictors.task.kind,
            k=s.k,
            covariance="independent",
            n_factors=0,
            choice_hidden=s.worth_hidden,
            predict_hidden=s.hidden,
            n_folds=self.folds.n_folds,
            gate_of_input=() if gates.of_input is None else tuple(gates.of_input.tolist()),
            forced=() if gates.forced is None else tuple(torch.nonzero(gates.forced).squeeze(1).tolist()),
        )
        model = AcquisitionModel(architecture, torch.Generator())
        model.worth.load_state_dict({key: value.cpu() for key, value in self.worth.average.state_dict().items()})
        model.predictors.load_state_dict({key: value.cpu() for key, value in predictors.judge.state_dict().items()})
        model.unit.copy_(self.unit)
        return model.eval()
