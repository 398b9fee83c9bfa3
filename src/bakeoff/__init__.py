"""Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""

__version__ = "0.1.0"

_HOMES = {
    "BakeoffError": "bakeoff.engine.errors",
    "BudgetSpentError": "bakeoff.engine.errors",
    "Codec": "bakeoff.engine.codec",
    "DurableRun": "bakeoff.engine.durable",
    "Events": "bakeoff.engine.events",
    "FanOutError": "bakeoff.engine.durable",
    "ItemError": "bakeoff.engine.durable",
    "Outcome": "bakeoff.engine.record",
    "RaceResult": "bakeoff.engine.race",
    "Retry": "bakeoff.engine.retry",
    "Status": "bakeoff.engine.record",
    "StepContext": "bakeoff.workflow.steps.custom",
    "StepModel": "bakeoff.workflow.models",
    "durable": "bakeoff.engine.durable",
    "fan_out": "bakeoff.engine.durable",
    "fan_out_sync": "bakeoff.engine.sync",
    "race": "bakeoff.engine.race",
}

__all__ = [*_HOMES]  # noqa: PLE0604  (a list of texts; the names are imported when they are first used)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bakeoff.engine.codec import Codec as Codec
    from bakeoff.engine.durable import DurableRun as DurableRun
    from bakeoff.engine.durable import FanOutError as FanOutError
    from bakeoff.engine.durable import ItemError as ItemError
    from bakeoff.engine.durable import durable as durable
    from bakeoff.engine.durable import fan_out as fan_out
    from bakeoff.engine.errors import BakeoffError as BakeoffError
    from bakeoff.engine.errors import BudgetSpentError as BudgetSpentError
    from bakeoff.engine.events import Events as Events
    from bakeoff.engine.race import RaceResult as RaceResult
    from bakeoff.engine.race import race as race
    from bakeoff.engine.record import Outcome as Outcome
    from bakeoff.engine.record import Status as Status
    from bakeoff.engine.retry import Retry as Retry
    from bakeoff.engine.sync import fan_out_sync as fan_out_sync
    from bakeoff.workflow.models import StepModel as StepModel
    from bakeoff.workflow.steps.custom import StepContext as StepContext


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'bakeoff' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
