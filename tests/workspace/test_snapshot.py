"""A snapshot holds the user's tree, and the user's repository stays the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bakeoff.workspace.errors import GitError, ProjectError
from bakeoff.workspace.landing.applying import open_project
from bakeoff.workspace.repository.git import check_git
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import Snapshot, read_entries, take_snapshot
from workspace.conftest import Checkout, digest


def snap(made: Checkout, **how) -> tuple[Snapshot, Repository]:
    project, repository = open_project(made.root)
    before = digest(made.root)
    found = take_snapshot(project, repository, **how)
    assert digest(made.root) == before
    return found, repository


def files(made: Checkout, **how) -> dict[str, str]:
    found, repository = snap(made, **how)
    entries = read_entries(repository, found.tree).files
    blobs = {}
    for path, (mode, oid) in entries.items():
        kind = "160000" if mode == b"160000" else repository.git().run("cat-file", "blob", oid.decode()).decode()
        blobs[os.fsdecode(path)] = kind
    return blobs


def test_all_tracked_or_nothing_uncommitted_is_taken(project: Checkout) -> None:
    everything = files(project)
    assert everything["a.txt"] == "one\nchanged\n"
    assert everything["new/untracked.txt"] == "untracked\n"
    assert "noise.log" not in everything
    tracked = files(project, dirty="tracked")
    assert tracked["a.txt"] == "one\nchanged\n"
    assert "staged.txt" in tracked
    assert "new/untracked.txt" not in tracked
    none = files(project, dirty="none")
    assert none["a.txt"] == "one\ntwo\n"
    assert "staged.txt" not in none


def test_a_snapshot_is_a_commit_on_head_and_the_same_for_the_same_tree(project: Checkout) -> None:
    head = project.git("rev-parse", "HEAD")
    first, repository = snap(project)
    again, _ = snap(project)
    assert first.commit == again.commit
    assert (first.head, first.branch, first.dirty, first.linked) == (head, "main", True, True)
    assert repository.git().line("rev-parse", f"{first.commit}^") == head
    assert snap(project, dirty="none")[0].commit == head
    assert repository.refs("refs/bakeoff/snapshots")


def test_a_base_is_any_commit(project: Checkout) -> None:
    first = project.git("rev-parse", "HEAD")
    project.commit("second")
    assert snap(project, base="HEAD~1")[0].commit == first
    with pytest.raises(ProjectError, match="no commit 'nowhere'"):
        snap(project, base="nowhere")
    with pytest.raises(ProjectError, match="no commit '--all'"):
        snap(project, base="--all")


def test_deleted_renamed_and_changed_modes_are_taken(project: Checkout) -> None:
    (project.root / "docs/deep/page.md").unlink()
    (project.root / "tool.sh").chmod(0o644)
    (project.root / "link").unlink()
    (project.root / "link").symlink_to("nowhere")
    found = files(project)
    assert "docs/deep/page.md" not in found
    assert found["link"] == "nowhere"


def test_a_detached_head_and_a_linked_work_tree(project: Checkout, tmp_path: Path) -> None:
    project.git("checkout", "-q", "--detach")
    assert snap(project)[0].branch is None
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side")
    linked = Checkout(tmp_path / "linked")
    linked.write("only-here.txt")
    found, repository = snap(linked)
    assert found.branch == "side"
    assert b"only-here.txt" in read_entries(repository, found.tree).files
    assert repository == open_project(project.root)[1]


def test_before_the_first_commit_the_files_are_taken(checkout) -> None:
    made = checkout()
    made.write("a.txt", "first\n")
    assert files(made) == {"a.txt": "first\n"}
    found = snap(made)[0]
    assert (found.head, found.branch) == (None, "main")
    with pytest.raises(ProjectError, match="no commit yet"):
        snap(made, dirty="none")
    shutil.rmtree(made.root / ".git")
    made.git("init", "-q")
    (made.root / "a.txt").unlink()
    assert files(made) == {}


def test_a_lost_index_is_made_again_from_head(project: Checkout) -> None:
    project.commit()
    (project.root / ".git/index").unlink()
    assert "a.txt" in files(project, dirty="tracked")


def test_what_is_no_work_tree_is_refused_in_words(checkout, tmp_path: Path, project: Checkout) -> None:
    with pytest.raises(ProjectError, match="not in a git repository"):
        find_project(tmp_path)
    with pytest.raises(ProjectError, match="is no directory"):
        find_project(tmp_path / "nowhere")
    bare = checkout("bare.git", "--bare")
    with pytest.raises(ProjectError, match="bare repository"):
        find_project(bare.root)
    with pytest.raises(ProjectError, match="inside a git directory"):
        find_project(project.root / ".git")
    project.git("config", "core.worktree", str(bare.root))
    with pytest.raises(ProjectError, match=r"core\.worktree puts elsewhere"):
        find_project(project.root)
    project.git("config", "--unset", "core.worktree")
    broken = checkout("broken")
    (broken.root / ".git/config").write_text("[core\n")
    with pytest.raises(GitError, match="cannot read the repository"):
        find_project(broken.root)
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / ".git").write_text("gitdir: /nowhere/else\n")
    with pytest.raises(ProjectError, match=r"moved leads to no git repository .*/nowhere/else.*worktree repair"):
        find_project(moved)
    odd = checkout("odd\nname")
    with pytest.raises(ProjectError, match="line break"):
        find_project(odd.root)


def test_git_must_be_there_and_young_enough(project: Checkout, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(GitError, match="not found on PATH"):
        check_git()
    (folder / "git").write_text("#!/bin/sh\necho git version 2.37.9\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    with pytest.raises(GitError, match=r"git 2\.37\.9 is too old"):
        find_project(project.root)


def test_conflicts_are_refused_by_name(project: Checkout) -> None:
    project.commit()
    project.git("checkout", "-qb", "other")
    project.write("a.txt", "theirs\n")
    project.commit()
    project.git("checkout", "-q", "main")
    project.write("a.txt", "ours\n")
    project.commit()
    project.git("merge", "other", status=1)
    with pytest.raises(ProjectError, match=r"unresolved conflicts in a\.txt: resolve"):
        snap(project)
    assert snap(project, dirty="none")[0].head


def test_repositories_inside_are_named(project: Checkout, checkout) -> None:
    inner = Checkout(project.root / "inner")
    inner.root.mkdir()
    inner.git("init", "-q")
    inner.write("lost.txt")
    inner.commit()
    hollow = Checkout(project.root / "hollow")
    hollow.root.mkdir()
    hollow.git("init", "-q")
    found, repository = snap(project)
    assert {(path.path, path.reason.partition(":")[0]) for path in found.left_out} == {
        ("inner", "an embedded repository"),
        ("hollow/", "an embedded repository without a commit"),
    }
    assert b"new/untracked.txt" in read_entries(repository, found.tree).files


def test_submodules_are_named(project: Checkout, checkout) -> None:
    library = checkout("library")
    library.write("lib.txt")
    library.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "lib")
    project.commit("with submodule")
    for how in ({}, {"dirty": "none"}):
        (left,) = snap(project, **how)[0].left_out
        assert left.path == "lib"
        assert left.reason.startswith("a submodule")


def test_an_edit_right_after_the_index_was_written_is_seen(project: Checkout) -> None:
    project.git("config", "core.trustctime", "false")
    file, index = project.root / "src/pkg/mod.py", project.root / ".git/index"
    moment = file.stat().st_mtime_ns - 10_000_000_000
    file.write_text("VALUE = 6\n")
    os.utime(file, ns=(moment, moment))
    project.commit()
    file.write_text("VALUE = 7\n")  # of the same size
    for path in (file, index):
        os.utime(path, ns=(moment, moment))
    assert files(project)["src/pkg/mod.py"] == "VALUE = 7\n"


def test_skipped_files_of_a_sparse_checkout_stay(project: Checkout) -> None:
    project.commit()
    project.git("sparse-checkout", "set", "--cone", "src")
    assert not (project.root / "docs").exists()
    assert files(project)["docs/deep/page.md"] == "# page\n"


def test_nothing_of_the_users_configuration_runs_but_filters(project: Checkout, tmp_path: Path) -> None:
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-$1\ncat\n")
    spy.chmod(0o755)
    project.git("config", "core.fsmonitor", f"{spy} fsmonitor")
    project.git("config", "log.showSignature", "true")
    project.git("config", "gpg.program", f"{spy} gpg")
    project.git("config", "diff.spy.textconv", f"{spy} textconv")
    project.git("config", "merge.spy.driver", f"{spy} merge")
    project.write(".gitattributes", "*.bin diff=spy merge=spy\n")
    project.write("x.bin", "content\n")
    for hook in ("post-index-change", "reference-transaction", "pre-commit", "post-checkout"):
        (project.root / ".git/hooks").mkdir(exist_ok=True)
        shutil.copy(spy, project.root / ".git/hooks" / hook)
    assert files(project)["x.bin"] == "content\n"
    assert [path.name for path in tmp_path.glob("ran-*")] == []


def test_the_users_configuration_is_read_wherever_they_keep_it(project: Checkout, tmp_path: Path, monkeypatch) -> None:
    project.write("ends.txt", "a\r\n")
    assert files(project)["ends.txt"] == "a\r\n"
    settings = tmp_path / "settings"
    settings.write_text("[core]\n\tautocrlf = input\n[user]\n\tname = Elsewhere\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert files(project)["ends.txt"] == "a\n"
    assert "user.name=Elsewhere" in find_project(project.root).identity
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, (key, value) in enumerate({"core.autocrlf": "false", "core.hooksPath": str(tmp_path)}.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    git = find_project(project.root).git()
    assert files(project)["ends.txt"] == "a\r\n"
    assert git.line("config", "core.hooksPath") == "/dev/null"
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(settings))
    assert git.line("config", "user.name") == "Some User"
    assert git.line("config", "--system", "user.name") == "Elsewhere"
    assert git.at(owned=True).environment().keys().isdisjoint({"GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT"})
    for name, place in {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_WORK_TREE": "/"}.items():
        monkeypatch.setenv(name, place)
    assert find_project(project.root).root == project.root


def test_a_split_index_is_read_whole(project: Checkout) -> None:
    project.git("update-index", "--split-index")
    project.write("b.txt")
    project.git("add", "b.txt")
    assert {"a.txt", "b.txt", "staged.txt"} <= files(project).keys()


def test_names_of_any_bytes(project: Checkout) -> None:
    for name in (b"new\nline", b"tab\there", b'quo"te', b"b\xe9\xff", b"-dash", b" space ", b":colon"):
        (project.root / os.fsdecode(name)).write_text("x")
    found, repository = snap(project)
    entries = read_entries(repository, found.tree).files
    assert {b"new\nline", b"b\xe9\xff", b'quo"te', b"-dash", b" space ", b":colon"} <= entries.keys()


def test_unreadable_files_are_named(project: Checkout, monkeypatch) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    project.write("secret").chmod(0)
    project.write("a.txt").chmod(0)
    found = take_snapshot(*open_project(project.root))
    assert {path.path for path in found.left_out} == {"secret", "a.txt"}


def test_a_clones_alternates_and_its_shallowness(project: Checkout, tmp_path: Path) -> None:
    project.commit()
    project.commit("another")
    subprocess.run(["git", "clone", "-qs", project.root, tmp_path / "borrowing"], check=True)
    assert snap(Checkout(tmp_path / "borrowing"))[0].linked
    url = f"file://{project.root}"
    subprocess.run(["git", "clone", "-q", "--depth=1", url, tmp_path / "shallow"], check=True)
    found, repository = snap(Checkout(tmp_path / "shallow"))
    assert (repository.path / "shallow").exists()
    assert repository.git().run("rev-list", found.commit).count(b"\n") == 1
    snap(Checkout(tmp_path / "shallow"))


def test_the_users_gc_breaks_nothing(project: Checkout) -> None:
    project.commit("to be dropped")
    found, repository = snap(project)
    project.git("reset", "-q", "--hard", "HEAD~1")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    project.git("cat-file", "-e", found.commit, status=1)
    assert repository.git().run("rev-list", "--objects", found.commit)
    repository.git().run("fsck", "--connectivity-only")


def test_on_another_file_system_the_tree_is_packed(project: Checkout, monkeypatch) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == project.root.stat().st_dev:
        pytest.skip("there is no other file system")
    import tempfile

    with tempfile.TemporaryDirectory(dir=shared) as other:
        monkeypatch.setenv("XDG_DATA_HOME", other)
        found, repository = snap(project)
        assert not found.linked
        shutil.rmtree(project.root / ".git/objects")
        assert repository.git().run("rev-list", "--objects", found.commit)
        assert repository.git().run("cat-file", "blob", f"{found.commit}:a.txt") == b"one\nchanged\n"


def test_objects_named_by_sha256(checkout) -> None:
    made = checkout("sha256", "--object-format=sha256")
    made.write("a.txt")
    made.commit()
    made.write("b.txt")
    found, repository = snap(made)
    assert len(found.commit) == 64
    assert b"b.txt" in read_entries(repository, found.tree).files
