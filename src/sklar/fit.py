"""`sklar fit` by several processes that train one model together, started by torchrun; Dask is not needed.

    torchrun --nproc-per-node 4 -m sklar.fit folder/ --target y --out model.sklar

Every process reads the table, and works on its rows of every batch; the first one writes the model.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
from collections.abc import Sequence

from sklar.cli import main as sklar
from sklar.training.engine.meeting import torchrun_team
from sklar.training.engine.team import Team


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit as the arguments of `sklar fit` say; without torchrun it is that command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with torchrun_team() as team, tempfile.TemporaryDirectory() as folder:
        if team.rank > 0:
            sys.stdout = io.StringIO()
        sklar(["fit", *given, *_more_words(given, team, folder)], prog_name="python -m sklar.fit")


def _more_words(given: Sequence[str], team: Team, folder: str) -> list[str]:
    """What is said to each process besides: one seed for all, and to write and say nothing that the first one does."""
    if team.size == 1:
        return []
    seeded = any(word.split("=")[0] in ("--random-state", "--config") for word in given)
    seed = [] if seeded else ["--random-state", str(team.agreed(random.randrange(2**31 - 1)))]
    return seed if team.rank == 0 else [*seed, "--out", f"{folder}/model.sklar", "--quiet"]


if __name__ == "__main__":
    main()
