"""Names of failing tests in what a runner printed, with their package or file, which tells two of one name apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_GO = re.compile(
    r"(?m)^\s*--- FAIL: (?P<name>\S+)"
    r"|^(?:FAIL|ok)\s+(?P<owner>\S+)[ \t]+(?:\[(?:build|setup) (?P<unmade>failed)\]|[\d.(\[])"
)
_CARGO = re.compile(
    r"(?m)^test (?P<name>\S.*?) \.\.\. FAILED$|^test result: (?P<section>FAILED)"
    r"|to rerun pass [`'](?P<owner>[^`'\n]+)[`']"
)
_NEXTEST = re.compile(r"(?m)^\s*(?:FAIL|SIG\w+|TIMEOUT|ABORT) \[[^\]\n]*\](?: *\([^)\n]*\))? (\S+) (\S.*?)\s*$")
_JEST = re.compile(r"(?m)^(?:FAIL|PASS)\s+(?P<owner>\S.*?)(?: \([\d.]+ m?s\))?\s*$|^\s*● (?P<name>.+?)\s*$")
_NO_TESTS = ("Console", "Validation Error:", "Validation Warning:")
"""What jest marks likewise."""


def named(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(name.strip() for name in names))


def go(text: str) -> Iterator[str]:
    """Tests with their package, which is named behind them; packages that could not be built, by their own name."""
    waiting: list[str] = []
    for found in _GO.finditer(text):
        if found["name"] is not None:
            waiting.append(found["name"])
            continue
        # A package that is not built has no test that failed; without its name another's red test would stand for it.
        yield from ([found["owner"]] if found["unmade"] else [f"{name} ({found['owner']})" for name in waiting])
        waiting = [] if not found["unmade"] else waiting
    yield from waiting


def cargo(text: str) -> Iterator[str]:
    """Tests with what `cargo test` is to be passed to run their target again.

    It says that on standard error, once for each target with a red test, in their order; where there are as many of
    these as of red results, they belong together.
    """
    sections: list[list[str]] = [[]]
    owners: list[str] = []
    for found in _CARGO.finditer(text):
        if found["name"] is not None:
            sections[-1].append(found["name"])
        elif found["section"] is not None:
            sections.append([])
        else:
            owners.append(found["owner"])
    red = sections[:-1]
    if len(owners) == len(red) and not sections[-1]:
        yield from (f"{name} ({owner})" for names, owner in zip(red, owners, strict=True) for name in names)
    else:
        yield from (name for names in sections for name in names)
    yield from (f"{name} ({owner})" for owner, name in _NEXTEST.findall(text))


def jest(text: str) -> Iterator[str]:
    """Tests with their file, which is named before them."""
    owner = None
    for found in _JEST.finditer(text):
        if found["owner"] is not None:
            owner = found["owner"].rpartition(" ")[2]
        elif not found["name"].startswith(_NO_TESTS):
            yield found["name"] if owner is None else f"{found['name']} ({owner})"
