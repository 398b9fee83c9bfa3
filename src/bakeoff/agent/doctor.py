"""Doctor of agents: those that this machine and login have, before anything is spent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.executable import find_executable
from bakeoff.agent.login import how_to_log_in, login_of
from bakeoff.agent.registry import agent_names, find_entry
from bakeoff.process.command import Command, Processes, SpawnError
from bakeoff.report.escape import visible
from bakeoff.settings import Settings

LONGEST = 10_000
"""Characters of a version's text that are looked at."""
AT_ONCE = 4
"""Version questions asked at the same time; some CLIs take seconds of CPU to answer."""


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """Findings on one agent.

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
    login = login_of(entry, env)
    # A program of the user's own may take any call for a task.
    version, problem = await _version(entry, path, processes, cwd, env, timeout) if entry.known else (None, None)
    advice = None
    if problem is not None:
        advice = f"{path} {problem}; try it by hand"
    elif login is None and (entry.login_files or entry.login_variables):
        advice = how_to_log_in(entry)
    return AgentCheck(entry.name, path, version, login, advice)


async def _version(
    entry: Entry, path: str, processes: Processes, cwd: str, env: Mapping[str, str | None], timeout: float
) -> tuple[str | None, str | None]:
    """The version that the program tells, or why it does not."""
    command = Command([path, *entry.version], cwd, env=env, timeout=timeout, grace=0.5, output_limit=1 << 20)
    try:
        finished = await processes.run(command)
    except SpawnError as failure:
        return None, f"cannot be started: {failure}"
    if finished.ended_by == "timeout":
        return None, f"did not tell its version within {timeout:g} s"
    if finished.exit_code != 0:
        words = f"{finished.stderr.value}\n{finished.stdout.value}".strip().splitlines()
        said = f": {visible(words[-1][:200])}" if words else ""
        return None, f"ended with status {finished.exit_code} when asked for its version{said}"
    text = str(finished.stdout.value)[:LONGEST] or str(finished.stderr.value)[:LONGEST]
    number = re.search(r"\d+\.\d+[\w.+-]*", text)
    return number[0] if number else "unknown", None
