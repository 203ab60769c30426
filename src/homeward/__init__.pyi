"""Every public name, by the module that it lives in: the one list of them."""

from .beliefs import Belief as Belief
from .beliefs import DirichletBelief as DirichletBelief
from .beliefs import FiniteBelief as FiniteBelief
from .beliefs import HeightBelief as HeightBelief
from .beliefs import Sensor as Sensor
from .beliefs import TerrainBelief as TerrainBelief
from .beliefs import Transition as Transition
from .beliefs import Visit as Visit
from .bonuses import Bonus as Bonus
from .bonuses import InformationGain as InformationGain
from .bonuses import MbieEb as MbieEb
from .bonuses import NearBayesian as NearBayesian
from .bonuses import RMax as RMax
from .bonuses import Uncover as Uncover
from .criteria import EarnAtLeast as EarnAtLeast
from .criteria import Limit as Limit
from .criteria import ReturnHome as ReturnHome
from .criteria import StayInside as StayInside
from .errors import HomewardError as HomewardError
from .errors import ImpossibleObservationError as ImpossibleObservationError
from .errors import InfeasibleError as InfeasibleError
from .errors import InvalidBeliefError as InvalidBeliefError
from .errors import InvalidInputError as InvalidInputError
from .exploration import Exploration as Exploration
from .exploration import explore as explore
from .kinds.grid.maps import HeightMap as HeightMap
from .kinds.grid.world import HeightGridWorld as HeightGridWorld
from .kinds.rover.world import Rover as Rover
from .missions import Mission as Mission
from .models import Model as Model
from .models import Moves as Moves
from .models import SparseMDP as SparseMDP
from .planning.algorithm1 import Planner as Planner
from .planning.explorer import Explorer as Explorer
from .planning.paper import PaperExplorer as PaperExplorer
from .planning.plan import Plan as Plan
from .referee.beliefs import check_belief as check_belief
from .referee.certificate import Certificate as Certificate
from .referee.certificate import certify as certify
from .referee.worlds import check_world as check_world
from .runs import Run as Run
from .worlds import GymWorld as GymWorld
from .worlds import ModelWorld as ModelWorld
from .worlds import World as World
from .worlds import from_gymnasium as from_gymnasium

__version__: str
__all__: list[str]
