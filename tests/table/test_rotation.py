"""Rows that take turns in a sample: all come up, each in one place, and every batch keeps its share."""

import numpy as np
import pyarrow as pa
import pytest

from sklar.table.rotation import Rotation
from sklar.table.sampling import Sampler

SIZES = (30, 7, 30, 1, 25)


def batches():
    starts = np.cumsum([0, *SIZES])
    return [pa.table({"a": np.arange(size) + start}) for start, size in zip(starts, SIZES, strict=False)]


def rotation_of(size, smaller=None):
    sampler = Sampler(sum(SIZES), size, 3)
    drawn = [sampler.draw(table, number) for number, table in enumerate(batches())]
    return Rotation.of(sampler, drawn, smaller), sampler.together(drawn, smaller).column("a").to_numpy()


def rows_at(rotation, turn):
    """The sample as turn after turn of all batches leaves it."""
    sample = np.full(rotation.ends[-1], -1)
    for number in range(turn + 1):
        for batch, table in enumerate(batches()):
            rows, places = rotation.turn(batch, number)
            sample[places] = table.column("a").to_numpy()[rows]
    return sample


@pytest.mark.parametrize("size", [5, 20, 60])
@pytest.mark.parametrize("smaller", [None, 4])
def test_the_first_turn_is_the_sample(size, smaller):
    rotation, sample = rotation_of(size, smaller)
    assert np.array_equal(rows_at(rotation, 0), sample)


@pytest.mark.parametrize("size", [20, 60])
def test_every_row_comes_up_once_before_any_comes_up_again(size):
    rotation, _ = rotation_of(size)
    for batch, n_rows in enumerate(SIZES):
        n_places = rotation.ends[batch + 1] - rotation.ends[batch]
        if n_places:
            n_turns = -(-n_rows // n_places)
            seen = np.concatenate([rotation.turn(batch, number).rows for number in range(n_turns)])
            assert sorted(seen) == list(range(n_rows))


def test_a_row_has_one_place():
    rotation, _ = rotation_of(20)
    place_of = {}
    for number in range(40):
        for batch in range(len(SIZES)):
            for row, place in zip(*rotation.turn(batch, number), strict=True):
                assert place_of.setdefault((batch, row), place) == place


def test_every_batch_keeps_its_share():
    rotation, sample = rotation_of(20)
    ends = np.cumsum(SIZES)
    for number in range(5):
        now = rows_at(rotation, number)
        assert len(set(now)) == len(sample)
        assert np.array_equal(np.searchsorted(ends, now, "right"), np.searchsorted(ends, sample, "right"))


def test_a_batch_without_places_has_no_rows():
    rotation, _ = rotation_of(2)
    assert sum(len(rotation.turn(batch, 1).rows) for batch in range(len(SIZES))) <= 2
    assert min(len(rotation.turn(batch, 1).rows) for batch in range(len(SIZES))) == 0
