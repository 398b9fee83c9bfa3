"""File system view of a sandboxed command: a root with the places that are allowed only, or all, read-only."""

from __future__ import annotations

import errno
import os

from bakeoff.confine import kernel
from bakeoff.confine.kernel import BIND, NODEV, NOEXEC, NOSUID, PRIVATE, RDONLY, REC
from bakeoff.workspace.sandbox.inside import copying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

BASE = "/tmp"  # noqa: S108 - a folder that every system has; a mount hides it for a moment from this process alone
TEMP = BASE
OLD, NEW, OWN = "/old", "/new", "/own"
COPIED = "copied"
"""A folder beside the layer, made when a tree was copied into it: what changed later was written inside."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def build(
    reads: Sequence[str] | None,
    writes: Sequence[str],
    temp: str,
    shared: int,
    proc: bool,
    hidden: Sequence[str] = (),
    own: Mapping[str, Any] | None = None,
) -> int | None:
    """Become a process whose root holds only this, in mount and pid namespaces of its own.

    With `own` it returns a descriptor of what holds all that is written, which ends with the namespace; /tmp is a part
    of that.

    Args:
        reads: places to show as they are, read-only; None for all there is.
        writes: places to show that can be written.
        temp: the one of them that is /tmp, too.
        shared: bytes that /dev/shm may take, and /tmp where `temp` cannot be that.
        proc: mount a /proc of the new pid namespace.
        hidden: sockets that nobody inside may connect to, by their real paths; where all is shown.
        own: `lower`, a tree to show at `at` so that changes go to memory, `size` bytes of it; `links`, places to show
            in it by their paths there; `copied`, whether it is copied at once, where nothing can be mounted over it.

    Passes on OSError: a place leads through a link in what can be written, or the kernel refuses.
    """
    _leave_root()
    if reads is None:
        kernel.mount(OLD, NEW, None, BIND | REC)
        kernel.set_mount(NEW, RDONLY | NOSUID)
    else:
        kernel.mount("sandbox", NEW, "tmpfs", NOSUID, "mode=0755,size=4m")
        if own is None:
            _show_temp(temp, writes, shared)
        else:
            _own_temp(own["size"])
    _devices(shared)
    if reads is None:
        _hide(hidden)
    shown = {"/"} if reads is None else {TEMP, "/dev"}
    for path in sorted(reads or ()):
        _show(path, False, shown)
    for path in sorted(writes):
        _show(path, True, shown)
    held = None if own is None else _show_own(own["lower"], own["at"], own["links"], own["copied"])
    if not os.path.lexists(NEW + "/var" + TEMP):  # nothing that is shown stands in it
        _folder(NEW + "/var")
        os.symlink(TEMP, NEW + "/var" + TEMP)
    if proc:
        _folder(NEW + "/proc")
        kernel.mount("proc", NEW + "/proc", "proc", NOSUID | NODEV | NOEXEC | RDONLY)
    if reads is not None:
        kernel.set_mount(NEW, RDONLY, recursive=False)
    _enter_root()
    return held


def _leave_root() -> None:
    """Have the root that this process has at `OLD`, and an empty folder for the new one at `NEW`."""
    kernel.mount("none", "/", None, REC | PRIVATE)
    kernel.mount("sandbox", BASE, "tmpfs", NOSUID | NODEV, "mode=0755,size=4m")
    for folder in (OLD, NEW):
        os.mkdir(BASE + folder)
    kernel.pivot_root(BASE, BASE + OLD)
    os.chdir("/")


def _enter_root() -> None:
    """Have `NEW` as the root, and nothing else."""
    os.chdir(NEW)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")


def _hide(sockets: Sequence[str]) -> None:
    for path in sockets:
        try:
            kernel.mount(OLD + "/dev/null", NEW + path, None, BIND)
        except OSError as failure:
            # It went away meanwhile; or it lies where this user cannot go, and so cannot connect.
            if failure.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                raise
        else:
            kernel.set_mount(NEW + path, RDONLY | NOSUID | NOEXEC, recursive=False)


def _own_temp(size: int) -> None:
    os.mkdir(OWN)
    kernel.mount("sandbox", OWN, "tmpfs", NOSUID | NODEV, f"mode=0700,size={size},nr_inodes=20000")
    for name, mode in (("upper", 0o755), ("work", 0o755), ("temp", 0o1777)):
        os.mkdir(f"{OWN}/{name}")
        os.chmod(f"{OWN}/{name}", mode)
    _folder(NEW + TEMP)
    kernel.mount(f"{OWN}/temp", NEW + TEMP, None, BIND)


def _show_own(lower: str, at: str, links: Mapping[str, str], copied: bool) -> int:
    """Show `lower` at `at` under a layer for changes; returns a descriptor of the folder that holds the layer."""
    _folder(NEW + at)
    if copied:
        copying.copy_tree(OLD + lower, f"{OWN}/upper")
        os.mkdir(f"{OWN}/{COPIED}")
        kernel.mount(f"{OWN}/upper", NEW + at, None, BIND)
    else:
        options = f"lowerdir={OLD}{lower},upperdir={OWN}/upper,workdir={OWN}/work,userxattr"
        kernel.mount("overlay", NEW + at, "overlay", NOSUID | NODEV, options)
    for path, source in links.items():
        target = f"{NEW}{at}/{path}"
        if os.path.islink(target):  # to where the original of `lower` has it, which may be this very place
            os.unlink(target)
        if not os.path.lexists(target):
            _place(OLD + source, target)
        kernel.mount(OLD + source, target, None, BIND | REC)
        kernel.set_mount(target, RDONLY | NOSUID)
    return os.open(OWN, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _show(path: str, writable: bool, shown: set[str]) -> None:
    """Show a place where it stands, and what its symbolic links mean; it is added to those that are `shown`.

    Raises:
        OSError: it leads through a link in a place that can be written.
    """
    place = _follow(path)
    if place is None:
        return
    target = NEW + place
    inside = _is_below(place, shown)  # else all on the way there is of our own making
    if not (inside and os.path.lexists(target)):
        _place(OLD + place, target)
    if inside and os.path.realpath(target) != target:
        raise OSError(0, f"{path} leads through a link in a place that can be written")
    kernel.mount(OLD + place, target, None, BIND | REC)
    kernel.set_mount(target, NOSUID if writable else RDONLY | NOSUID)
    shown.add(place)


def _is_below(place: str, shown: set[str]) -> bool:
    while place not in shown:
        if place == "/":
            return False
        place = place[: place.rindex("/")] or "/"
    return True


def _follow(path: str, depth: int = 0) -> str | None:
    """The real path of `path` in the old root, with each link on the way there in the new one; None for nowhere."""
    real = "/"
    parts = [part for part in path.split("/") if part]
    for index, part in enumerate(parts):
        here = os.path.join(real, part)
        if os.path.islink(OLD + here):
            if depth > 20:
                return None
            words = os.readlink(OLD + here)
            if not os.path.lexists(NEW + here):
                _folder(NEW + real)
                os.symlink(words, NEW + here)
            rest = "/".join(parts[index + 1 :])
            return _follow(os.path.normpath(os.path.join(real, words, rest)), depth + 1)
        if not os.path.lexists(OLD + here):
            return None
        real = here
    return real


def _place(source: str, target: str) -> None:
    """Make what `source` can be mounted on: a folder, or a file."""
    if os.path.isdir(source):
        _folder(target)
    else:
        _folder(os.path.dirname(target))
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))


def _folder(path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path, 0o755, exist_ok=True)


def _show_temp(temp: str, writes: Sequence[str], shared: int) -> None:
    _folder(NEW + TEMP)
    if any(path.startswith(TEMP + "/") for path in writes):
        kernel.mount("sandbox", NEW + TEMP, "tmpfs", NOSUID | NODEV, f"mode=1777,size={shared}")
    else:
        kernel.mount(OLD + temp, NEW + TEMP, None, BIND)


def _devices(shared: int) -> None:
    """The harmless devices, terminals of its own, and memory that processes share."""
    home = NEW + "/dev"
    _folder(home)
    kernel.mount("sandbox", home, "tmpfs", NOSUID | NOEXEC, "mode=0755,size=64k")
    for name in DEVICES:
        if os.path.lexists(f"{OLD}/dev/{name}"):
            os.close(os.open(f"{home}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
            kernel.mount(f"{OLD}/dev/{name}", f"{home}/{name}", None, BIND)
            # The machine's own nodes: they can be written to all the same, but mode, owner and times stay as they are.
            kernel.set_mount(f"{home}/{name}", RDONLY | NOSUID | NOEXEC, recursive=False)
    for name, words in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{words}", f"{home}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{home}/{name}")
    kernel.mount("devpts", f"{home}/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{home}/ptmx")
    kernel.mount("sandbox", f"{home}/shm", "tmpfs", NOSUID | NODEV | NOEXEC, f"mode=1777,size={shared}")
    kernel.set_mount(home, RDONLY, recursive=False)
