"""What was asked for, as specs and as a command line."""

import shlex

import pytest

from sklar.paper.experiments.request import Request
from sklar.paper.experiments.specs import SPECS


def test_all_is_every_spec_and_takes_what_each_has():
    request = Request("all", methods=["joint-full"], ks=[40])
    assert [spec.name for spec in request.specs()] == list(SPECS)
    methods = {spec.name: [method.name for method in spec.methods] for spec in request.specs()}
    assert methods["table-11d"] == []
    assert methods["table-nola"] == ["joint-full"]
    assert next(spec for spec in request.specs() if spec.name == "table-low-rank").ks == ()


def test_overrides_reach_the_spec_the_judge_and_the_method():
    overrides = {"held_out": True, "judge.steps": 7, "learning_rate": 0.1, "schedule.final_steps": 5}
    request = Request("table-nola", overrides=overrides)
    (spec,) = request.specs()
    assert spec.held_out
    assert spec.judge.steps == 7
    assert request.method_params() == (("learning_rate", 0.1), ("schedule.final_steps", 5))


def test_the_command_says_the_same(monkeypatch):
    """The command line makes the same request of it."""
    from click.testing import CliRunner

    from sklar.cli import main
    from sklar.paper.experiments import runner

    made = []
    monkeypatch.setattr(
        runner, "reproduce", lambda name, out, echo, jobs, dask, **asked: made.append(Request(name, **asked))
    )
    request = Request(
        "table-nola", 2, "cpu", True, ("sklar",), ("digits",), (10,), {"n_trees": 3, "covariance": "full"}
    )
    result = CliRunner().invoke(main, shlex.split(request.command())[1:])
    assert result.exit_code == 0, result.output
    assert made == [request]


@pytest.mark.parametrize("seeds", [0, -1])
def test_at_least_one_seed(seeds):
    with pytest.raises(ValueError, match="seeds must be at least 1"):
        Request("table-11d", seeds=seeds)
