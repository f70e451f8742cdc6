"""Correlated noise with its gradient: ours, L xi + sigma * eps, against the paper's Cholesky of L L^T + diag(sigma^2).

Both start from the same loadings and sigma of every row, end in logistic noise, and run backward to both. The paper's
pipeline is Algorithm 1 as printed. Both get the same number of runs, of which the quickest counts. Where a whole
batch of the rival's d x d matrices would not fit, it is timed on fewer rows and scaled in proportion; the output says
so, and gives its time per row at half as many rows, to show whether proportion holds.

    python benchmarks/bench_copula.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from sklar.model.copula import logistic, standard_draw
from sklar.model.covariance import LowRank

TARGETS = {100: 40, 784: 200}
LARGEST_BATCH_ENTRIES = 2e7  # of Sigma, for the rival: beyond, fewer rows are timed


def ours(loadings: Tensor, sigma: Tensor) -> Tensor:
    return logistic(standard_draw(LowRank(loadings, sigma), tuple(sigma.shape[:-1])))


def papers(loadings: Tensor, sigma: Tensor) -> Tensor:
    """Algorithm 1: Sigma, its Cholesky factor V, q = V zeta, u_i = Phi(q_i / sqrt(Sigma_ii))."""
    covariance = loadings @ loadings.mT + torch.diag_embed(sigma.square())
    factor = torch.linalg.cholesky(covariance)
    q = (factor @ torch.randn_like(sigma).unsqueeze(-1)).squeeze(-1)
    return logistic(q / covariance.diagonal(dim1=-2, dim2=-1).sqrt())


def parameters(rows: int, d: int, rank: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    loadings = torch.randn(rows, d, rank, generator=generator).tanh_()
    sigma = 0.5 + torch.rand(rows, d, generator=generator)
    return loadings.requires_grad_(), sigma.requires_grad_()


def seconds(pipeline: Callable[[Tensor, Tensor], Tensor], rows: int, d: int, rank: int, repeats: int) -> float:
    """The quickest of `repeats` draws with their backward pass, after one to warm up that does not count."""
    loadings, sigma = parameters(rows, d, rank)
    times = []
    for _ in range(repeats + 1):
        loadings.grad = sigma.grad = None
        start = time.perf_counter()
        pipeline(loadings, sigma).sum().backward()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def compare(batch: int, d: int, rank: int, repeats: int) -> str:
    rows = max(1, min(batch, int(LARGEST_BATCH_ENTRIES / d**2)))
    fast = seconds(ours, batch, d, rank, repeats)
    per_row = seconds(papers, rows, d, rank, repeats) / rows
    slow, note = per_row * batch, ""
    if rows < batch:
        at_half = seconds(papers, rows // 2, d, rank, repeats) / (rows // 2)
        note = f" ({rows} rows, scaled: {1000 * per_row:.1f} ms a row, {1000 * at_half:.1f} at {rows // 2} rows)"
    target = f"at least {TARGETS[d]}x" if d in TARGETS else "-"
    return f"| {d} | {1000 * fast:.1f} ms | {1000 * slow:.0f} ms{note} | {slow / fast:.0f}x | {target} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat: does it run?")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    batch, repeats, widths = (20, 1, (10, 30)) if arguments.quick else (arguments.batch, arguments.repeats, (100, 784))
    print(f"draw + backward, batch {batch}, rank {arguments.rank}, float32, {torch.get_num_threads()} thread(s)\n")
    print("| d | sklar | Cholesky | ratio | target |")
    print("|---|---|---|---|---|")
    for d in widths:
        print(compare(batch, d, arguments.rank, repeats), flush=True)


if __name__ == "__main__":
    main()
