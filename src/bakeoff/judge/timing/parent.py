"""Our side of a parent of forks: starts it in its place, asks for samples, keeps the clock that counts.

All of it blocks, for use in a thread; `kill`, from another, ends whatever waits.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from bakeoff.errors import BakeoffError
from bakeoff.judge.codec import FOLDER as CODEC
from bakeoff.judge.timing.inside import frames
from bakeoff.judge.timing.sample import Job, Sample, ended, inspect, read
from bakeoff.process.command import Command

INSIDE = os.path.dirname(os.path.abspath(frames.__file__))
READS = (INSIDE, CODEC)
"""Folders that a place must be able to read."""

START = """\
import importlib.util as u, sys
p = sys.argv[1]
s = u.spec_from_file_location("_bakeoff_timing", p + "/__init__.py", submodule_search_locations=[p])
m = u.module_from_spec(s)
sys.modules["_bakeoff_timing"] = m
s.loader.exec_module(m)
from _bakeoff_timing.server import main
main(*map(int, sys.argv[2:5]))
"""
HASH_SEED = "PYTHONHASHSEED"
STARTING = 60.0
"""Seconds in which a parent, with what it imports beforehand, must be there."""
PATIENCE = 10.0
"""Seconds beyond what a fork may take in which the parent must say so."""

Files = Mapping[str, bytes | None]
"""Contents by path below the project's root; None for a file that is not there."""


class TimingError(BakeoffError):
    """Nothing can be measured: the place, the original, or the machine does not allow it."""


class OriginalChangedError(TimingError):
    """The original no longer does what it did when it was measured first.

    Args:
        message: what it does now.
        call: of the input that shows it; None where it is not one input.
    """

    def __init__(self, message: str, call: bytes | None = None) -> None:
        super().__init__(message)
        self.call = call


