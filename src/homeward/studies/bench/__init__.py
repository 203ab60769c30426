"""Benchmarks: ratios against peers that solve the same problem in the same run."""
