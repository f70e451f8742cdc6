"""Networks of one hidden layer: the second does nothing, also in a replica."""

import torch

from sklar.model.selection import Architecture
from sklar.paper.experiments.shallow import ShallowModel
from tests.helpers import seeded


def test_the_second_layers_are_not_used():
    model = ShallowModel(Architecture(4, 2, choice_hidden=6, predict_hidden=6, replicas=2), seeded())
    x = torch.randn(2, 10, 4, generator=seeded(1))
    before = model.eval()(x, seeded())
    for layer in (model.choice.second, model.predict.second):
        torch.nn.init.ones_(layer.weight)
    after = model(x, seeded())
    assert torch.equal(before.output, after.output)
    one = model.replica(1).eval()
    assert isinstance(one, ShallowModel)
    torch.testing.assert_close(one.scores(x[1:]), model.scores(x)[1:])


def test_all_other_layers_learn():
    model = ShallowModel(Architecture(4, 2, choice_hidden=6, predict_hidden=6), seeded())
    model(torch.randn(1, 10, 4, generator=seeded(1)), seeded(), rounded=False).output.square().sum().backward()
    idle = {name for name, weight in model.named_parameters() if weight.grad is None}
    assert idle == {f"{part}.{name}" for part, names in _UNUSED.items() for name in names}


_UNUSED = {
    "choice": ("second.weight", "second.bias"),
    "predict": ("second.weight", "second.bias", "second_norm.weight", "second_norm.bias"),
}
