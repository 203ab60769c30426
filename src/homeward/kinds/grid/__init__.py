"""Grid worlds of heights: squares seen from their neighbours, with walls among them."""
