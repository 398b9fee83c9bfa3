"""Says which agents this machine and login have, before anything is spent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.override import find_executable, setting
from bakeoff.agent.registry import agent_names, find_entry
from bakeoff.engine.process import Command, Processes, SpawnError
from bakeoff.settings import Settings

AT_ONCE = 4
"""Version questions asked at the same time; some CLIs take seconds of CPU to answer."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """What was found of one agent.

    Attributes:
        path: its program, None when it is not installed.
        version: as it tells it itself, None when it did not.
        login: the file or variable that shows a login; None when none was seen (it may still be logged in by other
            means, such as a keychain).
        advice: what to do when something is missing.
    """

    name: str
    path: str | None = None
    version: str | None = None
    login: str | None = None
    advice: str | None = None


async def check_agents(
    settings: Settings,
    processes: Processes,
    *,
    cwd: str = ".",
    env: Mapping[str, str | None] | None = None,
    timeout: float = 10.0,
) -> list[AgentCheck]:
    """Look for every known agent, in order of name; each is given `timeout` seconds to tell its version."""
    names = agent_names(settings)
    found: dict[str, AgentCheck] = {}
    places = anyio.Semaphore(AT_ONCE)

    async def look(name: str) -> None:
        entry = find_entry(name, settings)
        async with places:
            found[name] = await _check(entry, processes, cwd, {**entry.env, **(env or {})}, timeout)

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(look, name)
    return [found[name] for name in names]


async def _check(
    entry: Entry, processes: Processes, cwd: str, env: Mapping[str, str | None], timeout: float
) -> AgentCheck:
    try:
        path = find_executable(entry, cwd, env)
    except AgentError as failure:
        return AgentCheck(entry.name, advice=str(failure))
    login = _login(entry, env)
    # A program of the user's own may take any call for a task.
    version = await _version(entry, path, processes, cwd, env, timeout) if entry.known else None
    advice = None
    if version is None and entry.known:
        advice = f"{path} did not tell its version within {timeout:g} s; try it by hand"
    elif login is None and (entry.login_files or entry.login_variables):
        wanted = " or ".join(entry.login_variables[:2])
        advice = f"no login was seen: start {entry.executables[0]} once and log in" + (
            f", or set {wanted}" * bool(wanted)
        )
    return AgentCheck(entry.name, path, version, login, advice)


def _login(entry: Entry, env: Mapping[str, str | None]) -> str | None:
    """What shows a login. Files are seen to exist, their content is nobody's business."""
    home = setting(env, "HOME") or os.path.expanduser("~")
    moved = setting(env, entry.home_variable) if entry.home_variable else None
    for file in entry.login_files:
        path = file.replace("~", home, 1)
        for candidate in (os.path.join(moved, os.path.basename(path)) if moved else path, path):
            if os.path.exists(candidate):
                return f"file {candidate}"
    return next((f"variable {name}" for name in entry.login_variables if setting(env, name)), None)


async def _version(
    entry: Entry, path: str, processes: Processes, cwd: str, env: Mapping[str, str | None], timeout: float
) -> str | None:
    command = Command([path, *entry.version], cwd, env=env, timeout=timeout, grace=0.5, output_limit=1 << 20)
    try:
        finished = await processes.run(command)
    except SpawnError:
        return None
    if finished.exit_code != 0:
        return None
    text = str(finished.stdout.value) or str(finished.stderr.value)
    number = re.search(r"\d+\.\d+[\w.+-]*", text)
    return number[0] if number else "unknown"
