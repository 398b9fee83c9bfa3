"""The process that starts, watches and ends all others.

It runs as a script of its own (`python -I -S supervisor.py`), so it imports a few modules of the standard library
and nothing of bakeoff; that keeps its start near 12 ms. One thread, one loop over: the socket to the coordinator,
the pipes of the running commands, a wake-up descriptor for SIGCHLD, and the coordinator's pidfd. When the
coordinator is gone, whatever way, every descendant is killed, also those that moved to a session of their own:
the supervisor is their subreaper, so they cannot leave its subtree.

Both ways the socket carries frames: four bytes of length, then one `marshal`ed tuple (both ends are the same
interpreter). In: `init`, `run`, `end`, `kill`, `stop`. Out: `end`, `failed`, `chunk`, `broken`.
"""

from __future__ import annotations

import heapq
import marshal
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MASK = b"***"
CHUNK = 1 << 16
"""Bytes read from a pipe at once: its default capacity."""
DRAIN = 1 << 20
"""Most bytes read from a pipe after its process ended: no unprivileged pipe holds more, only a stranger writes on."""
BACKLOG = 1 << 20
"""Bytes waiting for the coordinator above which streamed output is left in the pipes."""
AGE = 1.0
"""Seconds after which a process counts as long work and its output goes to a file as it comes."""
FIRST_LOOK, LAST_LOOK = 0.004, 0.05
"""Seconds between two looks at a tree that is being ended; they grow from the one to the other."""
DEFAULTED = [
    getattr(signal, name)
    for name in ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD", "SIGTSTP")
]
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Make this process the subreaper of its descendants; False where the system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0  # type: ignore[no-any-return]


def process_table() -> dict[int, tuple[int, int]]:
    """Parent and session of every process; empty where there is no /proc."""
    table = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return table
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    fields = file.read(512).rpartition(b")")[2].split(None, 4)
            except OSError:
                continue  # it ended meanwhile
            table[int(name)] = (int(fields[1]), int(fields[3]))
    return table


def descendants(root: int, table: dict[int, tuple[int, int]]) -> list[int]:
    """Everything below `root` in `table`, without `root`."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def environment(pid: int) -> bytes:
    """The environment that `pid` was started with, as `\\0NAME=value\\0...\\0`; empty where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return b"\0" + file.readall()
    except OSError:
        return b""


def send_signal(pid: int, number: int) -> None:
    """Signal `pid`; one that is gone, or is not ours to signal, is no error."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


class Mask:
    """Replaces secrets in a stream, also where a chunk's border cuts one in two."""

    def __init__(self, forms: tuple[bytes, ...]) -> None:
        import re

        self._forms = forms
        self._longest = max(map(len, forms))
        self._search = re.compile(b"|".join(map(re.escape, forms))).search
        self._held = b""

    def feed(self, chunk: bytes, last: bool = False) -> bytes:
        """What may be shown after `chunk`; a possible beginning of a secret is held back until more has come."""
        data = self._held + chunk
        shown, start = [], 0
        held = len(data) if last else self._open_end(data, 0)
        while (match := self._search(data, start)) and match.start() < held:
            shown += data[start : match.start()], MASK
            start = match.end()
            if start > held:
                held = self._open_end(data, start)
        shown.append(data[start:held])
        self._held = data[held:]
        return b"".join(shown)

    def _open_end(self, data: bytes, start: int) -> int:
        """The first place from which the rest of `data` is a proper beginning of a secret."""
        end = len(data)
        first = end
        for form in self._forms:
            place = data.find(form[:1], max(start, end - self._longest + 1))
            while -1 < place < first:
                if end - place < len(form) and form.startswith(data[place:]):
                    first = place
                place = data.find(form[:1], place + 1)
        return first


