"""Files merged by their structure, in a reader process: what parses them is at the mercy of what stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules.resolution import CHOSEN, PROVEN, Resolution
from bakeoff.plan.merge.rules.versions import settle_versions
from bakeoff.reader.reading import UnreadError, read_here

FORMS = {
    "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml",
    "py": "python", "pyi": "python",
    "md": "prose", "markdown": "prose", "rst": "prose", "txt": "prose",
}  # fmt: skip
"""The form of files whose names end so; findings call the rule by it. `merged` has a merger for each form."""

LISTS = re.compile(
    r"\.\w+ignore|(?:[\w.]+[-_])?(?:requirements|constraints).*\.(?:txt|in)|(?:authors|contributors|thanks)\b.*"
    r"|requirements/[^/]*\.(?:txt|in)"
)
"""Names of files, or ends of paths, each line of which stands for itself: the form `list`."""

PROSE = re.compile(r"(?:changes|changelog|news|history|readme)")
"""Names without a suffix of files that are prose all the same."""

OTHER = "lines"
"""The form of all other files."""

SECONDS, MEMORY = 0.9, 2 << 30
"""Of processor time, and bytes of memory, for one file; a file that takes more is a conflict."""


def form_of(path: str) -> str:
    """The form of a file by its name."""
    name = path.rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    if LISTS.fullmatch(name) or LISTS.fullmatch("/".join(path.lower().rsplit("/", 2)[-2:])):
        return "list"
    if not dot or not stem:
        return "prose" if PROSE.fullmatch(name) else OTHER
    return FORMS.get(suffix, OTHER)


def merge_structured(form: str, texts: Texts) -> Resolution | None:
    """The merged file of one of the forms; None where that cannot be told in time. Blocks."""
    parts = (texts.base, texts.ours, texts.theirs)
    try:
        found = read_here(merged, b"".join(parts), [len(part) for part in parts], form, seconds=SECONDS, memory=MEMORY)
    except UnreadError:
        return None
    if found is None:
        return None
    content, chosen = found
    return Resolution(form, content.encode("latin-1"), CHOSEN if chosen else PROVEN, tuple(chosen))


def merged(data: bytes, sizes: Sequence[int], form: str) -> list[Any] | None:
    """The same in the reader process of base, our and their version in a row; the bytes as Latin-1, and choices."""
    base, ours = sizes[0], sizes[0] + sizes[1]
    texts, newer = _settled(form, Texts(data[:base], data[base:ours], data[ours:]))
    if form in ("json", "toml", "yaml"):  # each merger is imported in the reader process alone
        from bakeoff.plan.merge.rules.keys import merge_data

        content = merge_data(form, texts)
        return None if content is None else [content.decode("latin-1"), newer]
    from bakeoff.plan.merge.rules.trees import merge_tree

    found = merge_tree(form, texts)
    return None if found is None else [found.content.decode("latin-1"), [*found.chosen, *newer]]


def _settled(form: str, texts: Texts) -> tuple[Texts, list[str]]:
    """The texts in which both have the newer of two versions, and what was chosen."""
    try:
        parts, done = settle_versions(form, [part.decode() for part in (texts.base, texts.ours, texts.theirs)])
    except ValueError:
        return texts, []
    return Texts(*(part.encode() for part in parts)), ["both moved a version: the newer one"] if done else []
