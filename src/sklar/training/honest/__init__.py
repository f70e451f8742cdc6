"""Honest training: predictors that no mask can tell anything about its row, and a selector that learns through them."""
