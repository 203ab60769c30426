"""Checks on random problems: bounds, solvers, certificates and runs against independent methods."""
