"""A recorded run at any step: what was known, what was decided, and why."""
