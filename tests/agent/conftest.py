from __future__ import annotations

import os
from pathlib import Path

import pytest

from bakeoff.agent.registry import find_entry
from bakeoff.engine.mask import Masker
from bakeoff.process.spawner import Spawner
from bakeoff.settings import AgentSettings, Settings


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def program(tmp_path):
    """Makes an executable shell script and returns its path."""

    def make(name: str, body: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
async def spawner(anyio_backend, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    base = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return Spawner(token=f"test-{tmp_path.name}", base_env=base, masker=Masker({"KEY": "very-secret-value"}))


@pytest.fixture
def fake_cli(program):
    """The entry of a built-in agent whose program is a shell script."""

    def make(name: str, body: str, **more):
        custom = AgentSettings(executable=str(program(name, body)), **more)
        return find_entry(name, Settings(agents={name: custom}))

    return make
