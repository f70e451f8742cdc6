"""What the benchmarks share: time on any device, memory of a child process, and a line of a table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import torch


def seconds(work: Callable[[], object], device: torch.device | str = "cpu", repeats: int = 5, warm: int = 1) -> float:
    """The quickest of some runs, after some that do not count."""
    return quickest([work], device, repeats, warm)[0]


def quickest(
    rivals: list[Callable[[], object]], device: torch.device | str = "cpu", repeats: int = 5, warm: int = 1
) -> list[float]:
    """The quickest run of each rival; they take turns, so that a busy machine slows all alike."""
    best = [float("inf")] * len(rivals)
    for turn in range(warm + repeats):
        for index, work in enumerate(rivals):
            wait(device)
            start = time.perf_counter()
            work()
            wait(device)
            if turn >= warm:
                best[index] = min(best[index], time.perf_counter() - start)
    return best


def replayed(work: Callable[[], object]) -> Callable[[], object]:
    """`work` captured as a graph of the GPU."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def wait(device: torch.device | str) -> None:
    """Until the device has done all it was given."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def extra_memory(work: Callable[[], object], device: torch.device) -> float:
    """Bytes that a GPU's allocator takes for `work` beyond what was there, at the peak."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(device) - before


PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20
"""  # GiB, of this process alone


def in_child(code: str, *words: object) -> list[float]:
    """Numbers on the last line that a fresh interpreter prints; `peak()` is known there."""
    command = [sys.executable, "-c", PEAK + code, *map(str, words)]
    finished = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(finished.stderr.strip().splitlines()[-1] if finished.stderr else "a child died")
    return [float(word) for word in finished.stdout.strip().splitlines()[-1].split()]


def table(title: str, columns: tuple[str, ...]) -> None:
    """Print a title and the head of a table."""
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns), flush=True)


def line(*cells: object) -> None:
    """Print a line of the table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
