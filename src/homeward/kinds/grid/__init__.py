"""Grid worlds of heights: squares that are seen from beside them, walls among them."""
