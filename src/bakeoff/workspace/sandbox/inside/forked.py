"""A sandbox around work of a process that was forked, not started: a warm server forks, and its child goes in here.

Up to three processes, as in `run.py`: the one outside ends all when nobody listens any more; the first one inside
watches, and tells at the end what it saw; the third one works. What the watcher tells is beyond the worker's reach.
"""

from __future__ import annotations

import json
import os
import random
import select
import socket

from bakeoff.confine import kernel
from bakeoff.workspace.sandbox.inside import run, view, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

KILL = 9
FIRST_LOOK, LAST_LOOK = 5, 40
"""Milliseconds between two looks at what is used up; they grow from the one to the other."""
PATIENCE = 100
"""Milliseconds that processes get to end that the worker has ended already, and not waited for."""
LONGEST = 200
"""Characters of a path that is told."""
STREAMS = 3
NULL, OUT, ERR, FREE = 0, 1, 2, 3


class Bounds:
    """Resource bounds of the forked work.

    Attributes:
        memory: bytes that all processes may have resident together.
        processes: how many, threads included.
        output: bytes printed.
        descriptors: open at once in one process.
    """

    __slots__ = ("descriptors", "memory", "output", "processes")

    def __init__(self, memory: int, processes: int, output: int, descriptors: int) -> None:
        self.memory = memory
        self.processes = processes
        self.output = output
        self.descriptors = descriptors


def confined(
    plan: Mapping[str, Any],
    bounds: Bounds,
    files: Mapping[str, bytes | None],
    control: int,
    given: list[int],
    work: Callable[[], None],
) -> None:
    """Do `work` in a sandbox of its own and end; never returns. To be called in a fresh fork.

    `control` gets one line of JSON when all is over: `status` (as of wait), `ended` (why it was ended early: memory,
    output, disk, processes, descriptors), `left` (processes that outlived it), `peak` (bytes), `wrote` (paths below the
    tree); or `failed`. When its other end closes before, all is ended.

    Args:
        plan: a `SandboxPlan`, told.
        bounds: see there.
        files: what to write into the tree first, by relative path; None to remove.
        control: a socket.
        given: descriptors that the work gets, numbered from 3 on.
        work: the work, to be done where the plan says, with its output in memory; its variables are not set.
    """
    try:
        kernel.default_signals((1, 2, 15, 17))
        kernel.prctl(kernel.PR_DEATH_SIGNAL, KILL)
        os.setsid()
        _keep([control, *given])
        if plan["holder"]:
            run.enter(plan["holder"])
        inside = _Inside(plan, bounds, files, control, given, work)
        if plan["namespaces"]:
            run.unshare(plan["network"])
            _guard(kernel.in_child(inside.begin), control, given)
        else:
            kernel.prctl(kernel.PR_SUBREAPER, 1)
            inside.begin()
    except OSError as failure:
        _tell(control, {"failed": str(failure.strerror or failure)})
    finally:
        os._exit(0)


def _keep(wanted: list[int]) -> None:
    """Close all descriptors but these and the standard ones."""
    low = STREAMS
    for descriptor in [*sorted(wanted), 1 << 16]:
        os.closerange(low, descriptor)
        low = descriptor + 1


def _guard(first: int, control: int, given: list[int]) -> None:
    """Wait for the first one inside; end it, and with it all others, when nobody listens any more."""
    for descriptor in given:
        os.close(descriptor)
    handle = os.pidfd_open(first)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(control, select.POLLRDHUP | select.POLLHUP)
    while True:
        found = dict(poll.poll())
        if handle in found:
            break
        if control in found:
            os.kill(first, KILL)
            poll.unregister(control)
    os.waitpid(first, 0)


def _tell(control: int, facts: Mapping[str, Any]) -> None:
    try:
        with socket.socket(fileno=os.dup(control)) as ours:
            ours.sendall(json.dumps(facts).encode() + b"\n")
    except OSError:
        pass  # nobody listens any more


