"""Line 3: masks from correlated noise, with gradient: L xi + sigma * eps against the paper's Cholesky factorisation.

Both start from the same head of every row (loadings and sigma before their activations), end in a mask, and run
backward. The paper's pipeline is Algorithm 1 as printed. Both get the same number of runs, of which the quickest
counts. Where a whole batch of the rival's d x d matrices would not fit, it is timed on fewer rows and scaled in
proportion; the output says so, and gives its time per row at half as many rows, to show whether proportion holds.

    python benchmarks/bench_copula.py
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from measure import line, quickest, replayed, table
from torch import Tensor

from sklar import kernels
from sklar.model.copula import logistic
from sklar.training.engine.runtime import resolve_device

TARGETS = {("cpu", 100): 40, ("cpu", 784): 200, ("cuda", 784): 500}
LARGEST_BATCH_ENTRIES = 2e7  # of Sigma, for the rival: beyond, fewer rows are timed


def papers(head: Tensor, rank: int) -> Tensor:
    """Algorithm 1: Sigma, its Cholesky factor V, q = V zeta, u_i = Phi(q_i / sqrt(Sigma_ii)); then a relaxed mask."""
    parts = head.unflatten(-1, (rank + 1, -1))
    loadings, sigma = parts[:, :rank].tanh().mT, parts[:, rank].relu()
    covariance = loadings @ loadings.mT + torch.diag_embed(sigma.square())
    factor = torch.linalg.cholesky(covariance)
    q = (factor @ torch.randn_like(sigma).unsqueeze(-1)).squeeze(-1)
    return torch.sigmoid(logistic(q / covariance.diagonal(dim1=-2, dim2=-1).sqrt()))


def ours(head: Tensor, rank: int) -> Tensor:
    """From the head to the mask in one pass, as joint training draws it."""
    rows, d = head.shape[0], head.shape[1] // (rank + 1)
    eps, xi = torch.randn(rows, d, device=head.device), torch.randn(rows, rank, device=head.device)
    return kernels.low_rank_mask(torch.zeros_like(eps), head, xi, eps, 1.0)


def head_of(rows: int, d: int, rank: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    loadings, sigma = torch.randn(rows, d * rank, generator=generator), torch.rand(rows, d, generator=generator)
    return torch.cat([loadings, 0.5 + sigma], dim=-1)


def work_of(pipeline: Callable[[Tensor, int], Tensor], rows: int, d: int, rank: int, device: torch.device):
    head = head_of(rows, d, rank).to(device).requires_grad_()

    def work() -> None:
        head.grad = None
        pipeline(head, rank).sum().backward()

    return work


def compare(batch: int, d: int, rank: int, repeats: int, device: torch.device) -> None:
    largest = LARGEST_BATCH_ENTRIES * (40 if device.type == "cuda" else 1)
    rows = max(1, min(batch, int(largest / d**2)))
    half = max(1, rows // 2)
    rivals = [work_of(ours, batch, d, rank, device), work_of(papers, rows, d, rank, device)]
    if rows < batch:
        rivals.append(work_of(papers, half, d, rank, device))
    if device.type == "cuda":  # as training runs it; the rival's time is not in its launches
        rivals[0] = replayed(rivals[0])
    fast, *slow = quickest(rivals, device, repeats)
    total, note = slow[0] / rows * batch, ""
    if rows < batch:
        note = f" ({rows} rows, scaled: {1e3 * slow[0] / rows:.1f} ms a row, {1e3 * slow[1] / half:.1f} at {half} rows)"
    target = TARGETS.get((device.type, d))
    cells = (f"{1e3 * fast:.2f} ms", f"{1e3 * total:.0f} ms{note}", f"{total / fast:.0f}x")
    line(d, *cells, f"at least {target}x" if target else "-")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat: does it run?")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args(arguments)
    device = resolve_device(args.device)
    batch, repeats, widths = (20, 1, (10, 30)) if args.quick else (args.batch, args.repeats, (100, 784))
    title = f"3. Draw and gradient against Cholesky, {device.type}, batch {batch}, rank {args.rank}, float32"
    table(title, ("d", "sklar", "Cholesky", "ratio", "target"))
    for d in widths:
        compare(batch, d, args.rank, repeats, device)


if __name__ == "__main__":
    main()
