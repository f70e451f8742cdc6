"""The mathematics, in the order a row flows through it.

networks -> covariance -> copula -> binary_mask | topk_mask -> selection (the whole forward).
"""
