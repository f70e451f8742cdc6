"""Which implementation runs: plain torch without a GPU, silently; what is forced where it can; never a wrong one."""

import pytest
import torch

from sklar import kernels
from tests.helpers import run_python, seeded
from tests.kernels.fused import DEVICE


def test_without_a_gpu_the_reference_runs():
    kernels.relaxed_topk(torch.zeros(2, 3), 1, 1.0, 1.0)
    assert kernels.which_ran("relaxed_topk") == "reference"


def test_nothing_ran_before_the_first_call():
    assert run_python("from sklar import kernels; print(kernels.which_ran('full_draw'))").strip() == "None"


def test_without_a_gpu_triton_is_not_even_imported():
    code = (
        "import sys, torch\nfrom sklar import kernels\n"
        "kernels.relaxed_topk(torch.zeros(2, 3), 1, 1.0, 1.0)\nprint('triton' in sys.modules)"
    )
    assert run_python(code, CUDA_VISIBLE_DEVICES="").strip() == "False"


def test_an_unknown_implementation_is_named():
    with pytest.raises(ValueError, match="'reference' or 'triton'; got 'cuda'"), kernels.using("cuda"):
        pass


def test_without_triton_forcing_it_says_so(monkeypatch):
    monkeypatch.setattr(kernels, "_has_triton", lambda: False)
    with pytest.raises(ImportError, match="triton"), kernels.using("triton"):
        pass


def test_what_no_kernel_covers_takes_the_reference():
    """float64, draws that want a gradient, no rows."""
    pytest.importorskip("triton")
    with kernels.using("triton"):
        kernels.relaxed_topk(torch.zeros(2, 3, dtype=torch.float64), 1, 1.0, 1.0)
        assert kernels.which_ran("relaxed_topk") == "reference"
        zeta = torch.ones(1, 1, 2, requires_grad=True)
        kernels.full_draw(torch.ones(1, 1, 1), torch.zeros(1, 1, 4), torch.ones(1, 1, 4), zeta, "relu")
        assert kernels.which_ran("full_draw") == "reference"
        kernels.low_rank_mask(torch.zeros(0, 2), torch.zeros(0, 4), torch.zeros(0, 1), torch.zeros(0, 2), 1.0)
        assert kernels.which_ran("low_rank_mask") == "reference"


def test_the_whole_forward_of_joint_training_takes_the_fused_branch():
    from sklar.model.selection import Architecture, SelectionModel

    ran = {}
    for covariance, k, name in (
        ("full", None, "full_draw"),
        ("low-rank", None, "low_rank_mask"),
        ("full", 2, "relaxed_topk"),
    ):
        words = {"n_features": 5, "n_outputs": 2, "choice_hidden": 4, "predict_hidden": 4, "n_factors": 2}
        model = SelectionModel(Architecture(covariance=covariance, k=k, **words), seeded()).to(DEVICE)
        x = torch.randn(1, 9, 5, generator=seeded()).to(DEVICE)
        gradients = []
        for implementation in ("reference", "triton"):
            with kernels.using(implementation):
                forward = model(x, torch.Generator(DEVICE).manual_seed(0), rounded=True)
            ran[name, implementation] = kernels.which_ran(name)
            model.zero_grad()
            forward.output.square().sum().backward()
            gradients.append(model.choice.copula.weight.grad.clone())
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)
    assert all(which == implementation for (_, implementation), which in ran.items())
