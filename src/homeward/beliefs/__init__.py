"""Beliefs: distributions over MDPs. They never hear of a solver.

Each name is loaded when it is first used, since the beliefs on grids need a compiler.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
