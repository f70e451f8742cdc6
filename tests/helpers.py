"""Shared by the tests: the false-alarm rate of all statistical tests, quick estimators, measured child processes.

Seed policy: seeds are fixed, so a statistical test that passes once passes always. Its false-alarm rate is the
chance that a *correct* program fails it on a fresh seed: FALSE_ALARM a test, shared among its comparisons.
"""

import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import torch

FALSE_ALARM = 1e-6

QUICK = {
    "objective": "joint",
    "max_epochs": 3,
    "batch_size": 64,
    "choice_hidden": 12,
    "predict_hidden": 16,
    "n_factors": 3,
    "device": "cpu",
    "random_state": 0,
}
COVARIANCES = ("low-rank", "full", "block", "independent")


def assert_plausible(p_values):
    """Every p-value above its Bonferroni share of FALSE_ALARM."""
    p_values = np.atleast_1d(np.asarray(p_values, dtype=float)).ravel()
    assert not np.isnan(p_values).any()
    assert p_values.min() > FALSE_ALARM / p_values.size


@contextmanager
def threads(n):
    """Inside, torch has n CPU threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def four():
    """The four estimator classes, each with the words that its kind needs."""
    import sklar

    return {
        sklar.CopulaSelectorClassifier: {"penalty": 0.01},
        sklar.CopulaSelectorRegressor: {"penalty": 0.01},
        sklar.CopulaRankerClassifier: {"k": 2},
        sklar.CopulaRankerRegressor: {"k": 2},
    }


def quick(cls, **words):
    """An estimator that fits in a blink."""
    return cls(**{**QUICK, **four()[cls], **words})


def toy_rows(n=120, d=5, seed=0):
    """Rows, a class and a value that depend on the first two features."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    value = X[:, 0] - 2 * X[:, min(1, d - 1)]
    return X, value


def toy_target(cls, value):
    return value if cls.__name__.endswith("Regressor") else (value > 0).astype(int)


# Prepended to measured children: the peak of this process's own memory, in MiB.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""


def run_python(code, **environment):
    """Standard output of a fresh interpreter with warnings as errors; one thread."""
    if PEAK in code:  # what is freed goes back at once: a peak is not a matter of how the heap was cut up
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def memory_of_fits(folder, params, said):
    """What is `said` of a fit, and the most memory yet (MB), for files of 200,000 and of 1.2 million rows (86 MB)."""
    code = f"""
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from sklar import CopulaSelectorRegressor

def most_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

rng = np.random.default_rng(0)
path = "{folder}/t.parquet"
block = pa.table({{**{{f"x{{j}}": rng.standard_normal(100_000) for j in range(8)}}, "y": rng.standard_normal(100_000)}})
for n_blocks in (2, 12):
    with pq.ParquetWriter(path, block.schema) as writer:
        for _ in range(n_blocks):
            writer.write_table(block)
    words = dict({params}, penalty=0.01, random_state=0, device="cpu", batch_size=1000)
    model = CopulaSelectorRegressor(**words).fit(path, target="y", max_rows=5000)
    print({said}, most_memory())
"""
    return [tuple(map(float, line.split())) for line in run_python(code).splitlines()]
