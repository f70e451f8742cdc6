"""Files that commands work on."""

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import fit
from tests.helpers import toy_rows


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """Good files: a table, a selector, a ranker."""
    folder = tmp_path_factory.mktemp("cli")
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=np.where(value > 0, "yes", "no"))
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_parquet(folder / "good.parquet")
    for name, word in (("selector", ("--penalty", "0.01")), ("ranker", ("--k", "2"))):
        result = fit(folder / "good.csv", "y", folder / f"{name}.sklar", *word)
        assert result.exit_code == 0, result.output
    return folder
