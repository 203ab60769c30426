"""The paper: its examples, theorems, figures and tables."""
