"""Which estimator a task and its parameters ask for: one with `k` is a ranker, one without a selector."""

from __future__ import annotations

from typing import Any


def estimator_for(task: str, params: dict[str, Any]) -> Any:
    """The estimator with these parameters, or an error about the first that it has not.

    Examples
    --------
    >>> estimator_for("regression", {"k": 2})
    CopulaRankerRegressor(k=2)
    >>> estimator_for("regression", {"k": 2, "penalty": 0.1})
    Traceback (most recent call last):
    ...
    ValueError: --penalty is for selectors; leave out --k
    """
    is_ranker = "k" in params
    maker, other = (_maker(task, ranker) for ranker in (is_ranker, not is_ranker))
    for name in sorted(params.keys() - set(maker._get_param_names())):
        option = f"--{name.replace('_', '-')}"
        if name in other._get_param_names():
            kind = "selectors; leave out --k" if is_ranker else "rankers; give --k too"
            raise ValueError(f"{option} is for {kind}")
        raise ValueError(f"{option} is not for {task}")
    return maker(**params)


def _maker(task: str, ranker: bool) -> Any:
    import sklar

    kind = "Ranker" if ranker else "Selector"
    return getattr(sklar, f"Copula{kind}{'Classifier' if task == 'classification' else 'Regressor'}")
