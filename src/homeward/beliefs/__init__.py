"""Beliefs: distributions over MDPs. They do not depend on solvers.

Each name is imported at its first use, since beliefs on grids compile code when imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
