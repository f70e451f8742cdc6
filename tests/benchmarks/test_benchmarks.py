"""Each benchmark runs, prints its table and measures its rivals; no test asserts a time."""

import json
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def run_quick(monkeypatch, capsys):
    """Runs a benchmark as a script, but in this process, which has torch and scikit-learn loaded already."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # of its child processes

    def run(name, *arguments):
        path = str(FOLDER / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, "--quick", *arguments])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of LIME and SHAP, on import
            runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out

    return run


def ratios(output):
    return [float(text.replace(",", "")) for text in re.findall(r"\| ([\d,.]+)x(?= \|)", output)]


HEADS = {
    1: "| training | d | with copula, ms | without, ms | ratio | target |",
    2: "|  | L never stored | L stored | ratio | target |",
    3: "| d | sklar | Cholesky | ratio | target |",
    4: "| d | fit, CPU s | a step, CPU ms | peak, GiB | slope of a step | slope of memory | target |",
    5: "Rows streamed through `select`",
    6: "| setting | problems | models | seconds | models per second | one at a time, s | ratio | target |",
    7: "| features | method | CPU s | ours to it | clock, s | ours to it | TPR/FDR | target |",
}


@pytest.mark.parametrize("number", HEADS)
def test_every_line_of_the_run(number, run_quick):
    if number == 5:
        pytest.importorskip("lime")
        pytest.importorskip("shap")
    output = run_quick("run", "--lines", str(number), "--device", "cpu")
    assert HEADS[number] in output
    assert "not run: No module" not in output
    assert f"\nline {number}: " in output


def test_what_a_checkpoint_costs(run_quick):
    output = run_quick("bench_checkpoint")
    shares = re.findall(r"\| ([\d.]+)% \|", output)
    assert len(shares) == 4
    assert any(float(share) > 0 for share in shares)  # something was written


def test_a_rival_that_is_not_installed_is_a_line(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(FOLDER))
    import bench_fit

    monkeypatch.setattr(bench_fit, "RIVALS", {"Absent": (None, "no_such_package")})
    bench_fit.main(["--quick"])
    assert "| 11 | Absent | not run: package 'no_such_package' is not installed |" in capsys.readouterr().out


def test_the_full_rank_rival_computes_the_same(monkeypatch):
    import torch

    monkeypatch.syspath_prepend(str(FOLDER))
    import bench_full_rank as bench

    tensors = bench.parameters(7, 5, 3, torch.device("cpu"), torch.float64)
    for mine, theirs in zip(bench.fused(*tensors), bench.stored(*tensors), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_branches(monkeypatch, run_quick):
    assert re.search(r"\| four \| 15 \| 0 \| \d+\.\d/\d+\.\d \|", run_quick("branches"))
    monkeypatch.syspath_prepend(str(FOLDER))
    import branches

    X, y, relevant = branches.draw("rare", 500, 15, 0.5, 0)
    assert (X.shape, y.shape, set(y)) == ((500, 15), (500,), {0, 1})
    assert set(relevant.sum(1)) == {3, 4}  # the switch, and two or three features of the branch
    assert (relevant[:, 2] == (X[:, -1] > 1.3)).all()


def test_bench_copula(run_quick):
    output = run_quick("bench_copula")
    assert "| d | sklar | Cholesky | ratio | target |" in output
    assert len(ratios(output)) == 2


def test_every_benchmark_is_in_the_readme():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("bench_*.py"):
        assert f"python benchmarks/{path.name}" in text


def test_the_rival_draws_what_the_paper_says(monkeypatch):
    """The Cholesky pipeline is no straw man: same marginals, same correlation as ours (see the contract's oracle)."""
    import torch

    monkeypatch.syspath_prepend(str(FOLDER))
    import bench_copula as bench

    head = bench.head_of(1, 4, 2).expand(20_000, -1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        both = [torch.corrcoef((pipeline(head, 2) > 0.5).float().T) for pipeline in (bench.ours, bench.papers)]
    assert both[0].abs().fill_diagonal_(0).max() > 0.2  # there is something to compare
    # Six correlations of 20,000 draws, each with a deviation below 0.0071: 0.06 is beyond six deviations of a
    # difference, a false alarm in less than one of a million fresh seeds.
    torch.testing.assert_close(both[0], both[1], rtol=0, atol=0.06)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("quality", "d=11, variant=paper: mean over seeds"),
        ("dependence", "| redundant 0.97 | 1 |"),
    ],
)
def test_the_benchmarks_of_honest_training(name, line, tmp_path, run_quick):
    output = run_quick(name, "--out", str(tmp_path / "rows.jsonl"))
    assert line in output
    if name == "dependence":  # what is there is not measured again
        assert run_quick(name, "--out", str(tmp_path / "rows.jsonl")) == output
    rows = [json.loads(text) for text in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows
    assert all(0 <= row["tpr"] <= 100 and 0 <= row["fdr"] <= 100 for row in rows)


def test_what_features_say(tmp_path, run_quick):
    output = run_quick("evidence", "--out", str(tmp_path / "rows.jsonl"))
    least, gain = re.search(r"\| syn4 \| 1 \| ([\d.]+) \| ([-\d.]+) \|", output).groups()
    assert float(least) > float(gain)  # the score of a feature is clearer than its gain
    assert run_quick("evidence", "--out", str(tmp_path / "rows.jsonl")) == output


def test_what_the_copula_costs_on_tables(tmp_path, run_quick):
    out = tmp_path / "rows.jsonl"
    output = run_quick("dependence_tables", "--out", str(out))
    assert re.search(r"\| diabetes \| 2 \| .* ± .* ± ", output)
    assert "behind by more than one standard error: " in output
    assert len(out.read_text(encoding="utf-8").splitlines()) == 4
    assert run_quick("dependence_tables", "--out", str(out)) == output  # what is there is not measured again


def test_covariances_of_blocks(tmp_path, run_quick):
    out = str(tmp_path / "rows.jsonl")
    output = run_quick("dependence_blocks", "--out", out)
    assert run_quick("dependence_blocks", "--out", out) == output  # what is there is not measured again
    assert len(re.findall(r"\| (honest|joint) \| 40 \| ", output)) == 8


def test_the_benchmark_of_rankers_and_copies(tmp_path, run_quick):
    output = run_quick("dependence_ranking", "--out", str(tmp_path / "rows.jsonl"))
    assert len(re.findall(r"\| \| \| difference, 1 seeds \| ", output)) == 2
    assert run_quick("dependence_ranking", "--out", str(tmp_path / "rows.jsonl")) == output
    rows = [json.loads(text) for text in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["objective"], row["covariance"]) for row in rows} == {
        (objective, covariance) for objective in ("honest", "joint") for covariance in ("low-rank", "independent")
    }
    assert all(0 <= row["wasted"] <= 3 and -1 <= row["copy_correlation"] <= 1 for row in rows)


