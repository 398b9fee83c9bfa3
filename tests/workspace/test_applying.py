"""Taking a result over: nothing is overwritten that was not seen, and nothing is half done."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bakeoff.workspace.errors import ApplyError, GitError
from bakeoff.workspace.landing.applying import apply, branch, open_project
from bakeoff.workspace.landing.diff import diff, diff_text
from bakeoff.workspace.results.results import Result
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import Checkout, settings, sh

pytestmark = pytest.mark.anyio


async def made(project: Checkout, script: str, **how: object) -> Result:
    async with open_workspace(project.root, settings(**how), "run") as workspace, workspace.lease() as slot:
        sh(slot, script)
        return await slot.commit("n")


async def test_a_result_becomes_files_of_the_checkout(project: Checkout) -> None:
    project.write("staged-and-changed.txt", "1\n")
    project.git("add", "staged-and-changed.txt")
    index = project.git("ls-files", "-s")
    result = await made(project, r"""
        echo more >> a.txt; rm docs/deep/page.md; mkdir x; echo new > "x/$(printf 'n\nl')"; chmod -x tool.sh
        rm link; ln -s tool.sh link; rm -r src; echo file > src; rm staged.txt; mkdir staged.txt; echo in > staged.txt/in
    """)  # fmt: skip
    here, repository = open_project(project.root)
    applied = apply(here, repository, result.commit)
    assert not applied.merged
    assert (project.root / "a.txt").read_text() == "one\nchanged\nmore\n"
    assert not (project.root / "docs").exists()
    assert (project.root / "x/n\nl").read_text() == "new\n"
    assert not os.access(project.root / "tool.sh", os.X_OK) or not (project.root / "tool.sh").stat().st_mode & 0o100
    assert os.readlink(project.root / "link") == "tool.sh"
    assert (project.root / "src").read_text() == "file\n"
    assert (project.root / "staged.txt/in").read_text() == "in\n"
    assert (project.root / "noise.log").read_text() == "ignored\n"
    assert project.git("ls-files", "-s") == index
    assert repository.git().run("cat-file", "blob", f"{applied.before}:docs/deep/page.md") == b"# page\n"
    again = apply(here, repository, result.commit)
    assert (again.changed, again.before) == ((), None)


async def test_a_diff_for_people_has_no_binary_content_and_an_end(project: Checkout) -> None:
    result = await made(project, r"printf 'a\0b' > bin; yes | head -c 3000000 > long.txt; echo more >> a.txt")
    _, repository = open_project(project.root)
    shown = diff_text(repository, result.base, result.commit)
    assert "\n+more\n" in shown
    assert "Binary files /dev/null and b/bin differ\n" in shown
    assert shown.endswith("\n(the diff goes on: this is its first 1 MiB)\n")
    assert len(diff(repository, result.base, result.commit)) > 4_500_000
    with pytest.raises(GitError, match="status 128"):
        diff_text(repository, result.base, "0" * 40)


async def test_what_changed_since_is_merged_or_refused(project: Checkout) -> None:
    result = await made(project, "sed -i 's/one/ONE/' a.txt; echo new > fresh.txt")
    here, repository = open_project(project.root)
    project.write("src/pkg/mod.py", "VALUE = 9\n")
    applied = apply(here, repository, result.commit)
    assert applied.merged
    assert (project.root / "src/pkg/mod.py").read_text() == "VALUE = 9\n"
    assert (project.root / "a.txt").read_text() == "ONE\nchanged\n"
    project.write("a.txt", "mine\n")
    project.write("fresh.txt", "mine too\n")
    before = project.digest()
    with pytest.raises(ApplyError, match="both sides changed") as raised:
        apply(here, repository, result.commit)
    assert set(raised.value.conflicts) == {"a.txt", "fresh.txt"}
    assert project.digest() == before


async def test_a_conflict_is_named_as_the_user_names_it(project: Checkout) -> None:
    """Git puts a file that a folder stands in the way of aside, by a name of its own; bytes may be no text."""
    name = os.fsdecode(b"odd\n\xff.txt")
    project.write(name, "one\n")
    project.write("thing", "one\n")
    project.commit()
    result = await made(
        project, 'rm thing; mkdir thing; echo in > thing/in; for f in odd*; do echo theirs > "$f"; done'
    )
    project.write("thing", "mine\n")
    project.write(name, "mine\n")
    here, repository = open_project(project.root)
    with pytest.raises(ApplyError) as raised:
        apply(here, repository, result.commit)
    assert set(raised.value.conflicts) == {"thing", name}
    assert r"both sides changed odd\n\xff.txt, thing; nothing" in str(raised.value)


async def test_ignored_files_are_never_overwritten(project: Checkout) -> None:
    result = await made(
        project, "echo forced > noise2.txt; mkdir gen; echo x > gen/file; mkdir -p build2; echo y > build2/sub"
    )
    project.write(".git/info/exclude", "noise2.txt\ngen\nbuild2/\n")
    project.write("noise2.txt", "precious\n")
    project.write("gen", "precious\n")
    project.write("build2/sub/precious", "precious\n")
    before = project.digest()
    here, repository = open_project(project.root)
    with pytest.raises(ApplyError, match="ignored files or submodules stand where") as raised:
        apply(here, repository, result.commit)
    assert set(raised.value.conflicts) == {"noise2.txt", "gen/file", "build2/sub"}
    assert project.digest() == before


async def test_a_branch_is_committed_as_the_user(project: Checkout, monkeypatch) -> None:
    result = await made(project, "echo X >> a.txt")
    here, repository = open_project(project.root)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Author")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "")
    made_branch = branch(here, repository, result.commit, "b", "message")
    said = project.git("log", "-1", "--format=%an <%ae>, %cn <%ce>", made_branch)
    assert said == "Author <user@example.org>, Some User <user@example.org>"


async def test_a_submodule_is_not_replaced(project: Checkout, checkout) -> None:
    library = checkout("library")
    library.write("lib.txt")
    library.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "lib")
    result = await made(project, "rm -r lib; echo x > lib")
    here, repository = open_project(project.root)
    with pytest.raises(ApplyError) as raised:
        apply(here, repository, result.commit)
    assert raised.value.conflicts == ("lib",)


async def test_links_out_of_the_checkout_are_not_followed(project: Checkout, tmp_path: Path) -> None:
    result = await made(project, "echo evil > docs/deep/page.md; echo evil > docs/deep/new.md")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "page.md").write_text("# page\n")
    here, repository = open_project(project.root)
    (project.root / "docs/deep/page.md").unlink()
    (project.root / "docs/deep").rmdir()
    (project.root / "docs/deep").symlink_to(outside)
    with pytest.raises(ApplyError):
        apply(here, repository, result.commit)
    assert [path.name for path in outside.iterdir()] == ["page.md"]
    assert (outside / "page.md").read_text() == "# page\n"


async def test_a_crash_midway_loses_nothing(project: Checkout, monkeypatch) -> None:
    result = await made(project, "echo X >> a.txt; echo X >> tool.sh")
    here, repository = open_project(project.root)
    written: list[bytes] = []

    def crash(root: Path, path: bytes) -> None:
        if written:
            raise OSError("power is gone")
        written.append(path)
        original(root, path)

    from bakeoff.workspace.landing import writing

    original = writing._put
    with monkeypatch.context() as patched, pytest.raises(OSError, match="power"):
        patched.setattr(writing, "_put", crash)
        apply(here, repository, result.commit)
    (ref,) = repository.refs("refs/bakeoff/salvage/apply")
    assert repository.git().run("cat-file", "blob", f"{ref}:a.txt") == b"one\nchanged\n"
    apply(here, repository, result.commit)
    assert (project.root / "tool.sh").read_text().endswith("X\n")


async def test_what_cannot_all_be_written_is_not_begun(project: Checkout, monkeypatch) -> None:
    result = await made(
        project, "echo X >> a.txt; mkdir -p new/deep; echo X > new/deep/file; echo X >> tool.sh; rm link"
    )
    here, repository = open_project(project.root)
    before = project.digest()

    from bakeoff.workspace.landing import writing

    def full(staged: Path, root: Path, path: bytes, *, sync: bool) -> None:
        original(staged, root, path, sync=sync)
        if path == b"tool.sh":
            raise OSError(28, "No space left on device")

    original = writing._write_beside
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(writing, "_write_beside", full)
        apply(here, repository, result.commit)
    assert project.digest() == before


@pytest.mark.parametrize("many", [1, 1000])
async def test_what_a_kill_left_beside_is_taken_up_by_the_next_apply(project: Checkout, monkeypatch, many: int) -> None:
    result = await made(project, "echo X >> a.txt; rm -r src; echo file > src")
    here, repository = open_project(project.root)

    from bakeoff.workspace.landing import writing

    monkeypatch.setattr(writing, "MANY", many)
    left = project.root / os.fsdecode(writing._beside(b"a.txt"))
    left.write_text("half of i")
    apply(here, repository, result.commit)
    assert not left.exists()
    assert (project.root / "a.txt").read_text().endswith("X\n")
    assert not list(project.root.rglob("*.bakeoff"))


async def test_a_result_becomes_a_branch_of_the_user(project: Checkout) -> None:
    project.git("config", "user.name", "Local User")
    result = await made(project, "echo more >> a.txt; echo new > fresh.txt")
    here, repository = open_project(project.root)
    head, index, status = (project.git(*args) for args in (("rev-parse", "HEAD"), ("ls-files", "-s"), ("status", "-s")))
    hook = project.write(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    commit = branch(here, repository, result.commit, "bakeoff/best", "Take the best")
    hook.unlink()
    assert project.git("rev-parse", "bakeoff/best", "bakeoff/best^").split() == [commit, head]
    assert project.git("log", "-1", "--format=%an %ae %s", commit) == "Local User user@example.org Take the best"
    assert project.git("show", f"{commit}:a.txt") == "one\nchanged\nmore"
    assert [project.git(*args) for args in (("rev-parse", "HEAD"), ("ls-files", "-s"), ("status", "-s"))] == [
        head,
        index,
        status,
    ]
    project.git("fsck")
    for name, said in (("bakeoff/best", "already"), ("-x", "cannot be the name"), ("bakeoff", "was not made")):
        with pytest.raises(ApplyError, match=said):
            branch(here, repository, result.commit, name, "again")
    assert project.git("rev-parse", "bakeoff/best") == commit


async def test_a_branch_on_a_head_that_moved(project: Checkout) -> None:
    result = await made(project, "echo new > fresh.txt; echo more >> a.txt", dirty="none")
    here, repository = open_project(project.root)
    project.git("stash", "-qu")
    project.write("later.txt")
    moved = project.commit("later")
    commit = branch(here, repository, result.commit, "onto", "Onto")
    assert project.git("rev-parse", f"{commit}^") == moved
    assert set(project.git("ls-tree", "--name-only", commit).split()) >= {"later.txt", "fresh.txt"}
    project.write("a.txt", "rewritten\n")
    project.commit("conflict")
    with pytest.raises(ApplyError, match=r"cannot stand on the present HEAD .* a\.txt"):
        branch(here, repository, result.commit, "no", "No")
    project.git("rev-parse", "--verify", "-q", "no", status=1)


async def test_before_the_first_commit_there_is_no_branch_but_an_apply(checkout) -> None:
    project = checkout()
    project.write("a.txt")
    result = await made(project, "echo more >> a.txt; rm -f nothing; : > 'odd \"name'")
    here, repository = open_project(project.root)
    with pytest.raises(ApplyError, match="no commit yet"):
        branch(here, repository, result.commit, "b", "B")
    patch = diff(repository, result.base, result.commit)
    copy = project.root.parent / "copy"
    subprocess.run(["cp", "-r", project.root, copy], check=True)
    subprocess.run(["git", "apply"], cwd=copy, input=patch, check=True)
    apply(here, repository, result.commit)
    assert (project.root / "a.txt").read_text() == (copy / "a.txt").read_text() == "text\nmore\n"
    assert (copy / 'odd "name').exists()
