"""Content filters: slots have what a checkout has, branches what `git add` stores, and no attempt chooses what runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bakeoff.optimize.original import Original
from bakeoff.optimize.sources.commits import changed_files
from bakeoff.workspace.errors import ApplyError, GitError, ProjectError
from bakeoff.workspace.filters.attributes import _MOST_FAILURES
from bakeoff.workspace.filters.drivers import Driver, drivers_of, missing_program
from bakeoff.workspace.filters.filters import stored_content
from bakeoff.workspace.landing.applying import apply, branch, open_project
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.results import Result
from bakeoff.workspace.slots.place import base_of, read_facts
from bakeoff.workspace.snapshot.invalid_names import why_refused
from bakeoff.workspace.snapshot.snapshot import take_snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace
from ending import wait_until_ended
from workspace.conftest import Checkout, settings, sh, until

pytestmark = pytest.mark.anyio

SECRET, LOCKED, MORE = "password=1\n", "LOCKED-cGFzc3dvcmQ9MQo=", "LOCKED-cGFzc3dvcmQ9MQp1c2VyPW1lCg=="
"""The content of the secret file, what is stored of it, and what is stored of it with one more line."""

LOCK = "#!/bin/sh\nset -e\nprintf LOCKED-; base64 -w0\n"
UNLOCK = "#!/bin/sh\ncut -c8- | base64 -d\n"

TICKET = """
import sys
def read():
    lines = []
    while (size := int(sys.stdin.buffer.read(4) or b"0", 16)):
        lines.append(sys.stdin.buffer.read(size - 4))
    return lines
def write(*lines):
    for line in lines:
        sys.stdout.buffer.write(b"%04x" % (len(line) + 4) + line)
    sys.stdout.buffer.write(b"0000"); sys.stdout.buffer.flush()
read(); write(b"git-filter-server\\n", b"version=2\\n")
read(); write(b"capability=clean\\n", b"capability=smudge\\n")
while (asked := read()):
    text = b"".join(read())
    if b"command=clean\\n" in asked and not text.startswith(b"ticket "):
        open(KEPT + text[:4].decode(), "wb").write(text)
        text = b"ticket " + text[:4]
    elif b"command=smudge\\n" in asked:
        text = open(KEPT + text[7:].decode(), "rb").read()
    write(b"status=success\\n"); write(text); write()
"""
"""A filter process as LFS has one: it stores a ticket, and keeps the content elsewhere."""


def program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def locked(checkout) -> Checkout:
    """A project with a secret file that is stored locked, as with git-crypt."""
    made = checkout()
    folder = made.root / ".git"
    made.git("config", "filter.lock.clean", program(folder / "lock", LOCK))
    made.git("config", "filter.lock.smudge", program(folder / "unlock", UNLOCK))
    made.git("config", "filter.lock.required", "true")
    made.write(".gitattributes", "secret* filter=lock\n")
    made.write("secret.txt", SECRET)
    made.write("a.txt", "one\n")
    made.commit()
    cool(made)
    return made


def cool(project: Checkout, path: str = "secret.txt") -> None:
    """Let git's stat data of a file be out of date."""
    found = (project.root / path).stat()
    os.utime(project.root / path, (found.st_atime, found.st_mtime - 100))


def stored(workspace: Workspace | Repository, commit: str, path: str = "secret.txt") -> str:
    repository = workspace if isinstance(workspace, Repository) else workspace.repository
    return repository.git().run("cat-file", "blob", f"{commit}:{path}").decode()


