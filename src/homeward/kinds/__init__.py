"""Kinds of worlds, one folder each, and the modules that they share."""
