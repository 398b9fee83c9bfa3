"""One reader for each family of event streams. `READERS` names them without importing any."""

from __future__ import annotations

from importlib import import_module

from bakeoff.agent.events import Family

READERS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "mini", "aider", "text")
"""Names that `events` takes in settings. `text` reads no events: all that was printed is the answer."""


def family(name: str) -> Family:
    """The family called `name`, one of `READERS`."""
    found: Family = import_module(f"bakeoff.agent.readers.{name}").FAMILY
    return found
