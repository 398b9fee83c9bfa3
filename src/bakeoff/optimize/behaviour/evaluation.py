"""Evaluations, each in a fresh fork in a sandbox of its own: a run of the tests, or a replay of recorded calls."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.behaviour.runs import Call, Replay, TestRun, Watched
from bakeoff.optimize.behaviour.warm_server import Channel, WarmServer

Files = Mapping[str, bytes | None]

SLACK = 10.0
"""Seconds that tests get beyond their time before they are ended from outside."""
COLLECTING = 300.0
"""Seconds in which collecting says something."""
FINISH = 5.0
"""Seconds that a candidate's process gets to end when no call is left."""
EVIDENCE = 1 << 18
REPORTS = 1 << 30
"""Bytes of all reports of one evaluation, with `FRAME` for each besides its parts."""
FRAME = 256


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """Configuration of a forked process: confinement, environment, resource limits.

    Attributes:
        plan: how they are confined, told.
        root: the project's top as they see it.
        variables: their environment.
        bounds: what each may use up.
        apart: what they change ends with them; else it changes the slot.
    """

    plan: dict[str, Any]
    root: str
    variables: dict[str, str]
    bounds: dict[str, int]
    apart: bool

    @property
    def sources(self) -> list[str]:
        """Folders of the project that modules are imported from."""
        return [path for path in self.variables.get("PYTHONPATH", "").split(os.pathsep) if is_below(path, self.root)]


@dataclass(frozen=True, slots=True)
class CandidateProcess:
    """A process beside that of the tests, which makes the calls of the target.

    Attributes:
        serve: how it loads the target, as for `inside.serving.Served`.
        config: how it is confined; None for what the tests' process has.
        files: what it has in place of the snapshot's files.
    """

    serve: Mapping[str, Any]
    config: ProcessConfig | None = None
    files: Files = field(default_factory=dict)


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder, or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class _Confined:
    """A process that was ordered."""

    def __init__(self, control: socket.socket, evidence: socket.socket) -> None:
        self._control = Channel(control)
        self._evidence = Channel(evidence)
        self.watched = Watched()

    async def over(self, patience: float | None) -> Watched:
        """Wait for its end, and end it after `patience` seconds (None: at once)."""
        told = b""
        if patience is not None:
            with anyio.move_on_after(patience):
                told = await self._control.read(1 << 16)
        if not told:
            self._control.link.shutdown(socket.SHUT_WR)  # whoever guards it takes that for the end
            with anyio.move_on_after(FINISH):
                told = await self._control.read(1 << 16)
        self._understand(told)
        with anyio.move_on_after(FINISH):
            self._believe(await self._evidence.read(EVIDENCE))
        return self.watched

    def _understand(self, told: bytes) -> None:
        if not told:
            self.watched.failed = self.watched.failed or "it was ended"
            return
        try:
            facts = json.loads(told)
        except ValueError:  # cut off
            facts = {"failed": "it left more than can be told of"}
        if "failed" in facts:
            self.watched.failed = facts["failed"]
            return
        for name, value in facts.items():
            setattr(self.watched, name, value)

    def _believe(self, data: bytes) -> None:
        for line in data.split(b"\n")[:-1] if data.endswith(b"\n") else [data] if data else []:
            try:
                kind, what = json.loads(line)
                self.watched.evidence.append((str(kind), str(what)))
            except (ValueError, TypeError, RecursionError):
                self.watched.forged = True

    def close(self) -> None:
        self._control.close()
        self._evidence.close()


@asynccontextmanager
async def _confined(
    server: WarmServer,
    config: ProcessConfig,
    header: dict[str, Any],
    files: Files,
    overrides: Mapping[str, bytes],
    given: Sequence[socket.socket],
) -> AsyncIterator[_Confined]:
    """Order an evaluation; what is left of it when this is left is ended."""
    control, theirs = socket.socketpair()
    evidence, witness = socket.socketpair()
    confined = _Confined(control, evidence)
    try:
        with theirs, witness:
            order = {
                **header,
                "plan": config.plan,
                "variables": config.variables,
                "bounds": config.bounds,
                "files": [[path, content is not None] for path, content in files.items()],
                "overrides": list(overrides),
            }
            parts = [content for content in files.values() if content is not None] + list(overrides.values())
            server.order(order, parts, [theirs.fileno(), witness.fileno(), *(each.fileno() for each in given)])
        yield confined
    finally:
        confined.close()


async def run_tests(
    server: WarmServer,
    config: ProcessConfig,
    job: Mapping[str, Any],
    *,
    candidate: CandidateProcess | None = None,
    own: Files | None = None,
    overrides: Mapping[str, bytes] | None = None,
    watched: bool = False,
    over: Callable[[TestRun, str], None] = lambda run, test: None,
) -> TestRun:
    """Run the tests once.

    Args:
        server: forks.
        config: where.
        job: as for `inside.testing.run_tests`.
        candidate: the process that makes the calls; None to run the function in the process of the tests.
        own: what the process of the tests has in place of the snapshot's files.
        overrides: what that imports in place of the files on disk, by absolute path.
        watched: have a witness in the process of the tests.
        over: is told of each test that is over.

    Cancelled, all processes are ended. Passes on BehaviourError: the server died.
    """
    run = TestRun()
    report, reporting = socket.socketpair()
    links = socket.socketpair() if candidate is not None else None
    told = {**job, "watched": watched}
    order = {"do": "tests", "job": told, "linked": links is not None}
    channel = Channel(report)
    try:
        async with _both(server, config, order, candidate, own or {}, overrides or {}, reporting, links) as both:
            await _listen(channel, run, job["timeout"], over)
            tests, beside = both
            run.watched = await tests.over(1.0 if run.late is None and not run.forged else None)
            if beside is not None:
                why = run.lost or run.unready
                impatient = run.late is not None or (why is not None and why[0] in ("timeout", "forged"))
                run.candidate = await beside.over(None if impatient else FINISH)
    finally:
        channel.close()
    return run


