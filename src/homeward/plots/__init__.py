"""Drawing that several kinds share."""
