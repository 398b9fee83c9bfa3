"""`bakeoff slots`, what `bakeoff clean` does for slots, and what `bakeoff doctor` says of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from bakeoff.cli import clean as cleaning
from bakeoff.cli import doctor as doctoring
from bakeoff.cli import slots as listing
from bakeoff.cli.schema import output_schema
from bakeoff.workspace.errors import GitError, SlotError
from bakeoff.workspace.slots import inventory as overview
from bakeoff.workspace.slots import mounts
from bakeoff.workspace.slots.mounts import Mounts, Overlay, try_overlay
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import Checkout, settings, sh

pytestmark = pytest.mark.anyio
SOURCE = Path(__file__).parents[2] / "src"

DYING = """
import os, signal, sys, anyio
from pathlib import Path
from bakeoff.settings import Settings
from bakeoff.workspace.workspace import open_workspace
async def main():
    async with open_workspace(Path(sys.argv[1]), Settings(), "dead-run") as workspace, workspace.lease() as slot:
        import subprocess
        subprocess.run([*slot.argv_prefix, "sh", "-c", "echo lost > work.txt"], check=True)
        os.kill(os.getpid(), signal.SIGKILL)
anyio.run(main)
"""


def checked(name: str, text: str) -> dict:
    found = json.loads(text)
    jsonschema.validate(found, output_schema(name))
    return found


def bakeoff(project: Checkout, command, *args: str):
    here = os.getcwd()
    os.chdir(project.root)
    try:
        return CliRunner().invoke(command, args)
    finally:
        os.chdir(here)


async def test_live_and_dead_slots_are_listed_and_only_dead_ones_cleaned(project: Checkout) -> None:
    empty = bakeoff(project, listing.command)
    assert "there are no slots" in empty.stderr
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, "-c", DYING, project.root], env=environment, check=False)
    (dead,) = checked("slots", bakeoff(project, listing.command, "--json").stdout)["slots"]
    assert (dead["alive"], dead["kind"], dead["run"], dead["project"]) == (
        False,
        "overlay",
        "dead-run",
        str(project.root),
    )
    assert dead["size"] > 0
    text = bakeoff(project, listing.command)
    assert "dead" in text.stdout
    assert "bakeoff clean" in text.stderr
    looked = checked("clean", bakeoff(project, cleaning.command, "--dry-run", "--json").stdout)
    assert looked["slots"]["removed"] == [dead["id"]]
    assert "would remove 1 dead slot" in bakeoff(project, cleaning.command, "--dry-run").stdout
    done = bakeoff(project, cleaning.command)
    assert "removed 1 dead slot and 2 unused folders" in done.stdout
    assert f"saved as refs/bakeoff/salvage/dead-run/{dead['id']}-" in done.stderr
    async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "echo x > work")
        again = checked("clean", bakeoff(project, cleaning.command, "--json").stdout)
        assert again["slots"]["removed"] == again["slots"]["unused"] == []
        (live,) = checked("slots", bakeoff(project, listing.command, "--json").stdout)["slots"]
        assert (live["alive"], live["owner"], live["id"]) == (True, os.getpid(), slot.id)
        assert f"process {os.getpid()}" in bakeoff(project, listing.command).stdout


def test_what_cannot_be_saved_is_said(project: Checkout, monkeypatch) -> None:
    monkeypatch.setattr(overview, "clean", lambda dry_run: overview.Cleaning(kept={"abc": "no space"}))
    said = bakeoff(project, cleaning.command).stderr
    assert "kept slot abc: its work cannot be saved: no space; " in said
    assert "bakeoff clean --discard abc" in said


def test_a_slot_is_discarded_by_name(project: Checkout, monkeypatch) -> None:
    monkeypatch.setattr(overview, "discard", lambda names: overview.Cleaning(slots=[*names], lost={"abc": "no space"}))
    done = bakeoff(project, cleaning.command, "--discard", "abc")
    assert "removed 1 dead slot" in done.stdout
    assert "slot abc is gone with all that was in it: no space" in done.stderr
    shown = checked("clean", bakeoff(project, cleaning.command, "--discard", "abc", "--json").stdout)
    assert shown["slots"]["lost"] == [{"slot": "abc", "reason": "no space"}]
    assert "--discard is for slots alone" in bakeoff(project, cleaning.command, "--discard", "abc", "--all").stderr


def test_refs_that_cannot_be_read_are_none(project: Checkout, monkeypatch) -> None:
    def refuse(*args: object) -> None:
        raise GitError("no")

    from bakeoff.workspace.landing.applying import open_project
    from bakeoff.workspace.repository.cache import projects

    open_project(project.root)
    (cache,) = projects()
    assert cache.project == str(project.root / ".git")
    monkeypatch.setattr(overview.Repository, "refs", refuse)
    assert overview.salvaged(cache) == []
    (cache.kept / "project.json").write_text("{")
    assert cache.project == ""


def test_doctor_says_whether_slots_can_be_overlays(project: Checkout, tmp_path: Path, monkeypatch) -> None:
    rows = {check.name: check for check in doctoring._workspaces()}
    assert rows["overlay"].advice is None
    assert str(tmp_path / "cache") in str(rows["overlay"].found)

    def refuse(self: Mounts) -> int:
        raise SlotError("unshare: Operation not permitted")

    monkeypatch.setattr(Mounts, "start", refuse)
    rows = {check.name: check for check in doctoring._workspaces()}
    assert "not allowed here: unshare" in str(rows["namespaces"].advice)
    assert "needs namespaces" in str(rows["overlay"].advice)
    assert try_overlay(Mounts(), tmp_path) == "overlay mounts are not allowed here: unshare: Operation not permitted"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert mounts.look(tmp_path).overlay == "overlay mounts are for Linux"
    assert try_overlay(Mounts(), tmp_path) == "overlay mounts are for Linux"


def test_doctor_names_the_place_of_results(project: Checkout, tmp_path: Path, monkeypatch) -> None:
    rows = {check.name: check for check in doctoring._workspaces()}
    assert rows["results"].found == f"of attempts are kept in {tmp_path}/data/bakeoff"
    assert rows["results"].advice is None
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file" / "below"))
    row = {check.name: check for check in doctoring._workspaces()}["results"]
    assert not row.ok
    assert f"{tmp_path}/file/below/bakeoff cannot be made" in str(row.advice)


def test_holders_say_what_the_kernel_refuses(tmp_path: Path, monkeypatch) -> None:
    mounts = Mounts()
    try:
        pid = mounts.start()
        with pytest.raises(SlotError, match="No such file"):
            mounts.mount(
                pid, Overlay([str(tmp_path)], str(tmp_path / "no"), str(tmp_path), str(tmp_path), str(tmp_path))
            )
        assert mounts._process is not None
        mounts._process.kill()
        mounts._process.wait()
        with pytest.raises(SlotError, match="died"):
            mounts.start()
    finally:
        mounts.close()
    monkeypatch.setattr("bakeoff.workspace.slots.mounts.START", "raise SystemExit(1)")
    with pytest.raises(SlotError, match="did not start"):
        Mounts().start()


@pytest.mark.parametrize(("script", "said"), [("exit 1", "a mounted overlay does not work"), ("true", "does not work")])
def test_an_overlay_that_does_not_work_is_found_out(tmp_path: Path, monkeypatch, script: str, said: str) -> None:
    monkeypatch.setattr("bakeoff.workspace.slots.mounts.entering", lambda pid, folder: ("sh", "-c", script))
    mounts = Mounts()
    try:
        assert said in str(try_overlay(mounts, tmp_path))
    finally:
        mounts.close()
    assert list(tmp_path.glob(".try*")) == []
