"""Markdown code fences: code out of a reply that wraps it in prose and fences."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)


def without_thoughts(reply: str) -> str:
    """A reply without the thoughts that a model puts before it, its line ends as line feeds."""
    return _THOUGHT.sub("", reply).replace("\r\n", "\n")


def blocks_of(text: str) -> list[str]:
    """The fenced blocks in a text, the last of which may lack its end."""
    return [match["code"] for match in _FENCE.finditer(text)]


def defines(code: str, name: str) -> bool:
    """Whether Python code has a `def` of `name`."""
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", code, re.MULTILINE) is not None


def unfenced(reply: str, name: str) -> str:
    """The program in a reply: its last fenced block that defines `name`, or the reply as it is where none does."""
    blocks = [block for block in blocks_of(without_thoughts(reply)) if defines(block, name)]
    return blocks[-1] if blocks else reply
