"""Certificates: plans with all data that a check needs, and the checks of their claims.

Each name is imported at its first use, since a planner needs only `claims`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
