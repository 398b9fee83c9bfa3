"""Files to try things on: the standard library's own."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

LIBRARY = Path(sysconfig.get_path("stdlib"))
SKIP = ("site-packages", "lib2to3/tests/data", "test/bad", "test/test_future_stmt", "encoded_modules")


def modules(count: int | None = None, largest: int = 60_000) -> list[Path]:
    """Modules of the standard library, `count` of them drawn at random but always the same; None: all."""
    every = sorted(
        path
        for path in LIBRARY.rglob("*.py")
        if not any(part in path.as_posix() for part in SKIP) and (count is None or path.stat().st_size < largest)
    )
    return every if count is None else random.Random(count).sample(every, min(count, len(every)))
