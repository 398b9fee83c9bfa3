from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge.codec import encode
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.functions import race
from bakeoff.judge.timing.parent import Code, Place
from bakeoff.judge.timing.plan import Input
from bakeoff.judge.timing.race import Options, Raced, RaceRecord

ORIGINAL = """
def f(xs):
    total = 0
    for x in xs:
        total += x * x - x
    return total
"""


def here(root: Path, **env: str) -> Place:
    """This interpreter, without a sandbox."""
    return Place((sys.executable,), str(root), {**os.environ, **env}, tuple(sorted(os.sched_getaffinity(0))))


def inputs(*sizes: int) -> list[Input]:
    """Lists of numbers; every other one is fresh."""
    return [Input(encode(((list(range(size)),), {})), place % 2 == 1) for place, size in enumerate(sizes)]


SIZES = tuple(range(40, 72, 2))


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def raced(root: Path, tmp_path: Path) -> Callable[..., Any]:
    """Races texts of a module `mod` against the original."""

    async def run(
        contenders: Mapping[str, str],
        *,
        original: str = ORIGINAL,
        qualname: str = "f",
        given: list[Input] | None = None,
        is_async: bool = False,
        unseen: tuple[str, ...] = (),
        messages: bool = False,
        **options: Any,
    ) -> Raced:
        (root / "mod.py").write_text(original)
        record = RaceRecord(**{name: options.pop(name) for name in ("kept", "told") if name in options})
        return await race(
            here(root),
            Code("mod", qualname, str(root), is_async=is_async, unseen=unseen, messages=messages),
            {"mod.py": original.encode()},
            {name: {"mod.py": text.encode()} for name, text in contenders.items()},
            inputs(*SIZES) if given is None else given,
            Options(**{"seconds": 60.0, "seed": 1, "fork_seconds": 20.0, **options}),
            lock=BenchLock(tmp_path / "lock"),
            record=record,
        )

    return run
