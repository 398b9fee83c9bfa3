"""aider prints text; usage, cost and errors stand in lines of their own. Its exit status is 0 also after an error."""

from __future__ import annotations

import re

from bakeoff.agent.events import Family, Reading
from bakeoff.agent.readers.text import read

_TOKENS = re.compile(r"Tokens: ([\d.,]{1,20}[kM]?) sent,[^\n]{0,200}?(?<![\d.,])([\d.,]{1,20}[kM]?) received")
_COST = re.compile(r"Cost: \$[\d.,]{1,20} message, \$([\d.,]{1,20}) session")
_ERROR = re.compile(r"^.*\blitellm\.\w*(?:Error|Exception)\b.*$", re.MULTILINE)
_TOO_LONG = re.compile(r"^Model .* has hit a token limit!$", re.MULTILINE)
_SCALE = {"k": 1_000, "M": 1_000_000}


def read_text(text: str, reading: Reading) -> None:
    """Take all that was printed (or the end of it)."""
    tokens = _TOKENS.findall(text)
    if tokens:
        reading.spend(
            input_tokens=round(sum(_number(sent) for sent, _ in tokens)),
            output_tokens=round(sum(_number(received) for _, received in tokens)),
        )
    costs = _COST.findall(text)
    if costs:
        reading.price(_number(costs[-1]))
    errors = _ERROR.findall(text)
    if errors and (not tokens or text.rfind(errors[-1]) > text.rfind("Tokens:")):
        reading.end(False, errors[-1].strip())
    too_long = _TOO_LONG.findall(text)
    if too_long:
        reading.end(False, too_long[-1], "context-length")


def _number(text: str) -> float:
    """A number as it prints them; 0 for what is none."""
    try:
        return float(text.rstrip("kM").replace(",", "")) * _SCALE.get(text[-1], 1)
    except ValueError:
        return 0.0


FAMILY = Family(read, has_final=False, read_text=read_text)
