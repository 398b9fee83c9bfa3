"""System calls that the standard library does not have, through libc."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import: it makes enumerations
import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NEW_NS, NEW_IPC = 0x00020000, 0x08000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000

RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
DETACH = 2
RECURSIVE = 0x8000
CWD = -100

PR_DEATH_SIGNAL, PR_DUMPABLE, PR_DROP_BOUND, PR_SUBREAPER, PR_NO_NEW_PRIVS, PR_AMBIENT = 1, 4, 24, 36, 38, 47
AMBIENT_CLEAR_ALL = 4

MACHINE = os.uname().machine
ARM = MACHINE == "aarch64"
PIVOT_ROOT = 41 if ARM else 155
CAPSET = 91 if ARM else 126
SECCOMP = 277 if ARM else 317
MOUNT_SETATTR = 442

libc = ctypes.CDLL(None, use_errno=True)
_long = ctypes.c_long


def checked(status: int, what: str) -> int:
    """The status of a system call that did not fail.

    Raises:
        OSError: it did, with `what` in its text.
    """
    if status < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return status


def syscall(what: str, number: int, *arguments: object) -> int:
    """A system call by number; texts are bytes, None is 0."""
    passed = [_long(word) if isinstance(word, int) else word for word in arguments]
    return checked(libc.syscall(_long(number), *passed), what)


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    checked(libc.unshare(ctypes.c_int(flags)), "unshare")


def unshare_user(flags: int) -> None:
    """The same with a new user namespace, in which user and group stay what they are."""
    user, group = os.geteuid(), os.getegid()
    unshare(flags | NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def setns(descriptor: int, flags: int) -> None:
    """Move this process into the namespaces of another."""
    checked(libc.setns(ctypes.c_int(descriptor), ctypes.c_int(flags)), "enter the slot's namespaces")


def prctl(option: int, *arguments: int) -> None:
    """Change something about this process."""
    padded = [_long(number) for number in (*arguments, 0, 0, 0, 0)[:4]]
    checked(libc.prctl(ctypes.c_int(option), *padded), f"prctl {option}")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """Mount, or with `BIND` show a place at another."""
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    status = libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(options))
    checked(status, f"mount {kind or source} on {target}")


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


def set_mount(target: str, flags: int, recursive: bool = True) -> None:
    """Add flags to the mount at `target` and, unless told otherwise, to all below it."""
    wanted = _MountAttributes(set=flags)
    how = RECURSIVE if recursive else 0
    what = f"mount_setattr {target}"
    syscall(what, MOUNT_SETATTR, CWD, os.fsencode(target), how, ctypes.byref(wanted), ctypes.sizeof(wanted))


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root, and put the old one at `old`."""
    syscall("pivot_root", PIVOT_ROOT, os.fsencode(new), os.fsencode(old))


def unmount(target: str) -> None:
    """Take a mount and all below it out of sight."""
    checked(libc.umount2(os.fsencode(target), DETACH), f"unmount {target}")


class _Limit(ctypes.Structure):
    _fields_ = [("soft", ctypes.c_ulong), ("hard", ctypes.c_ulong)]


def limit(resource: int, amount: int) -> None:
    """setrlimit(2), no higher than it is already."""
    found = _Limit()
    checked(libc.getrlimit(resource, ctypes.byref(found)), "getrlimit")
    amount = min(amount, found.hard)
    checked(libc.setrlimit(resource, ctypes.byref(_Limit(amount, amount))), f"limit {resource}")


def loopback_up() -> None:
    """Bring up the loopback device of a new network namespace."""
    request = ctypes.create_string_buffer(b"lo", 40)
    request[16] = bytes([1 | 64])  # IFF_UP | IFF_RUNNING
    sock = checked(libc.socket(2, 2 | 0o2000000, 0), "socket")
    try:
        checked(libc.ioctl(ctypes.c_int(sock), ctypes.c_ulong(0x8914), request), "loopback")
    finally:
        os.close(sock)


def drop_capabilities() -> None:
    """Have none, and get none by executing anything."""
    for number in range(64):
        if libc.prctl(PR_DROP_BOUND, _long(number), _long(0), _long(0), _long(0)) != 0:
            break  # past the last that this kernel knows, or not allowed, and then capset leaves nothing to inherit
    try:
        prctl(PR_AMBIENT, AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # before Linux 4.3 there are none
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    syscall("drop capabilities", CAPSET, ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def forget_environment() -> None:
    """Overwrite this process's variables where the kernel shows them to others."""
    block = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    index = 0
    while block and (address := block[index]):
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
        index += 1


def in_child(work: Callable[[], None]) -> int:
    """Fork; the child does `work`, which must not return."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as failure:
            os.write(2, f"bakeoff sandbox: {failure!r}\n".encode())
        finally:
            os._exit(125)
    return pid


class _Poll(ctypes.Structure):
    _fields_ = [("descriptor", ctypes.c_int), ("wanted", ctypes.c_short), ("found", ctypes.c_short)]


def wait_readable(descriptor: int, seconds: float) -> None:
    """Until there is something to read, or the time is over, or a signal came."""
    libc.poll(ctypes.byref(_Poll(descriptor, 1, 0)), ctypes.c_ulong(1), ctypes.c_int(int(seconds * 1000)))


def ignore_signals(numbers: tuple[int, ...]) -> None:
    """Do not die of these signals."""
    for number in numbers:
        _signal.signal(number, _signal.SIG_IGN)


def default_signals(numbers: tuple[int, ...]) -> None:
    """Reset signals to what they mean to a process that says nothing."""
    for number in numbers:
        try:
            _signal.signal(number, _signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # KILL and STOP


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]


def filter_calls(lines: list[tuple[int, int, int, int]]) -> None:
    """Put a seccomp filter over this process and all that it starts; it needs no_new_privs."""
    packed = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    whole = _Program(len(lines), ctypes.addressof(buffer))
    syscall("seccomp", SECCOMP, 1, 0, ctypes.byref(whole))
