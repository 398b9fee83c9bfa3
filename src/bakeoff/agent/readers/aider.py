"""aider prints text; usage, cost and errors stand in lines of their own. Its exit status is 0 also after an error."""

from __future__ import annotations

import re

from bakeoff.agent.events import Reading
from bakeoff.agent.readers import Family
from bakeoff.agent.readers.text import read

_TOKENS = re.compile(r"Tokens: ([\d.,]+[kM]?) sent,.*?([\d.,]+[kM]?) received")
_COST = re.compile(r"Cost: \$[\d.,]+ message, \$([\d.,]+) session")
_ERROR = re.compile(r"^.*\blitellm\.\w*(?:Error|Exception)\b.*$", re.MULTILINE)
_SCALE = {"k": 1_000, "M": 1_000_000}


def read_text(text: str, reading: Reading) -> None:
    """Take all that was printed (or the end of it)."""
    tokens = _TOKENS.findall(text)
    if tokens:
        reading.spend(
            input_tokens=sum(_number(sent) for sent, _ in tokens),
            output_tokens=sum(_number(received) for _, received in tokens),
        )
    costs = _COST.findall(text)
    if costs:
        reading.price(float(costs[-1].replace(",", "")))
    errors = _ERROR.findall(text)
    if errors and (not tokens or text.rfind(errors[-1]) > text.rfind("Tokens:")):
        reading.end(False, errors[-1].strip())


def _number(text: str) -> int:
    scale = _SCALE.get(text[-1], 1)
    return round(float(text.rstrip("kM").replace(",", "")) * scale)


FAMILY = Family(read, has_final=False, read_text=read_text)
