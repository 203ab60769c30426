"""Benchmarks: Homeward and other solvers on the same problems in the same run."""
