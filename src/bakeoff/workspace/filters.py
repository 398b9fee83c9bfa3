"""Files that a content filter such as LFS would replace: filters are programs, and slots run none of the user's."""

from __future__ import annotations

import os
import re
import secrets

from bakeoff.workspace.trees import Base

_NONE = (b"unspecified", b"unset", b"set")


def filtered_files(base: Base) -> tuple[str, ...]:
    """Files of the snapshot with a filter by their attributes: slots have them as git stores them."""
    rules = [oid for path, (_, oid) in base.entries.files.items() if path.rpartition(b"/")[2] == b".gitattributes"]
    if not rules:
        return ()
    git = base.repository.git()
    texts = git.run("cat-file", "--batch", data=b"".join(oid + b"\n" for oid in rules))
    if re.search(rb"\bfilter=", texts) is None:
        return ()
    index = base.repository.path / f"attributes.{secrets.token_hex(6)}.index"
    git = git.at(index=index)
    try:
        git.run("read-tree", base.snapshot.tree)
        paths = b"".join(path + b"\0" for path in base.entries.files)
        found = git.run("check-attr", "--cached", "-z", "--stdin", "filter", data=paths).split(b"\0")
    finally:
        index.unlink(missing_ok=True)
    return tuple(os.fsdecode(path) for path, value in zip(found[::3], found[2::3], strict=False) if value not in _NONE)
