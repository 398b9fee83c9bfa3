"""The sandbox of a coding agent: it has network, login and all that can be read, and writes what is its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from bakeoff.agent.entry import Entry
from bakeoff.workspace.sandbox.policy import agent_places, agent_policy
from bakeoff.workspace.sandbox.sandbox import Sandbox, sandbox
from bakeoff.workspace.slot import Slot


async def agent_sandbox(entry: Entry, slot: Slot, level: str) -> Sandbox[Slot]:
    """Commands of the agent in `slot`. Its folders are made where they are missing, as it would do itself.

    Passes on SandboxError: the level is `full`, and this machine gives less.
    """
    places = own_places(entry, os.environ)
    if level != "none":
        for place in places:
            if not os.path.lexists(place) and not os.path.splitext(place.lstrip("."))[1]:
                with suppress(OSError):
                    os.makedirs(place, 0o700)
    return await sandbox(slot, agent_policy(places, level))


def own_places(entry: Entry, environ: Mapping[str, str]) -> list[str]:
    """What the agent may write besides its slot."""
    known = {**environ, **{name: value for name, value in entry.env.items() if value is not None}}
    return agent_places(entry.login_files, entry.own, entry.home_variable, known)
