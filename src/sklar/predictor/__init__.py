"""A predictor of the user's beside the selector: any estimator that takes missing values, on rows with some hidden."""
