"""CUDA graphs: on a GPU a step that is the same work every time is captured once and replayed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")
EAGER_STEPS = 3  # a graph may be captured only after its step ran a few times


def graphed(step: Callable[[], Result], generator: torch.Generator, alone: bool = True) -> Callable[[], Result]:
    """The step, captured and replayed where its generator is on a GPU; on a CPU, or with other processes, as it is."""
    return GraphedStep(step, generator) if alone and generator.device.type == "cuda" else step


class GraphedStep(Generic[Result]):
    """A step without arguments on a GPU. What a replay returns the next one overwrites."""

    def __init__(self, step: Callable[[], Result], generator: torch.Generator) -> None:
        self.step, self.generator = step, generator
        self.stream = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.captured: list[Result] = []  # what the graph writes
        self.n_eager = 0

    def __call__(self) -> Result:
        """Do the step."""
        if self.n_eager < EAGER_STEPS:
            self.n_eager += 1
            return self._eagerly(self.stream)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            self.graph.register_generator_state(self.generator)
            with _without_collection(), torch.cuda.graph(self.graph):
                self.captured.append(self.step())
        self.graph.replay()
        return self.captured[0]

    def _eagerly(self, stream: torch.cuda.Stream) -> Result:
        """On a side stream, as a step must run before it is captured."""
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self.step()
        torch.cuda.current_stream().wait_stream(stream)
        return result


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection inside: an older graph that is freed while another is captured would invalidate it."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class BatchStep:
    """A training step on a batch of row numbers: on a GPU, batches of the first batch's size replay one graph."""

    def __init__(self, step: Callable[[Tensor], Tensor], device: torch.device, generator: torch.Generator) -> None:
        self.step = step
        self.on_gpu = device.type == "cuda"
        self.rows: Tensor | None = None  # what the graph reads
        self.graphed = graphed(self._of_rows, generator)

    def __call__(self, rows: Tensor) -> Tensor:
        """Do the step; return its loss."""
        if not self.on_gpu or (self.rows is not None and rows.shape != self.rows.shape):
            return self.step(rows)
        if self.rows is None:
            self.rows = rows.clone()
        self.rows.copy_(rows)
        return self.graphed().clone()

    def _of_rows(self) -> Tensor:
        assert self.rows is not None
        return self.step(self.rows)
