"""Grid worlds: squares with heights 1 to 5 that are seen from neighbouring squares, and walls."""
