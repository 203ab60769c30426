"""Pictures. They are given data and draw it; they compute nothing."""
