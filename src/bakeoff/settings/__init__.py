"""Settings of a user, checked: one file per section, and `loading` for the whole.

Names are imported when they are first used: commands read the options of a section to print their help.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agents import BUILT_IN as BUILT_IN
    from .agents import EVENTS as EVENTS
    from .agents import AgentSettings as AgentSettings
    from .checks import SettingsError as SettingsError
    from .endpoints import EndpointSettings as EndpointSettings
    from .loading import Settings as Settings
    from .loading import load_settings as load_settings
    from .merge import MergeSettings as MergeSettings
    from .models import ModelSettings as ModelSettings
    from .plan import PlanSettings as PlanSettings
    from .slots import SlotSettings as SlotSettings

_HOMES = {
    "BUILT_IN": "agents",
    "EVENTS": "agents",
    "AgentSettings": "agents",
    "EndpointSettings": "endpoints",
    "MergeSettings": "merge",
    "ModelSettings": "models",
    "PlanSettings": "plan",
    "Settings": "loading",
    "SettingsError": "checks",
    "SlotSettings": "slots",
    "load_settings": "loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'bakeoff.settings' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"bakeoff.settings.{_HOMES[name]}"), name)
    return value
