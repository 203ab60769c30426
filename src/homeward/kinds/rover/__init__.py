"""Rovers on terrain: heights known up to an error, and slopes that a vehicle can take or not."""
