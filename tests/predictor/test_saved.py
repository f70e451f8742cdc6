"""What stands for a predictor that came from a file."""

import pytest
from sklearn.base import clone

from sklar.predictor.saved import SavedPredictor


def test_it_can_be_cloned_and_printed_but_not_asked():
    saved = clone(SavedPredictor("LGBMClassifier(num_leaves=3)"))
    assert "num_leaves=3" in repr(saved)
    with pytest.raises(ValueError, match="num_leaves=3"):
        saved.fit(None, None)
    with pytest.raises(ValueError, match="loaded"):
        saved.predict(None)
