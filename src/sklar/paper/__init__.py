"""The paper's bench, apart from the product: its data, its rivals, its tables and figures measured anew."""
