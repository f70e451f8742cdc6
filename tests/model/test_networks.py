import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from sklar.model.networks import ACTIVATIONS, ChoiceNet, PredictNet, StackedBatchNorm, StackedLinear, _OnGpu
from tests.helpers import seeded

REPLICAS = 3


def rows(replicas=REPLICAS, n=20, d=4, seed=0):
    return torch.randn(replicas, n, d, generator=seeded(seed))


def plain_linear(layer, replica):
    plain = nn.Linear(layer.weight.shape[1], layer.weight.shape[2])
    plain.weight.data.copy_(layer.weight[replica].T)
    plain.bias.data.copy_(layer.bias[replica, 0])
    return plain


def plain_norm(layer, replica):
    plain = nn.BatchNorm1d(layer.weight.shape[-1])
    plain.weight.data.copy_(layer.weight[replica, 0])
    plain.bias.data.copy_(layer.bias[replica, 0])
    plain.running_mean.copy_(layer.mean[replica, 0])
    plain.running_var.copy_(layer.variance[replica, 0])
    return plain.train(layer.training)


# Layers, replica by replica.


def test_a_stacked_linear_is_torchs_linear_of_every_replica():
    layer, x = StackedLinear(REPLICAS, 4, 6, seeded()), rows()
    for r in range(REPLICAS):
        torch.testing.assert_close(layer(x)[r], plain_linear(layer, r)(x[r]))


def test_one_slice_is_shared_by_all_replicas():
    layer, x = StackedLinear(REPLICAS, 4, 6, seeded()), rows(1)
    assert torch.equal(layer(x), layer(x.expand(REPLICAS, -1, -1)))


