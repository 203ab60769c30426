"""Worlds: simulated real things, the small MDPs of the paper among them."""
