"""`apply` killed at any moment: no branch is half moved, no work is lost, and the same command finishes it."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.laboratory import Zygote
from plan.queue.conftest import project  # noqa: F401  (fixture)

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"
MOMENTS = 10_000 if SOAK else 3
KILLED = -9


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


class Applying:
    """Applies one result again and again, each time to the project as it was, and dies at another moment."""

    def __init__(self, lab, zygote: Zygote, *args: str) -> None:
        self.lab, self.zygote, self.args = lab, zygote, args
        self.noted = lab.place / "noted"
        self.kept = lab.place / "kept"
        shutil.copytree(lab.root, self.kept, symlinks=True)
        self.before = self.files()

    def __call__(self, moment: int = 0, when: str = "before") -> int:
        crash = {"call": moment, "when": when, "noted": str(self.noted)}
        said = {name: str(self.lab.place / name) for name in ("stdout", "stderr")}
        request = {"cwd": str(self.lab.root), "argv": ["apply", "r", *self.args], "env": dict(os.environ), **said}
        return self.zygote.call({**request, "crash": crash})

    def deaths(self) -> Iterator[tuple[int, str]]:
        """The moments at which it died, each time in the project as it was; not where it was done by then."""
        wanted, died = self.moments(), 0
        for moment in wanted:
            self.again()
            status = self(*moment)
            assert status in (KILLED, 0), self.said()
            if status == KILLED:
                died += 1
                yield moment
        assert died >= len(wanted) - (6 if SOAK else 3)

    def moments(self) -> list[tuple[int, str]]:
        """When it is to die."""
        assert self() == 0, self.said()
        self.after = self.files()
        count = len(self.noted.read_text().splitlines())
        every = [(moment, when) for moment in range(1, count + 1) for when in ("before", "after")]
        assert len(every) > 2 * MOMENTS or SOAK
        return every if SOAK else sorted(random.Random(7).sample(every, MOMENTS) + every[-2:])

    def again(self) -> None:
        """The project as it was."""
        for path in self.lab.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.kept, self.lab.root, symlinks=True, dirs_exist_ok=True)

    def files(self) -> dict[str, bytes]:
        """The user's files."""
        root = self.lab.root
        paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
        return {str(path): (root / path).read_bytes() for path in paths if path.parts[0] not in (".git", ".bakeoff")}

    def left(self) -> list[str]:
        """What an apply has in the user's repository while it is at work."""
        found = [*(self.lab.root / ".git").rglob("*.lock"), *(self.lab.root / ".git").glob("bakeoff*")]
        return [str(path) for path in (*found, *self.lab.root.rglob(".?*.bakeoff"))]

    def said(self) -> str:
        return Path(self.lab.place / "stderr").read_text()

    def check_files(self) -> None:
        """Each is as it was or as it is to be, but for what is being written beside."""
        for path, content in self.files().items():
            if not path.endswith(".bakeoff"):
                assert content in (self.before.get(path), self.after.get(path)), path
        for path in self.before.keys() & self.after.keys():
            assert (self.lab.root / path).exists(), path


def heads(lab) -> str:
    return lab.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") + lab.git("rev-parse", "HEAD")


@pytest.fixture
def planned(plans):
    """A run of a plan, whose result changes, deletes and adds files, in a project with work of the user's since."""
    plans.run(
        [plans.part("a", "echo new > a/x.txt; mkdir -p d/e; echo d > d/e/f; sed -i 1d hub.txt"),
         plans.part("b", "rm b/x.txt; echo > b.txt")]
    )  # fmt: skip
    lab = plans.lab
    hub = lab.root / "hub.txt"
    hub.write_text(hub.read_text() + "mine\n")
    lab.write("c/x.txt", "mine, staged\n")
    lab.git("add", "c/x.txt")
    lab.write("untracked", "mine\n")
    return lab


def test_files_of_a_plans_result(planned, zygote):
    applying = Applying(planned, zygote)
    stood, staged = heads(planned), planned.git("diff", "--cached")
    for moment in applying.deaths():
        applying.check_files()
        assert applying() == 0, (moment, applying.said())
        assert (applying.files(), applying.left()) == (applying.after, []), moment
        assert (heads(planned), planned.git("diff", "--cached")) == (stood, staged)
    assert applying.after["hub.txt"].startswith(b"line 1\n")
    assert applying.after["hub.txt"].endswith(b"mine\n")
    assert "b/x.txt" not in applying.after


def test_a_branch_of_a_plans_result(planned, zygote):
    applying = Applying(planned, zygote, "--branch", "made")
    stood = heads(planned)
    for moment in applying.deaths():
        assert applying.files() == applying.before
        assert "refs/heads/made" in heads(planned) or heads(planned) == stood
        assert applying() == 0, (moment, applying.said())
        assert (applying.files(), applying.left()) == (applying.before, [])
        assert planned.git("diff", "--name-status", "main", "made").split() == [
            "M", "a/x.txt", "A", "b.txt", "D", "b/x.txt", "A", "d/e/f", "M", "hub.txt",
        ]  # fmt: skip
        assert planned.git("rev-list", "--count", "main..made") == "1"
        planned.git("fsck", "--connectivity-only")
    # Of something else it is not made.
    planned.git("commit", "-q", "--allow-empty", "-m", "more")
    planned.git("branch", "-f", "made", "main")
    assert applying() != 0
    assert "has a branch made already" in applying.said()


def test_the_checked_out_branch_of_a_merge(project, zygote):  # noqa: F811
    lab = project.lab
    project.branch("one", {"m1": "1\n", "hub": None})
    project.branch("two", {"m2/deep": "2\n", "def-f": "changed\n"})
    assert project.merge("one", "two").status == 0
    lab.write("check.sh", "echo mine\n")
    lab.write("untracked", "mine\n")
    applying = Applying(lab, zygote)
    stood = lab.git("rev-parse", "main")
    tip = json.loads(lab("show", "r", "--json").out)["tip"]
    assert tip != stood
    for moment in applying.deaths():
        applying.check_files()
        assert lab.git("rev-parse", "main") in (stood, tip)
        assert lab.git("symbolic-ref", "HEAD") == "refs/heads/main"
        assert applying() == 0, (moment, applying.said())
        assert (applying.files(), applying.left()) == (applying.after, []), moment
        assert lab.git("rev-parse", "main") == tip
        assert lab.git("log", "-g", "--format=%gs", "-2", "main").split("\n").count("bakeoff: merge") == 1
        assert lab.git("status", "--porcelain").split("\n") == ["M check.sh", "?? untracked"]
        lab.git("fsck", "--connectivity-only")
