"""What a row records about where it was measured: versions, commit, device, memory."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import sklearn
import torch


def versions() -> dict[str, str]:
    """Versions of what the run used."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "sklar": _own_version(),
    }


def _own_version() -> str:
    try:
        return version("sklar")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "source"


@lru_cache
def commit() -> str:
    """The commit of the source tree, "+" where files differ from it; `$SKLAR_COMMIT` where there is no git."""
    given = os.environ.get("SKLAR_COMMIT")
    if given:
        return given
    folder = Path(__file__).parent
    try:
        head = _git(folder, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def device_name(device: torch.device) -> str:
    """The name of the device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu ({platform.machine()})"


def reset_peak_memory(device: torch.device) -> None:
    """Measure the peak of memory from here on, where that can be done."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_mebibytes(device: torch.device) -> float:
    """The peak of the GPU's memory or, on a CPU, of the process's."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
