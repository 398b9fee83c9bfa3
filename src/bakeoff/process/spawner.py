"""Runs commands through the supervisor: the coordinator's half of running processes."""

from __future__ import annotations

import errno
import os
import select
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from bakeoff.engine.mask import Masker
from bakeoff.engine.record import EXCERPT, INLINE_LIMIT, Stored, excerpt
from bakeoff.process.attach import ROOT, start_attached
from bakeoff.process.command import Command, Finished, Output, SpawnError
from bakeoff.process.frames import pack, take_frames
from bakeoff.process.proctable import adopt_orphans, kill_trees
from bakeoff.process.sweep import end_adopted

START = "import sys; sys.path.append(sys.argv.pop()); from bakeoff.process.supervisor import main; main()"
"""How the supervisor starts: without site-packages, and bakeoff's own directory last on its path."""

MEMORY_LIMIT = 16 * 1024 * 1024
"""Bytes of one stream after which a command without a log is ended: its output stands in memory only."""

RETRIES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds to wait before each further try when process table, memory or descriptors are short."""

STOP_PATIENCE = 10.0
"""Seconds a supervisor gets to kill what is left and exit before it is killed itself."""

ANSWER_TIME = 3.0
"""Seconds in which a supervisor that works and was asked says something; one that does not is killed."""

END_PATIENCE = 3.0
"""Seconds beyond its grace time that a command is given to end before its supervisor is asked whether it works."""

TRANSIENT = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


SUPERVISORS: set[int] = set()
"""Those of this process that are not known to have died."""


class Spawner:
    """Runs commands, each in a session of its own, through one supervisor process started on first use.

    It implements `Processes`. Use it as an async context manager and from its event loop's thread only;
    leaving it kills every descendant.
    """

    def __init__(self, *, token: str, base_env: Mapping[str, str], masker: Masker, adopt: bool = False) -> None:
        """Prepare; nothing is started yet.

        Args:
            token: names the run in the environment (`BAKEOFF_RUN`) of everything it starts.
            base_env: the environment that commands change.
            masker: its secrets are replaced before output is kept or shown.
            adopt: become the subreaper of this process's descendants, so that even the supervisor's death
                leaves nothing behind. It concerns the whole process: for a command line, not for a library.
        """
        self._token = token
        env = {os.fsencode(name): os.fsencode(value) for name, value in base_env.items()}
        env[b"BAKEOFF_RUN"] = os.fsencode(token)
        forms = tuple(form.encode("utf-8", "surrogateescape") for form in masker.forms)
        self._init = pack(("init", env, forms, (INLINE_LIMIT, EXCERPT)))
        self._adopt = adopt and adopt_orphans()
        self._link: _Link | None = None
        self._number = 0
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Spawner:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> bool | None:
        await self.end()
        return await self._tasks.__aexit__(*details)

    async def run(self, command: Command) -> Finished:
        """Run `command` to its end.

        Cancelled, it sends TERM to the process tree, KILL after the grace time, and returns to the canceller
        only when the tree is gone. An exception of `command.on_stdout` ends the tree and is raised.

        Raises:
            SpawnError: the process could not be started, or was lost because the supervisor died.
        """
        for delay in RETRIES:
            try:
                return await self._run_once(command)
            except SpawnError as failure:
                if failure.errno not in TRANSIENT:
                    raise
            await anyio.sleep(delay)
        return await self._run_once(command)

    def kill_now(self) -> None:
        """End every running command with KILL, at once; they come back as `ended_by="kill"`.

        A supervisor that does not do it within `ANSWER_TIME` because it is stopped, say, is killed with them.
        """
        if self._link is not None:
            self._link.send(("kill",))
            self._tasks.start_soon(self._link.end_if_silent)

    async def end(self) -> None:
        """Kill every process there is and wait until none is left. A later `run` starts anew."""
        link, self._link = self._link, None
        if link is None:
            return
        with anyio.CancelScope(shield=True):
            link.stopped = True
            link.send(("stop",))
            with anyio.move_on_after(STOP_PATIENCE):
                await link.gone.wait()
                return
            link.kill_all()
            await link.gone.wait()

    async def _run_once(self, command: Command) -> Finished:
        await anyio.lowlevel.checkpoint_if_cancelled()
        link = self._link
        if link is None or link.dead:
            link = self._link = _Link(self._token, self._init, self._tasks, self._adopt)
        self._number = number = self._number + 1
        ticket = link.tickets[number] = _Ticket(command)
        try:
            link.send(_run_frame(number, command))
            await ticket.done.wait()
        except anyio.get_cancelled_exc_class():
            link.send(("end", number))
            patience = command.grace + END_PATIENCE
            with anyio.CancelScope(shield=True):
                while True:
                    with anyio.move_on_after(patience):
                        await ticket.done.wait()
                    if ticket.done.is_set():
                        break
                    await link.end_if_silent()
                    patience = END_PATIENCE
            raise
        if ticket.failure is not None:
            raise ticket.failure
        return await _finished(command, *ticket.answer)


class _Ticket:
    """One command under way."""

    __slots__ = ("answer", "command", "done", "failure")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.done = anyio.Event()
        self.answer: tuple[Any, ...] = ()
        self.failure: Exception | None = None


class _Link:
    """One supervisor's life: its process, the socket to it, and the commands it runs."""

    def __init__(self, token: str, init: bytes, tasks: anyio.abc.TaskGroup, adopt: bool) -> None:
        self.token = token
        self.tickets: dict[int, _Ticket] = {}
        self.dead = False
        self.stopped = False
        self.gone = anyio.Event()
        self._asked: anyio.Event | None = None
        self._adopt = adopt
        self._tasks = tasks
        self._unsent = bytearray()
        self._held: list[bytes] | None = None
        self._heard = 0
        self._trace = ""
        try:
            self._socket, self.process = _start_supervisor(token)
            SUPERVISORS.add(self.process.pid)
        except OSError as failure:
            text = f"the supervisor of processes could not be started: {failure.strerror or failure}"
            raise SpawnError(text, failure.errno or 0, failure.errno in TRANSIENT) from failure
        self._write(init)
        tasks.start_soon(self._read)

    def send(self, frame: tuple[object, ...]) -> None:
        """Send without waiting; what the socket does not take now follows from a task."""
        self._write(pack(frame))

    async def end_if_silent(self) -> None:
        """Ask the supervisor whether it works; kill all when it does not say so in time."""
        with anyio.CancelScope(shield=True):
            asked = self._asked or anyio.Event()
            if self._asked is None:
                self._asked = asked
                self.send(("ping",))
            heard = -1
            # What it said while this process was itself too busy to listen is not held against it.
            while heard != self._heard or self._has_unread():
                heard = self._heard
                with anyio.move_on_after(ANSWER_TIME):
                    await asked.wait()
                if asked.is_set() or self.dead:
                    return
        self.kill_all()

    def _has_unread(self) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def kill_all(self) -> None:
        """KILL everything under the supervisor, then itself: in its stead, because it does not do it."""
        kill_trees({self.process.pid})

    def _write(self, data: bytes) -> None:
        if self.dead:
            return
        if self._held is not None:
            self._held.append(data)
            return
        if self._unsent:
            self._unsent += data
            return
        self._unsent += data
        self._try_to_send()
        if self._unsent:
            self._tasks.start_soon(self._write_rest)

    async def _write_rest(self) -> None:
        with anyio.CancelScope(shield=True):
            while self._unsent and not self.dead:
                try:
                    await anyio.wait_writable(self._socket)
                except anyio.ClosedResourceError:
                    return
                self._try_to_send()

    def _try_to_send(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()  # it died; the reader sees to that

    async def _read(self) -> None:
        """Hand out answers until the supervisor is gone; no cancellation parts a command from its answer."""
        buffer = bytearray()
        with anyio.CancelScope(shield=True):
            while True:
                await anyio.wait_readable(self._socket)
                try:
                    data = self._socket.recv(1 << 18)
                except BlockingIOError:
                    continue
                except OSError:
                    break
                if not data:
                    break
                self._heard += len(data)
                buffer += data
                self._held = []
                for frame in take_frames(buffer):
                    self._answer(*frame)
                # Whoever got an answer sends the next command in its very next step. Sent as one, they cost one
                # wake-up of the supervisor, not one each.
                await anyio.lowlevel.cancel_shielded_checkpoint()
                held, self._held = self._held, None
                if held:
                    self._write(b"".join(held))
            await self._bury()

    def _answer(self, word: str, *rest: Any) -> None:
        if word == "pong":
            self._answered()
            return
        if word == "broken":
            self._trace = f"\n{rest[0]}"
            return
        number, *facts = rest
        ticket = self.tickets.get(number)
        if ticket is None:
            return
        if word == "chunk":
            self._show(number, ticket, facts[0])
            return
        del self.tickets[number]
        if word == "end":
            ticket.answer = tuple(facts)
        else:
            ticket.failure = _spawn_error(ticket.command, *facts)
        ticket.done.set()

    def _answered(self) -> None:
        if self._asked is not None:
            self._asked.set()
            self._asked = None

    def _show(self, number: int, ticket: _Ticket, chunk: bytes) -> None:
        if ticket.failure is None and ticket.command.on_stdout is not None:
            try:
                ticket.command.on_stdout(chunk)
            except Exception as failure:
                ticket.failure = failure  # raised from `run` once the tree is gone
                self.send(("end", number))

    async def _bury(self) -> None:
        self.dead = True
        anyio.notify_closing(self._socket)
        self._socket.close()
        while self.process.poll() is None:  # noqa: ASYNC110 - it closed its socket by exiting
            await anyio.sleep(0.001)
        self._answered()
        SUPERVISORS.discard(self.process.pid)
        if self._adopt:
            await end_adopted(SUPERVISORS)
        text = f"the supervisor of processes died ({_how(self.process.returncode)}), and this command with it"
        if self.stopped:
            text = "this command was killed when all were ended"
        for ticket in self.tickets.values():
            ticket.failure = SpawnError(text + self._trace, errno.ECHILD, transient=not self.stopped)
            ticket.done.set()
        self.tickets.clear()
        self.gone.set()


def _start_supervisor(token: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    # Measured with coverage it needs site-packages, otherwise it starts faster and safer without.
    flags = [] if "COVERAGE_PROCESS_CONFIG" in os.environ else ["-I", "-S"]
    env = {**os.environ, "BAKEOFF_RUN": token, "PYTHONPATH": ROOT}
    (link,), process = start_attached(START, links=1, flags=flags, env=env, stdout=subprocess.DEVNULL, cwd="/")
    return link, process


def _absolute(path: str) -> str:
    return path if path.startswith("/") else os.path.abspath(path)


def _run_frame(number: int, command: Command) -> tuple[object, ...]:
    encode = os.fsencode
    return (
        "run",
        number,
        [encode(word) for word in command.argv],
        encode(_absolute(command.cwd)),
        {encode(name): None if value is None else encode(value) for name, value in command.env.items()},
        None if command.log is None else encode(_absolute(command.log)),
        command.timeout,
        command.grace,
        (command.inherit_stdin, command.live, command.on_stdout is not None, command.lossy),
        command.output_limit if command.log is not None else min(command.output_limit, MEMORY_LIMIT),
        command.fork,
    )


async def _finished(
    command: Command, status: int, seconds: float, reason: str | None, message: str | None, *streams: Any
) -> Finished:
    outputs = []
    for stream in streams:
        output, problem = await _output(*stream)
        outputs.append(output)
        if problem is not None and message is None and not command.lossy:
            reason, message = reason or "log", problem
    if reason == "timeout" or (reason is not None and status == 0):
        status = -1  # ended early is never a success
    return Finished(status, outputs[0], outputs[1], seconds, reason, message)


async def _output(
    kept: bytes | None, head: bytes, tail: bytes, size: int, stored: int, path: bytes | None
) -> tuple[Output, str | None]:
    """The stream, and what went wrong making its file durable."""
    name = None if path is None else os.fsdecode(path)
    if kept is not None and (name is None or stored <= INLINE_LIMIT):
        return Output(kept.decode("utf-8", "replace"), size, name), None
    shown = excerpt(head, tail, stored - len(head) - len(tail))
    if name is None:
        return Output(shown, size, None), None
    try:
        # A record that names the file is written next, so the file must be safe before it.
        await anyio.to_thread.run_sync(_sync, name)
        problem = None
    except OSError as failure:
        problem = f"output could not be kept in {name}: {failure.strerror}"
    return Output(Stored(name, stored, "text", shown), size, name), problem


def _sync(name: str) -> None:
    for path in (name, Path(name).parent):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _how(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def _spawn_error(command: Command, number: int, where: str) -> SpawnError:
    program = command.argv[0] if command.argv else ""
    reason = os.strerror(number)
    if not command.argv:
        text = "there is no program to run: argv is empty"
    elif number == errno.EINVAL or any("\0" in word for word in command.argv):
        text = f"cannot start {program!r}: NUL in an argument, variable or path, or '=' in a variable's name"
    elif where == "cwd":
        text = f"cannot run in {command.cwd}: {reason}"
    elif number == errno.E2BIG:
        text = f"cannot start {program!r}: argument too long (one of them, or all with the environment)"
    elif number == errno.ENOENT and "/" not in program:
        text = f"cannot start {program!r}: no such program on PATH"
    elif number == errno.ENOENT and Path(command.cwd, program).exists():
        text = f"cannot start {program!r}: the interpreter that its first line names does not exist"
    elif number == errno.ENOEXEC:
        text = f"cannot start {program!r}: neither a program for this machine nor a script with a #! line"
    else:
        text = f"cannot start {program!r}: {reason}"
    return SpawnError(text, number, number in TRANSIENT)
