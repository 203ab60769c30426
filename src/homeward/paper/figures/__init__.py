"""Figures of the paper and of what goes past it. They are given data and draw it."""
