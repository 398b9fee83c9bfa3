"""Moving the user's branch: once, from where it was seen, and with nothing of theirs overwritten."""

from __future__ import annotations

import os
import subprocess

import pytest

from bakeoff.plan.merge import landing
from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.fetch import bring
from bakeoff.plan.merge.landing import move_branch, move_checkout
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.landing import fast_forward as moving
from bakeoff.workspace.landing.applying import as_user, open_project

TEXT = "".join(f"line {number}\n" for number in range(10))


class Theirs:
    """A user's repository with the branches `one` and `two`, and the tip that has both in bakeoff's."""

    def __init__(self, root):
        self.root = root
        root.mkdir()
        self.git("init", "-q")
        self.commit({"f": TEXT, "other": "x\n", ".gitignore": "ignored\n"})
        for name, files in (("one", {"f": TEXT.replace("line 2", "one"), "new": "n\n"}), ("two", {"d/g": "g\n"})):
            self.git("checkout", "-q", "-b", name, "main")
            self.commit(files)
        self.git("checkout", "-q", "main")
        self.base = self.head()
        project, repository = open_project(root)
        brought = bring(project, repository, "r", "HEAD", ["one", "two"])
        merger = Merger(as_user(project, repository.git()))
        at = merger.point(brought.snapshot.commit)
        for change in brought.changes:
            at = merger.step(at, change, merger.point(change.commit).date).point
        self.tip, self.tree = at.commit, at.tree

    def git(self, *args, check=True):
        done = subprocess.run(["git", *args], cwd=self.root, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(exist_ok=True)
            (self.root / path).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "work")
        return self.head()

    def head(self, ref="HEAD"):
        return self.git("rev-parse", ref)

    def state(self):
        """All that is theirs."""
        refs = self.git("for-each-ref") + self.git("symbolic-ref", "-q", "HEAD", check=False)
        index = (self.root / ".git/index").read_bytes()
        files = {
            str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file() and ".git/" not in str(path)
        }
        return refs, index, files, self.head()


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = U\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Theirs(tmp_path / "project")


def move(theirs):
    return move_checkout(theirs.root, "r", theirs.tip)


