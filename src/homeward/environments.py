"""Registration of our Gymnasium environments, without importing Gymnasium.

Gymnasium reads no entry points since its version 1.0; a package registers its environments when it
is imported. Importing Gymnasium would make ``import homeward`` slow, and it is optional. So the
environments are registered at once if Gymnasium is loaded, and otherwise when it is imported.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` would be slow to import

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

ENVIRONMENTS = {
    "homeward/HeightGrid-v0": "homeward.kinds.grid.world:HeightGridEnv",
    "homeward/Rover-v0": "homeward.kinds.rover.world:RoverEnv",
}
"""The class of each environment, by its ID for ``gymnasium.make``."""

REGISTRY = "gymnasium.envs"  # the module that registers Gymnasium's own environments


def register() -> None:
    """Register the environments that are not registered yet."""
    from gymnasium.envs.registration import register, registry

    for name, place in ENVIRONMENTS.items():
        if name not in registry:
            register(name, entry_point=place)


class _AfterImport:
    """An import hook that registers our environments after Gymnasium's registry is loaded."""

    loader: Any

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != REGISTRY:
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        self.loader = spec.loader
        spec.loader = self  # type: ignore[assignment]  # it has the two methods of a loader
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        result: ModuleType | None = self.loader.create_module(spec)
        return result

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        register()


def register_now_or_later() -> None:
    """Register the environments at once, or when Gymnasium is imported."""
    if REGISTRY in sys.modules:
        register()
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())
