"""The process that starts, watches and ends all others.

It runs as `python -I -S` and imports a few light modules only, so that it starts within some 12 ms. One
thread, one loop over: the socket to the coordinator, the pipes of the running commands, a wake-up descriptor
for SIGCHLD, and the coordinator's pidfd. When the coordinator is gone, whatever way, every descendant is
killed, also those that moved to a session of their own: the supervisor is their subreaper, so they cannot
leave its subtree.

Frames in: `init`, `run`, `end`, `kill`, `ping`, `stop`. Frames out: `end`, `failed`, `chunk`, `pong`, `broken`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import: it makes enumerations
import heapq
import os
import select
import sys
import time

from bakeoff.process.frames import pack, take_frames
from bakeoff.process.launch import CannotStart, launch
from bakeoff.process.proctable import adopt_orphans, end_descendants, send_signal, wait_one
from bakeoff.process.streams import Mask, Stream
from bakeoff.process.trees import Trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK = 1 << 16
"""Bytes read from a pipe at once: its default capacity."""
DRAIN = 1 << 20
"""Most bytes read from a pipe after its process ended: it holds no more, the rest a stranger wrote."""
BACKLOG = 1 << 20
"""Bytes waiting for the coordinator above which streamed output is left in the pipes."""
AGE = 1.0
"""Seconds after which a process counts as long work and its output goes to a file as it comes."""
FIRST_LOOK, LAST_LOOK = 0.004, 0.05
"""Seconds between two looks at a tree that is being ended; they grow from the one to the other."""

LONGEST_POLL = 1e6
"""Seconds: the kernel takes no more than 2**31 milliseconds."""


class Leaf:
    """One running command."""

    def __init__(self, number: int, pid: int, grace: float, live: bool, streams: tuple[Stream, Stream]) -> None:
        self.number = number
        self.pid = pid
        self.grace = grace
        self.live = live
        self.streams = streams
        self.started = time.monotonic()
        self.status: int | None = None
        self.reason: str | None = None
        self.message: str | None = None
        self.due = 0.0
        self.kill_at = 0.0
        self.look = FIRST_LOOK
        self.known: set[int] = set()


class Supervisor:
    """The loop and what it knows."""

    def __init__(self, link: int, parent: int) -> None:
        """Serve the coordinator at the other end of the socket `link`; `parent` is its pidfd, or -1."""
        self.link = link
        self.parent = parent
        self.base: dict[bytes, bytes] = {}
        self.forms: tuple[bytes, ...] = ()
        self.sizes = 0, 0
        self.leaves: dict[int, Leaf] = {}
        self.pids: dict[int, Leaf] = {}
        self.pipes: dict[int, tuple[Leaf, Stream]] = {}
        self.paused: list[int] = []
        self.deadlines: list[tuple[float, int]] = []
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.looks: dict[int, Leaf] = {}
        self.trees = Trees()
        self.stopping = False
        self.null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.wake, self._wake = os.pipe()
        for fd in (self.wake, self._wake, link):
            os.set_blocking(fd, False)
        _signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        self.poller, self._unit = _poller()
        for fd in (link, self.wake, *((parent,) if parent >= 0 else ())):
            self.poller.register(fd, select.POLLIN)

    # The loop.

    def serve(self) -> None:
        """Work until the coordinator says stop or is gone, then kill every descendant."""
        ask_parent = os.getppid() if self.parent < 0 else 0
        while not self.stopping:
            ended = False
            for fd, _ in self.poller.poll(self._patience(ask_parent) * self._unit):
                pipe = self.pipes.get(fd)
                if pipe is not None:
                    self._read(*pipe)
                elif fd == self.wake:
                    os.read(fd, 4096)
                    ended = True
                elif fd == self.parent:
                    self.stopping = True
                elif fd == self.link:
                    self._receive()
            # What ended in time did, also if this process was stopped until long after.
            if ended or (self.deadlines and self.deadlines[0][0] <= time.monotonic()):
                self._reap()
            self._meet_deadlines()
            self._look()
            self._flush()
            if ask_parent and os.getppid() != ask_parent:
                self.stopping = True
        self.purge()

    def _patience(self, ask_parent: int) -> float:
        """Seconds until something is due; the poller's "for ever" is a negative number."""
        if not self.deadlines:
            return 1.0 if ask_parent else -1.0
        seconds = min(max(0.0, self.deadlines[0][0] - time.monotonic()), LONGEST_POLL)
        return min(1.0, seconds) if ask_parent else seconds

    def _receive(self) -> None:
        try:
            data = os.read(self.link, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.stopping = True
            return
        self.inbox += data
        for frame in take_frames(self.inbox):
            self._obey(*frame)

    def _obey(self, word: str, *rest: Any) -> None:
        if word == "run":
            self._start(*rest)
        elif word == "end":
            leaf = self.leaves.get(rest[0])
            if leaf is not None:
                self._end(leaf, "cancel")
        elif word == "kill":
            for leaf in tuple(self.leaves.values()):
                leaf.grace = leaf.kill_at = 0.0
                self._end(leaf, "kill")
                self.looks[leaf.number] = leaf
        elif word == "ping":
            self._send("pong")
        elif word == "init":
            self.base, self.forms, self.sizes = rest
        else:
            self.stopping = True

    def _send(self, *frame: object) -> None:
        self.outbox += pack(frame)

    def _flush(self) -> None:
        if not self.outbox:
            return
        waiting = len(self.outbox)
        try:
            sent = os.write(self.link, self.outbox)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.stopping = True
            return
        del self.outbox[:sent]
        if sent < waiting:
            self.poller.modify(self.link, select.POLLIN | select.POLLOUT)
            return
        self.poller.modify(self.link, select.POLLIN)
        for fd in self.paused:
            self.poller.register(fd, select.POLLIN)
        self.paused.clear()

    # Starting.

    def _start(
        self,
        number: int,
        argv: list[bytes],
        cwd: bytes,
        changes: dict[bytes, bytes | None],
        log: bytes | None,
        timeout: float | None,
        grace: float,
        options: tuple[bool, bool, bool, bool],
        limit: int,
        fork: tuple[str, int] | None,
    ) -> None:
        inherit_stdin, live, shown, lossy = options
        env = {**self.base, b"BAKEOFF_LEAF": b"%d" % number}
        for name, value in changes.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        try:
            pid, out, err = launch(argv, cwd, env, 0 if inherit_stdin else self.null, fork)
        except CannotStart as failure:
            self._send("failed", number, failure.errno, failure.where)
            return
        streams = []
        for fd, suffix, show in ((out, b".out", shown), (err, b".err", False)):
            mask = Mask(self.forms) if self.forms else None
            path = None if log is None else log + suffix
            streams.append(Stream(fd, path, limit, self.sizes, mask, show, lossy))
        leaf = Leaf(number, pid, grace, live, (streams[0], streams[1]))
        self.leaves[number] = self.pids[pid] = leaf
        for stream in streams:
            self.pipes[stream.fd] = leaf, stream
            self.poller.register(stream.fd, select.POLLIN)
        if timeout is not None:
            self._schedule(leaf, leaf.started + timeout)

    # Output.

    def _read(self, leaf: Leaf, stream: Stream) -> None:
        if stream.shown and len(self.outbox) > BACKLOG:
            self.poller.unregister(stream.fd)
            self.paused.append(stream.fd)
            return
        try:
            chunk = os.read(stream.fd, CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._take(leaf, stream, chunk)
        else:
            self._close(stream)

    def _take(self, leaf: Leaf, stream: Stream, chunk: bytes) -> None:
        try:
            piece = stream.take(chunk, leaf.live or time.monotonic() - leaf.started > AGE)
        except OSError as failure:
            self._log_failed(leaf, stream, failure)
            return
        if stream.shown and piece:
            self._send("chunk", leaf.number, piece)
        if stream.full:
            self._end(leaf, "output-limit")

    def _log_failed(self, leaf: Leaf, stream: Stream, failure: OSError) -> None:
        name = os.fsdecode(stream.path or b"")
        if leaf.message is None:
            leaf.message = f"output could not be written to {name}: {failure.strerror}"
        self._end(leaf, "log")

    def _close(self, stream: Stream) -> None:
        if stream.fd >= 0:
            del self.pipes[stream.fd]
            if stream.fd in self.paused:
                self.paused.remove(stream.fd)
            else:
                self.poller.unregister(stream.fd)
            os.close(stream.fd)
            stream.fd = -1

    # Ending.

    def _reap(self) -> None:
        for pid, status in iter(lambda: wait_one(self._before_reaping), (0, 0)):
            leaf = self.pids.pop(pid, None)
            if leaf is None:
                self.trees.forget(pid)  # an orphan that came to us
                continue
            leaf.status = os.waitstatus_to_exitcode(status)
            if leaf.reason is None:
                self._finish(leaf)
            else:
                self.looks[leaf.number] = leaf

    def _before_reaping(self, pid: int) -> None:
        """Kill what is left of the group; a tree that is being ended has its grace time instead."""
        leaf = self.pids.get(pid)
        if leaf is not None and leaf.reason is None:
            send_signal(-pid, _signal.SIGKILL)

    def _finish(self, leaf: Leaf) -> None:
        for stream in leaf.streams:
            if stream.fd >= 0:
                self._drain(leaf, stream)
            try:
                piece = stream.finish()
                if stream.shown and piece:
                    self._send("chunk", leaf.number, piece)
            except OSError as failure:
                self._log_failed(leaf, stream, failure)
            if stream.file >= 0:
                os.close(stream.file)
        del self.leaves[leaf.number]
        seconds = time.monotonic() - leaf.started
        out, err = (stream.summary() for stream in leaf.streams)
        self._send("end", leaf.number, leaf.status, seconds, leaf.reason, leaf.message, out, err)

    def _drain(self, leaf: Leaf, stream: Stream) -> None:
        """Read to EAGAIN, not to the end: a stranger may hold the pipe open for ever."""
        most = DRAIN
        while most > 0:
            try:
                chunk = os.read(stream.fd, CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                break
            self._take(leaf, stream, chunk)
            most -= len(chunk)
        self._close(stream)

    def _schedule(self, leaf: Leaf, when: float) -> None:
        leaf.due = when
        if len(self.deadlines) > 64 + 4 * len(self.leaves):
            # Most belong to commands that ended in time.
            self.deadlines = [(leaf.due, leaf.number) for leaf in self.leaves.values() if leaf.due]
            heapq.heapify(self.deadlines)
        heapq.heappush(self.deadlines, (when, leaf.number))

    def _meet_deadlines(self) -> None:
        while self.deadlines and self.deadlines[0][0] <= time.monotonic():
            when, number = heapq.heappop(self.deadlines)
            leaf = self.leaves.get(number)
            if leaf is None or leaf.due != when:
                continue
            if leaf.reason is None:
                self._end(leaf, "timeout")
            else:
                self.looks[number] = leaf

    def _end(self, leaf: Leaf, reason: str) -> None:
        """Begin to end the tree; the first reason stands."""
        if leaf.reason is not None:
            return
        leaf.reason = reason
        if leaf.status is None:
            leaf.kill_at = time.monotonic() + leaf.grace
            self.looks[leaf.number] = leaf

    def _look(self) -> None:
        """Look at the trees that are being ended, all at once: a look costs as much as the system has processes."""
        run = self.base.get(b"BAKEOFF_RUN", b"")
        if not self.looks:
            return
        leaves = list(self.looks.values())
        self.looks.clear()
        empty = []
        for leaf, tree in zip(leaves, self.trees.of(leaves, self.pids, run), strict=True):
            if tree or leaf.status is None:
                self._press(leaf, tree)
            else:
                empty.append(leaf)
        # A process that changes parents can slip through one look.
        for leaf, tree in zip(empty, self.trees.of(empty, self.pids, run) if empty else (), strict=True):
            if tree:
                self._press(leaf, tree)
            else:
                self._finish(leaf)

    def _press(self, leaf: Leaf, tree: list[int]) -> None:
        """One step towards an empty tree: TERM to those who have not had it, KILL after the grace time."""
        now = time.monotonic()
        for pid in tree:
            if now >= leaf.kill_at:
                send_signal(pid, _signal.SIGKILL)
            elif pid not in leaf.known:
                send_signal(pid, _signal.SIGTERM)
        leaf.known.update(tree)
        soon = now + leaf.look
        self._schedule(leaf, min(soon, leaf.kill_at) if now < leaf.kill_at else soon)
        leaf.look = min(leaf.look * 1.5, LAST_LOOK)

    def purge(self) -> None:
        """Kill every descendant and return when none is left."""
        end_descendants([-leaf.pid for leaf in self.leaves.values()])


def _poller() -> tuple[Any, float]:
    """The system's poller and the unit, in 1/seconds, of its timeouts."""
    if hasattr(select, "epoll"):
        return select.epoll(), 1.0
    return select.poll(), 1000.0


def main() -> None:
    """Serve the coordinator whose socket and, where there is such a thing, pidfd the arguments name.

    Raises:
        SystemExit: with status 1 after a bug; everything was killed and the coordinator told.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP"):
        _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
    adopt_orphans()
    descriptors = [int(word) for word in sys.argv[1:]]
    for fd in descriptors:
        # Else every command would hold the socket, and the coordinator never see us die.
        os.set_inheritable(fd, False)
    link, parent = [*descriptors, -1][:2]
    supervisor = Supervisor(link, parent)
    try:
        supervisor.serve()
    except BaseException:
        import traceback

        supervisor.purge()
        os.set_blocking(link, True)
        os.write(link, pack(("broken", traceback.format_exc())))
        raise SystemExit(1) from None
