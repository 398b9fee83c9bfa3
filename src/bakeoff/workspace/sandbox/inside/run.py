"""Builds the sandbox it was told to, runs the command in it, and ends as the command ended.

Up to three processes: this one stays outside and passes on how it ended; the first one inside reaps, so
that the command is not process 1 of its namespace, to which signals mean something else; the third becomes the command.
"""

from __future__ import annotations

import marshal
import os
import sys

from bakeoff.confine import filter, kernel, landlock
from bakeoff.workspace.sandbox.inside import view, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FAILED = 125
"""Exit status when the sandbox could not be built; the command was not run then."""

KILL = 9
ENDING = (1, 2, 15)
"""HUP, INT and TERM. Whoever ends a command signals all its processes; passed on, they would get it twice."""

INTERVAL = 0.05
"""Seconds between two looks at what all processes take together."""

LIMITS = {"cpu": 0, "file": 1, "data": 2, "core": 4, "processes": 6, "files": 7}
"""Numbers of RLIMIT_*, the same on both machines."""


def main() -> None:
    """Arguments: the plan as hexadecimal marshal, then the command."""
    _run(sys.argv[1], sys.argv[2:], kernel.forget_environment)


def forked(arguments: list[bytes], env: Mapping[bytes, bytes]) -> None:
    """The same in a fork of another program, for a process with the environment `env`."""
    kernel.forget_environment()
    os.environb.clear()
    os.environb.update(env)
    told, *argv = map(os.fsdecode, arguments)
    _run(told, argv, lambda: None)


def _run(told: str, argv: list[str], forget: Callable[[], None]) -> None:
    """`forget` is called inside, before anybody there could read the variables of this program."""
    plan: dict[str, Any] = marshal.loads(bytes.fromhex(told))  # noqa: S302 - of our own making, and quick
    kernel.ignore_signals(ENDING)
    try:
        if plan["holder"]:
            enter(plan["holder"])
        if plan["namespaces"]:
            status = _apart(plan, argv, forget)
        else:
            status = _here(plan, argv)
    except OSError as failure:
        _say(failure.strerror or str(failure))
        os._exit(FAILED)
    _end_like(status)


def _say(text: str) -> None:
    os.write(2, f"bakeoff sandbox: {text}\n".encode(errors="replace"))


def _apart(plan: Mapping[str, Any], argv: list[str], forget: Callable[[], None]) -> int:
    """Run it in namespaces of its own."""
    unshare(plan["network"])
    gate, opening = os.pipe()
    report, reporting = os.pipe()
    ours = (opening, report)
    first = kernel.in_child(lambda: _first(plan, argv, forget, gate, reporting, ours))
    os.close(gate)
    os.close(reporting)
    os.write(opening, b"1")
    told = b""
    while piece := os.read(report, 1 << 12):
        told += piece
    os.waitpid(first, 0)
    word, _, said = told.partition(b" ")
    if said:
        _say(said.decode(errors="replace"))
    if word == b"failed":
        os._exit(FAILED)
    return int(word) if word else KILL


def enter(holder: int) -> None:
    """Go into the user and mount namespaces of a slot's holder."""
    handle = os.pidfd_open(holder)
    kernel.setns(handle, kernel.NEW_USER | kernel.NEW_NS)
    os.close(handle)


def unshare(network: bool) -> None:
    """Take namespaces of its own, that of processes for children, that of the network unless it is to be kept."""
    kernel.unshare_user(kernel.NEW_NS | kernel.NEW_PID | kernel.NEW_IPC | (0 if network else kernel.NEW_NET))


def _first(
    plan: Mapping[str, Any],
    argv: list[str],
    forget: Callable[[], None],
    gate: int,
    reporting: int,
    theirs: tuple[int, ...],
) -> None:
    """Process 1 of the namespace; when it ends, the kernel ends all others."""
    kernel.prctl(kernel.PR_DEATH_SIGNAL, KILL)
    for descriptor in theirs:
        os.close(descriptor)
    if not os.read(gate, 1):
        os._exit(FAILED)  # the one outside died before the death signal was set
    try:
        if not plan["network"]:
            kernel.loopback_up()
        places = plan["reads"], plan["writes"], plan["temp"]
        view.build(*places, plan["shared"], plan["proc"], plan["hidden"], plan["own"])
        forget()
        kernel.prctl(kernel.PR_DUMPABLE, 0)
        command = kernel.in_child(lambda: _become(plan, argv, reporting))
        memory, count = (plan["memory"], plan["count"]) if plan["proc"] else (0, 0)
        status, reason = _until_end(command, memory, count)
        os.write(reporting, f"{status} {'ended: ' + reason if reason else ''}".encode())
    except OSError as failure:
        os.write(reporting, b"failed " + str(failure.strerror or failure).encode())
    os._exit(0)