class Stream:
    """One output of a process: its pipe, what is kept of it in memory, and its file once it has one."""

    __slots__ = (
        "excerpt", "fd", "file", "full", "head", "inline", "kept",
        "limit", "mask", "path", "shown", "size", "stored", "tail",
    )  # fmt: skip

    def __init__(
        self, fd: int, path: bytes | None, limit: int, sizes: tuple[int, int], mask: Mask | None, shown: bool
    ) -> None:
        self.fd = fd
        self.inline, self.excerpt = sizes
        self.path = path
        self.limit = limit
        self.mask = mask
        self.shown = shown
        self.file = -1
        self.full = False
        self.kept: bytearray | None = bytearray()
        self.head = self.tail = b""
        self.size = self.stored = 0

    def take(self, chunk: bytes, to_file: bool) -> bytes:
        """Keep `chunk`, return what may be shown of it.

        Raises:
            OSError: the file could not be written; nothing more is kept.
        """
        room = self.limit - self.size
        self.size += len(chunk)
        if self.full:
            return b""
        if len(chunk) > room:
            chunk, self.full = chunk[:room], True
        piece = chunk if self.mask is None else self.mask.feed(chunk, self.full)
        self._keep(piece, to_file)
        return piece

    def finish(self) -> bytes:
        """Keep and return what masking held back, and give bytes that are not UTF-8 a file.

        Raises:
            OSError: the file could not be written.
        """
        piece = b"" if self.mask is None or self.full else self.mask.feed(b"", True)
        self._keep(piece, False)
        if self.kept and self.file < 0:
            try:
                self.kept.decode()
            except UnicodeDecodeError:
                self._write(self.kept)
        return piece

    def _keep(self, piece: bytes, to_file: bool) -> None:
        self.stored += len(piece)
        if self.kept is None:
            self._write(piece)
            self.tail = (self.tail + piece[-self.excerpt :])[-self.excerpt :]
            return
        self.kept += piece
        outgrown = self.path is not None and len(self.kept) > self.inline
        if self.file >= 0:
            self._write(piece)
        elif self.kept and (to_file or outgrown):
            self._write(self.kept)
        if outgrown:
            self.head, self.tail = bytes(self.kept[: self.excerpt]), bytes(self.kept[-self.excerpt :])
            self.kept = None

    def _write(self, piece: bytes | bytearray) -> None:
        if self.path is None:
            return
        try:
            if self.file < 0:
                self.file = _create(self.path)
            view = memoryview(piece)
            while view:
                view = view[os.write(self.file, view) :]
        except OSError:
            self.full = True
            raise

    def summary(self) -> tuple[bytearray | None, bytes, bytes, int, int, bytes | None]:
        """What the coordinator is told: kept, head, tail, size, bytes stored, path of the file."""
        return self.kept, self.head, self.tail, self.size, self.stored, self.path if self.file >= 0 else None


def _create(path: bytes) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


