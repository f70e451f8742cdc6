"""A messy table, from CSV to result: who earns more?

    python examples/adult_like.py

Makes a table like those people have (text, holes, rare categories, a copied column, correlated columns), writes it as
CSV, finds for every row the few columns that decide it, and writes a page to explore. The command line does the same:

    sklar fit people.csv --target earns_more --out model.sklar --text children
    sklar select model.sklar people.csv --out masks.csv
    sklar predict model.sklar people.csv --out predictions.csv
    sklar report model.sklar people.csv --target earns_more --out report.html
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sklar import CopulaSelectorClassifier


def make_table(n: int, seed: int = 0) -> pd.DataFrame:
    """Staff earn by their years; the self-employed by their hours, and those who do not say earn more."""
    rng = np.random.default_rng(seed)
    self_employed = rng.random(n) < 0.4
    years, hours = rng.normal(15, 8, n), rng.normal(40, 8, n)
    silent = rng.random(n) < 0.2  # the hours are missing, and that means something
    signal = np.where(self_employed, np.where(silent, 1.5, (hours - 40) / 4), (years - 15) / 4)
    return pd.DataFrame(
        {
            "work": np.where(self_employed, "self-employed", "staff"),
            "years": years.round(1),
            "months": (12 * years + rng.normal(0, 2, n)).round(),  # nearly a copy of the years
            "hours": np.where(silent, np.nan, hours.round(1)),
            "age": (25 + years + rng.normal(0, 6, n)).round(),
            "city": rng.choice([f"city{i}" for i in range(40)], n, p=np.arange(40, 0, -1) / 820),
            "children": rng.choice(["0", "1", "2", "3+"], n),
            "licence": rng.choice(["yes", "no", None], n),
            "height": rng.normal(170, 10, n).round(),
            "earns_more": np.where(rng.random(n) < 1 / (1 + np.exp(-2 * signal)), "yes", "no"),
        }
    )


def main(n: int = 6000, folder: str = ".") -> CopulaSelectorClassifier:
    """Write the table, read it as anyone would, fit, and say what was found."""
    path = Path(folder) / "people.csv"
    make_table(n).to_csv(path, index=False)

    table = pd.read_csv(path)
    X, y = table.drop(columns="earns_more"), table["earns_more"]
    selector = CopulaSelectorClassifier(random_state=0, verbose=True).fit(X, y)

    new = make_table(max(200, n // 3), seed=1)
    X_new, y_new = new.drop(columns="earns_more"), new["earns_more"]
    shares = selector.select(X_new).groupby(X_new["work"]).mean()
    print((100 * shares).round().astype(int).T.to_string())
    print(f"accuracy on new rows: {100 * selector.score(X_new, y_new):.1f} %")
    print("interchangeable:", selector.interchangeable() or "none")
    print("a page to explore:", selector.report(X_new, y_new, Path(folder) / "report.html"))
    return selector


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))
