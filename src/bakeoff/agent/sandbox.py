"""Sandbox of a coding agent: it has network, login and all that can be read, and writes what is its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from bakeoff.agent.entry import Entry
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_places, agent_policy
from bakeoff.workspace.sandbox.sandbox import Sandbox, granted, sandbox
from bakeoff.workspace.slots.slot import Slot


async def sandboxed(entry: Entry, slot: Slot, level: str, sockets: Sequence[str]) -> tuple[Entry, Sandbox[Slot]]:
    """Commands of the agent in `slot`, and how it is to be asked there.

    Its folders are made where they are missing, as it would do itself. Where this machine cannot hold back its writing,
    there is no sandbox, so that the CLI can make its own. Of the user's sockets it reaches those in `sockets`.

    Passes on SandboxError: the level is `full`, and this machine gives less.
    """
    places = own_places(entry, os.environ)
    policy = agent_policy(places, level, sockets)
    machine = await this_machine()
    protection = granted(policy, machine)
    if protection.files.strength is None:
        box = await sandbox(slot, agent_policy((), "none"))
        return entry, replace(box, protection=protection)
    for place in places:
        if not os.path.lexists(place) and not os.path.splitext(place.lstrip("."))[1]:
            with suppress(OSError):
                os.makedirs(place, 0o700)
    argv = tuple(entry.inside.get(part, part) if isinstance(part, str) else part for part in entry.argv)
    return replace(entry, argv=argv), Sandbox(slot, policy, machine, protection)


def own_places(entry: Entry, environ: Mapping[str, str]) -> list[str]:
    """Paths that the agent may write besides its slot."""
    known = {**environ, **{name: value for name, value in entry.env.items() if value is not None}}
    places = agent_places(entry.login_files, entry.own, entry.home_variable, known)
    return places if entry.endpoint is None else [*places, str(entry.endpoint.folder(entry.name))]
