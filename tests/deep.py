"""Folders deeper than paths can be long."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path


def make_deep(place: Path, depth: int, name: str = "d") -> None:
    """`depth` folders in each other below `place`, and a file in the last."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=descriptor))
    os.close(descriptor)


SHELL = "import os\nfor _ in range({depth}): os.mkdir({name!r}); os.chdir({name!r})\nopen('file', 'w').write('x')"
"""The same as a program of Python's."""


def deep_commit(objects: Path, parent: str, depth: int, name: bytes = b"d") -> str:
    """A commit on top of `parent` whose one file lies so deep, written as loose objects: no git could make it."""

    def put(kind: bytes, data: bytes) -> str:
        whole = b"%s %d\0" % (kind, len(data)) + data
        oid = hashlib.sha1(whole).hexdigest()
        (objects / oid[:2]).mkdir(exist_ok=True)
        (objects / oid[:2] / oid[2:]).write_bytes(zlib.compress(whole, 1))
        return oid

    tree = put(b"tree", b"100644 file\0" + bytes.fromhex(put(b"blob", b"x")))
    for _ in range(depth):
        tree = put(b"tree", b"40000 " + name + b"\0" + bytes.fromhex(tree))
    who = b"U <u@example.org> 1000000000 +0000"
    return put(b"commit", f"tree {tree}\nparent {parent}\n".encode() + b"author %s\ncommitter %s\n\nx\n" % (who, who))
