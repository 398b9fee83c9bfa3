from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.agent.registry import find_entry
from bakeoff.agent.sandbox import own_places, sandboxed
from bakeoff.engine.mask import Masker
from bakeoff.process.spawner import Spawner
from bakeoff.settings import Settings
from bakeoff.workspace.sandbox.folder import Folder
from bakeoff.workspace.sandbox.machine import look
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import sandbox
from bakeoff.workspace.workspace import open_workspace

from .conftest import Checkout, settings

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("level", ["weak", "none"])
async def test_a_folder_is_a_place_without_a_work_tree(tmp_path: Path, level: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    box = await sandbox(Folder(str(place), {"WORD": "word"}), SandboxPolicy(level))
    async with Spawner(token="test", base_env=dict(os.environ), masker=Masker()) as processes:
        done = await processes.run(box.command(["sh", "-c", "pwd; echo $WORD > made"]))
    assert (done.exit_code, str(done.stdout.value)) == (0, f"{place}\n"), done.stderr.value
    assert (place / "made").read_text() == "word\n"


async def test_an_agents_sandbox(project: Checkout, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = find_entry("codex", Settings())
    assert own_places(entry, os.environ) == [f"{home}/.codex"]
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
        inside, box = await sandboxed(entry, slot, "weak", ())
        if look().landlock is None or look().namespaces is None:
            assert "--sandbox=danger-full-access" in inside.argv
            assert (home / ".codex").is_dir()
            assert f"{home}/.codex" in box.policy.writes

        async def nothing() -> object:
            no = "a test took it away"
            return replace(look(), namespaces=no, proc=no, landlock=no, seccomp=no)

        monkeypatch.setattr("bakeoff.agent.sandbox.this_machine", nothing)
        same, box = await sandboxed(entry, slot, "weak", ())
        assert (same, box.policy.level) == (entry, "none")
        assert box.protection.files.strength is None
        assert box.protection.missing
