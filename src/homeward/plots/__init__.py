"""Drawing functions that several kinds of run share: maps and films."""
