"""How far a training is, and how long the rest takes: its parts weighed by what a step of each costs.

On a terminal it is one bar; elsewhere (a log, a pipe) one line a part.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

FIRST_DRAWN = 2.0  # seconds from the start
BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


class Part(NamedTuple):
    """A part of a training."""

    name: str
    steps: int
    cost: float = 1.0  # of a step, in any unit that all parts share


class Progress(tqdm):
    """A bar of several parts, which come in this order; `update` is called once a step, or with a number of steps.

    Examples
    --------
    >>> import io
    >>> log = io.StringIO()
    >>> with Progress([Part("predictors", 2), Part("selector", 1, cost=4.0)], file=log) as progress:
    ...     for _ in range(3):
    ...         progress.update()
    >>> print(log.getvalue(), end="")
    training: predictors, part 1 of 2 (0 % of the time)
    training: selector, part 2 of 2 (33 % of the time)
    """

    disable, on_terminal = True, False  # until it is made: Ctrl-C may come before that

    def __init__(self, parts: Sequence[Part], verbose: bool = True, file: Any = None) -> None:
        file = sys.stderr if file is None else file
        self.parts = [part for part in parts if part.steps]
        self.on_terminal = bool(getattr(file, "isatty", bool)())
        self.place, self.left = -1, 0  # the present part, and its steps that are left
        total = sum(part.steps * part.cost for part in self.parts)
        # With smoothing 0 the speed is the mean of all that was done: costs are weighed, so it is that of the rest. The
        # first steps are many times slower, and a bar drawn then would say minutes for seconds.
        super().__init__(
            total=total,
            file=file,
            disable=not verbose,
            leave=False,
            dynamic_ncols=True,
            smoothing=0,
            bar_format=BAR,
            delay=FIRST_DRAWN,
        )

    def update(self, n: float | None = 1) -> bool | None:
        """So many steps more."""
        if self.disable:
            return None
        return super().update(sum(self._costs(int(n or 0))))

    def skip(self, n: int) -> None:
        """So many steps more, which an earlier run did: they say nothing about how long the rest takes."""
        if self.disable or n < 1:
            return
        before = self.n
        self.update(n)
        self.initial += self.n - before
        said = f"resumed at {100 * self.n / (self.total or 1):.0f} %"
        self.set_postfix_str(said, refresh=False)
        if not self.on_terminal:
            self.fp.write(f"training: {said} of the time\n")
            self.fp.flush()

    def display(self, msg: str | None = None, pos: int | None = None) -> bool | None:
        """Draw the bar; elsewhere than on a terminal the lines say enough."""
        return super().display(msg, pos) if self.on_terminal else None

    def close(self) -> None:
        """Leave no trace of the bar."""
        self.on_terminal, shown = False, self.on_terminal
        if shown and not self.disable:
            self.clear()
        super().close()

    def _costs(self, n: int) -> Iterator[float]:
        for _ in range(n):
            while self.left == 0 and self.place + 1 < len(self.parts):
                self._begin(self.place + 1)
            self.left = max(0, self.left - 1)
            yield self.parts[self.place].cost if self.parts else 0.0

    def _begin(self, place: int) -> None:
        self.place, part = place, self.parts[place]
        self.left = part.steps
        self.set_description_str(f"training: {part.name}", refresh=False)
        if not self.on_terminal:
            before = sum(other.steps * other.cost for other in self.parts[:place])
            share = f"{100 * before / (self.total or 1):.0f} % of the time"
            self.fp.write(f"training: {part.name}, part {place + 1} of {len(self.parts)} ({share})\n")
            self.fp.flush()
