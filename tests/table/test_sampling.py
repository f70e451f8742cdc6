"""Samples do not depend on the order in which batches come; smaller samples are part of larger ones."""

import numpy as np
import pyarrow as pa

from sklar.table.sampling import Sampler


def parts(n=10, size=30):
    return [pa.table({"a": np.arange(size) + size * part}) for part in range(n)]


def sampled(order, size=40, seed=0):
    sampler = Sampler(300, size, seed)
    drawn = {number: sampler.draw(parts()[number], number) for number in order}
    return sampler.together([drawn[number] for number in sorted(drawn)]).column("a").to_numpy()


def test_the_order_of_the_batches_does_not_matter():
    first, second = sampled(range(10)), sampled(reversed(range(10)))
    assert len(first) == 40
    assert (first == second).all()
    assert (first != sampled(range(10), seed=1)).any()


def test_fewer_rows_are_some_of_those():
    sampler = Sampler(300, 40, 0)
    drawn = [sampler.draw(part, number) for number, part in enumerate(parts())]
    few, many = (set(sampler.together(drawn, size).column("a").to_pylist()) for size in (10, 40))
    assert len(few) == 10
    assert few < many


def test_little_more_than_the_sample_is_kept():
    sampler = Sampler(300, 40, 0)
    kept = sum(len(sampler.draw(part, number).keys) for number, part in enumerate(parts()))
    assert 40 <= kept <= 40 + 12 * 40**0.5
    assert sampler.is_partial
    assert not Sampler(300, 300, 0).is_partial
