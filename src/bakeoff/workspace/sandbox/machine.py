"""Sandbox support of this machine and login, found out by building small ones, never by a version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bakeoff.system.temporary import temporary_folder
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.sandbox.places import DEVICES, SYSTEM, outermost
from bakeoff.workspace.sandbox.plan import SandboxPlan

TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Machine:
    """Why something cannot be had; None where it can.

    Attributes:
        namespaces: of users, mounts, processes, IPC and network, with a root of its own.
        proc: a /proc of the new process space.
        landlock: file rules.
        scopes: whether landlock also keeps signals and abstract sockets to the sandbox (version 6).
        seccomp: the filter of system calls.
        layer: a layer over a tree inside, whose changes end with the sandbox; without one trees are copied.
        seatbelt: macOS's sandbox-exec.
    """

    namespaces: str | None
    proc: str | None
    landlock: str | None
    scopes: bool
    seccomp: str | None
    layer: str | None = None
    seatbelt: str | None = "sandbox-exec is for macOS"


async def this_machine() -> Machine:
    """The support that is had here; tried once in a process."""
    return await in_thread(look)


@cache
def look() -> Machine:
    """Try everything; takes some tens of milliseconds, and is remembered."""
    if sys.platform == "darwin":
        from bakeoff.workspace.sandbox.darwin import missing

        linux = "it is for Linux"
        return Machine(linux, linux, linux, False, linux, linux, missing())
    with temporary_folder("try") as folder:
        return _try(Path(os.path.realpath(folder)))


def _try(folder: Path) -> Machine:
    inner = folder / "inner"
    inner.mkdir()
    (folder / "secret").write_text("secret")
    seccomp = _run(_plan(inner, namespaces=False, landlock=False), "unshare -U true 2>/dev/null && exit 9; true")
    rules = _plan(inner, namespaces=False, seccomp=False, landlock_reads=outermost(SYSTEM))
    script = f"cat {folder}/secret 2>/dev/null && exit 9; echo x > {inner}/x && cat {inner}/x >/dev/null"
    landlock = _run(rules, script)
    proc = None
    whole = {"seccomp": seccomp is None, "landlock": landlock is None}
    script = f"ls {folder}/secret 2>/dev/null && exit 9; echo x > {inner}/y && test $$ != 1"
    namespaces = _run(_plan(inner, **whole), f"{script} && test -r /proc/self/stat")
    if namespaces is not None:
        proc, namespaces = namespaces, _run(_plan(inner, proc=False, **whole), script)
    layer = namespaces or _try_layer(folder / "tree", proc is None, whole)
    return Machine(namespaces, namespaces or proc, landlock, landlock is None and _version() >= 6, seccomp, layer)


def _try_layer(tree: Path, proc: bool, whole: Mapping[str, bool]) -> str | None:
    """Why a layer cannot be mounted over a folder as evaluations of `optimize` have it; None where it can."""
    tree.mkdir()
    (tree / "file").write_text("below")
    at = "/tmp/at"  # noqa: S108 - a path of the sandbox
    own = {"lower": str(tree), "at": at, "size": 1 << 20, "links": {}, "copied": False}
    plan = _plan(tree, proc=proc, **whole)
    plan = replace(plan, folder=at, temp="/tmp", writes=(), landlock_writes=[at, *DEVICES, "/tmp"], own=own)  # noqa: S108
    return _run(plan, "test $(cat file) = below && echo above > file && echo more > other && test $(cat file) = above")


def _plan(inner: Path, **how: object) -> SandboxPlan:
    place = str(inner)
    reads = outermost(SYSTEM)
    writes = [place, *DEVICES]
    return SandboxPlan(place, place, [place], reads, ["PATH"], landlock_writes=writes, **how)  # type: ignore[arg-type]


def _run(plan: SandboxPlan, script: str) -> str | None:
    """Why `script` does not do what it should in such a sandbox; None when it does."""
    shell = shutil.which("sh") or "/bin/sh"
    try:
        done = subprocess.run(
            plan.argv([shell, "-c", script]), capture_output=True, cwd="/", timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.SubprocessError) as failure:
        return str(failure)
    if done.returncode == 0:
        return None
    if done.returncode == 9:
        return "it can be made, and holds nothing back"
    said = done.stderr.decode(errors="replace").strip().removeprefix("bakeoff sandbox: ")
    return (said.splitlines() or [f"a try ended with exit status {done.returncode}"])[-1][:200]


def _version() -> int:
    from bakeoff.confine import landlock

    return landlock.version()
