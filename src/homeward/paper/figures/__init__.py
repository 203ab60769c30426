"""Figures of the paper and of our extensions, drawn from given data."""