def changed(result: Result) -> str:
    return " ".join(f"{path.status}:{path.path}" for path in sorted(result.changed, key=lambda path: path.path))


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_a_slot_has_smudged_files_and_a_result_has_clean_ones(locked: Checkout, kind: str) -> None:
    head, before = locked.git("rev-parse", "HEAD"), locked.digest()
    async with open_workspace(locked.root, settings(kind=kind), "run", slots=1) as workspace:
        assert workspace.snapshot.commit == head, "a cold stat cache is no change"
        async with workspace.lease() as slot:
            assert sh(slot, "cat secret.txt; git status --short") == SECRET
            project = base_of(workspace.cache, read_facts(slot.home)).project  # as whoever saves it later sees it
            assert replace(project, excludes=workspace.base.project.excludes) == workspace.base.project
            sh(slot, "echo x >> a.txt; touch secret.txt")
            assert changed(await slot.commit("other")) == "M:a.txt"
            sh(slot, "echo user=me >> secret.txt; echo new > secret2.txt; git checkout -q a.txt")
            result = await slot.commit("n")
            assert changed(result) == "M:secret.txt A:secret2.txt"
            assert stored(workspace, result.commit) == MORE
            assert stored(workspace, result.commit, "secret2.txt") == "LOCKED-bmV3Cg=="
        async with workspace.lease() as slot:
            assert sh(slot, "cat secret.txt; git status --short") == SECRET
            await slot.check_out(result.commit)
            assert sh(slot, "cat secret.txt secret2.txt") == f"{SECRET}user=me\nnew\n"
            sh(slot, "git checkout -q secret.txt; rm secret2.txt")  # the agent's git has no filter
            assert (await slot.commit("back")).changed == ()
    assert locked.digest() == before
    here, repository = open_project(locked.root)
    made = branch(here, repository, result.commit, "branch", "message")
    assert locked.git("show", "--format=", "--name-only", made) == "secret.txt\nsecret2.txt"
    cool(locked)
    apply(here, repository, result.commit)
    assert (locked.root / "secret.txt").read_text() == f"{SECRET}user=me\n"
    locked.git("add", "-A")
    assert locked.git("diff", "--cached", "--stat", made) == ""


async def test_attributes_that_move_no_filter_are_part_of_a_result(locked: Checkout) -> None:
    locked.write("sub/.gitattributes", "*.key filter=lock\n")
    locked.write("sub/one.key", SECRET)
    locked.commit()
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "echo '*.txt text' >> .gitattributes; rm -r sub; printf 'a\\r\\n' > b.txt; echo user=me >> secret.txt")
        result = await slot.commit("n")
        assert changed(result) == "M:.gitattributes A:b.txt M:secret.txt D:sub/.gitattributes D:sub/one.key"
        assert result.refused == ()
        assert stored(workspace, result.commit) == MORE
        assert stored(workspace, result.commit, "b.txt") == "a\n"
        sh(slot, "sed -i /lock/d .gitattributes; printf 'c\\r\\n' >> b.txt")
        later = await slot.commit("m")
        assert stored(workspace, later.commit) == MORE
        assert stored(workspace, later.commit, "b.txt") == "a\r\nc\r\n", "the attributes of before hold for all"
        (left,) = later.refused
        assert left.reason.startswith("by it 'secret.txt' would no longer go through the content filter")


