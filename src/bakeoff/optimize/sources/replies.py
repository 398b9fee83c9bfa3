"""Reads code out of what a model replied."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
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

    Those are its fenced blocks, the last of which may lack its end, or the whole reply where it has none and is Python.
    """
    text = _THOUGHT.sub("", reply).replace("\r\n", "\n")
    blocks = [match["code"] for match in _FENCE.finditer(text)]
    if not blocks:
        return [Version(text)] if _is_python(text) and _defines(text, name) else []
    found = []
    for block in blocks:
        if _defines(block, name):
            said = _VERSION.match(block)
            found.append(Version(block[said.end() :], int(said[1])) if said else Version(block))
    return found


def files_of(reply: str) -> list[Version]:
    """The whole files in a reply: its fenced blocks that are numbered, or else the longest one."""
    text = _THOUGHT.sub("", reply).replace("\r\n", "\n")
    blocks = [match["code"] for match in _FENCE.finditer(text)]
    numbered = [(said, block) for block in blocks if (said := _VERSION.match(block))]
    if numbered:
        return [Version(block[said.end() :], int(said[1])) for said, block in numbered]
    return [Version(max(blocks, key=len))] if blocks else []


def _defines(code: str, name: str) -> bool:
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", code, re.MULTILINE) is not None


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
