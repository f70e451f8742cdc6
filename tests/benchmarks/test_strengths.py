"""The benchmark of strengths tells what a fit's history says of them."""

import importlib.util
import json
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("strengths", Path(__file__).parents[2] / "benchmarks" / "strengths.py")
strengths = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(strengths)


def test_both_strengths_of_a_fit_and_the_chosen_one():
    (row,) = strengths.measure("breast-cancer", 500, 2)
    assert {one["strength"] for one in row["tried"]} == {1.0, 0.1}
    line = strengths.table([json.loads(json.dumps(row))]).splitlines()[-1]
    assert line.startswith("| breast-cancer | 500 | ")
    assert ("| full |" in line) == next(one["chosen"] for one in row["tried"] if one["strength"] == 1)


def test_training_rows_of_split_0_alone_are_looked_at():
    X, y, _, (X_new, y_new) = strengths.training_rows("breast-cancer", 500)
    split = strengths.Split.of("breast-cancer", 0)
    assert len(y) + len(y_new) == len(split.train)
    assert set(X.index) | set(X_new.index) == set(split.X.index[split.train])
