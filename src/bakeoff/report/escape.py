"""Text from outside made safe to show: nothing in it can move a cursor, hide other text or become markup."""

from __future__ import annotations

import re

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters but for tab and newline, marks that reorder or hide text, and what cannot be encoded."""


def visible(text: str) -> str:
    r"""`text` with what a terminal would obey written out, as in `\x1b`; tabs and line ends stay, colours go."""
    if text.isascii() and text.isprintable():
        return text
    text = _COLOUR.sub("", text.replace("\r\n", "\n"))
    return _HARMFUL.sub(_written_out, text)


def one_line(text: str, width: int = 200) -> str:
    """`text` as one visible line of at most `width` characters."""
    line = " ".join(visible(text[: 8 * width]).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def path_text(path: str) -> str:
    r"""A path as one visible line, nothing left out: line ends and tabs are written as `\n` and `\t`, too."""
    if path.isascii() and path.isprintable():
        return path
    return _HARMFUL.sub(_written_out, path).replace("\n", "\\n").replace("\t", "\\t")


def markup(text: object) -> str:
    """Anything as text inside an HTML element or a quoted attribute."""
    safe = visible(str(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace('"', "&quot;").replace("'", "&#x27;")


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # stands for a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
