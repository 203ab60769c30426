"""Kinds of worlds: each folder holds all that belongs to one kind, and nothing else does."""
