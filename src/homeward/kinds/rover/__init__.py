"""Rovers on terrain: uncertain heights, and a vehicle with slope limits."""