class Leaf:
    """One running command."""

    __slots__ = (
        "due", "grace", "kill_at", "known", "live", "look", "message", "number",
        "pid", "reason", "started", "status", "streams",
    )  # fmt: skip

    def __init__(
        self, number: int, pid: int, grace: float, live: bool, streams: tuple[Stream, Stream]
    ) -> None:
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
        self.stopping = False
        self.null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.wake, self._wake = os.pipe()
        for fd in (self.wake, self._wake, link):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
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
            if ended:
                self._reap()
            self._meet_deadlines()
            self._flush()
            if ask_parent and os.getppid() != ask_parent:
                self.stopping = True
        self.purge()

    def _patience(self, ask_parent: int) -> float:
        """Seconds until something is due; the poller's "for ever" is a negative number."""
        if not self.deadlines:
            return 1.0 if ask_parent else -1.0
        seconds = max(0.0, self.deadlines[0][0] - time.monotonic())
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
                self._look(leaf)
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
        options: tuple[bool, bool, bool],
        limit: int,
    ) -> None:
        inherit_stdin, live, shown = options
        env = {**self.base, b"BAKEOFF_LEAF": b"%d" % number}
        for name, value in changes.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        descriptors: list[int] = []
        where = "cwd"
        try:
            os.chdir(cwd)
            where = "program"
            program = argv[0] if b"/" in argv[0] else locate(argv[0], env.get(b"PATH", b"/usr/bin:/bin"))
            descriptors += os.pipe()
            descriptors += os.pipe()
            out, out_end, err, err_end = descriptors
            actions = [(os.POSIX_SPAWN_DUP2, out_end, 1), (os.POSIX_SPAWN_DUP2, err_end, 2)]
            if not inherit_stdin:
                actions.append((os.POSIX_SPAWN_DUP2, self.null, 0))
            pid = os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=DEFAULTED
            )
        except (OSError, ValueError, IndexError) as failure:
            for fd in descriptors:
                os.close(fd)
            self._send("failed", number, getattr(failure, "errno", None) or 22, where)
            return
        finally:
            os.chdir("/")  # or the last command's directory could not be unmounted
        os.close(out_end)
        os.close(err_end)
        streams = []
        for fd, suffix, show in ((out, b".out", shown), (err, b".err", False)):
            os.set_blocking(fd, False)
            mask = Mask(self.forms) if self.forms else None
            streams.append(Stream(fd, None if log is None else log + suffix, limit, self.sizes, mask, show))
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
                continue  # an orphan that came to us
            leaf.status = os.waitstatus_to_exitcode(status)
            if leaf.reason is None:
                self._finish(leaf)
            else:
                self._look(leaf)

    def _before_reaping(self, pid: int) -> None:
        """Kill what is left of the group; a tree that is being ended has its grace time instead."""
        leaf = self.pids.get(pid)
        if leaf is not None and leaf.reason is None:
            try:
                os.killpg(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

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
                self._look(leaf)

    def _end(self, leaf: Leaf, reason: str) -> None:
        """Begin to end the tree; the first reason stands."""
        if leaf.reason is not None:
            return
        leaf.reason = reason
        if leaf.status is None:
            leaf.kill_at = time.monotonic() + leaf.grace
            self._schedule(leaf, time.monotonic())

    def _look(self, leaf: Leaf) -> None:
        """One more step towards an empty tree: TERM to those who have not had it, KILL after the grace time."""
        tree = self._tree(leaf) or self._tree(
            leaf
        )  # a process that changes parents can slip through one look
        if not tree and leaf.status is not None:
            self._finish(leaf)
            return
        now = time.monotonic()
        for pid in tree:
            if now >= leaf.kill_at:
                send_signal(pid, signal.SIGKILL)
            elif pid not in leaf.known:
                send_signal(pid, signal.SIGTERM)
        leaf.known.update(tree)
        if now < leaf.kill_at:
            self._schedule(leaf, min(now + leaf.look, leaf.kill_at))
        else:
            self._schedule(leaf, now + leaf.look)
        leaf.look = min(leaf.look * 1.5, LAST_LOOK)

    def _tree(self, leaf: Leaf) -> list[int]:
        """The living processes of `leaf`: below its first process, or come to us and marked as its own."""
        if not (table := process_table()):
            return _group(leaf)
        roots = [leaf.pid] if leaf.status is None else []
        me = os.getpid()
        for pid, (parent, session) in table.items():
            if (
                parent == me
                and pid not in self.pids
                and (pid in leaf.known or session == leaf.pid or self._marked(pid, leaf))
            ):
                roots.append(pid)
        return roots + [pid for root in roots for pid in descendants(root, table)]

    def _marked(self, pid: int, leaf: Leaf) -> bool:
        marks = environment(pid)
        run = self.base.get(b"BAKEOFF_RUN", b"")
        return b"\0BAKEOFF_LEAF=%d\0" % leaf.number in marks and b"\0BAKEOFF_RUN=%b\0" % run in marks

    def purge(self) -> None:
        """Kill every descendant and return when none is left."""
        while True:
            table = process_table()
            for pid in descendants(os.getpid(), table) if table else self.pids:
                send_signal(pid, signal.SIGKILL)
            if not table:
                for leaf in self.leaves.values():
                    for pid in _group(leaf):
                        send_signal(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.001)


def _group(leaf: Leaf) -> list[int]:
    """Without /proc a process group is all that can be reached: as a negative number, the way kill(2) takes it."""
    try:
        os.killpg(leaf.pid, 0)
    except (ProcessLookupError, PermissionError):
        return []
    return [-leaf.pid]


def wait_one(before: Callable[[int], None]) -> tuple[int, int]:
    """Reap one child that ended, calling `before` with its number first; its number and status, or two zeros."""
    try:
        if hasattr(os, "waitid"):
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                return 0, 0
            before(found.si_pid)  # its zombie still pins the number, so nobody else can be meant
            return os.waitpid(found.si_pid, 0)
        pid, status = os.waitpid(-1, os.WNOHANG)
        before(pid)
        return pid, status
    except ChildProcessError:
        return 0, 0


def _poller() -> tuple[Any, float]:
    """The system's poller and the unit, in 1/seconds, of its timeouts."""
    if hasattr(select, "epoll"):
        return select.epoll(), 1.0
    return select.poll(), 1000.0


def locate(program: bytes, path: bytes) -> bytes:
    """The file that `program` names on `path`, as a shell finds it.

    Raises:
        FileNotFoundError: there is none.
        PermissionError: there is one, and it may not be executed.
    """
    failure: OSError = FileNotFoundError(2, "not found")
    for directory in path.split(b":"):
        file = os.path.join(directory or b".", program)
        if os.path.isfile(file):
            if os.access(file, os.X_OK):
                return file
            failure = PermissionError(13, "not executable")
    raise failure


def pack(frame: tuple[object, ...]) -> bytes:
    """One frame as bytes."""
    body = marshal.dumps(frame)
    return len(body).to_bytes(4, "little") + body


def take_frames(buffer: bytearray) -> list[tuple[Any, ...]]:
    """Take the whole frames off the front of `buffer`."""
    place, frames = 0, []
    with memoryview(buffer) as view:
        while len(buffer) - place >= 4:
            end = place + 4 + int.from_bytes(view[place : place + 4], "little")
            if end > len(buffer):
                break
            frames.append(marshal.loads(view[place + 4 : end]))  # noqa: S302 - our own other half wrote it
            place = end
    del buffer[:place]
    return frames


def main() -> None:
    """Serve the coordinator whose socket and pidfd (or -1) the two arguments name."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    adopt_orphans()
    link, parent = int(sys.argv[1]), int(sys.argv[2])
    for inherited in (link, parent):
        if inherited >= 0:
            # Else every command would hold the socket, and the coordinator never see us die.
            os.set_inheritable(inherited, False)
    supervisor = Supervisor(link, parent)
    try:
        supervisor.serve()
    except BaseException:
        import traceback

        supervisor.purge()
        os.set_blocking(link, True)
        os.write(link, pack(("broken", traceback.format_exc())))
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