@asynccontextmanager
async def _both(
    server: WarmServer,
    config: ProcessConfig,
    order: dict[str, Any],
    candidate: CandidateProcess | None,
    own: Files,
    overrides: Mapping[str, bytes],
    reporting: socket.socket,
    links: tuple[socket.socket, socket.socket] | None,
) -> AsyncIterator[tuple[_Confined, _Confined | None]]:
    """Order the process of the tests, and that of the candidate where there are links between both."""
    try:
        if candidate is None or links is None:
            async with _confined(server, config, order, own, overrides, [reporting]) as tests:
                reporting.close()
                yield tests, None
            return
        header = {"do": "serve", "job": dict(candidate.serve)}
        async with (
            _confined(server, candidate.config or config, header, candidate.files, {}, [links[1]]) as beside,
            _confined(server, config, order, own, overrides, [reporting, links[0]]) as tests,
        ):
            reporting.close()
            for link in links:
                link.close()
            yield tests, beside
    finally:
        reporting.close()
        for link in links or ():
            link.close()


async def _listen(channel: Channel, run: TestRun, timeout: float, over: Callable[[TestRun, str], None]) -> None:
    """Take reports until there are no more, or a test takes too long."""
    patience, current, room = COLLECTING, None, REPORTS
    while True:
        found: frames.Frame | None = None
        with anyio.move_on_after(patience) as scope:
            try:
                found = await channel.receive()
            except frames.BrokenFrame:
                run.forged = True
                return
        if scope.cancelled_caught:
            run.late = current or "the collection of the tests"
            return
        if found is None:
            return
        header, parts = found
        room -= FRAME + sum(map(len, parts))
        try:
            if header.get("say") == "begin":
                current, patience = str(header["test"]), timeout + SLACK
            run.take(header, parts)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            run.forged = True
        if run.forged or room < 0:
            run.forged = True
            return
        if header.get("say") == "phase" and header["phase"] == "teardown":
            over(run, str(header["test"]))


async def replay(
    server: WarmServer,
    config: ProcessConfig,
    serve: Mapping[str, Any],
    calls: Sequence[tuple[bytes, float]],
    *,
    files: Files | None = None,
    load_timeout: float = 60.0,
) -> Replay:
    """Make calls once more, in a process of their own, one after the other.

    Args:
        server: forks.
        config: where.
        serve: how the process loads the candidate.
        calls: arguments, encoded, each with the seconds it may take.
        files: as in `run_tests`.
        load_timeout: seconds for importing.

    Cancelled, the process is ended. Passes on BehaviourError: the server died.
    """
    found = Replay()
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    header = {"do": "serve", "job": dict(serve)}
    try:
        async with _confined(server, config, header, files or {}, {}, [theirs]) as confined:
            theirs.close()
            await _ask(channel, found, calls, load_timeout)
            found.watched = await confined.over(FINISH if found.lost not in ("timeout", "forged") else None)
    finally:
        theirs.close()
        channel.close()
    return found


async def _ask(channel: Channel, found: Replay, calls: Sequence[tuple[bytes, float]], load_timeout: float) -> None:
    why, frame = await _answer(channel, load_timeout)
    if why is not None or frame is None or frame[0].get("kind") != "ready":
        header = frame[0] if frame else {}
        found.unready = (why or str(header.get("kind")), str(header.get("message", "")))
        found.lost = why
        return
    room = REPORTS
    for index, (before, seconds) in enumerate(calls):
        why, frame = await _answer(channel, seconds, {"do": "call"}, [before])
        if why is not None or frame is None:
            found.lost = why
            return
        room -= FRAME + sum(map(len, frame[1]))
        try:
            found.calls.append(Call.read("", index, frame[0], [before, *frame[1]]))
        except (ValueError, TypeError, RecursionError):
            room = -1
        if room < 0:
            found.lost = "forged"
            return
    _, frame = await _answer(channel, FINISH, {"do": "finish"})
    state = None if frame is None else frame[0].get("state")
    if isinstance(state, dict):
        found.state = {str(name): str(digest) for name, digest in state.items()}


async def _answer(
    channel: Channel, seconds: float, header: dict[str, Any] | None = None, parts: Sequence[bytes] = ()
) -> tuple[str | None, frames.Frame | None]:
    """Answer to a call, or the reason that none came."""
    with anyio.move_on_after(seconds):
        try:
            if header is not None:
                await channel.send(header, parts)
            frame = await channel.receive()
        except frames.BrokenFrame:
            return "forged", None
        except OSError:
            return "ended", None
        return ("ended", None) if frame is None else (None, frame)
    return "timeout", None
