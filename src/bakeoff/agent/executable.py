"""Executable of an agent's CLI: where it is, and what its user changes by spec-kit's environment variables."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping

from bakeoff.agent.entry import AgentError, Entry


def variable(name: str, what: str) -> str:
    """The variable that overrides `what` (`EXECUTABLE`, `EXTRA_ARGS`) for the agent called `name`."""
    return f"SPECKIT_INTEGRATION_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_{what}"


def setting(env: Mapping[str, str | None], name: str) -> str | None:
    """A variable as the agent will see it: `env` on top of bakeoff's own environment. Empty counts as not set."""
    return (env[name] if name in env else os.environ.get(name)) or None


def find_executable(entry: Entry, cwd: str, env: Mapping[str, str | None]) -> str:
    """The program of `entry`, as a path.

    Raises:
        AgentError: it is not there; the message says how to get it.
    """
    override = variable(entry.name, "EXECUTABLE")
    chosen = setting(env, override)
    candidates = (chosen,) if chosen else entry.executables
    for candidate in candidates:
        name = os.path.expanduser(candidate)
        name = os.path.join(cwd, name) if os.sep in name else name
        if found := shutil.which(name, path=setting(env, "PATH")):
            return os.path.abspath(found)
    named = " or ".join(repr(candidate) for candidate in candidates)
    source = f" (named by {override})" if chosen else ""
    raise AgentError(
        f"agent {entry.name}: no program {named}{source} is here to be run. Get it: {entry.install}. "
        f"If it is elsewhere, set {override} or `executable` in [tool.bakeoff.agents.{entry.name}]",
        "missing",
    )


def extra_arguments(entry: Entry, env: Mapping[str, str | None]) -> tuple[str, ...]:
    """Arguments that the user adds to every call, split as a shell would.

    Raises:
        AgentError: the text cannot be split.
    """
    name = variable(entry.name, "EXTRA_ARGS")
    try:
        return tuple(shlex.split(setting(env, name) or ""))
    except ValueError as failure:
        raise AgentError(f"{name} cannot be split into arguments: {failure}") from failure