class _Inside:
    """The watcher."""

    def __init__(
        self,
        plan: Mapping[str, Any],
        bounds: Bounds,
        files: Mapping[str, bytes | None],
        control: int,
        given: list[int],
        work: Callable[[], None],
    ) -> None:
        self.plan = plan
        self.bounds = bounds
        self.files = files
        self.control = control
        self.given = given
        self.work = work
        self.apart = bool(plan["namespaces"])
        self.held: int | None = None
        self.streams: list[int] = []
        self.peak = 0
        self.inherited = 0

    def begin(self) -> None:
        """Build the place, have the work done in it, watch, tell. Never returns."""
        plan = self.plan
        try:
            kernel.prctl(kernel.PR_DEATH_SIGNAL, KILL)
            if self.apart:
                self._build()
            self._write()
            self.streams = [os.memfd_create(name, 0) for name in ("out", "err")]
            if self.apart:
                kernel.prctl(kernel.PR_DUMPABLE, 0)
            self.inherited = _resident("self") if self.apart and plan["proc"] else 0
            worker = kernel.in_child(self._become)
            for descriptor in self.given:
                os.close(descriptor)
            ended, status = self._until_end(worker)
            left = self._left() if plan["proc"] or not self.apart else []
            found = ended or self._used_up(worker)
            facts = {"status": status, "ended": found, "left": left, "peak": self.peak, "wrote": self._wrote()}
        except OSError as failure:
            facts = {"failed": str(failure.strerror or failure)}
        _tell(self.control, facts)
        os._exit(0)

    def _build(self) -> None:
        plan = self.plan
        try:
            with open("/proc/sys/kernel/ns_last_pid", "w") as file:  # numbers of processes are no constants
                file.write(str(random.SystemRandom().randrange(2, 30000)))
        except OSError:
            pass
        if not plan["network"]:
            kernel.loopback_up()
        places = plan["reads"], plan["writes"], plan["temp"]
        self.held = view.build(*places, plan["shared"], plan["proc"], plan["hidden"], plan["own"])

    def _write(self) -> None:
        for path, content in self.files.items():
            place = os.path.join(self.plan["folder"], path)
            if content is None:
                os.unlink(place)
                continue
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(content)

    def _become(self) -> None:
        """The worker: no way back from here."""
        null = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in ((NULL, null), (OUT, self.streams[0]), (ERR, self.streams[1])):
            os.dup2(descriptor, number)
        high = [os.dup2(descriptor, 100 + index) for index, descriptor in enumerate(self.given)]
        for index, descriptor in enumerate(high):
            os.dup2(descriptor, FREE + index)
        os.closerange(FREE + len(high), 1 << 16)
        kernel.prctl(kernel.PR_DUMPABLE, 1)  # else the watcher could not look at it
        os.chdir(self.plan["folder"])
        run.confine(self.plan)
        self.work()

    def _until_end(self, worker: int) -> tuple[str, int]:
        pause = FIRST_LOOK
        handle = os.pidfd_open(worker)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while True:
            poll.poll(pause)
            pause = min(2 * pause, LAST_LOOK)
            status = _reap(worker)
            if status is not None:
                return "", status
            reason = self._used_up(worker)
            if reason:
                if self.apart:
                    os.kill(-1, KILL)  # all of this namespace but this process
                else:
                    os.kill(worker, KILL)
                os.waitpid(worker, 0)
                return reason, KILL

    def _used_up(self, worker: int) -> str:
        """The resource that there is too little of; empty for none."""
        bounds = self.bounds
        if any(os.fstat(stream).st_size > bounds.output for stream in self.streams):
            return "output"
        if self.held is not None:
            room = os.fstatvfs(self.held)
            if room.f_bavail == 0 or room.f_ffree == 0:
                return "disk"
        if not self.apart:
            return ""
        count, memory, descriptors = _usage(worker, self.inherited)
        self.peak = max(self.peak, memory)
        if count > bounds.processes:
            return "processes"
        if memory > bounds.memory:
            return "memory"
        return "descriptors" if descriptors >= bounds.descriptors - 2 else ""

    def _left(self) -> list[str]:
        """The processes that the worker left, by their names; without namespaces they are ended here."""
        if not self.apart:
            left = _children(os.getpid())
            if left:
                run.end_descendants()
            return ["?" for _ in left]
        waited = 0
        while (left := _others()) and waited < PATIENCE:
            kernel.wait_readable(-1, 0.01)
            waited += 10
            _reap(-1)
        return left

    def _wrote(self) -> list[str]:
        if self.held is None:
            return []
        top = f"/proc/self/fd/{self.held}/upper"
        found: list[str] = []
        try:
            copied = os.stat(f"/proc/self/fd/{self.held}/{view.COPIED}").st_ctime_ns
        except OSError:
            copied = -1
        waiting, looked = [""], 0
        while waiting and len(found) <= 1000 and looked <= 10_000:
            folder = waiting.pop()
            looked += 1
            try:
                with os.scandir(os.path.join(top, folder)) as entries:
                    for entry in entries:
                        path = os.path.join(folder, entry.name)
                        if not entry.is_dir(follow_symlinks=False):
                            if entry.stat(follow_symlinks=False).st_ctime_ns > copied:
                                found.append(path)
                        elif entry.name != "__pycache__":
                            waiting.append(path)
            except OSError:  # deeper than paths are long, or closed
                found.append(folder)
        return [path[:LONGEST] for path in sorted(path for path in found if path not in self.files)[:20]]


def _reap(worker: int) -> int | None:
    """The wait status of the worker; None while it lives."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return KILL
        if pid == worker:
            return status
        if pid == 0:
            return None


def _resident(name: str) -> int:
    """Bytes of a process that are not of files."""
    with open(f"/proc/{name}/statm", "rb") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * watch.PAGE


def _usage(worker: int, inherited: int) -> tuple[int, int, int]:
    """Threads and bytes of all processes but this one, open descriptors of the worker.

    What all have from the server that forked, `inherited` bytes, is counted once.
    """
    threads = descriptors = 0
    memory = inherited
    own = os.getpid()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == own:
            continue
        try:
            threads += len(os.listdir(f"/proc/{name}/task"))
            memory += max(0, _resident(name) - inherited)
            if int(name) == worker:
                descriptors = len(os.listdir(f"/proc/{name}/fd"))
        except (OSError, IndexError, ValueError):
            continue  # it ended meanwhile
    return threads, memory, descriptors


def _others() -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    head, _, rest = file.read(512).rpartition(b")")
            except OSError:
                continue
            if not rest.startswith(b" Z"):
                found.append(head.partition(b"(")[2].decode(errors="replace"))
    return found


def _children(pid: int) -> list[str]:
    with open(f"/proc/self/task/{pid}/children") as file:
        return file.read().split()
