"""What verifies and measures Homeward, beside the product: laws and timings. Not in the wheel."""
