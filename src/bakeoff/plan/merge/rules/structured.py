"""Files merged by their structure, in a reader process: what parses them is at the mercy of what stands in them."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.plan.merge.hunks import Texts
from bakeoff.reader.reading import UnreadError, read_here

FORMS = {"json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "py": "python", "pyi": "python"}
"""The form of files whose names end so; findings call the rule by it. `merged` has a merger for each form."""

SECONDS, MEMORY = 60.0, 2 << 30
"""Of processor time, and bytes of memory, for one file; a megabyte of Python takes half of either."""


def form_of(path: str) -> str | None:
    """The form of a file by its name; None where nothing here knows its structure."""
    return FORMS.get(path.rpartition("/")[2].rpartition(".")[2].lower())


def merge_structured(form: str, texts: Texts) -> bytes | None:
    """The merged file of one of `FORMS`; None where that cannot be told. Blocks."""
    parts = (texts.base, texts.ours, texts.theirs)
    try:
        found = read_here(merged, b"".join(parts), [len(part) for part in parts], form, seconds=SECONDS, memory=MEMORY)
    except UnreadError:
        return None
    return None if found is None else str(found).encode("latin-1")


def merged(data: bytes, sizes: Sequence[int], form: str) -> str | None:
    """The same in the reader process: base, our and their version in a row; the merged bytes as Latin-1."""
    base, ours = sizes[0], sizes[0] + sizes[1]
    texts = Texts(data[:base], data[base:ours], data[ours:])
    match form:  # each merger is imported in the reader process alone
        case "python":
            from bakeoff.plan.merge.rules.definitions import merge_definitions

            found = merge_definitions(texts)
        case _:
            from bakeoff.plan.merge.rules.keys import merge_keys

            found = merge_keys(form, texts)
    return None if found is None else found.decode("latin-1")