async def test_an_attempt_does_not_choose_what_runs(locked: Checkout, tmp_path: Path) -> None:
    spy = program(tmp_path / "spy", f"#!/bin/sh\ntouch {tmp_path}/ran; cat\n")
    for key in ("clean", "smudge"):
        locked.git("config", f"filter.spy.{key}", spy)
    locked.write("sub/.gitattributes", "*.key filter=lock\n")
    locked.write("sub/one.key", SECRET)
    locked.commit()
    for kind in ("overlay", "repository"):
        async with open_workspace(locked.root, settings(kind=kind), "run", slots=1) as workspace:
            async with workspace.lease() as slot:
                sh(
                    slot,
                    """
                    printf '*.txt filter=spy\\nsecret* -filter\\n[attr]free -filter\\n' > .gitattributes; rm sub/.gitattributes
                    echo user=me >> secret.txt; echo new > sub/two.key; echo x >> a.txt; echo y > b.txt
                """,
                )
                result = await slot.commit(kind)
                assert changed(result) == "M:secret.txt A:sub/two.key"
                assert stored(workspace, result.commit) == MORE
                assert stored(workspace, result.commit, "sub/two.key") == "LOCKED-bmV3Cg=="
                left = {path.path: path.reason for path in result.refused}
                assert sorted(left) == [".gitattributes", "a.txt", "b.txt", "sub/.gitattributes"]
                assert left[".gitattributes"].startswith(
                    "by it 'a.txt' would go through the content filter 'spy', and goes through none now"
                )
                assert left["sub/.gitattributes"].startswith("it stays: without it 'a.txt' would go through the con")
                assert "its own .gitattributes send it through the content filter 'spy'" in left["a.txt"]
            async with workspace.lease() as slot:  # written again while the attempt's rules stood there
                assert sh(slot, "cat secret.txt a.txt sub/one.key") == f"{SECRET}one\n{SECRET}"
                await slot.check_out(result.commit)
                assert sh(slot, "cat secret.txt sub/two.key") == f"{SECRET}user=me\nnew\n"
                slot.disposable = True
    here, repository = open_project(locked.root)
    apply(here, repository, result.commit)
    assert (locked.root / "secret.txt").read_text() == f"{SECRET}user=me\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_a_program_inside_the_project_is_the_users(checkout, tmp_path: Path, kind: str) -> None:
    project: Checkout = checkout("50%f of 'it'")
    project.write("tools/lock", LOCK).chmod(0o755)
    project.write(
        "tools/unlock", f'#!/bin/sh\n[ -e tools/lock ] && [ "$(git ls-files a.txt)" ] && {UNLOCK[10:]}'
    ).chmod(0o755)
    for key, value in {"clean": "./tools/lock %f", "smudge": "./tools/unlock %f", "required": "true"}.items():
        project.git("config", f"filter.lock.{key}", value)
    project.write(".gitattributes", "secret* filter=lock\n")
    project.write("secret.txt", SECRET)
    project.write("a.txt", "one\n")
    project.commit()
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            assert sh(slot, "cat secret.txt") == SECRET
            sh(slot, f"for f in lock unlock; do printf 'touch {tmp_path}/ran; cat' > tools/$f; done")
            sh(slot, "echo user=me >> secret.txt")
            result = await slot.commit("n")
            assert stored(workspace, result.commit) == MORE
        async with workspace.lease() as slot:
            await slot.check_out(result.commit)
            assert sh(slot, "cat secret.txt") == f"{SECRET}user=me\n"
            slot.disposable = True
    apply(*open_project(project.root), result.commit)
    assert (project.root / "secret.txt").read_text() == f"{SECRET}user=me\n"
    assert not (tmp_path / "ran").exists()


async def test_work_on_work_of_attempts_goes_by_the_users_attributes(locked: Checkout, tmp_path: Path) -> None:
    spy = program(tmp_path / "spy", f"#!/bin/sh\ntouch {tmp_path}/ran; cat\n")
    locked.git("config", "filter.spy.smudge", spy)
    locked.git("checkout", "-q", "-b", "work")
    locked.write("secret.txt", f"{SECRET}user=me\n")
    locked.write("a.txt", "one\nx\n")
    locked.commit()
    locked.write(".gitattributes", "* filter=spy\n")
    locked.git("commit", "-qm", "rules", ".gitattributes")
    locked.git("checkout", "-qf", "main")
    (tmp_path / "ran").unlink(missing_ok=True)
    there, repository = open_project(locked.root)
    result = take_snapshot(there, repository, base="work")
    later = take_snapshot(there, repository).with_work(result.commit, result.tree)
    for kind in ("overlay", "repository"):
        async with open_workspace(locked.root, settings(kind=kind), "run", snapshot=later, slots=1) as workspace:
            for _ in range(2):
                async with workspace.lease() as slot:
                    assert sh(slot, "cat secret.txt a.txt; git status --short") == f"{SECRET}user=me\none\nx\n"
                    sh(slot, "echo more >> secret.txt; echo more >> a.txt")
                    made = await slot.commit("m")
                    assert changed(made) == "M:a.txt M:secret.txt"
                    assert stored(workspace, made.commit).startswith("LOCKED-")
    assert not (tmp_path / "ran").exists()
    async with open_workspace(locked.root, settings(), "run", own_work=True) as workspace, workspace.lease() as slot:
        await slot.check_out(result.commit)
        assert (tmp_path / "ran").exists(), "of the user's own branches, their own attributes count"
        slot.disposable = True


def test_a_commit_that_brings_a_filter_is_not_applied_but_made_a_branch(locked: Checkout) -> None:
    locked.git("checkout", "-q", "-b", "work")
    locked.write(".gitattributes", "secret* filter=lock\nother filter=lock\n")
    locked.write("other", SECRET)
    made = locked.commit()
    locked.git("checkout", "-q", "main")
    here, repository = open_project(locked.root)
    take_snapshot(here, repository, base=made)
    before = locked.digest()
    with pytest.raises(ApplyError, match=r"other content filters run for other; .*Say --branch NAME"):
        apply(here, repository, made)
    assert locked.digest() == before
    branch(here, repository, made, "b", "message")
    locked.git("checkout", "-q", "b")
    assert (locked.root / "other").read_text() == SECRET


