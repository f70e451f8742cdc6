"""Judges of what a selection shows: they learned from features hidden at random, so no selector agreed with them.

`TreeJudge` are boosted trees, `EvalxJudge` the cross-fitted networks of an audit. Both give a `Judgement`, whose
`excess` says whether the choice of features itself speaks about the target. `stripex` is STRIPE-X, which asks the same
of a table of labels in nats.
"""

from sklar.judgement import Judgement, judge_classes, judge_values
from sklar.paper.judges.evalx import EvalxJudge
from sklar.paper.judges.stripex import StripexScore, stripex
from sklar.paper.judges.trees import TreeJudge

__all__ = ["EvalxJudge", "Judgement", "StripexScore", "TreeJudge", "judge_classes", "judge_values", "stripex"]
