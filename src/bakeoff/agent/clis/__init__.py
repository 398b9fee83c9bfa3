"""Coding-agent CLIs that are built in, one file each, which is imported when that CLI is asked for.

Their names stand in `settings/agents.py`; README.md tells how to add one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.agent.entry import Entry
    from bakeoff.agent.events import EventFormat


def entry_of(name: str) -> Entry:
    """The entry of the built-in CLI called `name`, before settings change anything in it."""
    found: Entry = cli_module(name).ENTRY
    return found


def event_format(name: str) -> EventFormat:
    """The event format called `name`: that of the built-in CLI of this name, or `text`, which reads no events."""
    if name == "text":
        from bakeoff.agent.events import PLAIN_TEXT

        return PLAIN_TEXT
    found: EventFormat = cli_module(name).FORMAT
    return found


def cli_module(name: str) -> Any:
    """The file of the built-in CLI called `name`, imported: it has an `ENTRY`, and a `FORMAT` if no other's is its own.

    Raises:
        ModuleNotFoundError: it has none.
    """  # noqa: DOC502 - import_module raises it
    return import_module(f"{__name__}.{name.replace('-', '_')}")
