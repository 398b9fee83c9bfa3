"""A scripted model server on loopback. It speaks four wire formats, does what a script says, and records requests."""

from scripted_model.script import Cut, Garbage, Raw, Reply, Say, Script, Shell, Stall, Status, by_turn, in_order
from scripted_model.server import ScriptedModel, Seen

__all__ = [
    "Cut",
    "Garbage",
    "Raw",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Seen",
    "Shell",
    "Stall",
    "Status",
    "by_turn",
    "in_order",
]