@pytest.mark.parametrize("width", [2, 30])
def test_a_layer_and_its_gradients_however_many_outputs(width):
    """Few outputs have products of their own on a CPU; the gradient of x is in the order of its rows."""
    layer = StackedLinear(REPLICAS, 4, width, seeded()).double()
    x = torch.randn(REPLICAS, 7, 4, generator=seeded(1), dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(layer(x), torch.baddbmm(layer.bias, x, layer.weight))
    weights = (x, layer.weight, layer.bias)
    assert gradcheck(lambda x, *_: layer(x).tanh(), weights)
    (of_x,) = torch.autograd.grad(layer(x).tanh().sum(), x)
    assert of_x.is_contiguous()


@pytest.mark.parametrize("replicas", [1, REPLICAS])
def test_the_layer_of_a_gpu(replicas):
    """Its products are the same anywhere; frozen weights get no gradient, and cost none."""
    layer = StackedLinear(replicas, 4, 6, seeded()).double()
    x = torch.randn(replicas, 7, 4, generator=seeded(1), dtype=torch.float64, requires_grad=True)
    weights = (x, layer.weight, layer.bias)
    torch.testing.assert_close(_OnGpu.apply(*weights), torch.baddbmm(layer.bias, x, layer.weight))
    assert gradcheck(lambda *tensors: _OnGpu.apply(*tensors).tanh(), weights)
    layer.requires_grad_(False)
    assert gradcheck(lambda x: _OnGpu.apply(x, layer.weight, layer.bias).tanh(), (x,))


def test_a_stacked_linear_starts_where_torchs_does():
    """Uniform within 1 / sqrt(n_in), weight and bias; of 20,000 draws the largest is near the bound."""
    layer = StackedLinear(10, 25, 80, seeded())
    for parameter in (layer.weight, layer.bias):
        assert parameter.abs().max() <= 0.2
        assert parameter.abs().max() > 0.19


@pytest.mark.parametrize("training", [True, False])
def test_a_stacked_batch_norm_is_torchs_of_every_replica(training):
    layer = StackedBatchNorm(REPLICAS, 4)
    for value in (*layer.parameters(), *layer.buffers()):
        value.data.copy_(0.5 + torch.rand(value.shape, generator=seeded(1)))
    layer.train(training)
    plain = [plain_norm(layer, r) for r in range(REPLICAS)]
    x = rows().requires_grad_()
    result = layer(x)
    (gradient,) = torch.autograd.grad(result.pow(3).sum(), x)
    for r in range(REPLICAS):
        alone = x.detach()[r].requires_grad_()
        expected = plain[r](alone)
        (expected_gradient,) = torch.autograd.grad(expected.pow(3).sum(), alone)
        torch.testing.assert_close(result[r], expected)
        torch.testing.assert_close(gradient[r], expected_gradient, rtol=1e-4, atol=1e-5)


def test_running_moments_move_like_torchs():
    """The mean as torch's; the variance is the batch's own (divided by n), which a batch of one row has too."""
    layer, x = StackedBatchNorm(REPLICAS, 4), rows()
    plain = [plain_norm(layer, r) for r in range(REPLICAS)]
    layer(x)
    for r in range(REPLICAS):
        plain[r](x[r])
        torch.testing.assert_close(layer.mean[r, 0], plain[r].running_mean)
        expected = 0.9 + (plain[r].running_var - 0.9) * 19 / 20
        torch.testing.assert_close(layer.variance[r, 0], expected)


def test_evaluation_leaves_the_running_moments_and_one_row_trains():
    layer = StackedBatchNorm(1, 4)
    assert torch.isfinite(layer(rows(1, n=1))).all()
    before = layer.mean.clone()
    layer.eval()(rows(1))
    assert torch.equal(layer.mean, before)


# Networks.


def choice_net(**words):
    return ChoiceNet(4, 8, n_loadings=12, with_sigma=True, generator=seeded(), **words)


@pytest.mark.parametrize("activation", ["relu", "selu"])
def test_choice_net_is_two_hidden_layers_and_three_heads(activation):
    net, x = choice_net(activation=activation), rows(1)
    act = getattr(torch, activation)
    h = act(plain_linear(net.second, 0)(act(plain_linear(net.first, 0)(x[0]))))
    choice = net(x)
    torch.testing.assert_close(choice.scores[0], plain_linear(net.scores, 0)(h))
    of_copula = plain_linear(net.copula, 0)(h)
    torch.testing.assert_close(choice.loadings[0], torch.tanh(of_copula[:, :12]))
    torch.testing.assert_close(choice.sigma[0], torch.relu(of_copula[:, 12:]))


@pytest.mark.parametrize(("on_loadings", "on_sigma"), [("tanh", "relu"), ("relu", "tanh")])
def test_both_readings_of_the_activations(on_loadings, on_sigma):
    net = choice_net(loadings_activation=on_loadings)
    assert net.loadings_activation is ACTIVATIONS[on_loadings]
    assert net.sigma_activation is ACTIVATIONS[on_sigma]
    choice = net(10 * rows(1, n=200))
    assert (choice.loadings < 0).any() == (on_loadings == "tanh")
    assert (choice.sigma < 0).any() == (on_sigma == "tanh")


def test_heads_are_computed_only_when_asked_for_and_when_there():
    net, x = choice_net(), rows(1)
    bare = net(x, heads=False)
    assert bare.loadings is None
    assert bare.sigma is None
    assert torch.equal(bare.scores, net(x).scores)
    assert ChoiceNet(4, 8)(x).loadings is None


def test_a_narrow_choice_net_scores_as_the_wide_one_where_the_others_are_0():
    wide = ChoiceNet(4, 6, n_inputs=5, n_extra=1, activation="selu", replicas=2, generator=seeded())
    features, inputs = torch.tensor([[2, 0], [1, 3]]), torch.tensor([[4, 0, 5], [1, 2, 5]])
    x = torch.randn(2, 7, 3, generator=seeded(1))
    shown = torch.zeros(2, 7, 6).scatter(2, inputs[:, None].expand_as(x), x)
    expected = wide(shown).scores.gather(2, features[:, None].expand(-1, 7, -1))
    torch.testing.assert_close(wide.only(features, inputs)(x).scores, expected)


@pytest.mark.parametrize("activation", ["relu", "selu"])
@pytest.mark.parametrize("training", [True, False])
def test_predict_net_normalises_after_each_activation(activation, training):
    net = PredictNet(4, 8, 3, activation=activation, generator=seeded()).train(training)
    act, x = getattr(torch, activation), rows(1)
    norms = plain_norm(net.first_norm, 0), plain_norm(net.second_norm, 0)
    h = norms[0](act(plain_linear(net.first, 0)(x[0])))
    h = norms[1](act(plain_linear(net.second, 0)(h)))
    torch.testing.assert_close(net(x)[0], plain_linear(net.last, 0)(h), rtol=1e-4, atol=1e-5)


def stacks():
    return {
        "choice": ChoiceNet(4, 8, n_loadings=12, with_sigma=True, replicas=REPLICAS, generator=seeded()),
        "predict": PredictNet(4, 8, 2, replicas=REPLICAS, generator=seeded()),
    }


@pytest.mark.parametrize("name", stacks())
def test_replicas_do_not_feel_each_other(name):
    net, x = stacks()[name].eval(), rows()

    def answer(values):
        result = net(values)
        return result if name == "predict" else torch.cat(result[:3], dim=-1)

    before = answer(x)
    x[1] += 100
    assert torch.equal(answer(x)[[0, 2]], before[[0, 2]])
    answer(x)[1].sum().backward()
    for parameter in net.parameters():
        assert parameter.grad[[0, 2]].abs().max() == 0


def test_replicas_start_apart():
    for net in stacks().values():
        assert not torch.equal(net.first.weight[0], net.first.weight[1])


def test_the_generator_fixes_the_start_and_the_global_one_is_left_alone(global_seeds_untouched):
    for first, second in zip(stacks().values(), stacks().values(), strict=True):
        for a, b in zip(first.parameters(), second.parameters(), strict=True):
            assert torch.equal(a, b)
