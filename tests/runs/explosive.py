"""A module that can't be imported."""

x = 1 // 0
