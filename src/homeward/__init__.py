"""Homeward: exploration of unknown worlds that keeps a way home with a probability you set.

Everything public can be imported from here. Names are loaded when they are first used, so that
``import homeward`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeward.beliefs import (
        Belief,
        DirichletBelief,
        FiniteBelief,
        HeightBelief,
        Heights,
        Reveal,
        Rows,
        Sensor,
        TerrainBelief,
        Transition,
        Visit,
        entropy_reduction,
    )
    from homeward.bonuses import (
        Bonus,
        Information,
        InformationGain,
        Looks,
        MbieEb,
        NearBayesian,
        RMax,
        Uncover,
    )
    from homeward.certificates import (
        Certificate,
        ClaimVerdict,
        StoredPlan,
        certify,
        load_plan,
        save_plan,
    )
    from homeward.errors import (
        HomewardError,
        ImpossibleObservationError,
        InfeasibleError,
        InvalidBeliefError,
        InvalidFileError,
        InvalidInputError,
        InvalidModelError,
        InvalidProblemError,
        MissingExtraError,
    )
    from homeward.models import Model, Moves, SparseMDP
    from homeward.planning.explorer import End, Explorer, Step, World
    from homeward.planning.held import Held, Proposal
    from homeward.planning.paper import PaperExplorer
    from homeward.planning.plan import ActionEvidence, CriterionEvidence, Plan, Verdict
    from homeward.planning.planner import Planner
    from homeward.safety import (
        AtStep,
        Correction,
        Criterion,
        EarnAtLeast,
        ReturnHome,
        ReturnWithin,
        StayInside,
        return_to_each,
    )
    from homeward.solvers import Status
    from homeward.worlds import (
        HeightGridEnv,
        HeightGridWorld,
        HeightMap,
        Rover,
        RoverEnv,
        draw_heights,
        true_heights,
    )

__version__ = "0.1.0"

_HOME = {
    "beliefs": (
        "Belief",
        "DirichletBelief",
        "FiniteBelief",
        "HeightBelief",
        "Heights",
        "Reveal",
        "Rows",
        "Sensor",
        "TerrainBelief",
        "Transition",
        "Visit",
        "entropy_reduction",
    ),
    "bonuses": (
        "Bonus",
        "Information",
        "InformationGain",
        "Looks",
        "MbieEb",
        "NearBayesian",
        "RMax",
        "Uncover",
    ),
    "certificates": (
        "Certificate",
        "ClaimVerdict",
        "StoredPlan",
        "certify",
        "load_plan",
        "save_plan",
    ),
    "errors": (
        "HomewardError",
        "ImpossibleObservationError",
        "InfeasibleError",
        "InvalidBeliefError",
        "InvalidFileError",
        "InvalidInputError",
        "InvalidModelError",
        "InvalidProblemError",
        "MissingExtraError",
    ),
    "planning.explorer": ("End", "Explorer", "Step", "World"),
    "planning.held": ("Held", "Proposal"),
    "planning.paper": ("PaperExplorer",),
    "models": ("Model", "Moves", "SparseMDP"),
    "planning.plan": ("ActionEvidence", "CriterionEvidence", "Plan", "Verdict"),
    "planning.planner": ("Planner",),
    "safety": (
        "AtStep",
        "Correction",
        "Criterion",
        "EarnAtLeast",
        "ReturnHome",
        "ReturnWithin",
        "StayInside",
        "return_to_each",
    ),
    "solvers": ("Status",),
    "worlds": (
        "HeightGridEnv",
        "HeightGridWorld",
        "HeightMap",
        "Rover",
        "RoverEnv",
        "draw_heights",
        "true_heights",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ActionEvidence",
    "AtStep",
    "Belief",
    "Bonus",
    "Certificate",
    "ClaimVerdict",
    "Correction",
    "Criterion",
    "CriterionEvidence",
    "DirichletBelief",
    "EarnAtLeast",
    "End",
    "Explorer",
    "FiniteBelief",
    "HeightBelief",
    "HeightGridEnv",
    "HeightGridWorld",
    "HeightMap",
    "Heights",
    "Held",
    "HomewardError",
    "ImpossibleObservationError",
    "InfeasibleError",
    "Information",
    "InformationGain",
    "InvalidBeliefError",
    "InvalidFileError",
    "InvalidInputError",
    "InvalidModelError",
    "InvalidProblemError",
    "Looks",
    "MbieEb",
    "MissingExtraError",
    "Model",
    "Moves",
    "NearBayesian",
    "PaperExplorer",
    "Plan",
    "Planner",
    "Proposal",
    "RMax",
    "ReturnHome",
    "ReturnWithin",
    "Reveal",
    "Rover",
    "RoverEnv",
    "Rows",
    "Sensor",
    "SparseMDP",
    "Status",
    "StayInside",
    "Step",
    "StoredPlan",
    "TerrainBelief",
    "Transition",
    "Uncover",
    "Verdict",
    "Visit",
    "World",
    "__version__",
    "certify",
    "draw_heights",
    "entropy_reduction",
    "load_plan",
    "return_to_each",
    "save_plan",
    "true_heights",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'homeward' has no attribute {name!r}")
    return getattr(import_module(f"homeward.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
