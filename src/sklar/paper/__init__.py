"""The paper's bench, apart from the product: its data, the baselines, its tables and figures measured again."""
