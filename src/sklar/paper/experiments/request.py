"""What a run was asked for: which experiment, how many seeds, which part of it, with which other settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sklar.paper.experiments.methods import Params
from sklar.paper.experiments.specs import NAMES, SPECS, Spec, spec_of

JUDGE_PREFIX = "judge."  # of overrides that go to the judge


@dataclass(frozen=True)
class Request:
    """The arguments of `reproduce` that say what to measure."""

    name: str
    seeds: int | None = None
    device: str = "auto"
    quick: bool = False
    methods: Sequence[str] = ()
    datasets: Sequence[str] = ()
    ks: Sequence[int] = ()
    overrides: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise ValueError(f"there is no experiment {self.name!r}; there are {', '.join(NAMES)}")
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"seeds must be at least 1; got {self.seeds}")

    def specs(self) -> list[Spec]:
        """The tables and figures to measure, with only the methods, data sets and ks asked for."""
        names = list(SPECS) if self.name == "all" else [self.name]
        return [self._narrowed(spec_of(name, self.quick)) for name in names]

    def method_params(self) -> Params:
        """The overrides that are parameters of a method, not settings of the spec."""
        of_spec = {"held_out", *(name for name in self.overrides if name.startswith(JUDGE_PREFIX))}
        return tuple((name, value) for name, value in self.overrides.items() if name not in of_spec)

    def command(self) -> str:
        """The command line that asks for the same, without where it writes to.

        Examples
        --------
        >>> Request("table-11d", seeds=3, methods=["tree"]).command()
        'sklar reproduce table-11d --seeds 3 --device auto --method tree'
        """
        parts = ["sklar", "reproduce", self.name]
        parts += ["--seeds", str(self.seeds)] if self.seeds else []
        parts += ["--device", self.device] + (["--quick"] if self.quick else [])
        for option, values in (("--method", self.methods), ("--dataset", self.datasets), ("--k", self.ks)):
            for value in values:
                parts += [option, str(value)]
        for name, value in self.overrides.items():
            parts += ["--set", f"{name}={value}"]
        return shlex.join(parts)

    def _narrowed(self, spec: Spec) -> Spec:
        if self.name != "all":  # of "all", a table takes what it has
            self._check_known(spec)
        held_out = bool(self.overrides.get("held_out"))
        if held_out and spec.kind != "real":
            raise ValueError(f"{spec.name} has no held-out rows; tables and figures of accuracies on real data do")
        return replace(
            spec,
            held_out=held_out,
            methods=tuple(method for method in spec.methods if not self.methods or method.name in self.methods),
            datasets=tuple(dataset for dataset in spec.datasets if not self.datasets or dataset in self.datasets),
            ks=tuple(k for k in spec.ks if not self.ks or k in self.ks),
            judge=replace(spec.judge, **self._judge_settings(spec)),
        )

    def _check_known(self, spec: Spec) -> None:
        """Refuse methods, data sets and ks that the spec does not have."""
        for what, asked, known in (
            ("method", self.methods, [method.name for method in spec.methods]),
            ("data set", self.datasets, list(spec.datasets)),
            ("k", self.ks, list(spec.ks)),
        ):
            unknown = [one for one in asked if one not in known]
            if unknown:
                raise ValueError(f"{spec.name} has no {what} {unknown[0]!r}; it has {', '.join(map(str, known))}")

    def _judge_settings(self, spec: Spec) -> dict[str, Any]:
        found = {
            name.removeprefix(JUDGE_PREFIX): value
            for name, value in self.overrides.items()
            if name.startswith(JUDGE_PREFIX)
        }
        unknown = sorted(set(found) - {one.name for one in fields(spec.judge)})
        if unknown:
            raise ValueError(f"the judge has no setting {unknown[0]!r}")
        return found
