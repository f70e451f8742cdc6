"""A fit under way: its loops say how far they are and, with a checkpoint, go on where an earlier run was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sklar.training.engine.checkpoint import Checkpoint
from sklar.training.engine.progress import Progress
from sklar.training.engine.renewal import Renewable, Renewal
from sklar.training.engine.state import State
from sklar.training.engine.steps import Rates, scheduled
from sklar.training.engine.team import ALONE, Team


class Run:
    """What all loops of a fit share: a progress bar, a checkpoint, other processes, new rows; each may be missing.

    Examples
    --------
    >>> import torch
    >>> total = torch.zeros(())
    >>> for k in Run().steps(4, {"total": total}):
    ...     _ = total.add_(k)
    >>> total
    tensor(6.)
    """

    def __init__(
        self,
        bar: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        team: Team = ALONE,
        renewal: Renewal | None = None,
    ) -> None:
        self.bar, self.checkpoint, self.team, self.renewal = bar, checkpoint, team, renewal

    def steps(
        self,
        n_steps: int,
        state: State,
        rates: Rates = (),
        until: Callable[[], bool] = lambda: False,
        rows: Renewable | None = None,
    ) -> Iterator[int]:
        """Numbers of the steps to do, of n_steps, each optimiser then at the rate of its schedule; they end at `until`.

        `state` is all that the steps change and that anything afterwards reads. It must be what it was before the first
        step when this is called, and is what it was after the last one done when this goes on with the next. `rows` are
        renewed between steps; they are no part of the state, and steps that an earlier run did put the same rows in.
        """
        checkpoint = self.checkpoint
        first = done = checkpoint.begin(state, n_steps) if checkpoint else 0
        if self.bar is not None:
            self.bar.skip(first)
        for _ in range(first):
            self._renew(rows)
        for k in scheduled(n_steps, rates, first):
            if until():
                break
            if self.bar is not None:
                self.bar.update()
            self._renew(rows)
            yield k
            done = k + 1
            if checkpoint:
                checkpoint.keep(state, done)
        if checkpoint and done > first:
            checkpoint.end(state, done)

    def _renew(self, rows: Renewable | None) -> None:
        if self.renewal is not None and rows is not None:
            self.renewal.before_step(rows)

    def passed(self, n_steps: int) -> None:
        """So many steps that were planned are not needed."""
        if self.bar is not None:
            self.bar.update(n_steps)
