"""Slots with a part of a large tree: what is not in them stays, and what is written outside of that part is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.slots.sweep import sweep
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.workspace import Workspace, open_workspace
from workspace.conftest import Checkout, sh

pytestmark = pytest.mark.anyio
SOURCE = Path(__file__).parents[2] / "src"
CONE = Cone.of([b"app/web/views.py", b"tool.sh"])


def sparse(kind: str = "repository", above: int = 3) -> Settings:
    return Settings(slots=SlotSettings(kind=kind, sparse="plans", sparse_above=above))


@pytest.fixture
def large(checkout) -> Checkout:
    made = checkout()
    for path in (
        "tool.sh",
        "app/models.py",
        "app/web/views.py",
        "app/web/pages/home.html",
        "lib/a.py",
        "lib/deep/b.py",
    ):
        made.write(path, f"# {path}\n")
    made.write("a b/[x]*/y.txt", "odd\n")
    made.write("lib/deep/.gitignore", "*.tmp\n")
    made.write("docs", "a file\n")
    made.commit()
    return made


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.name != ".git"}


def content(workspace: Workspace, commit: str) -> dict[str, str]:
    git = workspace.repository.git()
    names = git.run("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")[:-1]
    return {name: git.run("cat-file", "blob", f"{commit}:{name}").decode() for name in names}


def test_a_cone_has_folders_whole_and_the_files_of_those_above():
    cone = Cone.of([b"a/b/c/x", b"a/b/c/d/y", b"top", b"e/z"])
    assert cone == Cone(frozenset([b"a/b/c", b"e"]), frozenset([b"", b"a", b"a/b"]))
    inside, outside = cone.parts([b"other", b"a/f", b"a/g/f", b"a/b/f", b"a/b/c/d/e/f", b"e/f", b"ee/f"])
    assert inside == [b"other", b"a/f", b"a/b/f", b"a/b/c/d/e/f", b"e/f"]
    assert outside == [b"a/g/f", b"ee/f"]


@pytest.mark.parametrize("kind", ["repository", "worktree"])
async def test_a_slot_has_its_part_and_its_result_has_everything(large, kind):
    async with open_workspace(large.root, sparse(kind), "run", slots=1) as workspace:
        assert workspace.sparse
        before = content(workspace, workspace.snapshot.commit)
        async with workspace.lease(CONE) as slot:
            assert slot.partial
            there = {"tool.sh", "docs", "app/models.py", "app/web/views.py", "app/web/pages/home.html"}
            assert files(slot.outside) == there
            assert sh(slot, "git status --porcelain") == ""
            sh(slot, "echo new > app/web/views.py; rm app/models.py; mkdir -p lib/new; echo over > lib/a.py;"
                     "echo more > lib/new/c.py; mkdir -p lib/deep; echo junk > lib/deep/x.tmp; echo t > lib/deep/t.py")  # fmt: skip
            assert " M lib/a.py" in sh(slot, "git status --porcelain")
            made = await slot.commit("one")
            assert made.refused == ()
            assert made.ignored == ("lib/deep/x.tmp",)
        after = content(workspace, made.commit)
        assert after.pop("lib/new/c.py") == "more\n"
        assert after.pop("lib/deep/t.py") == "t\n"
        del before["app/models.py"]
        assert after == before | {"app/web/views.py": "new\n", "lib/a.py": "over\n"}
        assert workspace.salvaged == []
        # One that is asked for without a part has everything, whoever had the place before.
        async with workspace.lease() as slot:
            assert not slot.partial
            assert "lib/a.py" in files(slot.outside)
        assert len(list(workspace.cache.slots.glob("*/tree"))) == 1


@pytest.mark.parametrize("kind", ["repository", "worktree"])
async def test_more_can_be_fetched_into_it_and_what_git_does_there_harms_nothing(large, kind):
    async with open_workspace(large.root, sparse(kind), "run", slots=1) as workspace, workspace.lease(CONE) as slot:
        sh(slot, "git sparse-checkout add --skip-checks lib/deep 'a b/[x]*'")
        assert {"lib/a.py", "lib/deep/b.py", "a b/[x]*/y.txt", "app/web/views.py"} <= files(slot.outside)
        assert (await slot.commit("same")).changed == ()
        sh(slot, "echo changed >> lib/deep/b.py; git add -A; git commit -qm more; git checkout -q -b x; git stash -q")
        assert [change.path for change in (await slot.commit("one")).changed] == ["lib/deep/b.py"]
        sh(slot, "git sparse-checkout disable")
        assert [change.path for change in (await slot.commit("two")).changed] == ["lib/deep/b.py"]
        assert len(files(slot.outside)) == 9


async def test_what_would_take_away_unseen_files_is_refused(large):
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        async with workspace.lease(Cone.of([b"app/web/views.py"])) as slot:
            sh(slot, "echo a file > lib; rm docs; echo x > app/web/views.py")
            made = await slot.commit("one")
        assert [(refused.path, "another kind" in refused.reason) for refused in made.refused] == [("lib", True)]
        assert [change.path for change in made.changed] == ["app/web/views.py", "docs"]
        assert "lib/a.py" in content(workspace, made.commit)


async def test_a_folder_where_a_hidden_file_is_is_refused(large):
    large.write("lib/deep/x", "file\n")
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace, workspace.lease(CONE) as slot:
        sh(slot, "mkdir -p lib/deep/x; echo a > lib/deep/x/y")
        made = await slot.commit("one")
        assert [refused.path for refused in made.refused] == ["lib/deep/x"]
        assert made.changed == ()


async def test_what_an_earlier_result_did_is_put_into_it(large):
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        async with workspace.lease(CONE) as slot:
            sh(slot, "mkdir lib; echo over > lib/a.py; rm tool.sh")
            made = await slot.commit("one")
        async with workspace.lease(CONE) as slot:
            await slot.check_out(made.commit)
            sh(slot, "echo on > app/web/views.py")
            again = await slot.commit("two")
        assert [change.path for change in again.changed] == ["app/web/views.py", "lib/a.py", "tool.sh"]


async def test_work_in_it_is_salvaged_when_it_is_given_back(large):
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        async with workspace.lease(CONE) as slot:
            sh(slot, "mkdir lib; echo over > lib/a.py")
        (ref,) = workspace.salvaged
        assert content(workspace, ref)["lib/a.py"] == "over\n"
        assert content(workspace, ref)["lib/deep/b.py"] == "# lib/deep/b.py\n"
        assert list(workspace.cache.slots.glob("*/tree")) == []


async def test_it_is_said_that_what_was_fetched_and_deleted_stays(large):
    for number in range(30):
        large.write(f"many/{number}.txt", "x\n")
    large.commit()
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace, workspace.lease(CONE) as slot:
        sh(slot, "git sparse-checkout add lib; git mv lib/a.py lib/new.py; rm lib/deep/b.py")
        made = await slot.commit("one")
        assert [(change.path, change.status) for change in made.changed] == [("lib/new.py", "A")]
        assert [refused.path for refused in made.refused] == ["lib/a.py", "lib/deep/b.py"]
        assert made.refused[0].reason == "only what the slot had at the start can be deleted: it is not"
        sh(slot, "git sparse-checkout disable; rm -r many")
        refused = (await slot.commit("two")).refused
        assert len(refused) == 21
        assert refused[-1].reason.endswith("it is not; nor are 11 more files")


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("more", ["", "--sparse-index"])
@pytest.mark.parametrize("kind", ["repository", "worktree"])
async def test_what_git_is_told_to_leave_out_is_not_deleted(large, kind, more, version):
    cone = Cone.of([b"app/web/views.py", b"lib/a.py"])
    async with open_workspace(large.root, sparse(kind), "run", slots=1) as workspace, workspace.lease(cone) as slot:
        sh(slot, f"rm app/web/views.py; git config index.version {version}; git sparse-checkout set {more} 'a b' app;"
                 "echo x > 'a b/[x]*/y.txt'")  # fmt: skip
        assert not (slot.outside / "lib").exists()
        made = await slot.commit("one")
        assert [(change.path, change.status) for change in made.changed] == [
            ("a b/[x]*/y.txt", "M"),
            ("app/web/views.py", "D"),
        ]
        sh(slot, "mkdir -p lib; echo over > lib/a.py")
        assert [change.path for change in (await slot.commit("two")).changed][-1] == "lib/a.py"
        (slot.outside / ".git").unlink()  # an index that nobody can read says nothing
        for index in slot.home.rglob("git/**/index"):
            index.write_bytes(b"DIRC\0\0\0\4\0\0\0\7")
        assert "lib/deep/b.py" in [change.path for change in (await slot.commit("three")).changed]


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_nor_is_it_in_a_whole_slot(large, kind):
    settings = Settings(slots=SlotSettings(kind=kind))
    async with open_workspace(large.root, settings, "run", slots=1) as workspace, workspace.lease() as slot:
        sh(slot, "git rm -q lib/deep/b.py; git sparse-checkout set app/web; echo x > app/web/views.py")
        assert not os.path.lexists(slot.outside / "lib/a.py")
        made = await slot.commit("one")
        assert [(change.path, change.status) for change in made.changed] == [
            ("app/web/views.py", "M"),
            ("lib/deep/b.py", "D"),
        ]


OWNER = """
import anyio, subprocess, sys
from pathlib import Path
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.workspace import open_workspace

