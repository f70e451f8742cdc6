"""Many small steps, quickly: on a GPU a step is captured once as a graph and replayed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Result = TypeVar("Result")
EAGER_STEPS = 3  # a graph may be captured only after its step ran a few times
LARGE = 32_000_000  # bytes, just below the largest that glibc's malloc learns from
SLICE, LARGEST_SLICED = 8192, 2**20  # entries of a tensor


def repeat(
    step: Callable[[], object],
    n_steps: int,
    before: Callable[[int], object],
    device: torch.device,
    generator: torch.Generator,
) -> None:
    """Call `before(k)` and `step()` for k = 0 .. n_steps - 1. `step` must be the same work every time."""
    if device.type == "cpu":
        # malloc keeps freed blocks up to the size of the largest it has ever freed, and gives larger ones back: without
        # this one, a step may have to ask for all its pages again.
        torch.empty(LARGE, dtype=torch.uint8)
    eager = n_steps if device.type != "cuda" else min(EAGER_STEPS, n_steps)
    side = torch.cuda.Stream() if device.type == "cuda" else None
    if side is not None:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side) if side is not None else contextlib.nullcontext():
        for k in range(eager):
            before(k)
            step()
    if side is None or eager == n_steps:
        return
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        step()
    for k in range(eager, n_steps):
        before(k)
        graph.replay()


class BatchStep:
    """A training step on a batch of row numbers: on a GPU, batches of the first batch's size replay one graph."""

    def __init__(self, step: Callable[[Tensor], Tensor], device: torch.device, generator: torch.Generator) -> None:
        self.step, self.generator = step, generator
        self.side = torch.cuda.Stream() if device.type == "cuda" else None
        self.rows: Tensor | None = None  # what the graph reads
        self.loss: Tensor | None = None  # what it writes
        self.graph: torch.cuda.CUDAGraph | None = None
        self.eager = 0

    def __call__(self, rows: Tensor) -> Tensor:
        """Do the step; return its loss."""
        if self.side is None or (self.rows is not None and rows.shape != self.rows.shape):
            return self.step(rows)
        if self.rows is None:
            self.rows = rows.clone()
        self.rows.copy_(rows)
        if self.eager < EAGER_STEPS:
            self.eager += 1
            return self._beside(self.rows)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            self.graph.register_generator_state(self.generator)
            with torch.cuda.graph(self.graph):
                self.loss = self.step(self.rows)
        self.graph.replay()
        assert self.loss is not None
        return self.loss.clone()

    def _beside(self, rows: Tensor) -> Tensor:
        """On a stream of its own, as a step must run a few times before it is captured."""
        assert self.side is not None
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            loss = self.step(rows)
        torch.cuda.current_stream().wait_stream(self.side)
        return loss


class Beside:
    """Work that runs beside the rest of a step: small kernels leave most of a GPU idle. On a CPU it runs at once."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.held: list[object] = []  # memory that the work reads must not be given away before it is done

    def start(self, work: Callable[..., Result], *inputs: Tensor) -> Result:
        """Begin; what it returns may be read after `join`."""
        if self.stream is None:
            return work(*inputs)
        self.held.append(inputs)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            return work(*inputs)

    def join(self) -> None:
        """Go on when all that was started is done."""
        if self.stream is not None and self.held:  # a graph must not wait for what it has not captured
            torch.cuda.current_stream().wait_stream(self.stream)
            self.held.clear()


class Meanwhile:
    """Longer work that runs beside the rest of a step: on a GPU as `Beside` does, on a CPU in a second thread.

    A thread only where products are too small to be shared by several, and torch has been given one of them
    (`runtime.threads_for`). An operation leaves the interpreter to the other thread while it computes.
    """

    def __init__(self, device: torch.device) -> None:
        several = device.type == "cpu" and torch.get_num_threads() > 1
        self.pool = ThreadPoolExecutor(1, initializer=lambda: torch.set_num_threads(1)) if several else None
        self.running: Future[object] | None = None
        self.beside = Beside(device)

    def start(self, work: Callable[..., object], *inputs: Tensor) -> None:
        """Begin; what it changes may be read after `join`."""
        if self.pool is not None and torch.get_num_threads() == 1:
            self.running = self.pool.submit(work, *inputs)
        else:
            self.beside.start(work, *inputs)

    def join(self) -> None:
        """Go on when it is done."""
        running, self.running = self.running, None
        if running is not None:
            running.result()
        self.beside.join()


def slices(tensor: Tensor) -> list[Tensor]:
    """Views of a tensor, piece by piece, for torch's operations on many tensors; of a large one, the whole.

    These give 65,536 entries to a block of threads: a small network has few such blocks, and a GPU idles.
    """
    flat = tensor.reshape(-1)
    return list(flat.split(SLICE)) if len(flat) <= LARGEST_SLICED else [flat]


@torch.no_grad()
def follow(average: Sequence[Tensor], weights: Sequence[Tensor], share: float) -> None:
    """Move an average a share of the way to the weights."""
    if weights[0].is_cuda:
        average, weights = ([part for tensor in tensors for part in slices(tensor)] for tensors in (average, weights))
    torch._foreach_lerp_(list(average), list(weights), share)


class SlicedAdamW(torch.optim.AdamW):
    """AdamW that moves weights slice by slice, to the same values."""

    def __init__(self, groups: list[dict[str, Any]], **words: Any) -> None:
        self.parts: list[tuple[nn.Parameter, list[nn.Parameter]]] = []
        for group in groups:
            own = [(weight, [nn.Parameter(part) for part in slices(weight.detach())]) for weight in group["params"]]
            group["params"] = [part for _, parts in own for part in parts]
            self.parts += own
        super().__init__(groups, **words)

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Step by the gradients of the whole weights."""
        for weight, parts in self.parts:
            gradients = [None] * len(parts) if weight.grad is None else slices(weight.grad)
            for part, gradient in zip(parts, gradients, strict=True):
                part.grad = gradient
        super().step(closure)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the whole weights."""
        for weight, parts in self.parts:
            for each in (weight, *parts):
                each.grad = None


def adamw(
    module: nn.Module, learning_rate: float, weight_decay: float, spare: str = "-", memory: float = 0.999
) -> torch.optim.AdamW:
    """AdamW whose decay spares the biases and the parameter `spare`; on a GPU, one that a graph can capture."""
    free = [p for name, p in module.named_parameters() if name.endswith("bias") or name == spare]
    weights = [p for name, p in module.named_parameters() if not name.endswith("bias") and name != spare]
    on_gpu = weights[0].is_cuda
    return (SlicedAdamW if on_gpu else torch.optim.AdamW)(
        [{"params": weights, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}],
        betas=(0.9, memory),
        lr=torch.tensor(learning_rate, device=weights[0].device) if on_gpu else learning_rate,
        fused=True,
        capturable=on_gpu,
    )


def move(optimiser: torch.optim.Optimizer) -> None:
    """Step by the gradients, and drop them."""
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def set_learning_rate(optimiser: torch.optim.Optimizer, learning_rate: float) -> None:
    """Change the rate in place, so that a captured graph sees it."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate


def averaging(average: float, n_steps: int) -> float:
    """The decay of a moving average over a training of n_steps: its memory is at most a tenth of them."""
    return min(average, max(0.0, 1 - 10 / n_steps))


def cosine(k: int, n_steps: int) -> float:
    """From 1 to 0 over the steps."""
    return 0.5 * (1 + math.cos(math.pi * k / n_steps))
