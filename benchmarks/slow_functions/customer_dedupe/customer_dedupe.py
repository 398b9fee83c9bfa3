"""Find customers that were entered twice under slightly different names."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

TITLES = ["mr", "mrs", "ms", "dr", "prof"]


@dataclass(frozen=True)
class Customer:
    number: int
    name: str
    postcode: str
    mail: str = ""


def normalize(name: str) -> str:
    """Return a name in small letters without accents, titles and punctuation, its parts in alphabetical order."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = "".join(c if c.isalnum() else " " for c in plain.lower())
    return " ".join(sorted(part for part in plain.split() if part not in TITLES))


def edit_distance(a: str, b: str) -> int:
    """Return how many letters must be inserted, removed or replaced to make one text the other."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        current = [i]
        for j, y in enumerate(b, start=1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]


def duplicates(customers: list[Customer], allowed: int = 2) -> list[list[int]]:
    """Return groups of the numbers of customers that are probably one, each sorted, in order of the first number.

    Two customers are one when their mail addresses are equal (and there), or when they live in the same area (first
    two characters of the postcode) and their names differ in at most `allowed` letters. Groups join through a
    common member.
    """
    groups: list[list[int]] = []
    for a in customers:
        for b in customers:
            if a.number >= b.number:
                continue
            distance = edit_distance(normalize(a.name), normalize(b.name))
            same_mail = a.mail.strip().lower() == b.mail.strip().lower() and a.mail.strip() != ""
            same_area = a.postcode[:2] == b.postcode[:2]
            if same_mail or (same_area and distance <= allowed):
                touched = [group for group in groups if a.number in group or b.number in group]
                joined = sorted({a.number, b.number}.union(*touched))
                groups = [group for group in groups if group not in touched] + [joined]
    return sorted(groups)
