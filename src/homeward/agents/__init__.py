"""Agents: who explores, by name or as ``module:name``; an agent of your own is one function."""
