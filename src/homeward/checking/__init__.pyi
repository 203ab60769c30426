from .beliefs import check_belief as check_belief
from .offences import CheckReport as CheckReport
from .offences import Offence as Offence
from .worlds import check_world as check_world

__all__ = ["CheckReport", "Offence", "check_belief", "check_world"]
