"""How the networks learn: objectives, the loop, and where it all runs."""
