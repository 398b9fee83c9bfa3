"""Names of failing tests in what a runner printed, with their package or file, which tells two of one name apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# As in `runners`, every repetition has a bound.
_GO = re.compile(
    r"(?m)^[ \t]{0,80}--- FAIL: (?P<name>\S{1,500})|^(?:FAIL|ok)[ \t]{1,20}(?P<owner>\S{1,500})[ \t]{1,20}"
    r"(?:\[(?:build|setup) (?P<unmade>failed)\]|[\d.(\[])"
)
_CARGO = re.compile(
    r"(?m)^test (?P<name>\S[^\n]{0,500}?) \.\.\. FAILED$|^test result: (?P<section>FAILED)"
    r"|to rerun pass [`'](?P<owner>[^`'\n]{1,200})[`']"
)
_NEXTEST = re.compile(
    r"(?m)^[ \t]{0,40}(?:FAIL|SIG\w{1,10}|TIMEOUT|ABORT) \[[^\]\n]{0,40}\](?: {0,20}\([^)\n]{0,40}\))?"
    r" (\S{1,200}) (\S[^\n]{0,500})"
)
_JEST = re.compile(
    r"(?m)^(?:FAIL|PASS)[ \t]{1,20}(?P<owner>\S[^\n]{0,500}?)(?: \([\d.]{1,20} m?s\))?[ \t]{0,20}$"
    r"|^[ \t]{0,40}● (?P<name>[^\n]{1,500})"
)
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
    yield from (f"{name.rstrip()} ({owner})" for owner, name in _NEXTEST.findall(text))


def jest(text: str) -> Iterator[str]:
    """Tests with their file, which is named before them."""
    owner = None
    for found in _JEST.finditer(text):
        if found["owner"] is not None:
            owner = found["owner"].rpartition(" ")[2]
        elif not found["name"].strip().startswith(_NO_TESTS):
            yield found["name"].strip() + ("" if owner is None else f" ({owner})")
