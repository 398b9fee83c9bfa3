"""Blobs of a result: contents as git stores them, line ends, encodings and content filters, as `git add` has them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.system.named_files import read_exactly
from bakeoff.workspace.files import RefusedError, open_regular
from bakeoff.workspace.filters.attributes import ATTRIBUTES
from bakeoff.workspace.filters.drivers import Driver
from bakeoff.workspace.results.changes import Changes, Refused
from bakeoff.workspace.results.shadow import TRIGGERS, Shadow
from bakeoff.workspace.slots.base import Base

_MOST_CONVERTED = 512 << 20
"""Bytes of a file beyond which line ends and the like stay as they are, as with git, and no filter is run."""


@dataclass(slots=True)
class CommitPlan:
    """Plan of a commit: paths, blobs and refusals.

    Attributes:
        deletes: paths of files and folders to take out first.
        puts: files and links to put in.
        filtered: which of them go through a content filter.
        converted: which of the others git may store otherwise, see `Shadow.converted`.
        stored: which of both git has stored, under which id.
        kept: attributes that stay as they were, whatever became of them.
    """

    deletes: set[bytes] = field(default_factory=set)
    puts: dict[bytes, None] = field(default_factory=dict)
    filtered: dict[bytes, Driver] = field(default_factory=dict)
    converted: dict[bytes, bool] = field(default_factory=dict)
    stored: dict[bytes, bytes] = field(default_factory=dict)
    kept: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    ignored: list[bytes] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def refuse(self, path: bytes, reason: str) -> None:
        """Leave out a path that was to be put in."""
        del self.puts[path]
        self.refused.append(Refused(os.fsdecode(path), reason))

    @contextmanager
    def refusing(self, path: bytes) -> Iterator[None]:
        """Leave the path out where it cannot be read inside."""
        try:
            yield
        except RefusedError as refused:
            self.refuse(path, str(refused))
        except FileNotFoundError:
            self.refuse(path, "it went away while it was read")


def convert(base: Base, changes: Changes, rules: Shadow, plan: CommitPlan, limit: int) -> None:
    """Have git store all files whose content it stores otherwise than it stands in the slot, at once."""
    regular = [path for path in plan.puts if not stat.S_ISLNK(changes.files[path].st_mode)]
    _keep_filters(base, rules, plan, regular)
    regular = [path for path in regular if path in plan.puts]
    plan.filtered = rules.filtered(regular)
    plan.converted = rules.converted(path for path in regular if path not in plan.filtered)
    files: dict[bytes, Path] = {}
    small = [path for path in plan.converted if changes.files[path].st_size <= _MOST_CONVERTED]
    for path in [*plan.filtered, *small]:
        with (
            plan.refusing(path),
            open_regular(changes.root, path, min(limit, _MOST_CONVERTED)) as (descriptor, found),
        ):
            content = read_exactly(descriptor, found.st_size)
            known = base.entries.files.get(path, (b"", b""))[1]
            if path in plan.filtered and _object_id(content, base.project.object_size) == known:
                plan.stored[path] = known  # an agent's git, which has no filter, put there what is stored
            elif path in plan.filtered or plan.converted[path] or TRIGGERS.search(content):
                files[path] = rules.stage(content)
    done = rules.store(files, plan.filtered)
    plan.stored |= done.ids
    for path, reason in done.failed.items():
        plan.refuse(path, reason)


def _keep_filters(base: Base, rules: Shadow, plan: CommitPlan, regular: list[bytes]) -> None:
    """Leave out attributes by which other content filters of the user's would run than by theirs, or none would."""
    moved = rules.moved(regular)
    if not moved:
        return
    path, (before, now) = min(moved.items())
    would = f"go through the content filter {now!r}" if now else f"no longer go through the content filter {before!r}"
    instead = f", not {before!r}" if now and before else ", and goes through none now" if now else ""
    why = f"{os.fsdecode(path)!r} would {would}{instead}; which ones run is for you to say"
    for rule in rules.changed_rules():
        folder = rule[: -len(ATTRIBUTES)]
        if rule in plan.puts:
            plan.refuse(rule, f"by it {why}")
        elif any(other.startswith(folder) for other in (*plan.puts, *moved)):
            plan.refused.append(Refused(os.fsdecode(rule), f"it stays: without it {why}"))
        else:
            continue  # the whole folder is gone
        if rule in base.entries.files:
            plan.kept[rule] = base.entries.files[rule]
    for path, (_, name) in moved.items():
        if name is not None and path in plan.puts:
            plan.refuse(path, f"its own .gitattributes send it through the content filter {name!r}, yours do not")
    rules.keep_attributes()


def _object_id(content: bytes, size: int) -> bytes:
    made = hashlib.sha256() if size == 32 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.hexdigest().encode()
