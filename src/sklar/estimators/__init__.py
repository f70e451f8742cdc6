"""What users import: four scikit-learn estimators, and `load` for their files."""

from sklar.estimators.loading import load
from sklar.estimators.rankers import CopulaRankerClassifier, CopulaRankerRegressor
from sklar.estimators.selectors import CopulaSelectorClassifier, CopulaSelectorRegressor

__all__ = [
    "CopulaRankerClassifier",
    "CopulaRankerRegressor",
    "CopulaSelectorClassifier",
    "CopulaSelectorRegressor",
    "load",
]