async def main():
    kept = Settings(slots=SlotSettings(kind="repository", sparse="plans", sparse_above=3))
    async with open_workspace(Path(sys.argv[1]), kept, "dead") as workspace:
        async with workspace.lease(Cone.of([b"app/web/views.py"])) as slot:
            (slot.outside / "app/web/views.py").write_text("mine\\n")
            (slot.outside / "lib").mkdir()
            (slot.outside / "lib/a.py").write_text("over\\n")
            subprocess.run(["git", "sparse-checkout", "set", "a b"], cwd=slot.outside, stderr=subprocess.DEVNULL)
            assert not (slot.outside / "app/models.py").exists()
            print("there", flush=True)
            await anyio.sleep_forever()
anyio.run(main)
"""


async def test_a_sweep_saves_the_work_of_one_whose_owner_was_killed(large):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    argv = [sys.executable, "-c", OWNER, str(large.root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGKILL)
    swept = sweep(ProjectCache.of(find_project(large.root).common_dir))
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        saved = content(workspace, swept.saved[0])
        before = content(workspace, workspace.snapshot.commit)
        assert saved == before | {"app/web/views.py": "mine\n", "lib/a.py": "over\n"}


async def test_only_large_trees_without_overlays_are_sparse_and_only_where_it_is_allowed(large):
    for settings in (sparse(above=300), Settings(slots=SlotSettings(kind="repository"))):
        async with open_workspace(large.root, settings, "run", slots=1) as workspace:
            assert not workspace.sparse
            async with workspace.lease(CONE) as slot:
                assert not slot.partial
                assert "lib/a.py" in files(slot.outside)


async def test_one_that_cannot_be_made_is_said_and_leaves_nothing(large, monkeypatch):
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        monkeypatch.setattr(Cone, "set_up", lambda *_: (_ for _ in ()).throw(OSError("no")))
        with pytest.raises(SlotError, match="no slot can be made"):
            async with workspace.lease(CONE):
                pass
        assert list(workspace.cache.slots.glob("*/tree")) == []


async def test_git_in_the_slot_knows_its_part_whatever_folders_are_called(large):
    async with open_workspace(large.root, sparse(), "run", slots=1) as workspace:
        async with workspace.lease(Cone.of([b"a b/[x]*/y.txt"])) as slot:
            sh(slot, "git sparse-checkout reapply; git checkout -q .; git reset -q --hard")
            assert files(slot.outside) == {"tool.sh", "docs", "a b/[x]*/y.txt"}
            assert (await slot.commit("same")).changed == ()
