"""An apply that was killed: its locks are known as bakeoff's own, and whoever comes next finishes it, or says why not."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.landing import applying, intent, writing
from bakeoff.workspace.landing import fast_forward as moving
from bakeoff.workspace.landing.applying import apply, branch, open_project
from bakeoff.workspace.landing.fast_forward import move_head
from bakeoff.workspace.landing.intent import Intent, intending, interrupted, warning_of
from bakeoff.workspace.landing.recovery import half_applied, move_on, open_to_land
from bakeoff.workspace.landing.refs import lock_of, move_ref
from workspace.conftest import Checkout

FILES = [f"d{number % 3}/f{number}.txt" for number in range(9)]


class Killed(BaseException):
    """Stands for a kill: nothing that was to be done afterwards is done."""


@contextmanager
def dying(monkeypatch, owner, name: str, nth: int = 1):
    """Inside, call number `nth` of a function is the last thing that happens."""
    original, calls = getattr(owner, name), []

    def call(*args, **more):
        calls.append(name)
        if len(calls) == nth:
            raise Killed
        return original(*args, **more)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(owner, name, call)
        patched.setattr(Intent, "let_go", lambda self: None)
        patched.setattr(intent.FileLock, "remove", intent.FileLock.release)
        yield


@pytest.fixture
def changed(project: Checkout):
    """The project, with the commits `before` and `after` and one more change in bakeoff's repository."""
    for path in FILES:
        project.write(path, "old\n")
    project.before = project.commit("before")
    here, repository = open_project(project.root)
    project.git("checkout", "-q", "-b", "side")
    for path in FILES[1:]:
        project.write(path, "new\n")
    project.git("rm", "-q", FILES[0])
    project.write("added.txt", "new\n")
    project.after = project.commit("after")
    project.git("checkout", "-q", "main")
    repository.link(here)
    return project


def left(project: Checkout) -> list[str]:
    found = [*(project.root / ".git").rglob("*.lock"), *(project.root / ".git").glob("bakeoff*")]
    return sorted(path.name for path in (*found, *project.root.rglob(".?*.bakeoff")))


def go(project: Checkout) -> None:
    here, repository = open_to_land(project.root, project.after)
    move_on(here, repository, "refs/heads/main", project.before, project.after, "r")


def check_done(project: Checkout) -> None:
    assert project.git("rev-parse", "HEAD", "main").split() == [project.after] * 2
    assert project.git("status", "--porcelain") == ""
    assert left(project) == []
    assert project.git("reflog", "-1", "--format=%gs") == "bakeoff: merge"


def die(project: Checkout, monkeypatch, owner=writing, name: str = "_put", nth: int = 5) -> None:
    with dying(monkeypatch, owner, name, nth):
        go(project)
    assert {"bakeoff.intent", "index.lock", "main.lock"} <= set(left(project))
    assert project.git("rev-parse", "main") == project.before


@pytest.mark.parametrize(
    ("owner", "name", "nth"),
    [(moving, "_check_way", 2), (moving, "write_changes", 1), (writing, "_put", 5), (moving, "_put_index", 1),
     (moving, "move_ref", 1)],
)  # fmt: skip
def test_the_same_again_finishes_it(changed: Checkout, monkeypatch, owner, name: str, nth: int) -> None:
    die(changed, monkeypatch, owner, name, nth)
    changed.git("commit", "--allow-empty", "-m", "blocked", status=128)
    go(changed)
    check_done(changed)


def test_another_apply_finishes_it_first(changed: Checkout, monkeypatch) -> None:
    die(changed, monkeypatch)
    here, repository = open_project(changed.root)
    assert "applying a merge of run r to" in str(warning_of(here))
    with pytest.raises(ApplyError, match=r"of run r .* was interrupted: `bakeoff apply r` finishes it"):
        apply(here, repository, changed.after)
    open_to_land(changed.root, changed.before)
    check_done(changed)
    assert warning_of(here) is None


def test_a_branch_of_the_same_finishes_it_first(changed: Checkout, monkeypatch) -> None:
    die(changed, monkeypatch)
    here, _ = open_to_land(changed.root, changed.after, branch=True)
    check_done(changed)
    assert interrupted(here) is None


def test_work_of_the_user_since_is_not_overwritten(changed: Checkout, monkeypatch) -> None:
    die(changed, monkeypatch)
    old = next(path for path in FILES[1:] if (changed.root / path).read_text() == "old\n")
    changed.write(old, "mine\n")
    with pytest.raises(
        ApplyError, match=f"of run r .* was interrupted, and it cannot be finished: .* in {old}; nothing"
    ):
        open_to_land(changed.root, changed.before)
    assert (changed.root / old).read_text() == "mine\n"
    assert [name for name in left(changed) if not name.endswith(".bakeoff")] == []
    with pytest.raises(ApplyError, match=f"in the way in {old}"):
        go(changed)
    changed.git("checkout", "--", old)
    go(changed)
    check_done(changed)


