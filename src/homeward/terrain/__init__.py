"""Terrain: read elevation models, make cells to plan on, write maps and paths.

Each name is imported at its first use, and rasterio only if a file needs it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
