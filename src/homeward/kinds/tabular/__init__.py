"""Small worlds given as tables: Gymnasium's FrozenLake and CliffWalking."""
