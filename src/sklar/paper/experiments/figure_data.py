"""The numbers behind the two figures that are pictures, as one small JSON file each; drawing is another step.

figure-psd: t-SNE of every test row's covariance of gates. figure-pixels: the best pixels of a sample of every class.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.atomic import replace_file
from sklar.model.selection import SelectionModel
from sklar.paper.experiments import environment
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.paper.experiments.joint_stack import JointStack, fit_joint_stack
from sklar.paper.experiments.methods import Method, Params
from sklar.paper.experiments.real import Split, real_split
from sklar.paper.experiments.specs import Spec

N_PIXELS = 120
N_POINTS, QUICK_POINTS = 1500, 200
N_COMPONENTS = 50  # of the covariances, before t-SNE
BINARY_PENALTY = 1e-3  # lambda of the binary mask, which has no k
SEED = 0

Panel = dict[str, Any]


def make_figure(
    spec: Spec, device: torch.device, folder: Path, command: str, overrides: Params, echo: Callable[[str], object]
) -> None:
    """Write `folder`/NAME.json, unless a file of the same kind of run is there."""
    path = folder / f"{spec.name}.json"
    mark = {"quick": spec.is_quick, "overrides": dict(overrides)}
    if path.exists() and {key: json.loads(path.read_text()).get(key) for key in mark} == mark:
        echo(f"{spec.name}: {path} is there")
        return
    start = time.perf_counter()
    makers = {"figure-psd": _psd_panels, "figure-pixels": _pixel_panels}
    panels = makers[spec.name](spec, device, dict(overrides), echo)
    facts = {
        "command": command,
        "commit": environment.commit(),
        "versions": environment.versions(),
        "device": environment.device_name(device),
        "seconds": round(time.perf_counter() - start, 1),
    }
    replace_file(path, json.dumps({"figure": spec.name, **mark, **facts, "panels": panels}))
    echo(f"{spec.name}: {facts['seconds']} s")


def _psd_panels(
    spec: Spec, device: torch.device, overrides: dict[str, Any], echo: Callable[[str], object]
) -> list[Panel]:
    """One panel for every mask and data set: binary (k = 0) on the first data set, top-k on all."""
    wanted = [(dataset, k) for k in spec.ks for dataset in spec.datasets if k or dataset == spec.datasets[0]]
    panels = []
    for dataset, k in wanted:
        panels.append(_psd_panel(spec, device, dataset, k, overrides))
        echo(f"{spec.name}: {dataset}, k = {k or 'binary'}: accuracy {panels[-1]['accuracy']:.2f}")
    return panels


def _psd_panel(spec: Spec, device: torch.device, dataset: str, k: int, overrides: dict[str, Any]) -> Panel:
    split = real_split(dataset, SEED)
    params = spec.methods[0].params_for(spec.is_quick, dataset, k) | overrides
    if not k:
        params["penalty"] = overrides.get("penalty", BINARY_PENALTY)
    stack = fit_joint_stack([(split.x, split.y)], params, device, SEED, k or None)
    n = QUICK_POINTS if spec.is_quick else N_POINTS
    answers = stack.answers(0, split.test_x, split.test_y)
    points = tsne(covariance_components(stack, split.test_x[:n]))
    return {
        "dataset": dataset,
        "k": k or None,
        "points": np.round(points, 2).tolist(),
        "labels": split.test_y[:n].tolist(),
        "accuracy": answers.accuracy,
        "features": float(answers.selected.sum(1).mean()),
    }


def covariance_components(stack: JointStack, X: np.ndarray) -> np.ndarray:
    """Principal components of the rows' Sigma, each a point of d x d coordinates: (n, components).

    Only inner products of the Sigmas are needed, and <A A^T, B B^T> = |A^T B|^2 for factors Sigma = A A^T; but here
    d x d numbers per row fit in memory.
    """

    def flat_sigma(model: SelectionModel, x: Tensor) -> Tensor:
        return model.covariance(model.gates(x)).dense().flatten(-2)

    device = next(stack.model.parameters()).device
    parts = [torch.from_numpy(stack.map_rows(0, X[i : i + 50], flat_sigma)) for i in range(0, len(X), 50)]
    sigmas = torch.cat(parts).to(device)  # (n, d d)
    sigmas -= sigmas.mean(0)
    gram = (sigmas @ sigmas.T).double().cpu()
    values, vectors = torch.linalg.eigh(gram)
    keep = min(N_COMPONENTS, len(X))
    return (vectors[:, -keep:] * values[-keep:].clamp_min(0).sqrt()).flip(1).numpy()


def tsne(components: np.ndarray) -> np.ndarray:
    """Points in the plane whose neighbours are those of `components`: (n, 2)."""
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(components) - 1) / 3)
    scaled = components / max(float(components[:, 0].std()), 1e-12)
    return TSNE(perplexity=perplexity, init="pca", random_state=SEED).fit_transform(scaled)


def _pixel_panels(
    spec: Spec, device: torch.device, overrides: dict[str, Any], echo: Callable[[str], object]
) -> list[Panel]:
    """For every method, the best pixels of the first test row of every class, best first."""
    dataset = spec.datasets[0]
    split = real_split(dataset, SEED)
    samples = [int(np.flatnonzero(split.test_y == label)[0]) for label in np.unique(split.test_y)]
    shown = min(N_PIXELS, split.x.shape[1] // 6 if spec.is_quick else N_PIXELS)
    panels = []
    for method in spec.methods:
        params = method.params_for(spec.is_quick, dataset, spec.ks[0]) | overrides
        scores = _scores(method, params, split, split.test_x[samples], device, spec.ks[0])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :shown]
        panels.append(
            {
                "dataset": dataset,
                "method": method.label,
                "labels": split.test_y[samples].tolist(),
                "images": np.round(255 * split.test_x[samples]).astype(int).tolist(),
                "pixels": best.tolist(),
            }
        )
        echo(f"{spec.name}: {method.name} done")
    return panels


def _scores(
    method: Method, params: dict[str, Any], split: Split, X: np.ndarray, device: torch.device, k: int
) -> np.ndarray:
    data = [(split.x, split.y)]
    if method.engine == "honest":
        return fit_honest_stack(data, params, device, SEED, k).scores(0, X)
    return fit_joint_stack(data, params, device, SEED, k).map_rows(0, X, lambda model, x: model.scores(x))
