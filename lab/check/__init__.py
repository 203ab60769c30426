"""Laws on random problems: every bound, solver, certificate and run against an outside referee."""
