"""A table with categories, text, flags and holes, for several test modules."""

import numpy as np
import pandas as pd

# Honest training, short: what there is to find is strong.
HONEST = {"objective": "honest", "max_epochs": 250, "batch_size": 600, "choice_hidden": 50, "predict_hidden": 32}
NAMES = ["colour", "age", "noise", "word", "flag"]


def messy(n=600, seed=0):
    """y is 1 where the colour is red, or where the age is missing; nothing else matters."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n)
    age[rng.random(n) < 0.3] = np.nan
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "age": age,
            "noise": rng.standard_normal(n),
            "word": rng.choice(["lorem", "ipsum", None], n),
            "flag": rng.random(n) < 0.5,
        }
    )
    return frame, ((frame["colour"] == "red") | frame["age"].isna()).to_numpy()
