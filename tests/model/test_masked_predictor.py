"""The predictor of any subset: flips by a rank-one step, features hidden for good."""

import torch

from sklar.model.masked_predictor import MaskedPredictor
from tests.helpers import seeded


def example(replicas=2, n=5, d=4):
    predictor = MaskedPredictor(d, 8, 3, replicas, seeded()).double()
    generator = seeded(1)
    x = torch.randn(replicas, n, d, generator=generator, dtype=torch.float64)
    mask = (torch.rand(replicas, n, d, generator=generator) < 0.5).double()
    return predictor, x, mask


def test_a_flip_equals_the_flipped_mask():
    predictor, x, mask = example()
    index = torch.tensor([0, 3]).expand(2, 5, 2)
    hidden = predictor.before_activation(x, mask)
    outputs = predictor.after_step(hidden, predictor.flip_step(x, mask, index))
    for k, feature in enumerate((0, 3)):
        flipped = mask.clone()
        flipped[..., feature] = 1 - flipped[..., feature]
        torch.testing.assert_close(outputs[:, :, k], predictor(x, flipped))


def test_a_hidden_value_cannot_be_seen():
    predictor, x, mask = example()
    changed = torch.where(mask > 0, x, x + 100.0)
    torch.testing.assert_close(predictor(x, mask), predictor(changed, mask))


def test_absent_and_zero_differ():
    predictor, x, _ = example()
    x[..., 0] = 0.0
    shown, absent = torch.ones_like(x), torch.ones_like(x)
    absent[..., 0] = 0.0
    assert not torch.allclose(predictor(x, shown), predictor(x, absent))


def test_only_some_features_is_the_same_with_the_others_hidden():
    predictor, x, mask = example()
    columns = torch.tensor([[2, 0], [1, 3]])
    narrow = predictor.only(columns).double()
    wide_mask = torch.zeros_like(mask).scatter(2, columns[:, None].expand(2, 5, 2), 1.0) * mask
    inside = columns[:, None].expand(2, 5, 2)
    torch.testing.assert_close(narrow(x.gather(2, inside), mask.gather(2, inside)), predictor(x, wide_mask))
