"""`bakeoff doctor`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bakeoff.agent.doctor import AgentCheck
    from bakeoff.settings import Settings


MODEL_SECONDS = 60.0
"""Seconds that a model has to answer."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        ok: whether bakeoff can work with what was found.
        found: what was found; None for nothing.
        advice: what to do about it.
    """

    name: str
    ok: bool
    found: str | None
    advice: str | None = None


@click.command("doctor")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Ask this model for one token; it is paid for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(models: tuple[str, ...], as_json: bool) -> None:
    """Tell what this machine and login can do, before anything is spent.

    Exit status: 0 bakeoff can run here; 1 something it needs is missing. Missing agents are no failure.
    """
    from bakeoff.cli.output import print_json
    from bakeoff.cli.run_lookup import project
    from bakeoff.errors import BakeoffError
    from bakeoff.settings import Settings, load_settings

    here = project()
    try:
        settings = load_settings(here)
        own = Check(
            "settings", True, str(settings.source or "none; defaults hold"), "; ".join(settings.warnings) or None
        )
    except BakeoffError as failure:
        settings, own = Settings(), Check("settings", False, "cannot be read", str(failure))
    checks = [*_versions(), *_machine(here), *_workspaces(), *_sandbox(), own, *_step_types(settings)]
    checks += [*_endpoints(settings), *_models(models, settings)]
    agents = _agents(settings, here)
    if as_json:
        found = {"ok": all(check.ok for check in checks)}
        print_json(found | {"checks": [asdict(c) for c in checks], "agents": [asdict(a) for a in agents]}, indent=2)
    else:
        _print(checks, agents)
    sys.exit(0 if all(check.ok for check in checks) else 1)


def _versions() -> list[Check]:
    import platform
    import sqlite3
    from importlib.metadata import version

    from bakeoff.version import __version__

    names = ("anyio", "click", "pydantic", "PyYAML", "rich")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return [
        Check("bakeoff", True, f"{__version__} in {Path(__file__).parents[1]}"),
        Check("python", True, f"{platform.python_version()} ({sys.executable}), SQLite {sqlite3.sqlite_version}"),
        Check("libraries", True, libraries),
        _git(),
    ]


def _git() -> Check:
    import re
    import subprocess

    advice = "install git 2.38 or later; workflows run without it, attempts do not"
    try:
        text = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Check("git", True, None, advice)
    number = re.search(r"(\d+)\.(\d+)[\d.]*", text)
    old = number is None or (int(number[1]), int(number[2])) < (2, 38)
    return Check("git", True, number[0] if number else text.strip(), advice if old else None)


def _machine(here: Path) -> list[Check]:
    import os
    import platform
    import shutil

    from bakeoff.report.words import counted, size
    from bakeoff.system.machine import cpu_allowance, memory_available, network_file_system

    memory = memory_available()
    low = memory is not None and memory < 1 << 30
    kind = network_file_system(here)
    free = shutil.disk_usage(here).free
    linux = sys.platform.startswith("linux")
    return [
        Check("system", True, f"{platform.system()} {platform.release()} {platform.machine()}"),
        Check("processors", True, f"{counted(cpu_allowance(), 'processor')} of {os.cpu_count()} may be used"),
        Check(
            "memory",
            True,
            f"{size(memory)} available" if memory is not None else None,
            "less than 1 GB is left: agents run one at a time" if low else None,
        ),
        Check(
            "project",
            kind is None and os.access(here, os.W_OK),
            f"{here} ({kind or 'local file system'}, {size(free)} free)",
            "a journal cannot be kept safe on a network file system; work in a local folder"
            if kind
            else None
            if os.access(here, os.W_OK)
            else f"{here} cannot be written",
        ),
        Check(
            "orphans",
            True,
            "a supervisor that adopts them (subreaper)" if linux else "process groups and a marker scan, best effort",
        ),
    ]


def _workspaces() -> list[Check]:
    """Checks of slots: what they can be (whiteout and opaque folder are tried for real), and where results are kept."""
    from bakeoff.workspace.repository.cache import cache_root
    from bakeoff.workspace.slots.mounts import look

    found = look(cache_root())
    slower = "attempts get checkouts of their own instead: slower to make and to reset, and without that protection"
    return [
        Check(
            "namespaces",
            True,
            "user and mount namespaces can be made" if found.namespaces is None else None,
            None if found.namespaces is None else f"{found.namespaces}; {slower}",
        ),
        Check(
            "overlay",
            True,
            f"slots are overlay mounts, kept in {cache_root()}" if found.overlay is None else None,
            None if found.overlay is None else f"{found.overlay}; {slower}",
        ),
        _results(),
    ]


def _results() -> Check:
    """Where they are kept; it and the place of slots are made, as a run makes them, and tried."""
    from bakeoff.workspace.errors import WorkspaceError
    from bakeoff.workspace.repository.cache import check_roots, data_root

    try:
        check_roots()
    except (OSError, WorkspaceError) as failure:
        return Check(
            "results", False, "cannot be kept", f"{failure}; until then everything that needs a slot is refused"
        )
    return Check("results", True, f"of attempts are kept in {data_root()}")


def _step_types(settings: Settings) -> list[Check]:
    """Whether the step types that the settings name can be loaded; nothing where they name none."""
    from bakeoff.errors import BakeoffError
    from bakeoff.workflow.step_type import step_types

    if settings.step_types is None:
        return []
    try:
        names = step_types(settings).registered()
    except BakeoffError as failure:
        advice = f"{failure}; mend the file, or take `step_types` out of the settings"
        return [Check("step types", False, str(settings.step_types), advice)]
    return [Check("step types", True, f"{', '.join(names)} in {settings.step_types}")]


def _sandbox() -> list[Check]:
    """Checks of the sandbox, which holds back code that nobody has read: each is tried for real."""
    from bakeoff.workspace.sandbox.machine import look
    from bakeoff.workspace.sandbox.policy import SandboxPolicy
    from bakeoff.workspace.sandbox.sandbox import protection_of

    found = look()
    missing = protection_of(SandboxPolicy(), found).missing
    advice = f'{"; ".join(missing)}. Code under sandbox = "full" is refused here: set "weak"' if missing else None
    words = "full: files, network, processes" if not missing else "weak"
    parts = (
        ("process space", found.namespaces, "mounts, processes, network and a root of its own"),
        ("landlock", found.landlock, "file rules" + (", signals, abstract sockets" if found.scopes else "")),
        ("seccomp", found.seccomp, "a filter of system calls"),
        ("layers", found.layer and f"{found.layer}: optimize copies the tree each time", "over a slot's tree"),
    )
    if sys.platform == "darwin":
        parts = (("sandbox-exec", found.seatbelt, "files and network; not tested"),)
    return [Check("sandbox", True, words, advice)] + [
        Check(f"sandbox: {name}", True, None if problem else text, problem) for name, problem, text in parts
    ]


def _endpoints(settings: Settings) -> list[Check]:
    """Whether somebody listens at each, and its key is there; nothing is asked."""
    import anyio

    from bakeoff.agent.reachable import why_refused
    from bakeoff.agent.registry import endpoint_of
    from bakeoff.model.registry import missing

    found = []
    for name in settings.endpoints:
        endpoint = endpoint_of(name, settings)
        refused = anyio.run(why_refused, endpoint)
        advice = "; ".join(filter(None, [refused, missing(name, settings)])) or None
        found.append(Check(f"endpoint {name}", True, f"{endpoint.url}, model {endpoint.model}", advice))
    return found


def _models(names: tuple[str, ...], settings: Settings) -> list[Check]:
    """Whether models answer: each is asked for one token, once."""
    import anyio

    from bakeoff.engine.retry import ONCE
    from bakeoff.errors import BakeoffError, the_failure
    from bakeoff.model.protocol import Message, Reply, Request
    from bakeoff.model.registry import model_for

    request = Request((Message("user", "Say OK."),), max_tokens=1)

    async def ask(name: str) -> Reply:
        with anyio.fail_after(MODEL_SECONDS):
            async with model_for(name, settings, retry=ONCE) as model:
                return await model.generate(request)

    found = []
    for name in names:
        try:
            reply = anyio.run(ask, name)
        except TimeoutError:
            found.append(Check(f"model {name}", False, None, f"no answer within {MODEL_SECONDS:g} s"))
        except Exception as raised:
            failure = the_failure(raised)
            if not isinstance(failure, BakeoffError):
                raise
            found.append(Check(f"model {name}", False, None, str(failure)))
        else:
            used = reply.usage.tokens
            words = f"answers in {reply.seconds:.2g} s" + ("" if used is None else f", {used} tokens")
            found.append(Check(f"model {name}", True, words))
    return found


def _agents(settings: Settings, here: Path) -> list[AgentCheck]:
    import os

    import anyio

    from bakeoff.agent.doctor import check_agents
    from bakeoff.engine.mask import Masker
    from bakeoff.process.spawner import Spawner
    from bakeoff.process.sweep import process_token

    async def ask() -> list[AgentCheck]:
        spawner = Spawner(token=process_token(), base_env=dict(os.environ), masker=Masker(), adopt=True)
        async with spawner:
            return await check_agents(settings, spawner, cwd=str(here))

    return anyio.run(ask)


def _print(checks: list[Check], agents: list[AgentCheck]) -> None:
    from bakeoff.cli.output import mark, tell
    from bakeoff.report.escape import one_line

    for check in checks:
        sign = mark("failed" if not check.ok else "paused" if check.advice else "completed")
        tell(f"{sign} {check.name}: {one_line(check.found or 'not found', 400)}")
        if check.advice:
            tell(f"    {one_line(check.advice, 600)}")
    tell("agents:")
    for agent in agents:
        sign = mark("pending" if agent.path is None else "paused" if agent.advice else "completed")
        found = f"{agent.version or 'unknown version'} ({agent.path})" if agent.path else "not installed"
        tell(f"{sign} {agent.name}: {one_line(found, 400)}{f', {one_line(agent.login)}' if agent.login else ''}")
        if agent.advice:
            tell(f"    {one_line(agent.advice, 600)}")
