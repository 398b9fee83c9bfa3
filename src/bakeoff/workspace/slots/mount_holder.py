"""Run as a program of its own: holds the mount namespaces of overlay slots, one child process a slot.

It reads one order a line from standard input and answers each with one line. When its input ends, because the
coordinator closed it or died, the children die with it, and the kernel takes their mounts down. It imports little of
the standard library only, so that it starts at once, and has a single thread, so that forking is safe.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import: it makes enumerations
import ctypes
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

NEW_USER, NEW_NS = 0x10000000, 0x00020000
RDONLY, REMOUNT, BIND, REC, PRIVATE = 1, 32, 4096, 16384, 1 << 18
DETACH = 2
DEATH_SIGNAL = 1
KEPT_FLAGS = 2 | 4 | 8 | 1024 | 2048 | (1 << 21)
"""nosuid, nodev, noexec, noatime, nodiratime, relatime: what a remount must not drop in a user namespace."""

libc = ctypes.CDLL(None, use_errno=True)


def dumps(order: dict[str, Any]) -> bytes:
    """An order or an answer as one line."""
    return marshal.dumps(order).hex().encode() + b"\n"


def loads(line: bytes) -> dict[str, Any]:
    """An order or an answer from its line."""
    found: dict[str, Any] = marshal.loads(bytes.fromhex(line.decode()))  # noqa: S302 - of our own making, and quick
    return found


def check(status: int, what: str) -> None:
    """Raise for a system call that failed.

    Raises:
        OSError: it did.
    """
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount, as the system call of that name does."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    check(libc.mount(*encoded, ctypes.c_ulong(flags), os.fsencode(options)), f"mount {kind or 'bind'} on {target}")


def enter_namespaces() -> None:
    """A user namespace that knows only this user, and a mount namespace that tells nobody of its mounts."""
    user, group = os.geteuid(), os.getegid()
    check(libc.unshare(NEW_USER | NEW_NS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    mount("none", "/", None, REC | PRIVATE)


def put(spec: dict[str, Any]) -> None:
    """Mount the overlay at `at`, and on top of it what is bound; sources are opened first, as `at` may hide them.

    At `bare` it is seen without what is bound: a sandbox puts a layer of its own over it, and the kernel refuses that
    over a folder with further mounts in it which a namespace has from another.
    """
    opened: list[int] = []

    def handle(path: str) -> str:
        opened.append(os.open(path, os.O_PATH | os.O_CLOEXEC))
        return f"/proc/self/fd/{opened[-1]}"

    try:
        lowers = ":".join(handle(path) for path in spec["lowers"])
        upper, work = handle(spec["upper"]), handle(spec["work"])
        binds = [(handle(bind["source"]), bind["target"], bind["readonly"]) for bind in spec["binds"]]
        # Through descriptors, so that no character of a path means something in the options.
        mount("overlay", spec["at"], "overlay", 0, f"lowerdir={lowers},upperdir={upper},workdir={work},userxattr")
        if spec["bare"] != spec["at"]:
            mount(spec["at"], spec["bare"], None, BIND)
        for source, target, readonly in binds:
            bind_at(source, os.path.join(spec["at"], target), readonly)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def bind_at(source: str, target: str, readonly: bool) -> None:
    """Show `source` at `target` too.

    Raises:
        OSError: it cannot be; a way through a link counts as such.
    """
    if not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    if os.path.realpath(target) != target:
        raise OSError(0, f"{target} leads through a symbolic link: nothing can be shown there")
    mount(source, target, None, BIND | REC)
    if readonly:
        mount("none", target, None, REMOUNT | BIND | RDONLY | (os.statvfs(target).f_flag & KEPT_FLAGS))


def take_down(at: str) -> None:
    """Unmount; what is still in use goes when its last user does."""
    check(libc.umount2(os.fsencode(at), DETACH), f"unmount {at}")


class Channel:
    """Two pipes between this process and a child: lines each way."""

    def __init__(self, lines: BinaryIO, out: int) -> None:
        self.lines = lines
        self.out = out

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Its two ends."""
        there, back = os.pipe(), os.pipe()
        return cls(open(back[0], "rb"), there[1]), cls(open(there[0], "rb"), back[1])

    def say(self, line: bytes) -> None:
        """Write a line. Passes on OSError."""
        while line:
            line = line[os.write(self.out, line) :]

    def close(self) -> None:
        """Let the other end see the end."""
        self.lines.close()
        os.close(self.out)


def hold(channel: Channel) -> None:
    """The life of one slot's holder: mount and unmount as told, until the channel ends."""
    for line in channel.lines:
        spec = loads(line)
        try:
            for place in spec["was"]:
                take_down(place)
            if spec["at"]:
                put(spec)
            answer = {}
        except OSError as failure:
            answer = {"error": failure.strerror or str(failure)}
        channel.say(dumps(answer))


class Holders:
    """The children by number."""

    def __init__(self) -> None:
        self.children: dict[int, Channel] = {}

    def start(self) -> dict[str, Any]:
        """A child in namespaces of its own."""
        ours, theirs = Channel.pair()
        pid = os.fork()
        if pid == 0:
            self.be_child(ours, theirs)
        theirs.close()
        answer = ours.lines.readline()
        if answer != b"ready\n":
            ours.close()
            os.waitpid(pid, 0)
            return {"error": answer.decode().strip() or "its process died"}
        self.children[pid] = ours
        return {"pid": pid}

    def be_child(self, ours: Channel, theirs: Channel) -> None:
        """Never returns."""
        status = 1
        try:
            libc.prctl(DEATH_SIGNAL, _signal.SIGKILL)
            ours.close()
            for channel in self.children.values():
                channel.close()
            for descriptor in (0, 1):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            try:
                enter_namespaces()
            except OSError as failure:
                theirs.say(f"{failure.strerror or failure}\n".encode())
            else:
                theirs.say(b"ready\n")
                hold(theirs)
                status = 0
        finally:
            os._exit(status)

    def tell(self, spec: dict[str, Any]) -> dict[str, Any]:
        """Pass an order to a child."""
        channel = self.children[spec["pid"]]
        channel.say(dumps(spec))
        answer = channel.lines.readline()
        return loads(answer) if answer else {"error": "its process died"}

    def stop(self, pid: int) -> dict[str, Any]:
        """End a child, and with it its mounts."""
        channel = self.children.pop(pid, None)
        if channel is not None:
            os.kill(pid, _signal.SIGKILL)
            os.waitpid(pid, 0)
            channel.close()
        return {}


def say(answer: dict[str, Any]) -> None:
    """Answer the coordinator; when it is gone, end as at the end of the input. Unbuffered: nothing is left to flush."""
    try:
        os.write(1, dumps(answer))
    except BrokenPipeError:
        os._exit(0)


def main() -> None:
    """Serve until standard input ends."""
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_IGN)  # the coordinator decides when it ends
    os.chdir("/")
    os.umask(0o022)
    holders = Holders()
    say({})
    for line in sys.stdin.buffer:
        order = loads(line)
        try:
            if order["do"] == "start":
                answer = holders.start()
            elif order["do"] == "stop":
                answer = holders.stop(order["pid"])
            else:
                answer = holders.tell(order)
        except OSError as failure:
            answer = {"error": failure.strerror or str(failure)}
        say(answer)
