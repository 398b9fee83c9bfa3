"""Owners of files, by the rules of a CODEOWNERS file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where such a file is looked for; the first one that is there holds."""

_SECTION = re.compile(r"\^?\[[^\]]+\](?:\[\d+\])?(?P<owners>(?:\s+\S+)*)\s*")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the file.

    Attributes:
        owners: none for files that nobody owns.
        matches: what a path must match from its beginning to its end.
    """

    pattern: str
    owners: tuple[str, ...]
    matches: re.Pattern[str]


def read_rules(text: str) -> list[Rule]:
    """The rules of a CODEOWNERS file; the heading of a section gives owners to its lines that name none."""
    found = []
    default: tuple[str, ...] = ()
    for line in text.splitlines():
        line = _COMMENT.sub("", line).strip()
        section = _SECTION.fullmatch(line)
        if section is not None:
            default = tuple(section["owners"].split())
        elif line:
            pattern, *owners = _WORD.findall(line)
            found.append(Rule(pattern, tuple(owners) or default, _compiled(pattern)))
    return found


def owners_of(rules: Iterable[Rule], paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The owners of each path: those of the last rule that matches it; none where no rule does."""
    last_first = list(rules)[::-1]
    return {path: next((rule.owners for rule in last_first if rule.matches.fullmatch(path)), ()) for path in paths}


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression: `*` stays in a folder, `**` does not, a folder means all that is in it."""
    plain = re.sub(r"\\(.)", r"\1", pattern)
    body = plain.strip("/")
    start = "" if plain.startswith("/") or "/" in body else "(?:.*/)?"
    parts = re.split(r"(\*\*/|/\*\*\Z|\*\*|\*|\?)", body)
    words = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    middle = "".join(words.get(part) or re.escape(part) for part in parts)
    if plain.endswith("/"):
        end = "/.*"
    elif body.endswith("/*"):
        end = ""  # what is right in the folder, and nothing below
    else:
        end = "(?:/.*)?"
    return re.compile(f"{start}{middle}{end}", re.DOTALL)
