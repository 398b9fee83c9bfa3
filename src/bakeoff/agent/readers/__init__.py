"""One reader for each family of event streams. `READERS` names them without importing any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from bakeoff.agent.events import Reader, Reading

READERS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "mini", "aider", "text")
"""Names that `events` takes in settings. `text` reads no events: all that was printed is the answer."""


@dataclass(frozen=True, slots=True)
class Family:
    """How the output of a family of CLIs is read.

    Attributes:
        read: takes one event.
        has_final: whether the CLI ends with an event that says how it went. Without one the exit status decides.
        from_artifact: events come from the result file, not from standard output.
        read_text: takes the end of the printed text, for CLIs that print no events.
    """

    read: Reader
    has_final: bool = True
    from_artifact: bool = False
    read_text: Callable[[str, Reading], None] | None = None


def family(name: str) -> Family:
    """The family called `name`, one of `READERS`."""
    found: Family = import_module(f"bakeoff.agent.readers.{name}").FAMILY
    return found
