"""Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""

from bakeoff.version import __version__ as __version__

_HOMES = {
    "BakeoffError": "bakeoff.errors",
    "BestOfNStrategy": "bakeoff.sampling.best_of_n",
    "BudgetSpentError": "bakeoff.errors",
    "Codec": "bakeoff.api.codec",
    "DurableRun": "bakeoff.api.durable",
    "EscalationStrategy": "bakeoff.sampling.escalation",
    "Events": "bakeoff.engine.events",
    "FanOutError": "bakeoff.api.durable",
    "Generation": "bakeoff.sampling.action",
    "ItemError": "bakeoff.api.durable",
    "MajorityVotingStrategy": "bakeoff.sampling.vote",
    "Model": "bakeoff.model.protocol",
    "ModelError": "bakeoff.model.protocol",
    "MultiTurnStrategy": "bakeoff.sampling.repair",
    "Outcome": "bakeoff.engine.record",
    "RaceResult": "bakeoff.engine.race",
    "RejectionSamplingStrategy": "bakeoff.sampling.rejection",
    "RepairTemplateStrategy": "bakeoff.sampling.repair",
    "Reply": "bakeoff.model.protocol",
    "Request": "bakeoff.model.protocol",
    "Requirement": "bakeoff.judge.requirement",
    "Retry": "bakeoff.engine.retry",
    "SamplingError": "bakeoff.sampling.result",
    "SamplingResult": "bakeoff.sampling.result",
    "SamplingStrategy": "bakeoff.sampling.strategy",
    "Status": "bakeoff.engine.record",
    "StepContext": "bakeoff.workflow.steps.custom",
    "StepModel": "bakeoff.workflow.models",
    "Subject": "bakeoff.judge.subject",
    "ValidationResult": "bakeoff.judge.verdict",
    "current_attempt": "bakeoff.judge.subject",
    "durable": "bakeoff.api.durable",
    "fan_out": "bakeoff.api.durable",
    "fan_out_sync": "bakeoff.api.sync",
    "race": "bakeoff.engine.race",
    "sample": "bakeoff.sampling.sample",
    "sample_sync": "bakeoff.sampling.sample",
}

__all__ = [*_HOMES]  # noqa: PLE0604  (a list of texts; the names are imported when they are first used)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bakeoff.api.codec import Codec as Codec
    from bakeoff.api.durable import DurableRun as DurableRun
    from bakeoff.api.durable import FanOutError as FanOutError
    from bakeoff.api.durable import ItemError as ItemError
    from bakeoff.api.durable import durable as durable
    from bakeoff.api.durable import fan_out as fan_out
    from bakeoff.api.sync import fan_out_sync as fan_out_sync
    from bakeoff.engine.events import Events as Events
    from bakeoff.engine.race import RaceResult as RaceResult
    from bakeoff.engine.race import race as race
    from bakeoff.engine.record import Outcome as Outcome
    from bakeoff.engine.record import Status as Status
    from bakeoff.engine.retry import Retry as Retry
    from bakeoff.errors import BakeoffError as BakeoffError
    from bakeoff.errors import BudgetSpentError as BudgetSpentError
    from bakeoff.judge.requirement import Requirement as Requirement
    from bakeoff.judge.subject import Subject as Subject
    from bakeoff.judge.subject import current_attempt as current_attempt
    from bakeoff.judge.verdict import ValidationResult as ValidationResult
    from bakeoff.model.protocol import Model as Model
    from bakeoff.model.protocol import ModelError as ModelError
    from bakeoff.model.protocol import Reply as Reply
    from bakeoff.model.protocol import Request as Request
    from bakeoff.sampling.action import Generation as Generation
    from bakeoff.sampling.best_of_n import BestOfNStrategy as BestOfNStrategy
    from bakeoff.sampling.escalation import EscalationStrategy as EscalationStrategy
    from bakeoff.sampling.rejection import RejectionSamplingStrategy as RejectionSamplingStrategy
    from bakeoff.sampling.repair import MultiTurnStrategy as MultiTurnStrategy
    from bakeoff.sampling.repair import RepairTemplateStrategy as RepairTemplateStrategy
    from bakeoff.sampling.result import SamplingError as SamplingError
    from bakeoff.sampling.result import SamplingResult as SamplingResult
    from bakeoff.sampling.sample import sample as sample
    from bakeoff.sampling.sample import sample_sync as sample_sync
    from bakeoff.sampling.strategy import SamplingStrategy as SamplingStrategy
    from bakeoff.sampling.vote import MajorityVotingStrategy as MajorityVotingStrategy
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