def test_the_benchmark_of_rankings_orders(tmp_path, run_quick):
    output = run_quick("ranking_order", "--out", str(tmp_path / "rows.jsonl"))
    ours, rival = re.search(r"\| diabetes \| 3 \| 1 \| ([-\d./ ]+) \| ([-\d./ ]+) \| +\| [\d.]+x \|", output).groups()
    assert ours.split(" / ")[-1] == rival.split(" / ")[-1]  # all k are the same features
    assert run_quick("ranking_order", "--out", str(tmp_path / "rows.jsonl")) == output


def test_the_benchmarks_of_scale(run_quick):
    output = run_quick("bench_stream")
    assert re.search(r"\| 2,000 \| 0\.0 \| [\d.]+ \| [\d.]+ \|", output)
    new, waited = re.search(r"\| ([\d,]+) \| ([\d.]+)% \| [\d.]+ \| at most 4 GiB \|", output).groups()
    assert int(new.replace(",", "")) > 0
    assert 0 <= float(waited) < 100
    assert "| 0 | 0.00% |" in run_quick("bench_stream", "--sample-alone")


def test_new_rows_during_training(run_quick):
    output = run_quick("bench_refresh")
    assert [output.count(f"\n| {name} |") for name in ("all rows", "sample", "refreshed")] == [2, 1, 1]
    output = run_quick("bench_refresh", "--file")
    assert [output.count(f"\n| {name} |") for name in ("all rows", "file, sample", "file, read on")] == [2, 1, 1]


def test_training_together_sums_what_the_formula_says(run_quick):
    rows = [line.split("|")[1:-1] for line in run_quick("bench_team").splitlines() if line.startswith("| 600 ")]
    assert [int(row[1]) for row in rows] == [1, 2]
    for row in rows:
        assert float(row[9]) == float(row[10]) > 0  # kB a step, measured and on paper
    assert float(rows[1][11]) > float(rows[0][11])  # what one process has, two must send


def test_the_stability_of_fits_from_different_seeds(run_quick):
    row = next(line for line in run_quick("stability").splitlines() if line.startswith("| diabetes "))
    plain, grouped, random = (float(cell) for cell in row.split("|")[5:8])
    assert 0 <= plain <= grouped <= 100
    assert 0 < random < 100


def test_the_load_test(run_quick):
    output = run_quick("load_test")
    answered = re.search(r"\| /predict \| 4 \| any \| (\d+) \|", output)
    assert int(answered[1]) > 0


def test_fits_side_by_side_against_one_after_the_other(run_quick):
    assert re.search(r"2 fits: [\d.]+ s one after the other, [\d.]+ s together: [\d.]+x", run_quick("bench_many"))


def test_persuasion_by_votes(run_quick, tmp_path):
    output = run_quick("persuasion", "--out", str(tmp_path / "rows.jsonl"))
    assert "| 300 | 6 | 3 | 0.01 | " in output
    assert output.endswith("| 64.8 |\n")  # what three votes support: .6^3 + 3 .6^2 .4


def test_copies_of_rows(run_quick, tmp_path):
    output = run_quick("copies", "--out", str(tmp_path / "rows.jsonl"))
    assert re.search(r"\| mixed \| bootstrap \| now \| \d+\.\d+ \| -?\d+\.\d \| -?\d+\.\d \|", output)
    assert run_quick("copies", "--table", "--out", str(tmp_path / "rows.jsonl")) == output


def test_substitutes_in_part(run_quick, tmp_path):
    output = run_quick("in_part", "--seeds", "1", "--out", str(tmp_path / "rows.jsonl"))
    assert [line.split(" | ")[0] for line in output.splitlines()[2:]] == ["| threshold", "| values", "| band"]


def test_stand_ins_by_trees(run_quick, tmp_path):
    """Of the size of a tumour there are many measures: either of two may go."""
    output = run_quick("stand_ins", "--splits", "2", "--out", str(tmp_path / "rows.jsonl"))
    scores = [float(cell.split(" ")[0]) for cell in output.splitlines()[-1].split(" | ")[3:]]
    assert len(scores) == 4
    assert min(scores) > 90
