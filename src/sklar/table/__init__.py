"""One adapter for every kind of table: reading, encoding, scaling and gates."""
