"""Schemas, targets and training as files describe them."""

import numpy as np
import pytest
import torch

from sklar.export.schema_fields import read_schema, read_target, read_training
from sklar.export.storage import ModelFileError

DATES = {"dates": [False, False], "with_cycles": False}
SCHEMA = {
    "names": ["a", "b"],
    "labels": "text",
    "encoding": {"missing": [True, False], "others": [0, 0.25], "categories": [None, ["x", "y"]], **DATES},
    "columns": [0, 1],
    "gates": [0, 1],
    "recodings": [],
}
TENSORS = {"scaling.centre": torch.zeros(2).double(), "scaling.spread": torch.ones(2).double()}
CLASSES = {"kind": "classes", "classes": {"dtype": "<i8", "values": [3, 5]}, "centre": 0.0, "spread": 1.0, "names": []}
VALUES = {"kind": "values", "classes": None, "centre": 1.5, "spread": 2.0, "names": ["y"]}
TRAINING = {"penalty": 0.1, "path": {}, "history": [{"epoch": 0, "loss": None}]}


def test_a_schema_as_it_should_be():
    schema = read_schema("Owner", SCHEMA, TENSORS)
    assert schema.names == ("a", "b")
    assert schema.gating.gates.of_input.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("names", []),
        ("names", ["a", "a"]),
        ("names", ["a", 5]),
        ("labels", "x"),
        ("columns", [0, 2]),
        ("columns", [0, 0]),
        ("gates", [0, 2]),
        ("gates", [1, 1]),
        ("gates", [0]),
        ("gates", [1, 0]),
        ("encoding", {"missing": [True], "others": [0, 0.25], "categories": [None, ["x", "y"]], **DATES}),
        ("encoding", {"missing": [1, 0], "others": [0, 0.25], "categories": [None, ["x", "y"]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0.5, 0.25], "categories": [None, ["x", "y"]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 2], "categories": [None, ["x", "y"]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 0.25], "categories": [None, []], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 0.25], "categories": [None, ["x", 5]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 0.25], "categories": [None, [["x"]]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 0.25], "categories": [None, ["x", "x"]], **DATES}),
        ("encoding", {"missing": [True, False], "others": [0, 0.25], "categories": [None, list(range(999))], **DATES}),
    ],
)
def test_a_schema_that_cannot_be_is_refused(field, value):
    with pytest.raises(ModelFileError, match=rf"schema\.{field}"):
        read_schema("Owner", {**SCHEMA, field: value}, TENSORS)


@pytest.mark.parametrize("spread", [torch.zeros(2).double(), torch.ones(2), torch.ones(3).double()])
def test_scaling_that_cannot_be_is_refused(spread):
    with pytest.raises(ModelFileError, match=r"tensor scaling\.spread"):
        read_schema("Owner", SCHEMA, {**TENSORS, "scaling.spread": spread})


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("<i8", [2**63, 1]),
        ("|i1", [300, 1]),
        ("<i8", [1.5, 1]),
        ("<i8", [1, 1]),
        ("|b1", [0, 1]),
        ("<f8", [None, 1]),
        ("<U2", [1, 2]),
        ("|O", [[1], [2]]),
        ("|V8", ["a", "b"]),
        ("i4,f8", [1, 2]),
        ("<i8", [1]),
        ("<i8", [1, 2, 3]),
    ],
)
def test_classes_that_cannot_be_are_refused(dtype, values):
    with pytest.raises(ModelFileError, match=r"target\.classes"):
        read_target({**CLASSES, "classes": {"dtype": dtype, "values": values}}, 2, "classes")


def test_text_is_as_wide_as_its_labels_whatever_the_file_says():
    given = {**CLASSES, "classes": {"dtype": "<U1000000000", "values": ["ja", "no"]}}
    assert read_target(given, 2, "classes").classes.nbytes == 16


def test_dates_are_counted():
    days = {"dtype": "<M8[D]", "values": [0, 366]}
    classes = read_target({**CLASSES, "classes": days}, 2, "").classes
    assert classes.tolist() == np.array(["1970-01-01", "1971-01-02"], dtype="M8[D]").tolist()


@pytest.mark.parametrize(
    "change", [{"spread": 0}, {"spread": [1.0]}, {"centre": "x"}, {"kind": "risk"}, {"classes": CLASSES["classes"]}]
)
def test_values_that_cannot_be_are_refused(change):
    assert read_target(VALUES, 1, "values").centre == 1.5
    with pytest.raises(ModelFileError, match=r"target\."):
        read_target({**VALUES, **change}, 1, "values")


PATH = {"penalty": [0.1, 0.2], "loss": [1, 2], "error": [0, 0], "mean_features": [2, 1]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("penalty", -1),
        ("penalty", None),
        ("path", {"loss": [1.0]}),
        ("path", {**PATH, "loss": [1]}),
        ("path", {**PATH, "penalty": [0.1, 0]}),
        ("history", {}),
        ("history", [[]]),
        ("history", [{"a": [1]}]),
    ],
)
def test_training_that_cannot_be_is_refused(field, value):
    assert read_training({**TRAINING, "path": PATH})["penalty"] == 0.1
    with pytest.raises(ModelFileError, match=rf"training\.{field}"):
        read_training({**TRAINING, field: value})
