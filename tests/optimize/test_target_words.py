"""What is said of a target that is no Python."""

from __future__ import annotations

import pytest

from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.target import parse_target


@pytest.mark.parametrize("text", ["src/a.js:total", "src/a.js"])
def test_another_language_is_sent_to_commands(text: str) -> None:
    with pytest.raises(TargetError, match="--bench"):
        parse_target(text)
