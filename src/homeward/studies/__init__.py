"""Studies: many runs or problems that answer one question."""
