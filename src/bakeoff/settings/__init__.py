"""Settings of a user, checked: one file per section, and `loading` for the whole."""

from .agents import BUILT_IN, EVENTS, AgentSettings
from .checks import SettingsError
from .endpoints import EndpointSettings
from .loading import Settings, load_settings
from .merge import STRATEGIES, MergeSettings
from .models import ModelSettings
from .plan import PlanSettings
from .slots import SlotSettings

__all__ = [
    "BUILT_IN",
    "EVENTS",
    "STRATEGIES",
    "AgentSettings",
    "EndpointSettings",
    "MergeSettings",
    "ModelSettings",
    "PlanSettings",
    "Settings",
    "SettingsError",
    "SlotSettings",
    "load_settings",
]
