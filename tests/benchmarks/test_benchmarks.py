"""Each benchmark runs, prints its table and measures its rivals; no test asserts a time."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"
NEEDS = {"bench_select": ("lime", "shap")}


def run_quick(name, *words):
    missing = [module for module in NEEDS.get(name, ()) if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f'needs {" and ".join(missing)}: pip install "sklar[baselines]"')
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--quick", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def ratios(output):
    return [float(text.replace(",", "")) for text in re.findall(r"\| ([\d,.]+)x(?= \|)", output)]


def test_bench_copula():
    output = run_quick("bench_copula")
    assert "| d | sklar | Cholesky | ratio | target |" in output
    assert len(ratios(output)) == 2


def test_bench_select():
    output = run_quick("bench_select")
    assert "LIME" in output
    assert "KernelSHAP" in output
    assert len(ratios(output)) >= 4


def test_every_benchmark_is_in_the_readme():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("bench_*.py"):
        assert f"python benchmarks/{path.name}" in text


def test_the_rival_draws_what_the_paper_says():
    """The Cholesky pipeline is no straw man: same marginals, same correlation as ours (see the contract's oracle)."""
    import torch

    specification = importlib.util.spec_from_file_location("bench_copula", FOLDER / "bench_copula.py")
    bench = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bench)
    loadings, sigma = (value.detach()[:1].expand(20_000, *value.shape[1:]) for value in bench.parameters(1, 4, 2))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        both = [torch.corrcoef(pipeline(loadings, sigma).T) for pipeline in (bench.ours, bench.papers)]
    # Six correlations of 20,000 draws, each with a deviation below 0.0071: 0.06 is beyond six deviations of a
    # difference, a false alarm in less than one of a million fresh seeds.
    torch.testing.assert_close(both[0], both[1], rtol=0, atol=0.06)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bench_fit", "peak memory of the process"),
        ("quality", "d=11, variant=paper: mean over seeds"),
        ("dependence", "difference"),
    ],
)
def test_the_benchmarks_of_honest_training(name, line, tmp_path):
    words = [] if name == "bench_fit" else ["--out", str(tmp_path / "rows.jsonl")]
    assert line in run_quick(name, *words)
    if words:
        rows = [json.loads(text) for text in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
        assert rows
        assert all(0 <= row["tpr"] <= 100 and 0 <= row["fdr"] <= 100 for row in rows)
