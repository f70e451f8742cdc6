"""Answers for people, as a mixin: one row in words, a page to explore, an audit. The work is done elsewhere."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sklar.audit import AuditReport, audit
from sklar.explain import Explanation, explain


class ReadableAnswers:
    """What a fitted estimator tells a reader."""

    verbose: bool | int

    def audit(self, X: Any, y: Any, *, n_refits: int = 1, random_state: int | None = 0) -> AuditReport:
        """Does the mask leak the label, and how stable is it? See `sklar.audit.audit`; use rows not fitted on."""
        return audit(self, X, y, n_refits=n_refits, random_state=random_state)

    def explain(self, row: Any) -> Explanation:
        """One row in a few lines: the prediction, the features behind it, how sure, what could stand in for them.

        Parameters
        ----------
        row : a 1-d array, a pandas Series (its columns by name, in any order), or a table of one row

        Returns
        -------
        Explanation
            prints as text; `to_dict()` gives the same as plain values

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
        >>> explanation = selector.explain(X[7])
        >>> sorted(explanation.to_dict())[:3]
        ['n_features', 'n_models', 'nearly']
        """
        check_is_fitted(self)
        return explain(self, row)

    def report(
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str] = "report.html",
        *,
        audit: bool | AuditReport = True,
        max_rows: int = 1000,
        title: str | None = None,
    ) -> Path:
        """Write a page to explore: one HTML file that works without a network and on a phone.

        Parameters
        ----------
        X, y : rows and targets, best others than those of `fit`
        path : the file to write
        audit : run the audit (it trains small predictors: seconds to a minute); False leaves it out, an AuditReport is
            shown as it is
        max_rows : rows in the page's table, at most, evenly spread; the page's numbers are of all rows
        title : of the page

        Returns
        -------
        Path
            of the file

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from sklar import CopulaSelectorRegressor
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = selector.report(X, X[:, 0], f"{folder}/report.html", audit=False).read_text()
        >>> page.startswith("<!doctype html>")
        True
        """
        from sklar.report.explorer import write_report
        from sklar.report.explorer.page import to_stderr

        check_is_fitted(self)
        told = to_stderr if self.verbose else lambda text: None
        return write_report(self, X, y, path, audit=audit, max_rows=max_rows, title=title, progress=told)
