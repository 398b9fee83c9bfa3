"""Full-text search over notes, ranked by tf-idf."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

WORD = re.compile(r"[a-z0-9]+")
STOP_WORDS = ["a", "an", "and", "are", "at", "for", "in", "is", "it", "of", "on", "or", "the", "to", "was", "with"]


@dataclass
class Note:
    title: str
    body: str
    tags: list[str] = field(default_factory=list)
    archived: bool = False


def words_of(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if word not in STOP_WORDS]


class NoteSearch:
    def __init__(self, notes: list[Note]) -> None:
        self.notes = notes

    def search(self, query: str, tag: str | None = None, limit: int = 10) -> list[tuple[str, float]]:
        """Return (title, score) of the notes that hold any word of the query, best first, by title among equals.

        A word in the title counts three times. A word with a minus in front excludes the notes that hold it.
        Archived notes are not found, but they count for how rare a word is.
        """
        wanted = [word for part in query.split() if not part.startswith("-") for word in words_of(part)]
        unwanted = [word for part in query.split() if part.startswith("-") for word in words_of(part)]
        hits: list[tuple[str, float]] = []
        for note in self.notes:
            if note.archived or (tag is not None and tag not in note.tags):
                continue
            if any(word in words_of(note.title + " " + note.body) for word in unwanted):
                continue
            score = 0.0
            for word in sorted(set(wanted)):
                count = words_of(note.body).count(word) + 3 * words_of(note.title).count(word)
                if count == 0:
                    continue
                holders = len([n for n in self.notes if word in words_of(n.title + " " + n.body)])
                rarity = math.log((1 + len(self.notes)) / holders)
                length = len(words_of(note.body)) + len(words_of(note.title))
                score += count / length * rarity
            if score > 0:
                hits.append((note.title, round(score, 4)))
        hits.sort(key=lambda hit: (-hit[1], hit[0]))
        return hits[:limit]

    def tags(self) -> dict[str, int]:
        """Return how many notes carry each tag."""
        counts: dict[str, int] = {}
        for note in self.notes:
            for tag in note.tags:
                counts[tag] = counts.get(tag, 0) + 1
        return counts