def _until_end(command: int, memory: int, count: int) -> tuple[int, str]:
    """Wait for the child `command`; its wait status, and why all were ended early: together they took too much."""
    watched = bool(memory or count)
    while True:
        status = _reap(command, wait=not watched)
        if status is not None:
            return status, ""
        if not watched:
            continue
        _pause(command)
        reason = watch.too_much("/proc", memory, count)
        if reason:
            os.kill(-1, KILL)  # all of this pid namespace but this process
            return KILL, reason


def _reap(command: int, wait: bool) -> int | None:
    while True:
        try:
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
        except ChildProcessError:
            return KILL
        if pid == command:
            return status
        if pid == 0:
            return None


def _pause(command: int) -> None:
    """Until the command ends, or for a moment."""
    handle = os.pidfd_open(command)
    try:
        kernel.wait_readable(handle, INTERVAL)
    finally:
        os.close(handle)


def _here(plan: Mapping[str, Any], argv: list[str]) -> int:
    """Run it without namespaces; whoever outlives the command is found as a descendant, and ended."""
    kernel.prctl(kernel.PR_SUBREAPER, 1)
    report, reporting = os.pipe()
    command = kernel.in_child(lambda: _become(plan, argv, reporting))
    os.close(reporting)
    told = os.read(report, 1 << 12)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            break
    end_descendants()
    if told:
        _say(told.partition(b" ")[2].decode(errors="replace"))
        os._exit(FAILED)
    return status


def end_descendants() -> None:
    """KILL all that this process adopted, and those of theirs that it adopts then."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            children = [int(word) for word in file.read().split()]
        if not children:
            return
        for pid in children:
            os.kill(pid, KILL)
        for pid in children:
            os.waitpid(pid, 0)


def _become(plan: Mapping[str, Any], argv: list[str], reporting: int) -> None:
    """The last steps: nothing that the command could not undo may be left to do when it is executed."""
    try:
        kernel.default_signals(ENDING)
        variables = {name: os.environ[name] for name in plan["variables"] if name in os.environ}
        os.chdir(plan["folder"])
        program = _found(argv[0], variables.get("PATH", os.defpath))
        confine(plan)
    except OSError as failure:
        os.write(reporting, b"failed " + str(failure.strerror or failure).encode())
        os._exit(FAILED)
    try:
        os.execve(program, argv, variables)  # noqa: S606
    except OSError as failure:
        _say(f"cannot start {argv[0]!r}: {failure.strerror}")
        os._exit(127 if isinstance(failure, FileNotFoundError) else 126)


def confine(plan: Mapping[str, Any]) -> None:
    """Limits, no capabilities, file rules and the filter of system calls, for this process and all that it starts."""
    for name, amount in plan["limits"].items():
        kernel.limit(LIMITS[name], amount)
    kernel.prctl(kernel.PR_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_DEATH_SIGNAL, KILL)  # a change of credentials would have undone it
    if plan["landlock"]:
        landlock.confine(plan["landlock_reads"], plan["landlock_writes"], plan["scopes"])
    if plan["seccomp"]:
        kernel.filter_calls(filter.program(plan["families"], plan["keep_modes"]))


def _found(program: str, path: str) -> str:
    if "/" in program:
        return program
    for folder in path.split(":"):
        file = os.path.join(folder or ".", program)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return program


def _end_like(status: int) -> None:
    """Exit with the same status, or die of the same signal."""
    if os.WIFSIGNALED(status):
        kernel.limit(LIMITS["core"], 0)
        kernel.default_signals((os.WTERMSIG(status),))
        os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(128 + os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))
