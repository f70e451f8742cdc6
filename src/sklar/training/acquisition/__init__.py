"""Training of rankers that choose from what they have shown."""