async def test_what_an_agent_committed_is_kept_as_git_add_would_store_it(locked: Checkout) -> None:
    async with open_workspace(locked.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(slot, "echo user=me >> secret.txt; echo x >> a.txt; git commit -qam 'my work'; git tag mine")
            sh(slot, "git reset -q --hard HEAD~1; echo x >> a.txt; git commit -qam 'no secret'; git tag other")
        repository = workspace.repository
        kept = {
            repository.git().line("log", "-1", "--format=%s", ref): ref
            for ref in repository.refs("refs/bakeoff/salvage")
        }
        assert stored(repository, kept["my work"]) == MORE
        assert stored(repository, kept["my work"], "a.txt") == "one\nx\n"
        assert stored(repository, kept["no secret"]) == LOCKED
        plain = (
            Git().at(cwd=locked.root).run("hash-object", "--stdin", data=f"{SECRET}user=me\n".encode()).decode().strip()
        )
        assert repository.git().both("cat-file", "-e", plain, statuses=(0, 1, 128))[0] != 0


async def test_whole_contents_are_those_of_a_checkout(locked: Checkout) -> None:
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "echo user=me >> secret.txt; echo new > secret2.txt; rm a.txt")
        result = await slot.commit("n")
        assert Original(workspace).files(["secret.txt", "a.txt", "no"]) == {
            "secret.txt": SECRET.encode(), "a.txt": b"one\n", "no": None,
        }  # fmt: skip
        assert changed_files(workspace, result.commit) == {
            "secret.txt": f"{SECRET}user=me\n".encode(), "secret2.txt": b"new\n", "a.txt": None,
        }  # fmt: skip
        made = stored_content(workspace.base, b"secret9", SECRET.encode())
        assert made == locked.git("rev-parse", "HEAD:secret.txt")


ELSEWHERE = {
    "info": lambda project: (project.root / ".git/info/attributes").write_text("secret* filter=lock\n"),
    "attributesFile": lambda project: (
        project.write(".git/mine", "secret* filter=lock\n"),
        project.git("config", "core.attributesFile", str(project.root / ".git/mine")),
    ),
    "nested": lambda project: project.write("deep/.gitattributes", "secret* filter=lock\n*.id ident\n"),
    "macro": lambda project: project.write(".gitattributes", "[attr]hidden filter=lock -text\nsecret* hidden\n"),
    "rules in it": lambda project: (
        project.write(".gitattributes", "deep/** filter=lock\n"),
        project.write("deep/.gitattributes", "*.txt text\n"),
    ),
    "with others": lambda project: project.write(
        ".gitattributes", "secret* filter=lock text eol=crlf\n*.u16 working-tree-encoding=UTF-16LE\n*.id ident\n"
    ),
}

WRITTEN = r"""
mkdir -p deep/er; printf 'a\r\nb\r\n' > deep/secret.txt; printf 'a\r\n' > deep/er/secret.txt; printf 'h\0i\0' > w.u16
printf '$Id: x $\r\n' > deep/v.id; printf 'c\r\n' > 'new
line'; printf 'd\r\n' > 'é "q"'; echo top >> secret.txt; [ ! -e deep/.gitattributes ] || echo '#' >> deep/.gitattributes
"""


@pytest.mark.parametrize("how", ELSEWHERE)
async def test_a_result_is_what_git_add_makes(locked: Checkout, tmp_path: Path, how: str) -> None:
    locked.write(".gitattributes", "")
    ELSEWHERE[how](locked)
    locked.git("add", "-A")
    locked.git("commit", "-qm", "attributes")
    shutil.copytree(locked.root, tmp_path / "copy", symlinks=True)
    copy = Checkout(tmp_path / "copy")
    async with open_workspace(locked.root, settings(kind="repository"), "run") as workspace:
        async with workspace.lease() as slot:
            sh(slot, WRITTEN)
            result = await slot.commit("n")
            slot.disposable = True
        async with workspace.lease() as slot:
            await slot.check_out(result.commit)
            shown = sh(slot, "cat deep/secret.txt secret.txt w.u16 deep/v.id | base64")
            slot.disposable = True
    subprocess.run(["sh", "-ec", WRITTEN], cwd=copy.root, check=True)
    copy.git("add", "-A")
    assert copy.git("write-tree") == result.tree
    copy.git("rm", "-rqf", ".")
    copy.git("checkout", "-qf", result.tree, "--", ".", status=0)
    again = ["sh", "-c", "cat deep/secret.txt secret.txt w.u16 deep/v.id | base64"]
    assert subprocess.run(again, cwd=copy.root, capture_output=True, check=True, text=True).stdout == shown


