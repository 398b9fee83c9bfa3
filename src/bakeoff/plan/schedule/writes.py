"""Write sets of subplans: globs from the project's root, whether two of them can meet, and what lies outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from bakeoff.judge.checks.protected import glob_pattern

_WILD = re.compile(r"[*?\[]")


def is_literal(glob: str) -> bool:
    """Whether it names one path."""
    return not _WILD.search(glob) and not glob.endswith("/")


def matches(globs: Iterable[str], path: str) -> bool:
    """Whether one of them covers the path; `src/ui/` is all below that folder."""
    return any(_rooted(glob).fullmatch(path) for glob in globs)


def outside(globs: Sequence[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Those of `paths` that none of the globs covers; none where nothing was declared."""
    if not globs:
        return ()
    known = {glob for glob in globs if is_literal(glob)}
    wide = [glob for glob in globs if not is_literal(glob)]
    return tuple(path for path in paths if path not in known and not matches(wide, path))


def _rooted(glob: str) -> re.Pattern[str]:
    return glob_pattern(glob if glob.startswith("/") else f"/{glob}")


@lru_cache(maxsize=65536)
def meet(first: str, second: str) -> bool:
    """Whether there can be a path that both globs cover; where that cannot be told for sure, it counts as yes."""
    if is_literal(first) and is_literal(second):
        return first.lstrip("/") == second.lstrip("/")
    for literal, glob in ((first, second), (second, first)):
        if is_literal(literal):
            return matches([glob], literal.lstrip("/"))
    return _meet(_segments(first), _segments(second), _segment_meets, _is_any_depth)


def _segments(glob: str) -> tuple[str, ...]:
    return tuple(f"{glob}**".lstrip("/").split("/") if glob.endswith("/") else glob.lstrip("/").split("/"))


def _is_any_depth(segment: str) -> bool:
    return "**" in segment


def _segment_meets(first: str, second: str) -> bool:
    return _meet(_letters(first), _letters(second), _letter_meets, "*".__eq__)


def _letters(segment: str) -> tuple[str, ...]:
    """Its characters; a set of them counts as any."""
    return tuple(re.sub(r"\[[^]]+\]", "?", segment))


def _letter_meets(first: str, second: str) -> bool:
    return "?" in (first, second) or first == second


def _meet(
    first: Sequence[str], second: Sequence[str], equal: Callable[[str, str], bool], is_star: Callable[[str], bool]
) -> bool:
    """Whether two sequences with stars, each of which stands for any number of elements, have a common reading."""
    reached = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        at, other = todo.pop()
        if at == len(first) and other == len(second):
            return True
        following = []
        if at < len(first) and is_star(first[at]):
            following += [(at + 1, other), *([(at, other + 1)] if other < len(second) else [])]
        if other < len(second) and is_star(second[other]):
            following += [(at, other + 1), *([(at + 1, other)] if at < len(first) else [])]
        if at < len(first) and other < len(second) and equal(first[at], second[other]):
            following.append((at + 1, other + 1))
        new = [place for place in following if place not in reached]
        reached.update(new)
        todo += new
    return False


class Held:
    """The write sets of whoever is at work."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._globs: dict[str, tuple[str, ...]] = {}

    def in_the_way(self, globs: Sequence[str]) -> str | None:
        """Whose write set overlaps with `globs`; None where nobody's does."""
        wide = []
        for glob in globs:
            if not is_literal(glob):
                wide.append(glob)
            elif glob.lstrip("/") in self._paths:
                return self._paths[glob.lstrip("/")]
        for name, theirs in self._globs.items():
            if any(meet(glob, other) for glob in globs for other in theirs):
                return name
        for path, name in self._paths.items() if wide else ():
            if matches(wide, path):
                return name
        return None

    def take(self, name: str, globs: Sequence[str]) -> None:
        """Hold these for `name`."""
        self._paths.update((glob.lstrip("/"), name) for glob in globs if is_literal(glob))
        wide = tuple(glob for glob in globs if not is_literal(glob))
        if wide:
            self._globs[name] = wide

    def drop(self, name: str, globs: Sequence[str]) -> None:
        """Hold them no longer."""
        self._globs.pop(name, None)
        for glob in globs:
            self._paths.pop(glob.lstrip("/"), None)
