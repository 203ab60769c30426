from .gymnasium_table import GymnasiumTable as GymnasiumTable
from .gymnasium_table import Source as Source
from .gymnasium_table import from_gymnasium as from_gymnasium
from .gymnasium_world import GymWorld as GymWorld
from .model_world import ModelWorld as ModelWorld
from .protocol import World as World

__all__ = ["GymWorld", "GymnasiumTable", "ModelWorld", "Source", "World", "from_gymnasium"]
