"""Candidate: whole files to try in place of the original's, so that what is tested is what is applied."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

MOST_BYTES = 32 << 20
"""Bytes that the files of one candidate may have."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A change to try.

    Attributes:
        origin: the source that proposed it, and how: `rules/join`, `files/fast.py`.
        files: the new contents of each changed file by its path relative to the project's root; None: removed.
        note: one sentence on what was done, for people.
        parent: the `id` of the candidate that it builds on.
        assumes: what must hold that the source could not see: `pure`, ...
        invalid: why there is nothing to judge, where that is so; there are no files then.
    """

    origin: str
    files: Mapping[str, bytes | None]
    note: str = ""
    parent: str | None = None
    assumes: tuple[str, ...] = ()
    invalid: str = ""

    def __post_init__(self) -> None:
        if bool(self.files) == bool(self.invalid):
            raise ValueError("a candidate changes at least one file, or says why it is invalid")
        for path in self.files:
            parts = PurePosixPath(path).parts
            if not parts or path.startswith("/") or ".." in parts or "\0" in path or str(PurePosixPath(path)) != path:
                raise ValueError(f"a candidate changes files of the project, named relative to its root, not {path!r}")

    @property
    def by_rules(self) -> bool:
        """Whether rules alone wrote it, and nobody has thought it over."""
        return self.origin.startswith("rules/")

    @property
    def id(self) -> str:
        """A digest of the files alone: the same change has the same id, whoever proposed it."""
        digest = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            name = path.encode("utf-8", "surrogateescape")
            digest.update(b"%d:%s" % (len(name), name))
            digest.update(b"-" if content is None else b"%d:%s" % (len(content), content))
        return digest.hexdigest()[:16]

    def bounded(self) -> Candidate:
        """This one; where it is too large for source code, one that says so."""
        size = sum(len(content) for content in self.files.values() if content is not None)
        if size <= MOST_BYTES:
            return self
        why = f"its files have {size >> 20} MiB, and {MOST_BYTES >> 20} are the most"
        return Candidate(self.origin, {}, self.note, self.parent, self.assumes, why)

    def __hash__(self) -> int:
        return hash((self.origin, self.id))

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        files = {path: None if content is None else b64encode(content).decode() for path, content in self.files.items()}
        return {
            "origin": self.origin,
            "files": files,
            "note": self.note,
            "parent": self.parent,
            "assumes": list(self.assumes),
            "invalid": self.invalid,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Candidate:
        """Candidate out of what `to_json` gave."""
        files = {path: None if text is None else b64decode(text) for path, text in kept["files"].items()}
        invalid = kept.get("invalid", "")
        return cls(kept["origin"], files, kept["note"], kept["parent"], tuple(kept["assumes"]), invalid)
