"""Versions that both sides moved: the newer one is taken (a choice), where it is one pin and both went upwards.

Pins of other software are taken from one side alone, so that no set comes of them that nobody tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

OWN, OTHERS = "own", "others"
"""Groups of pins: the version of the project itself, and those of what it uses."""

_QUOTED = r"(?P<quote>[\"'])"
_SHAPES: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "python": (
        (OWN, re.compile(rf"(?P<name>__version__|VERSION|version|release)\s*=\s*{_QUOTED}")),
        (OWN, re.compile(rf"\s+(?P<name>version)\s*=\s*{_QUOTED}(?=[^\"'\n]+[\"'],?\s*$)")),
    ),
    "toml": (
        (OWN, re.compile(rf"(?P<name>version)\s*=\s*{_QUOTED}")),
        (OTHERS, re.compile(rf"\s*{_QUOTED}(?P<name>[A-Za-z][\w.-]*(?:\[[\w,. -]*\])?)\s*(?:==|>=)\s*")),
    ),
    "lines": ((OWN, re.compile(r"(?P<name>(?:current_)?version)\s*=\s*(?P<quote>[\"']?)")),),
    "json": ((OWN, re.compile(r"(?P<indent>[ \t]+)\"(?P<name>version)\"\s*:\s*(?P<quote>\")")),),
    "yaml": (
        (OTHERS, re.compile(r"\s*(?:- )?(?P<name>rev):\s+(?P<quote>[\"']?)")),
        (OTHERS, re.compile(r"\s*(?:- )?uses:\s+(?P<name>[\w./-]+)@(?P<quote>)")),
    ),
    "list": ((OTHERS, re.compile(r"(?P<name>[A-Za-z][\w.-]*(?:\[[\w,. -]*\])?)\s*(?:==|>=)(?P<quote>)\s*")),),
}
"""By form, what stands before a version in its line."""

_VERSION = re.compile(
    r"v?(\d+(?:\.\d+)*)(?:[-_.]?(alpha|beta|dev|post|pre|rc|a|b|c)[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?", re.IGNORECASE
)
_VALUE = re.compile(r"[\w.+-]+")
_COMMIT = re.compile(r"(?P<commit>[0-9a-f]{40})[\"']?\s+#(?: frozen:)?\s*(?P<version>v?\d[\w.-]*)\s*$")
_STAGES = {"dev": -4, "alpha": -3, "a": -3, "beta": -2, "b": -2, "pre": -1, "rc": -1, "c": -1, "": 0, "post": 1}
_TABLE = re.compile(r"\[\[?([^\]\n]+)\]")
_ABOVE = re.compile(r"\s*(?:- )?(?:repo:|name\s*=)\s*(\S+)\s*$")
"""A line that names what the pins under it are of: a hook's repository, a package in a lockfile."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A version in one text.

    Attributes:
        group: `own` or `others`.
        head: its line before the version; the same in all three texts.
        tail: from the version to the end of the line, without what ends it.
        rank: to compare it by; None where it is none that can be compared.
        rest: the tail without what tells the version.
        lines: the numbers of all lines that say so.
    """

    group: str
    head: str
    tail: str
    rank: tuple[object, ...] | None
    rest: str
    lines: tuple[int, ...]


def settle_versions(form: str, texts: Sequence[str]) -> tuple[list[str], bool]:
    """The three texts with the newer version in all of them, where both sides moved one pin; whether there is any.

    Nothing is settled in a group of pins of which some are newer on one side and some on the other.
    """
    found = [_pins(form, text) for text in texts]
    lines = [text.splitlines(keepends=True) for text in texts]
    moved = {key: tuple(row[key] for row in found) for key in found[0] if all(key in row for row in found)}
    moved = {key: pins for key, pins in moved.items() if len({pin.tail for pin in pins}) == len(pins)}
    done = False
    for group in (OWN, OTHERS):
        here = {key: pins for key, pins in moved.items() if pins[0].group == group}
        newer = {_newer(pins) for pins in here.values()}
        if newer not in ({1}, {2}):
            continue
        (side,) = newer
        assert side is not None
        for pins in here.values():
            for row, pin in zip(lines, pins, strict=True):
                for number in pin.lines:
                    end = row[number][len(row[number].rstrip("\r\n")) :]
                    row[number] = pin.head + pins[side].tail + end
        done |= bool(here)
    return ["".join(row) for row in lines], done


def _newer(pins: Sequence[Pin]) -> int | None:
    """Which of base, ours and theirs has the newest version; None where not both sides moved it upwards."""
    alike = len({pin.head.strip() for pin in pins}) == len({pin.rest for pin in pins}) == 1
    if not alike or len({len(pin.lines) for pin in pins}) > 1:
        return None
    old, our, their = (pin.rank for pin in pins)
    if old is None or our is None or their is None or not (our > old < their) or our == their:
        return None
    return 1 if our > their else 2


def _pins(form: str, text: str) -> dict[object, Pin]:
    """The pins of a text; those that it has in several versions are left out."""
    found: dict[object, Pin | None] = {}
    for key, pin in _each(form, text):
        before = found.get(key, pin)
        if before is None or (before.head.strip(), before.tail.strip()) != (pin.head.strip(), pin.tail.strip()):
            found[key] = None
        else:
            found[key] = pin if before is pin else replace(before, lines=(*before.lines, *pin.lines))
    return {key: pin for key, pin in found.items() if pin is not None}


def _each(form: str, text: str) -> Iterator[tuple[object, Pin]]:
    """Each pin, with what it is of."""
    table = above = ""
    first = re.search(r"^[ \t]+(?=\S)", text, re.MULTILINE)  # what keys at the top of a JSON file are indented by
    for number, line in enumerate(each.rstrip("\r\n") for each in text.splitlines(keepends=True)):
        if named := _TABLE.match(line):
            table, above = named[1], ""
        if named := _ABOVE.match(line):
            above = named[1]
        for group, shape in _SHAPES.get(form, ()):
            head = shape.match(line)
            if head is None or (form == "json" and (first is None or head["indent"] != first[0])):
                continue
            tail = line[head.end() :]
            rank, rest = _ranked(tail)
            owner = "" if shape.pattern.startswith(r"\s*(?:- )?uses") else above
            yield (group, table, owner, head["name"], rest), Pin(group, head[0], tail, rank, rest, (number,))
            break


def _ranked(tail: str) -> tuple[tuple[object, ...] | None, str]:
    """What a version that the text begins with is compared by, and what stands behind it."""
    if commit := _COMMIT.match(tail):
        return rank_of(commit["version"]), tail[commit.end("commit") : commit.start("version")].strip()
    value = _VALUE.match(tail)
    if value is None:
        return None, tail.strip()
    return rank_of(value[0]), tail[value.end() :].strip()


def rank_of(text: str) -> tuple[object, ...] | None:
    """What a version is compared by (the order of PEP 440); None for what is none, or a tag such as `v3` that moves."""
    found = _VERSION.fullmatch(text)
    if found is None or "." not in text:
        return None
    release = [int(part) for part in found[1].split(".")]
    while release and not release[-1]:
        release.pop()
    stage = _STAGES[(found[2] or "").lower()]
    return tuple(release), stage, int(found[3] or 0), found[4] is None, int(found[4] or 0)
