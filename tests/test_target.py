"""Targets to numbers, and outputs to predictions."""

import numpy as np
import pytest

from sklar.target import Target, encode_classes, encode_numbers

LOGITS = np.array([[2.0, 0.0], [0.0, 3.0]])


def test_classes_of_any_type_come_back():
    encoded = encode_classes(np.array(["no", "yes", "no"]), None, None)
    assert encoded.numbers.tolist() == [0, 1, 0]
    assert encoded.target.predictions(LOGITS).tolist() == ["no", "yes"]
    np.testing.assert_allclose(encoded.target.probabilities(LOGITS).sum(axis=1), 1)


def test_weights_of_classes_multiply_those_of_rows():
    encoded = encode_classes(np.array([0, 1, 1]), {0: 2.0, 1: 0.5}, np.array([1.0, 2.0, 4.0]))
    assert encoded.weight.tolist() == [2.0, 1.0, 2.0]


def test_values_are_standardised_and_come_back():
    y = np.array([1.0, 2.0, 6.0])
    encoded = encode_numbers(y, "squared", None)
    assert encoded.numbers.mean() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(encoded.target.predictions(encoded.numbers[:, None].astype(float)), y, rtol=1e-6)


@pytest.mark.parametrize("y", [["b", "a", "b"], [3.0, 1.0, 3.0], [True, False, True]])
def test_other_classes_are_numbered_as_those_of_fit(y):
    encoded = encode_classes(np.array(y), None, None)
    codes, known = encoded.target.numbers(np.array(y))
    assert np.array_equal(codes, encoded.numbers)
    assert known.all()


def test_classes_that_fit_did_not_see_are_not_known():
    target = encode_classes(np.array(["b", "d"]), None, None).target
    assert target.numbers(np.array(["a", "b", "c", "d", "e"]))[1].tolist() == [False, True, False, True, False]


def test_other_values_are_scaled_as_those_of_fit():
    encoded = encode_numbers(np.array([1.0, 2.0, 6.0]), "squared", None)
    numbers, known = encoded.target.numbers(np.array([1.0, 2.0, 6.0, np.nan, np.inf]))
    assert np.array_equal(numbers[:3], encoded.numbers)
    assert known.tolist() == [True, True, True, False, False]


def test_several_values_each_by_its_own_spread():
    y = np.array([[1.0, 100.0], [2.0, 300.0], [6.0, 200.0]])
    encoded = encode_numbers(y, "squared", None)
    np.testing.assert_allclose(encoded.target.predictions(encoded.task.targets.double().numpy()), y, rtol=1e-6)


def test_counts_are_rates_and_risks_are_as_they_are():
    encoded = encode_numbers(np.array([0.0, 4.0]), "poisson", None)
    np.testing.assert_allclose(encoded.target.predictions(np.log([[0.5], [2.0]])), [1.0, 4.0])
    assert Target("risk").predictions(np.array([[0.3]])).tolist() == [0.3]


def test_labels_are_zero_or_one():
    encoded = encode_classes(np.array([[0, 1], [1, 1]]), None, None)
    assert encoded.target.predictions(LOGITS - 1).tolist() == [[1, 0], [0, 1]]
    assert encoded.target.probabilities(np.zeros((1, 2))).tolist() == [[0.5, 0.5]]


def test_one_class_is_refused_in_plain_values():
    with pytest.raises(ValueError, match=r"at least 2 classes; got 1 class: 3$"):
        encode_classes(np.array([3, 3]), None, None)


def test_several_columns_that_are_no_labels_are_refused_in_plain_words():
    with pytest.raises(
        ValueError, match=r"several columns must hold labels, all of them 0 or 1, or be numbers"
    ) as error:
        encode_classes(np.array([["a", "1"], ["b", "2"], ["a", "3"]]), None, None)
    assert "multioutput" not in str(error.value)
