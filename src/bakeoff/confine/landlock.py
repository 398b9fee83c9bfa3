"""Landlock: rules about files that a process puts on itself, and that hold for all that it starts."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from bakeoff.confine.kernel import libc, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CREATE, ADD, RESTRICT = 444, 445, 446

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1, 2, 4, 8
REMOVE_FOLDER, REMOVE_FILE = 16, 32
MAKING = sum(1 << bit for bit in range(6, 13))
REFER, TRUNCATE, DEVICE = 1 << 13, 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_FOLDER
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE
ABSTRACT_SOCKETS, SIGNALS = 1, 2


def version() -> int:
    """The version of the rules this kernel knows; 0 where there are none."""
    return max(0, int(libc.syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def writing(abi: int) -> int:
    """All rights to change something that version `abi` knows."""
    found = WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKING
    for since, right in ((2, REFER), (3, TRUNCATE), (5, DEVICE)):
        if abi >= since:
            found |= right
    return found


def confine(reads: Iterable[str] | None, writes: Iterable[str], scopes: int) -> None:
    """Allow reading below `reads` and all below `writes`, and nothing else; paths that are not there do not matter.

    Args:
        reads: None for everywhere.
        writes: files and folders.
        scopes: `SIGNALS`, `ABSTRACT_SOCKETS`, which end at this process's descendants then, on kernels with version 6.
    """
    abi = version()
    write = writing(abi)
    handled = write if reads is None else write | READ
    # Sizes of the rule set as the versions added to it: files, network (none is ruled here), scopes.
    words = [handled, 0, scopes] if abi >= 6 else [handled]
    rules = struct.pack(f"{len(words)}Q", *words)
    ruleset = syscall("landlock", CREATE, rules, len(rules), 0)
    try:
        for path in reads or ():
            _allow(ruleset, path, READ)
        for path in writes:
            _allow(ruleset, path, (write | READ) & handled)
        syscall("landlock", RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= OF_FILES
        rule = struct.pack("=Qi", rights, place)
        syscall(f"landlock rule for {path}", ADD, ruleset, 1, rule, 0)
    finally:
        os.close(place)
