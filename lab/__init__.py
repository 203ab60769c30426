"""Checks and benchmarks of Homeward. Not part of the wheel."""
