"""A slot is the user's tree to whoever works in it, and leaves no trace but its results."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from bakeoff.workspace.errors import ProjectError, SlotError
from bakeoff.workspace.landing.diff import diff
from bakeoff.workspace.results.results import Result
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import KINDS, Checkout, settings, sh

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[*KINDS[:2], pytest.param(KINDS[2], marks=pytest.mark.soak(only=True))])
def kind(request) -> str:
    return request.param


def changed(result: Result) -> dict[str, str]:
    return {path.path: path.status for path in result.changed}


async def test_an_agent_finds_the_project_and_its_history(project: Checkout, kind: str) -> None:
    head = project.git("rev-parse", "HEAD")
    project.git("branch", "other")
    project.git("tag", "v1")
    before = project.digest()
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        assert slot.kind == kind
        assert sh(
            slot, "cat a.txt new/untracked.txt; readlink link; ./tool.sh"
        ) == "one\nchanged\nuntracked\na.txttool\n".replace("txttool", "txt\ntool")
        assert sh(slot, "git status --short; git diff; git stash list") == ""
        assert sh(slot, "git log --format=%s").splitlines() == ["bakeoff snapshot", "first"]
        assert sh(slot, "git rev-parse HEAD~1 other v1^{commit} origin 2>/dev/null || true").split()[:3] == [head] * 3
        assert sh(slot, "git branch --show-current").strip() == "main"
        assert sh(slot, "git config user.email; git rev-parse --show-toplevel").split() == [
            "user@example.org",
            slot.path,
        ]
        assert sh(slot, "ls noise.log 2>&1 || true").startswith("ls:")
        sh(slot, "echo more >> a.txt; git commit -qam mine; git checkout -qb feature; git rebase -q HEAD~1; git gc -q")
        assert "mine" in sh(slot, "git log --format=%s")
        assert sh(slot, "git remote") == ""
    assert project.digest() == before


WORK = r"""
echo more >> a.txt
rm docs/deep/page.md staged.txt
mv src/pkg src/other
chmod -x tool.sh
rm link; ln -s src link
mkdir -p deep/er; echo new > deep/er/new.txt; mkdir empty
echo ignored > some.log; mkdir build; echo x > build/out
rm new/untracked.txt; rmdir new; echo file > new
printf 'odd' > "$(printf 'new\nline')"; printf 'bytes' > "$(printf 'b\351')"
echo 'quote' > 'a "quoted" name'
rm -r src/other/__init__.py
"""


async def test_a_result_is_what_git_add_would_make(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(slot, WORK)
        result = await slot.commit("attempt-1")
        assert sh(slot, "git add -A; git write-tree").strip() == result.tree
        assert changed(result)["new"] == "A"
        assert {path: status for path, status in changed(result).items() if "/" in path and "new" not in path} == {
            "docs/deep/page.md": "D", "src/other/mod.py": "A", "src/pkg/__init__.py": "D", "src/pkg/mod.py": "D",
        }  # fmt: skip
        assert result.ignored == ("build/", "some.log")
        assert result.refused == ()
        repository = workspace.repository
        assert repository.refs("refs/bakeoff/run") == {"refs/bakeoff/run/attempt-1": result.commit}
        assert repository.git().line("rev-parse", f"{result.commit}^") == workspace.snapshot.commit == result.base
        patch = diff(repository, result.base, result.commit)
        assert b"+more\n" in patch
        assert "files changed" in result.stat
        (added,) = [path for path in result.changed if path.path == "a.txt"]
        assert (added.added, added.deleted) == (1, 0)
        empty = await slot.commit("attempt-2")
        assert empty.tree == result.tree


async def test_a_slot_is_as_new_for_the_next(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            first, name = sh(slot, "find . -path ./.git -prune -o -print | sort; git rev-parse HEAD"), slot.id
            sh(
                slot,
                WORK
                + "mkdir -m 555 closed; git add -A; git commit -qm work; git config user.name Mallory; touch $TMPDIR/left",
            )
            sh(slot, "rm -rf src; ln -s /etc src; mkdir tool.sh.d; rm tool.sh; mkdir tool.sh; echo x > tool.sh/inner")
            await slot.commit("x")
        async with workspace.lease() as slot:
            assert slot.id == name
            assert sh(slot, "find . -path ./.git -prune -o -print | sort; git rev-parse HEAD") == first
            assert sh(slot, "git status --short; git config user.name; ls $TMPDIR") == "Some User\n"
            assert (await slot.commit("y")).changed == ()
        assert workspace.warnings == []


async def test_same_size_same_time_edits_are_seen(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        for number in range(2):
            async with workspace.lease() as slot:
                sh(slot, "touch -r a.txt $TMPDIR/t; printf 'ONE\nCHANGED\n' > a.txt; touch -r $TMPDIR/t a.txt")
                assert changed(await slot.commit(f"n{number}")) == {"a.txt": "M"}


async def test_touched_files_are_no_change(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(slot, "touch a.txt; cp tool.sh t; mv t tool.sh; chmod 700 tool.sh; chmod 600 src/pkg/mod.py")
        assert (await slot.commit("n")).changed == ()


async def test_results_may_lie_on_another_file_system(project: Checkout, kind: str, monkeypatch) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == project.root.stat().st_dev:
        pytest.skip("there is no other file system")
    with tempfile.TemporaryDirectory(dir=shared) as other:
        monkeypatch.setenv("XDG_DATA_HOME", other)
        async with open_workspace(project.root, settings(kind=kind), "run") as workspace:
            assert workspace.repository.path.is_relative_to(other)
            async with workspace.lease() as slot:
                sh(slot, "echo new > a.txt")
                assert changed(await slot.commit("n")) == {"a.txt": "M"}
                sh(slot, "echo newer > a.txt")
            assert len(workspace.repository.refs("refs/bakeoff/salvage")) == 1


async def test_results_outlive_the_cache(project: Checkout, kind: str, tmp_path: Path) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(slot, "echo new > a.txt")
        made, snapshot = await slot.commit("n"), workspace.snapshot
    (tmp_path / "cache").rename(tmp_path / "gone")  # what is being deleted there goes on being deleted
    async with open_workspace(project.root, settings(kind=kind), "run", snapshot=snapshot) as workspace:
        async with workspace.lease() as slot:
            await slot.check_out(made.commit)
            assert sh(slot, "cat a.txt") == "new\n"
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(ProjectError, match=r"is not in .* any more, so it cannot go on; start a new run"):
        async with open_workspace(project.root, settings(kind=kind), "run", snapshot=snapshot):
            pass


async def test_what_is_no_file_is_refused(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind, max_file_mb=1), "run") as workspace:
        async with workspace.lease() as slot:
            sh(slot, "mkfifo pipe; rm a.txt; mkfifo a.txt; head -c 1100000 /dev/zero > big; mkfifo docs/.gitignore")
            with socket.socket(socket.AF_UNIX) as bound:
                here = os.getcwd()
                os.chdir(slot.outside)
                try:
                    bound.bind("sock")
                finally:
                    os.chdir(here)
            result = await slot.commit("n")
            reasons = {refused.path: refused.reason for refused in result.refused}
            assert reasons == {
                "pipe": "it is a pipe", "a.txt": "it is a pipe", "sock": "it is a socket",
                "docs/.gitignore": "it is a pipe", "big": "it has 1100000 bytes, more than 1048576",
            }  # fmt: skip
            assert changed(result) == {"a.txt": "D"}
        (saved,) = workspace.salvaged
        assert workspace.repository.git().run("cat-file", "blob", f"{saved}:big") == bytes(1100000)


async def test_links_are_kept_and_never_followed(project: Checkout, kind: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "mod.py").write_text("SECRET")
    (secret / ".gitignore").write_text("*\n")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(
            slot,
            f"rm -r src/pkg; ln -s {secret} src/pkg; ln -s {secret}/mod.py direct; ln -sf {secret}/.gitignore .gitignore",
        )
        result = await slot.commit("n")
        assert b"SECRET" not in diff(workspace.repository, result.base, result.commit)
        assert changed(result) == {
            ".gitignore": "T", "direct": "A", "src/pkg": "A", "src/pkg/__init__.py": "D", "src/pkg/mod.py": "D",
        }  # fmt: skip


async def test_ignore_rules_of_all_places_hold(project: Checkout, kind: str, home: Path) -> None:
    (home / "ignored").write_text("*.global\n")
    project.git("config", "--global", "core.excludesFile", str(home / "ignored"))
    (project.root / ".git/info").mkdir(exist_ok=True)
    (project.root / ".git/info/exclude").write_text("*.local\n!kept.global\n")
    project.git("add", "-f", "noise.log")
    project.commit()
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(slot, "touch x.global x.local kept.global docs/y.tmp; echo '*.tmp' > docs/.gitignore; echo loud > noise.log")
        sh(slot, "mkdir -p vendor/deep; echo 'deep/' > vendor/.gitignore; touch vendor/deep/x vendor/y")
        result = await slot.commit("n")
        assert sh(slot, "git add -A; git write-tree").strip() == result.tree
        assert changed(result) == {
            "docs/.gitignore": "A", "kept.global": "A", "noise.log": "M", "vendor/.gitignore": "A", "vendor/y": "A",
        }  # fmt: skip
        assert result.ignored == ("docs/y.tmp", "vendor/deep/x", "x.global", "x.local")


async def test_line_ends_are_stored_as_attributes_say(project: Checkout, kind: str) -> None:
    project.write(
        ".gitattributes", "*.txt text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n*.raw -text\n"
    )
    project.write(".git/info/attributes", "*.own text eol=crlf\n")
    project.write("ends.txt", "a\r\nb\r\n")
    project.write("old.auto", "a\r\nb\r\n")
    project.commit("stored with CRLF")
    project.write(".gitattributes", (project.root / ".gitattributes").read_text() + "*.auto text=auto\n")
    project.write("mine.own", "a\r\nb\r\n")
    project.write("v.id", "$Id$\n")
    project.commit("attributes")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        assert sh(slot, "git status --short") == ""
        sh(slot, r"printf 'a\r\nc\r\n' > ends.txt; printf '$Id: x $ y\n' > v.id; printf 'h\0i\0' > w.u16")
        sh(slot, r"printf 'c\r\n' >> old.auto; printf 'c\r\n' > new.auto")
        assert sh(slot, r"printf 'c\r\n' >> mine.own; git diff --numstat mine.own").split() == ["1", "0", "mine.own"]
        sh(slot, r"printf 'r\r\n' > r.raw; printf 'plain\n' > p.txt; printf 'x\r\n' > new.txt; touch other.md")
        result = await slot.commit("n")
        assert sh(slot, "git add -A; git write-tree").strip() == result.tree
        read = workspace.repository.git().run
        assert read("cat-file", "blob", f"{result.commit}:new.txt") == b"x\n"
        assert read("cat-file", "blob", f"{result.commit}:new.auto") == b"c\n"
        assert read("cat-file", "blob", f"{result.commit}:old.auto") == b"a\r\nb\r\nc\r\n"


async def test_automatic_line_ends_and_modes_that_do_not_count(project: Checkout, kind: str) -> None:
    project.git("config", "core.autocrlf", "input")
    project.git("config", "core.fileMode", "false")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(
            slot,
            r"printf 'a\r\nc\r\n' > new.txt; chmod +x a.txt; echo x >> a.txt; echo more >> tool.sh; chmod -x tool.sh",
        )
        result = await slot.commit("n")
        assert sh(slot, "git add -A; git write-tree").strip() == result.tree


async def test_what_an_agent_does_to_git_runs_nothing_here(project: Checkout, kind: str, tmp_path: Path) -> None:
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-$1\n")
    spy.chmod(0o755)
    before = project.digest()
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        refs = workspace.repository.refs("refs")
        async with workspace.lease() as slot:
            folder = sh(slot, "git rev-parse --absolute-git-dir").strip()
            sh(
                slot,
                f"""
                printf '* filter=spy diff=spy merge=spy\\n' > .gitattributes
                git config filter.spy.clean '{spy} clean'; git config filter.spy.smudge '{spy} smudge'
                git config diff.spy.command '{spy} diff'; git config core.hooksPath {tmp_path}
                mkdir -p {folder}/hooks; cp {spy} {folder}/hooks/post-checkout; cp {spy} {folder}/hooks/post-index-change
                echo x >> a.txt; git update-ref -d refs/heads/other || true
                git update-ref refs/heads/main HEAD~1; git update-ref refs/bakeoff/run/forged HEAD
                git config core.fsmonitor '{spy} monitor'
            """,
            )
            result = await slot.commit("n")
            assert changed(result) == {".gitattributes": "A", "a.txt": "M"}
            sh(slot, f"rm -rf {folder}; rm -rf .git || true; mkdir .git && echo '[core]' > .git/config", **{})
            assert (await slot.commit("m")).tree == result.tree
        async with workspace.lease() as slot:
            assert sh(slot, "git status --short; git rev-parse HEAD").split() == [workspace.snapshot.commit]
        assert set(workspace.repository.refs("refs")) - set(refs) == {"refs/bakeoff/run/n", "refs/bakeoff/run/m"}
    assert project.digest() == before
    assert list(tmp_path.glob("ran-*")) == []


async def test_files_of_repositories_inside_a_slot_are_kept(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(
            slot,
            "git init -q inner; cd inner; echo x > file; git add file; git commit -qm inner; mkdir sub; touch sub/.GIT",
        )
        result = await slot.commit("n")
        assert changed(result) == {"inner/file": "A"}
        assert all("repository inside" in refused.reason for refused in result.refused)
        assert [refused.path for refused in result.refused] == ["inner/.git", "inner/sub/.GIT"]


async def test_submodules_are_empty_folders(project: Checkout, checkout, kind: str) -> None:
    library = checkout("library")
    library.write("lib.txt")
    library.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "lib")
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            assert sh(slot, "ls -A lib; git status --short") == ""
            sh(slot, "touch lib/inside; echo x >> a.txt")
            result = await slot.commit("n")
            assert changed(result) == {"a.txt": "M"}
            assert [(refused.path, refused.reason) for refused in result.refused] == [
                ("lib/inside", "it lies in a submodule")
            ]
        async with workspace.lease() as slot:
            assert sh(slot, "ls -A lib; git status --short") == ""
            sh(slot, "rm -r lib; echo file > lib")
            assert changed(await slot.commit("n")) == {"lib": "T"}
            assert (await slot.commit("n")).tree == sh(slot, "git add -A; git write-tree").strip()


@pytest.mark.parametrize("how", ["link", "copy", "submodules"])
async def test_a_submodule_and_ignored_files_can_be_given(project: Checkout, checkout, kind: str, how: str) -> None:
    library = checkout("library")
    library.write("lib.txt", "of the library\n")
    library.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "lib")
    project.write(".env", "A=1\n")
    project.write(".gitignore", "*.log\nbuild/\n.env\n")
    more = {"submodules": True, "copy": (".env",)} if how == "submodules" else {how: ("lib", ".env")}
    given = settings(kind=kind, **more)
    async with open_workspace(project.root, given, "run", slots=1) as workspace:
        assert workspace.lacking("attempts") == []
        for _ in range(2):
            async with workspace.lease() as slot:
                assert sh(slot, "cat lib/lib.txt .env; git status --short") == "of the library\nA=1\n"
                sh(slot, "echo x >> a.txt; git add -A; git status --short")
                assert changed(await slot.commit("n")) == {"a.txt": "M"}
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace:
        (said,) = workspace.lacking("attempts")
        assert said.startswith("attempts do not have lib: a submodule")
        assert "`copy` or `link` in [tool.bakeoff.slots]" in said


async def test_slots_of_a_repository_with_sha256(checkout, kind: str) -> None:
    made = checkout("sha256", "--object-format=sha256")
    made.write("a.txt")
    made.commit()
    async with open_workspace(made.root, settings(kind=kind), "run", slots=1) as workspace:
        for _ in range(2):
            async with workspace.lease() as slot:
                assert sh(slot, "git status --short; cat a.txt") == "text\n"
                sh(slot, "echo x > a.txt; echo y > b.txt; git commit -qam x")
                assert changed(await slot.commit("n")) == {"a.txt": "M", "b.txt": "A"}


async def test_a_project_without_a_commit(checkout, kind: str) -> None:
    made = checkout()
    made.write("a.txt")
    async with open_workspace(made.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        sh(slot, "rm a.txt")
        result = await slot.commit("n")
        assert changed(result) == {"a.txt": "D"}
        assert result.tree == sh(slot, "git add -A; git write-tree").strip()


async def test_the_users_gc_does_not_break_a_slot(project: Checkout, kind: str) -> None:
    project.commit("to be dropped")
    async with open_workspace(project.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        project.git("reset", "-q", "--hard", "HEAD~1")
        project.git("reflog", "expire", "--expire=now", "--all")
        project.git("gc", "-q", "--prune=now")
        sh(slot, "git fsck --connectivity-only; git log -p > /dev/null; echo x >> a.txt; git commit -qam x")
        assert (await slot.commit("n")).changed


async def test_an_overlay_over_the_projects_own_path(project: Checkout) -> None:
    before = project.digest()
    async with open_workspace(project.root, settings(kind="overlay"), "run", mount_at=True, slots=1) as workspace:
        for _ in range(2):
            async with workspace.lease() as slot:
                assert slot.path == str(project.root)
                assert sh(slot, "pwd; git status --short").strip() == str(project.root)
                sh(slot, f"echo slot > {project.root}/a.txt")
                assert (slot.outside / "a.txt").read_text() == "slot\n"
                assert (project.root / "a.txt").read_text() == "one\nchanged\n"
                assert changed(await slot.commit("n")) == {"a.txt": "M"}
        assert workspace.receipt()["slots"]["mounted_at"] == str(project.root)
    assert project.digest() == before


async def test_own_path_is_not_offered_where_it_cannot_be(project: Checkout, monkeypatch) -> None:
    async with open_workspace(project.root, settings(kind="repository"), "run", mount_at=True) as workspace:
        assert workspace.mounted_at is None
        assert "repository slots cannot be mounted" in workspace.warnings[0]
    inside = project.root / "build/cache"
    async with open_workspace(project.root, settings(), "run", mount_at=True, cache=inside) as workspace:
        assert "lies inside the project" in workspace.warnings[0]
        async with workspace.lease() as slot:
            assert sh(slot, "git status --short") == ""


async def test_the_kind_is_found_out_by_trying_and_said(project: Checkout, tmp_path: Path, monkeypatch) -> None:
    async with open_workspace(project.root, settings(), "run") as workspace:
        assert (workspace.kind, workspace.why) == ("overlay", "an overlay mount was tried and works")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh", "cp"):
        (tools / name).symlink_to(subprocess.run(["which", name], capture_output=True, text=True).stdout.strip())
    monkeypatch.setenv("PATH", str(tools))
    async with open_workspace(project.root, settings(), "run") as workspace:
        assert (workspace.kind, workspace.why) == ("repository", "nsenter is missing")
        assert workspace.receipt()["slots"]["why"] == "nsenter is missing"
    with pytest.raises(SlotError, match="asks for overlay slots, which cannot be had: nsenter is missing"):
        async with open_workspace(project.root, settings(kind="overlay"), "run"):
            pass


async def test_engine_commands_run_in_a_slot(project: Checkout, kind: str) -> None:
    from bakeoff.engine.mask import Masker
    from bakeoff.process.spawner import Spawner

    async with (
        Spawner(token="t", base_env=dict(os.environ), masker=Masker()) as spawner,
        open_workspace(project.root, settings(kind=kind), "run") as workspace,
        workspace.lease() as slot,
    ):
        done = await spawner.run(slot.command(["sh", "-c", "pwd; echo $BAKEOFF_SLOT $EXTRA"], env={"EXTRA": "more"}))
        assert done.stdout.value == f"{slot.path}\n{slot.id} more\n"


@pytest.mark.anyio
async def test_what_was_built_beside_its_source_is_named(project: Checkout) -> None:
    project.write("pkg/__init__.py", "")
    project.write("pkg/fast.c", "int x;")
    project.write(".gitignore", "*.so\n")
    project.write("pkg/fast.cpython-311-x86_64-linux-gnu.so", "built")

    async def warned(**more: object) -> list[str]:
        async with open_workspace(project.root, settings(**more), "run", slots=1) as workspace:
            return workspace.warnings

    (said,) = await warned()
    assert '"pkg/fast.cpython-311-x86_64-linux-gnu.so"' in said
    assert "copy = [...]" in said
    assert await warned(copy=("pkg/fast.cpython-311-x86_64-linux-gnu.so",)) == []
    assert await warned(setup="true") == []
