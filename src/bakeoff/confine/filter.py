"""The seccomp filter: a small program for the kernel, written by hand, that refuses what no test and no tool needs."""

from __future__ import annotations

from bakeoff.confine.kernel import ARM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, ABOVE, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
"""Offsets of `struct seccomp_data`; of an argument, its lower half on a little-endian machine."""

NAMESPACES = 0x7E020080
"""The CLONE_NEW* bits of clone; 0x80 is NEWTIME."""

UNIX, INET, INET6 = 1, 2, 10
TTY_PUSH, TTY_LINUX = 0x5412, 0x541C

SINCE_5 = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "fchmodat2": 452,
    "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467,
}  # fmt: skip
"""Numbered alike everywhere."""

X86 = {
    "ioctl": 16, "socket": 41, "clone": 56, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94,
    "ptrace": 101, "syslog": 103, "utime": 132, "uselib": 134, "vhangup": 153, "pivot_root": 155, "adjtimex": 159,
    "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
    "delete_module": 176, "quotactl": 179, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "lremovexattr": 198, "fremovexattr": 199, "lookup_dcookie": 212, "clock_settime": 227, "utimes": 235,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "fchownat": 260, "futimesat": 261,
    "fchmodat": 268, "unshare": 272, "utimensat": 280, "perf_event_open": 298, "fanotify_init": 300,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

AARCH64 = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "lookup_dcookie": 18, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "fchmod": 52,
    "fchmodat": 53, "fchownat": 54, "fchown": 55, "vhangup": 58, "quotactl": 60, "utimensat": 88, "acct": 89,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116,
    "ptrace": 117, "reboot": 142, "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171,
    "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225,
    "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265,
    "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "finit_module": 273, "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

ABSENT = ("clone3", "memfd_create", "memfd_secret", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Answered as if this kernel had none: callers then take the older way, which can be looked into or is limited."""

CHANGING_OWNED = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
    "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat",
    "removexattrat",
)  # fmt: skip
"""Calls that landlock does not hold back from the user's own files; refused where nothing else hides those."""

WITH_CONDITIONS = ("clone", "socket", "ioctl")


def program(families: Sequence[int], keep_modes: bool, arm: bool = ARM) -> list[tuple[int, int, int, int]]:
    """The filter as (operation, steps if true, steps if false, constant).

    Args:
        families: address families that `socket` may have.
        keep_modes: refuse changes of modes, owners, times and attributes of files.
        arm: for aarch64; else for x86_64.
    """
    numbers = SINCE_5 | (AARCH64 if arm else X86)
    lines = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, 0xC00000B7 if arm else 0xC000003E), (RETURN, 0, 0, KILL)]
    lines.append((LOAD, 0, 0, NUMBER))
    if not arm:
        lines += _when(ABOVE, 0x40000000, ENOSYS)  # the x32 calls have numbers of their own
    for name in ABSENT:
        lines += _when(EQUAL, numbers[name], ENOSYS)
    for name, number in numbers.items():
        if name in (*ABSENT, *WITH_CONDITIONS) or (name in CHANGING_OWNED and not keep_modes):
            continue
        lines += _when(EQUAL, number, EPERM)
    lines += _conditional(numbers["clone"], FIRST, list(_when(ANY_BIT, NAMESPACES, EPERM)))
    pushing = [*_when(EQUAL, TTY_PUSH, EPERM), *_when(EQUAL, TTY_LINUX, EPERM)]
    lines += _conditional(numbers["ioctl"], SECOND, pushing)
    known = [line for family in families for line in ((EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW))]
    lines += _conditional(numbers["socket"], FIRST, [*known, (RETURN, 0, 0, ERRNO | EAFNOSUPPORT)])
    return [*lines, (RETURN, 0, 0, ALLOW)]


def _when(test: int, constant: int, error: int) -> Iterator[tuple[int, int, int, int]]:
    yield (test, 0, 1, constant)
    yield (RETURN, 0, 0, ERRNO | error)


def _conditional(number: int, argument: int, lines: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Look at an argument of one call only; what `lines` does not answer is allowed."""
    inner = [(LOAD, 0, 0, argument), *lines, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(inner), number), *inner]