@pytest.mark.parametrize("mark", ["assume-unchanged", "skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_not_overwritten(theirs, mark):
    theirs.git("update-index", f"--{mark}", "f", "other")
    (theirs.root / "f").write_text(TEXT.replace("line 2", "mine"))  # of the same size, perhaps of the same moment
    before = theirs.state()
    with pytest.raises(ApplyError, match=r"it changes f, where you have content that git was told not to look at"):
        move_checkout(theirs.root, "r", theirs.tip)
    assert theirs.state() == before
    theirs.git("update-index", f"--no-{mark}", "f")
    (theirs.root / "f").write_text(TEXT)
    (theirs.root / "other").write_text("y\n")
    move_checkout(theirs.root, "r", theirs.tip)
    assert (theirs.root / "other").read_text() == "y\n"


def test_a_filtered_file_whose_stat_data_is_old_is_no_uncommitted_work(theirs):
    for name, text in {"lock": "sed s/^/locked-/", "unlock": "sed s/^locked-//"}.items():
        (theirs.root / ".git" / name).write_text(f"#!/bin/sh\n{text}\n")
        (theirs.root / ".git" / name).chmod(0o755)
    theirs.git("config", "filter.lock.clean", f"{theirs.root}/.git/lock")
    theirs.git("config", "filter.lock.smudge", f"{theirs.root}/.git/unlock")
    before = theirs.commit({".gitattributes": "secret filter=lock\n", "secret": "1\n"})
    theirs.git("checkout", "-q", "-b", "three")
    tip = theirs.commit({"secret": "2\n"})
    theirs.git("checkout", "-q", "main")
    os.utime(theirs.root / "secret", (1, 1))
    moved = move_checkout(theirs.root, "r", tip)
    assert (moved.before, moved.commit, theirs.head()) == (before, tip, tip)
    assert (theirs.root / "secret").read_text() == "2\n"
    assert theirs.git("status", "--short") == ""
    assert theirs.git("show", "main:secret") == "locked-2"


def test_the_checkout_moves_with_its_branch_and_keeps_what_is_uncommitted(theirs):
    (theirs.root / "other").write_text("mine\n")
    (theirs.root / "untracked").write_text("mine\n")
    (theirs.root / "ignored").write_text("mine\n")
    moved = move(theirs)
    assert (moved.branch, moved.commit, moved.before, moved.merged) == ("main", theirs.tip, theirs.base, False)
    assert theirs.head() == theirs.head("main") == theirs.tip
    assert theirs.git("status", "--porcelain").split("\n") == ["M other", "?? untracked"]
    assert (theirs.root / "f").read_text() == TEXT.replace("line 2", "one")
    assert (theirs.root / "d/g").read_text() == "g\n"
    assert theirs.git("log", "-1", "--format=%an <%ae> %s") == "U <u@example.org> Merge two"
    assert theirs.git("fsck", "--strict") == ""
    again = move(theirs)
    assert again.said == "main has all of it already"
    assert theirs.git("reflog", "-1", "--format=%gs") == "bakeoff: merge"


@pytest.mark.parametrize("path", ["f", "new", "d", "d/g"])
def test_work_in_the_way_is_never_overwritten(theirs, path):
    (theirs.root / path).parent.mkdir(exist_ok=True)
    (theirs.root / path).write_text("mine\n")
    before = theirs.state()
    objects = sorted((theirs.root / ".git").rglob("*"))
    with pytest.raises(ApplyError, match=r"in the way in .*nothing was changed"):
        move(theirs)
    assert theirs.state() == before
    assert sorted((theirs.root / ".git").rglob("*")) == objects


def test_a_branch_that_moved_is_merged_with_the_result(theirs):
    later = theirs.commit({"f": TEXT.replace("line 8", "later")})
    moved = move(theirs)
    assert (moved.before, moved.merged) == (later, True)
    assert "no check has seen" in moved.said
    assert (theirs.root / "f").read_text() == TEXT.replace("line 8", "later").replace("line 2", "one")
    assert theirs.git("status", "--porcelain") == ""
    assert theirs.git("log", "-1", "--format=%P") == f"{later} {theirs.tip}"


def test_a_branch_that_moved_to_a_conflict_is_refused(theirs):
    theirs.commit({"f": TEXT.replace("line 2", "later")})
    before = theirs.state()
    with pytest.raises(ApplyError, match="conflicts with the merge in f; nothing was changed") as refused:
        move(theirs)
    assert refused.value.conflicts == ("f",)
    assert theirs.state() == before


def test_somebody_moves_the_branch_in_that_moment(theirs, monkeypatch):
    send = moving.send

    def and_meanwhile(*args):
        send(*args)
        theirs.git("commit", "-q", "--allow-empty", "-m", "meanwhile")

    monkeypatch.setattr(moving, "send", and_meanwhile)
    with pytest.raises(ApplyError, match="changed meanwhile"):
        move(theirs)
    assert theirs.git("log", "-1", "--format=%P") == theirs.base
    assert theirs.git("status", "--porcelain") == ""
    theirs.git("branch", "late", theirs.base)
    monkeypatch.setattr(landing, "send", lambda *args: (send(*args), theirs.git("branch", "-f", "late", "main")))
    with pytest.raises(ApplyError, match="refs/heads/late was not moved, because it changed meanwhile"):
        move_branch(theirs.root, "r", theirs.tip, "late")


def test_killed_between_files_and_branch_it_goes_on_from_there(theirs):
    moving.send(*open_project(theirs.root), theirs.tip)
    theirs.git("read-tree", "-m", "-u", theirs.base, theirs.tip)
    assert theirs.head() == theirs.base
    assert move(theirs).commit == theirs.tip
    assert theirs.git("status", "--porcelain") == ""


def test_killed_while_it_writes_files_it_goes_on_from_there(theirs):
    (theirs.root / "f").write_text(TEXT.replace("line 2", "one"))
    (theirs.root / "new").write_text("n\n")
    (theirs.root / "other").write_text("mine\n")
    assert move(theirs).commit == theirs.tip
    assert theirs.git("status", "--porcelain") == "M other"
    assert (theirs.root / "d/g").exists()


def test_half_of_it_written_and_work_in_the_way_elsewhere(theirs):
    (theirs.root / "new").write_text("n\n")
    (theirs.root / "f").write_text("mine\n")
    before = theirs.state()
    with pytest.raises(ApplyError, match="in the way in"):
        move(theirs)
    assert theirs.state() == before


def test_a_branch_that_stands_for_another_one_goes_on_doing_so(theirs):
    theirs.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    theirs.git("symbolic-ref", "HEAD", "refs/heads/alias")
    assert move(theirs).branch == "main"
    assert theirs.head("main") == theirs.head() == theirs.tip
    assert theirs.git("symbolic-ref", "refs/heads/alias") == "refs/heads/main"
    assert theirs.git("reflog", "-1", "--format=%gs", "HEAD") == "bakeoff: merge"


def test_a_detached_head_moves_alone(theirs):
    theirs.git("checkout", "-q", "--detach")
    moved = move(theirs)
    assert (moved.branch, theirs.head()) == ("HEAD", theirs.tip)
    assert theirs.head("main") == theirs.base


def test_a_new_branch_and_one_that_is_there(theirs):
    (theirs.root / "f").write_text("mine\n")
    files = theirs.state()[1:]
    assert move_branch(theirs.root, "r", theirs.tip, "out").before is None
    assert theirs.head("out") == theirs.tip
    assert move_branch(theirs.root, "r", theirs.tip, "one").before == theirs.head("out^1^2")
    assert theirs.head("one") == theirs.tip
    theirs.git("branch", "later", "two")
    assert move_branch(theirs.root, "r", theirs.tip, "later").merged is False
    assert theirs.state()[1:] == files


def test_a_checkout_without_a_commit_and_one_in_the_middle_of_a_merge(theirs):
    theirs.git("merge", "-q", "--no-commit", "--no-ff", "two")
    before = theirs.state()
    with pytest.raises(ApplyError, match="under way"):
        move(theirs)
    assert theirs.state() == before
    theirs.git("merge", "--abort")
    theirs.git("checkout", "-q", "--orphan", "empty")
    with pytest.raises(ApplyError, match="has no commit yet"):
        move(theirs)


def test_names_that_are_refused(theirs):
    before = theirs.state()
    with pytest.raises(ApplyError, match=r"checked out in .*project: say --apply"):
        move_branch(theirs.root, "r", theirs.tip, "main")
    with pytest.raises(ApplyError, match="cannot be the name"):
        move_branch(theirs.root, "r", theirs.tip, "a..b")
    assert theirs.state() == before


def test_objects_that_cannot_be_linked_are_copied(tmp_path, monkeypatch):
    import os

    def link(*args, **more):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", link)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = U\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    found = Theirs(tmp_path / "project")
    later = found.commit({"other": "later\n"})
    assert move(found).merged
    assert found.git("log", "-1", "--format=%P") == f"{later} {found.tip}"
    assert found.git("fsck", "--strict") == ""
