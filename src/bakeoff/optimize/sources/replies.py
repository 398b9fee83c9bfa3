"""Code out of what a model replied."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from bakeoff.judge.fences import blocks_of, defines, without_thoughts
from bakeoff.optimize.source_code.dead_code import without_dead_code

_VERSION = re.compile(r"\A\s*#\s*version\s+(\d+)\b[^\n]*\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Version:
    """A piece of code of a reply.

    Attributes:
        code: its text.
        number: what it says it is a version of; None where it says nothing.
    """

    code: str
    number: int | None = None


def versions_of(reply: str, name: str) -> list[Version]:
    """The pieces of code in a reply that define `name`; empty where there are none.

    Those are its fenced blocks, the last of which may lack its end, or the whole reply where it has none and is Python;
    each without what the definition does not reach.
    """
    text = without_thoughts(reply)
    blocks = blocks_of(text)
    if not blocks:
        return [Version(without_dead_code(text, name))] if _is_python(text) and defines(text, name) else []
    found = []
    for block in blocks:
        if defines(block, name):
            said = _VERSION.match(block)
            code = without_dead_code(block[said.end() :] if said else block, name)
            found.append(Version(code, int(said[1]) if said else None))
    return found


def files_of(reply: str) -> list[Version]:
    """The whole files in a reply: its fenced blocks that are numbered, or else the longest one."""
    text = without_thoughts(reply)
    blocks = blocks_of(text)
    numbered = [(said, block) for block in blocks if (said := _VERSION.match(block))]
    if numbered:
        return [Version(block[said.end() :], int(said[1])) for said, block in numbered]
    return [Version(max(blocks, key=len))] if blocks else []


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