async def test_a_filter_process_as_lfs_has_one(checkout, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    script = program(tmp_path / "ticket", f"#!{sys.executable} -IS\nKEPT = {str(tmp_path / 'kept') + '/'!r}\n{TICKET}")
    project: Checkout = checkout()
    for key, value in {"process": script, "clean": "false", "smudge": "false", "required": "true"}.items():
        project.git("config", "--global", f"filter.ticket.{key}", value)
    project.write(".gitattributes", "*.bin filter=ticket -text\n")
    project.write("a.bin", "AAAA first")
    project.commit()
    cool(project, "a.bin")
    async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease() as slot:
        assert not workspace.snapshot.dirty
        assert (
            sh(slot, "cat a.bin; echo BBBB second > a.bin; for n in 1 2 3; do echo CCC$n > $n.bin; done")
            == "AAAA first"
        )
        result = await slot.commit("n")
        assert [stored(workspace, result.commit, name) for name in ("a.bin", "3.bin")] == ["ticket BBBB", "ticket CCC3"]
    apply(*open_project(project.root), result.commit)
    assert (project.root / "a.bin").read_text() == "BBBB second\n"


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_a_filter_that_stores_the_same_otherwise_each_time(locked: Checkout, kind: str) -> None:
    """As encryption with a salt: what nobody changed stays as it was, and is not another blob each time."""
    program(
        locked.root / ".git/lock", "#!/bin/sh\nprintf LOCKED-; { head -c6 /dev/urandom | base64; cat; } | base64 -w0\n"
    )
    program(locked.root / ".git/unlock", "#!/bin/sh\ncut -c8- | base64 -d | tail -n +2\n")
    locked.git("add", "--renormalize", ".")
    head = locked.commit("salted")
    cool(locked)
    async with open_workspace(locked.root, settings(kind=kind), "run") as workspace, workspace.lease() as slot:
        assert workspace.snapshot.commit == head
        sh(slot, "cp secret.txt x; rm secret.txt; mv x secret.txt; echo x >> a.txt; cp a.txt secret3.txt")
        result = await slot.commit("n")
        assert changed(result) == "M:a.txt A:secret3.txt"
    (locked.root / "secret.txt").write_text("other\n")
    assert take_snapshot(*open_project(locked.root)).commit != head


async def test_many_converted_files_take_few_gits(locked: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for all; what fails is left out, and after some failures no more is tried."""
    started: list[str] = []
    feed = Git.feed
    monkeypatch.setattr(
        Git, "feed", lambda git, *args, **how: (started.append(str(args[0])), feed(git, *args, **how))[1]
    )
    locked.write(".gitattributes", "secret* filter=lock\nbad* filter=bad\n*.u16 working-tree-encoding=UTF-16LE\n")
    locked.git("config", "filter.bad.clean", "head -c 3; false")
    locked.commit()
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, r"for n in $(seq 200); do printf 'a\r\n' > z$n; done; echo '* text' >> .gitattributes")
        sh(slot, "printf x > z.u16; for n in $(seq 30); do echo long enough > bad$n; done; echo more >> secret.txt")
        started.clear()
        result = await slot.commit("n")
        assert started.count("hash-object") <= _MOST_FAILURES + 4
        assert len(started) < _MOST_FAILURES + 25
        assert len(result.changed) == 202
        assert stored(workspace, result.commit, "z7") == "a\n"
        assert sorted({path.path[:3] for path in result.refused}) == ["bad", "z.u"]
        assert "clean filter 'bad' failed" in next(p.reason for p in result.refused if p.path == "bad1")
        slot.disposable = True


async def test_a_filter_without_its_program(locked: Checkout) -> None:
    (locked.root / ".git/unlock").unlink()
    with pytest.raises(ProjectError, match=r"secret\.txt in .* 'lock', and its program .*unlock was not found"):
        async with open_workspace(locked.root, settings(dirty="none"), "run"):
            pass
    (locked.root / ".git/lock").unlink()
    project, repository = open_project(locked.root)
    with pytest.raises(GitError, match=r"(?s)clean filter 'lock' failed.*dirty = \"none\""):
        take_snapshot(project, repository)
    locked.git("config", "filter.lock.required", "false")
    locked.write("secret2.txt", SECRET)
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        assert workspace.snapshot.commit == locked.git("rev-parse", "HEAD")
        assert {(left.path, left.differs) for left in workspace.snapshot.left_out} == {
            ("secret.txt", True),
            ("secret2.txt", False),
        }
        assert sh(slot, "cat secret.txt; ls") == f"{LOCKED}a.txt\nsecret.txt\n"
        assert workspace.receipt()["filtered"] == ["secret.txt"]
        both = sorted(text for text in workspace.warnings if "filter" in text)
        assert both[0].startswith("secret.txt: in slots as git stores that, for want of the content filter 'lock'")
        assert "/unlock was not found" in both[0]
        assert both[1].startswith("secret.txt: what attempts write there is stored as it stands")


async def test_a_filter_that_nobody_has_set_up(locked: Checkout) -> None:
    locked.git("config", "--remove-section", "filter.lock")
    locked.git("checkout", "-q", "--", ".")
    (locked.root / "secret.txt").unlink()
    locked.git("checkout", "-q", "--", "secret.txt")
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        assert sh(slot, "cat secret.txt") == LOCKED
        assert workspace.receipt()["filtered"] == ["secret.txt"]
        assert any("does not have that filter" in text for text in workspace.warnings)


async def test_a_filter_that_fails_writes_nothing(locked: Checkout) -> None:
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "echo x >> secret.txt; echo x >> a.txt")
        result = await slot.commit("n")
    program(locked.root / ".git/unlock", "#!/bin/sh\nexit 1\n")
    before = locked.digest()
    with pytest.raises(GitError, match=r"a content filter of your git configuration failed"):
        apply(*open_project(locked.root), result.commit)
    assert locked.digest() == before
    with pytest.raises(GitError, match="content filter"):  # another program: no checkout of before counts
        async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease():
            pass


async def test_what_git_was_told_not_to_look_at_stays_with_the_user(locked: Checkout) -> None:
    for mark in ("assume-unchanged", "skip-worktree"):
        locked.write(f"{mark}.cfg", "host=example\n")
    locked.write("same.cfg", "same\n")
    locked.commit()
    for mark in ("assume-unchanged", "skip-worktree"):
        locked.git("update-index", f"--{mark}", f"{mark}.cfg")
        locked.write(f"{mark}.cfg", "token=mine\n")
    locked.git("update-index", "--assume-unchanged", "same.cfg")
    assert locked.git("status", "--short") == ""
    before = locked.digest()
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        assert workspace.snapshot.commit == locked.git("rev-parse", "HEAD")
        left = workspace.snapshot.left_out
        assert [(path.path, path.differs) for path in left] == [
            ("assume-unchanged.cfg", True),
            ("skip-worktree.cfg", True),
        ]
        sh(slot, "echo more >> assume-unchanged.cfg")
        result = await slot.commit("n")
    with pytest.raises(ApplyError, match=r"it changes assume-unchanged\.cfg, where you have content that git does not"):
        apply(*open_project(locked.root), result.commit)
    assert locked.digest() == before


def test_sparse_files_that_are_there_again(locked: Checkout) -> None:
    locked.write("in/a.txt")
    locked.write("out/b.txt")
    locked.commit()
    locked.git("sparse-checkout", "set", "--cone", "in")
    locked.write("out/b.txt", "mine\n")
    found = take_snapshot(*open_project(locked.root))
    assert found.commit == locked.git("rev-parse", "HEAD")
    assert [(left.path, left.differs) for left in found.left_out] == [("out/b.txt", True)]


def test_names_that_git_does_not_take() -> None:
    odd = (
        b"src/.git /x",
        b"src/.git",
        b".GIT/x",
        b"git~1",
        b".git.",
        b".git...:x",
        b"a/.Git::$INDEX",
        b".g\xe2\x80\x8cit",
        b"a\\.git:x",
    )
    assert all(why_refused(path, link=False) for path in odd)
    fine = (b".gitignore", b"git~2", b".git x", b"a.git", b".gitmodules", b".github/x", b"agit~1 ")
    assert [path for path in fine if why_refused(path, link=False)] == []
    assert why_refused(b"x/.gitmodules ", link=True)


async def test_odd_names_are_left_out_and_the_rest_is_kept(locked: Checkout) -> None:
    locked.write("mine/.git /x")
    locked.write("mine/y")
    (left,) = take_snapshot(*open_project(locked.root)).left_out
    assert (left.path, left.reason) == ("mine/.git /", "git takes no such name: on some systems it stands for .git")
    shutil.rmtree(locked.root / "mine")
    async with open_workspace(locked.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(
            slot,
            "mkdir 'x' 'x/.git ' '.git...'; touch 'x/.git /y' .git.../z 'GIT~1 '; ln -s a .gitmodules; echo x > new.txt",
        )
        result = await slot.commit("n")
        assert changed(result) == "A:new.txt"
        assert len(result.refused) == 4
        workspace.repository.git().at(index=slot.home / "i").run("read-tree", result.tree)


def test_drivers_are_read_and_their_programs_found(tmp_path: Path) -> None:
    read = {"filter.a.b.clean": "x y", "filter.a.b.required": "1", "filter.c.process": "p", "filter.c.smudge": "s"}
    first, second = drivers_of(read)
    assert (first.name, first.cleans, first.smudges, first.required) == ("a.b", "x y", "", True)
    assert (second.cleans, second.smudges, second.required) == ("p", "p", False)
    there = (
        "sed s/a/b/",
        "A=b LC_ALL=C sed x",
        "printf x",
        "if true; then cat; fi",
        "{ cat; }",
        "$HOME/x",
        "'",
        "git-am",
        "",
    )
    assert [command for command in there if missing_program(command, tmp_path)] == []
    assert missing_program("no-such-program --x %f", tmp_path) == "no-such-program"
    assert missing_program("./tool x", tmp_path) == "./tool"
    assert missing_program(f"'{tmp_path}/not there' -x", tmp_path) == f"{tmp_path}/not there"
    tool = Path(program(tmp_path / "tool", "#!/bin/sh\n"))
    driver = Driver("n", clean=f"{tool} x")
    before = driver.identity(tmp_path)
    assert missing_program("./tool x", tmp_path) is None
    tool.write_text("#!/bin/sh\ncat\n")
    assert driver.identity(tmp_path) != before


async def test_a_filter_that_hangs_can_be_interrupted(locked: Checkout, tmp_path: Path) -> None:
    script = tmp_path / "hangs.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 1000\n")
    script.chmod(0o755)
    locked.git("config", "filter.lock.smudge", str(script))
    pid = tmp_path / "pid"
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:

            async def work() -> None:
                async with open_workspace(locked.root, settings(), "run", slots=1):
                    pass

            tasks.start_soon(work)
            await anyio.to_thread.run_sync(until, lambda: pid.exists() and pid.read_text().endswith("\n"))
            tasks.cancel_scope.cancel()
    wait_until_ended(int(pid.read_text()))


async def test_of_a_filter_process_that_dies_what_it_did_is_kept_and_the_rest_named(checkout, tmp_path: Path) -> None:
    """It dies at the second file of each git, as one does that runs out of something."""
    text = TICKET.replace("while (asked := read()):", "for _ in [1]:\n    asked = read()")
    project = checkout()
    kept = f"KEPT = {str(tmp_path)!r} + '/'\n"
    project.git(
        "config",
        "filter.p.process",
        f"{sys.executable} {program(tmp_path / 'p.py', kept + text)}",
    )
    project.write(".gitattributes", "*.p filter=p\n")
    project.commit()
    async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "for n in 1 2 3; do echo $n... > $n.p; done; echo new > new.txt")
        result = await slot.commit("n")
        assert changed(result) == "A:1.p A:3.p A:new.txt", result.refused
        assert [left.path for left in result.refused] == ["2.p"]
        assert stored(workspace, result.commit, "3.p") == "ticket 3..."