def test_a_branch_that_went_elsewhere_since_is_left_there(changed: Checkout, monkeypatch) -> None:
    die(changed, monkeypatch)
    for name in ("index.lock", "refs/heads/main.lock"):  # as git advises
        (changed.root / ".git" / name).unlink()
    changed.git("reset", "-q", "--hard")
    moved = changed.commit("on")
    open_to_land(changed.root, changed.after)
    assert changed.git("rev-parse", "main") == moved
    assert [name for name in left(changed) if not name.endswith(".bakeoff")] == []


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_of_another_program_is_named_and_stays(changed: Checkout, monkeypatch, name: str) -> None:
    lock = changed.write(f".git/{name}", "")
    index = (changed.root / ".git/index").read_bytes()
    with pytest.raises(ApplyError, match=f"{name} is there: another git is at work"):
        go(changed)
    assert (changed.root / ".git/index").read_bytes() == index
    assert (left(changed), (changed.root / FILES[1]).read_text()) == ([lock.name], "old\n")
    lock.unlink()
    die(changed, monkeypatch)
    lock.unlink()
    lock.write_text("")
    with pytest.raises(ApplyError, match=f"{name} is there"):
        go(changed)
    assert lock.read_text() == ""
    lock.unlink()
    go(changed)
    check_done(changed)


def test_one_that_is_at_work_is_waited_for(changed: Checkout, monkeypatch) -> None:
    here, _ = open_project(changed.root)
    monkeypatch.setattr(intent, "PATIENCE", 0.0)
    with intending(here, "files", commit="x"):
        assert interrupted(here) is None
        with pytest.raises(ApplyError, match="another bakeoff applies something to"):
            go(changed)
    go(changed)
    check_done(changed)


def test_files_of_a_result_are_finished_by_another_apply(changed: Checkout, monkeypatch) -> None:
    here, repository = open_project(changed.root)
    index = changed.git("ls-files", "-s")
    with dying(monkeypatch, writing, "_put", 5):
        apply(here, repository, changed.after, "r")
    assert "applying a result of run r" in str(warning_of(here))
    open_to_land(changed.root, changed.before)
    assert {(changed.root / path).read_text() for path in (*FILES[1:], "added.txt")} == {"new\n"}
    assert not (changed.root / FILES[0]).exists()
    assert left(changed) == []
    assert changed.git("ls-files", "-s") == index


def test_a_new_branch_is_made_after_a_kill_and_where_there_are_no_hard_links(changed: Checkout, monkeypatch) -> None:
    def link(*args, **more):
        raise OSError(1, "Operation not permitted")

    here, repository = open_project(changed.root)
    monkeypatch.setattr(os, "link", link)
    with dying(monkeypatch, applying, "move_ref"):
        branch(here, repository, changed.after, "deep/made", "Made", "r")
    assert "made.lock" in left(changed)
    assert warning_of(here) is None
    open_to_land(changed.root, changed.after)
    assert left(changed) == []
    made = branch(here, repository, changed.after, "deep/made", "Made", "r")
    assert changed.git("rev-parse", "deep/made") == made
    assert changed.git("reflog", "deep/made", "--format=%gs") == "bakeoff: result"
    for name in ("deep", "deep/made/more"):
        with pytest.raises(ApplyError, match="cannot stand beside refs/heads/deep/made"):
            branch(here, repository, changed.after, name, "No")
    assert left(changed) == []
    # Where a branch was, an empty folder stays.
    changed.git("branch", "-D", "deep/made")
    (changed.root / ".git/refs/heads/deep/made").mkdir(parents=True)
    branch(here, repository, changed.after, "deep", "Yes")


def test_a_worktree_of_the_user_and_a_detached_head(changed: Checkout, tmp_path: Path, monkeypatch) -> None:
    changed.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), changed.before)
    here, repository = open_to_land(tmp_path / "tree", "")
    with dying(monkeypatch, moving, "_put_index"):
        move_head(here, repository, "HEAD", changed.before, changed.after, "r")
    assert (here.git_dir / "HEAD.lock").read_bytes() == (here.common_dir / "bakeoff.intent").read_bytes()
    open_to_land(changed.root, "")  # from another work tree of the same repository
    done = subprocess.run(["git", "status", "--porcelain=v2", "--branch"], cwd=tmp_path / "tree", capture_output=True)
    assert done.stdout.decode().split("\n")[:2] == [f"# branch.oid {changed.after}", "# branch.head (detached)"]
    assert len(done.stdout.splitlines()) == 2
    assert left(changed) == []
    with intending(here, "ref", lock_of(here, "refs/heads/side"), commit="x") as one:
        with pytest.raises(ApplyError, match="refs/heads/side was not moved, because it changed meanwhile"):
            move_ref(here, one, "refs/heads/side", changed.before, changed.before, "x")
        move_ref(here, one, "refs/heads/side", changed.before, changed.after, "x")
    assert changed.git("rev-parse", "side") == changed.before


def test_work_of_the_user_that_is_in_the_way_of_the_same_again_can_be_put_aside(changed: Checkout, monkeypatch) -> None:
    die(changed, monkeypatch)
    assert half_applied(changed.root) == "r"
    old = next(path for path in FILES[1:] if (changed.root / path).read_text() == "old\n")
    changed.write(old, "mine\n")
    with pytest.raises(ApplyError, match=f"was interrupted, and it cannot go on: .* in {old}. Some files") as raised:
        go(changed)
    assert "its locks are taken away" in str(raised.value)
    assert "nothing was changed" not in str(raised.value)
    assert raised.value.conflicts == (old,)
    assert (changed.root / old).read_text() == "mine\n"
    changed.git("stash", "-q", "-u")  # git works
    go(changed)
    check_done(changed)
    assert half_applied(changed.root) is None
    assert "mine" in changed.git("stash", "show", "-p")
