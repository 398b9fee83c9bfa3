"""Printing: results on standard output, everything else on standard error, nothing a terminal would obey."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from bakeoff.engine.mask import Masker
from bakeoff.report.escape import markup, visible
from bakeoff.report.marks import MARKS

_masker = Masker()


def hide(secrets: Mapping[str, str]) -> None:
    """Replace these values in all that is printed from now on; ids and names may hold them, too."""
    global _masker
    escaped = {f"{name} in HTML": markup(value) for name, value in secrets.items()}
    _masker = Masker({**secrets, **escaped})


def covered(text: str) -> str:
    """`text` without secrets."""
    return _masker.text(text)


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value and a line end on standard output; what UTF-8 cannot carry is escaped, no number is null."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    text = covered(text)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


def _finite(value: Any) -> Any:
    """The same with null for every number that JSON has no word for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


def tell(text: str) -> None:
    """A line of our own on standard output; what it quotes must have been made visible."""
    click.echo(covered(text), color=None if colours(sys.stdout) else False)


def stdout_is_gone() -> None:
    """Nobody reads standard output any more: what follows goes nowhere, also what is flushed at the very end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def say(text: str) -> None:
    """A line for the person, on standard error; where nobody reads that any more, nothing happens."""
    try:
        click.echo(visible(covered(text)), err=True)
    except OSError:
        pass


def colours(stream: Any) -> bool:
    """Whether a stream is a terminal that may be coloured."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def mark(status: str) -> str:
    """The sign of a status, coloured for a terminal."""
    sign, colour = MARKS.get(status, ("·", "white"))
    return click.style(sign, fg=colour)