@dataclass(frozen=True, slots=True)
class Place:
    """Command by which an interpreter of the project is started where the project's files are.

    Attributes:
        argv: what to start, up to the interpreter.
        cwd: where.
        env: all variables.
        cpus: processors to choose from; empty where processes cannot be held to one.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    cpus: Sequence[int] = ()


def place(command: Command) -> Place:
    """The place that a command of a slot or a sandbox runs in, its last word being the interpreter.

    Make the command with `reads=READS`, and with any value of `PYTHONHASHSEED` in its variables: each parent gets
    one of its own, and a sandbox passes on no variable that it was not told of.
    """
    env = dict(os.environ)
    for name, value in command.env.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return Place(tuple(command.argv), command.cwd, env, tuple(cpus))


@dataclass(frozen=True, slots=True)
class Code:
    """Function that is called.

    Attributes:
        module: its name.
        qualname: of the function in it.
        root: the project's root, as the place sees it.
        path: folders below the root that modules are imported from.
        is_async: whether calls are awaited.
        preload: modules of other projects to import once, before any fork.
        unseen: functions and classes, as `module:qualname`, whose code may differ: those that are being changed.
        messages: compare what exceptions say, too, and not their types alone.
        inner: call the function without its decorators.
        added: attributes that contenders give instances of its class, see `codec.decode`.
    """

    module: str
    qualname: str
    root: str
    path: Sequence[str] = ("",)
    is_async: bool = False
    preload: Sequence[str] = ()
    unseen: Sequence[str] = ()
    messages: bool = False
    inner: bool = False
    added: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Gone(Exception):
    """The parent is not there any more."""


class Parent:
    """One parent process, started by making this; `ready` waits until it serves.

    Raises:
        TimingError: it cannot be started.
    """

    def __init__(self, place: Place, code: Code, contenders: Sequence[Files], hash_seed: int, cpu: int | None) -> None:
        self.cpu = cpu
        self._killed = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the parent
        there: list[int] = []
        ours: list[int] = []
        try:
            control, self._control = os.pipe()
            self._answers, answers = os.pipe()
            inputs, self._inputs = os.pipe()
            there, ours = [control, answers, inputs], [self._control, self._answers, self._inputs]
            os.set_blocking(self._inputs, False)
            words = [*place.argv, "-B", "-c", START, INSIDE, *map(str, there)]
            self.process = subprocess.Popen(
                words, cwd=place.cwd, env={**place.env, HASH_SEED: str(hash_seed)}, pass_fds=there,
                stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said, start_new_session=True,
            )  # fmt: skip
        except OSError as failure:
            for descriptor in ours:
                os.close(descriptor)
            self._said.close()
            raise TimingError(f"cannot start {place.argv[-1]!r} for timing: {failure.strerror}") from failure
        finally:
            for descriptor in there:
                os.close(descriptor)
        self._ours = ours
        files, sources = _joined(contenders)
        setup = {
            "module": code.module, "qualname": code.qualname, "root": code.root, "path": list(code.path),
            "is_async": code.is_async, "inner": code.inner, "preload": list(code.preload),
            "unseen": list(code.unseen), "messages": code.messages, "codec": CODEC, "cpu": cpu, "contenders": files,
            "added": code.added,
        }  # fmt: skip
        self.said = ""
        try:
            self._send(setup, sources)
        except Gone:
            self._refuse()

    def ready(self) -> None:
        """Wait until it serves.

        Passes on TimingError: it does not.
        """
        try:
            self._receive(time.monotonic() + STARTING)
        except Gone:
            self._refuse()

    def preload(self, names: Sequence[str]) -> None:
        """Have it import these before any further fork; `preloaded` waits until it has.

        Passes on Gone: it ended.
        """
        self._send({"preload": list(names)})

    def preloaded(self) -> None:
        """Passes on Gone: it ended, or takes too long."""
        self._receive(time.monotonic() + STARTING)

    def _refuse(self) -> NoReturn:
        self.close()
        raise TimingError(f"the process for timing did not start: {self.said or 'it says nothing'}")

    def kill(self) -> None:
        """End it and all its forks; may be called from any thread."""
        self._killed = True
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self) -> None:
        """End it and let go of all; a second call does nothing."""
        if self._ours:
            self.kill()
            self.process.wait()
            for descriptor in self._ours:
                os.close(descriptor)
            self._ours = []
            self._said.seek(0)
            self.said = self._said.read(1 << 16).decode(errors="replace").strip()[-500:]
            self._said.close()

    def sample(self, contender: int, job: Job) -> Sample:
        """Measure a contender in a fresh fork.

        Passes on Gone: the parent ended meanwhile.
        """
        sample = Sample(contender)
        limit = time.monotonic() + 2 * job.seconds + PATIENCE
        order = {"contender": contender, "seed": job.seed, "seconds": job.seconds, "keep_files": job.keep_files}
        since = time.perf_counter_ns()
        self._send(order)
        header, _ = self._receive(limit)
        if "how" not in header:
            sample.load = time.perf_counter_ns() - since
            if "ready" in header:
                header = self._timed(sample, job, limit)
            else:
                sample.fail("import-failure", str(header.get("failed"))[:500])
                header, _ = self._receive(limit)
        sample.facts = header
        ended(sample)
        inspect(sample, None if self.cpu is None else 1)
        return sample

    def _timed(self, sample: Sample, job: Job, limit: float) -> dict[str, Any]:
        """Send the inputs, wait for the report, check what it is; what the parent saw of the end.

        Raises:
            Gone: it ended, or answers what it was not asked.
        """
        token = secrets.token_hex(8)
        names = ("repeats", "depth", "force", "trace", "extra", "probe", "warming")
        told = {
            "sizes": [len(data) for data in job.inputs], "calls": list(job.calls), "order": list(job.order),
            **{name: getattr(job, name) for name in names}, "seen": job.seed,
        }  # fmt: skip
        data = frames.packed(told, b"".join(job.inputs))
        since = time.perf_counter_ns()
        self._send({"token": token})
        self._feed(data, limit)
        header, body = self._receive(limit)
        sample.outside = time.perf_counter_ns() - since
        if "how" in header:
            return header
        if header.get("token") != token or not isinstance(header.get("header"), int):
            raise Gone("an answer that nobody asked for")
        try:
            report = frames.parsed(body[: header["header"]])
        except frames.Broken as failure:
            sample.fail("tampering", f"its report makes no sense: {failure}")
        else:
            read(sample, job, report, body[header["header"] :])
        return self._receive(limit)[0]

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        try:
            frames.write(self._control, frames.packed(header, body))
        except OSError:
            raise Gone("it does not listen") from None

    def _feed(self, data: bytes, limit: float) -> None:
        """Write the inputs, unless the fork ends before it read them.

        Raises:
            Gone: nobody reads them.
        """
        view = memoryview(data)
        poll = select.poll()
        poll.register(self._inputs, select.POLLOUT)
        poll.register(self._answers, select.POLLIN)
        while view:
            found = dict(poll.poll(max(0.0, limit - time.monotonic()) * 1000))
            if not found:
                raise Gone("it reads nothing")
            if self._answers in found:
                return
            try:
                view = view[os.write(self._inputs, view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Gone("it does not listen") from None

    def _receive(self, limit: float) -> tuple[dict[str, Any], bytes]:
        try:
            header, body = frames.sizes(self._take(frames.SIZES.size, limit))
            return frames.parsed(self._take(header, limit)), self._take(body, limit)
        except frames.Broken as failure:
            raise Gone(str(failure)) from None

    def _take(self, count: int, limit: float) -> bytes:
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        pieces = []
        while count:
            if not poll.poll(max(0.0, limit - time.monotonic()) * 1000):
                raise Gone("it says nothing")
            piece = os.read(self._answers, min(count, 1 << 20))
            if not piece:
                raise Gone("it ended")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


def _joined(contenders: Sequence[Files]) -> tuple[list[dict[str, Any]], bytes]:
    """Place of each one's files in one piece of bytes, and that piece."""
    pieces: list[bytes] = []
    size = 0
    told = []
    for files in contenders:
        spans: dict[str, Any] = {}
        for name, data in files.items():
            spans[name] = None if data is None else (size, size + len(data))
            pieces.append(data or b"")
            size += len(data or b"")
        told.append(spans)
    return told, b"".join(pieces)
