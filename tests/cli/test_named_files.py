"""Wherever a person names a file: no pipe holds a command up, and what a shell hands over is read where it is kept."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attempt.conftest import FIX, FIXED, Lab, lab
from bakeoff.system.named_files import NAMED_LIMIT, read_named
from bakeoff.workflow.document import MAX_BYTES

__all__ = ["lab"]

HEAD = 'workflow: {id: f, name: F, version: "1.0.0"}\n'
FLOW = HEAD + "inputs: {a: {type: string}}\nsteps:\n  - {id: a, type: shell, run: 'echo {{ inputs.a | sh }}; false'}\n"
"""Its runs fail, so that they can be taken up again."""
PLAN = f"goal: g\nagent: fake\nchecks: {json.dumps(FIXED)}\nsubplans:\n  - {{name: n, goal: g, files: [calc.py]}}\n"
PATCH = "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x\n+y\n"

NAMED = {
    "workflow": ["run", "FILE"],
    "validate": ["validate", "FILE"],
    "inputs": ["run", "flow.yml", "-i", "@FILE"],
    "edit": ["resume", "done", "--edit", "FILE"],
    "task": ["attempt", "@FILE", "--agent", "fake", "--check", FIXED],
    "plan": ["plan", "run", "FILE"],
    "goal": ["plan", "@FILE", "--agent", "fake", "--check", FIXED, "--dry-run"],
    "previous": ["plan", "decompose", "--previous", "FILE"],
    "candidate": ["optimize", "calc.py:add", "--candidate", "FILE"],
    "patch": ["compare", "FILE", "--check", "true"],
    "settings": ["attempt", "t", "--check", FIXED],
    "target": ["optimize", "FILE:add"],
}
"""Every argument that names a file which is read, as a command line."""

ONCE = ["inputs", "task", "plan", "goal", "previous"]
"""Those whose content is read once, and kept by the run where there is one."""


@pytest.fixture
def place(lab: Lab) -> Lab:
    lab.agent(FIX)
    lab.write("flow.yml", FLOW)
    assert lab("run", "flow.yml", "-i", "a=x", "--run-id", "done").status == 1
    return lab


@pytest.mark.parametrize("name", NAMED)
def test_a_named_pipe_is_refused_at_once(place: Lab, name: str) -> None:
    pipe = place.place / "pipe.py"
    if name == "settings":
        pipe = place.root / "bakeoff.toml"
        pipe.unlink()
    if name == "target":
        pipe = place.root / "pipe.py"
    os.mkfifo(pipe)
    before = set(place.run.root.parent.iterdir())
    said = place(*(word.replace("FILE", "pipe.py" if name == "target" else str(pipe)) for word in NAMED[name]))
    assert said.status in (1, 2), said
    assert place.calls == []
    shown = said.out + said.err
    assert "pipe" in shown.replace(str(pipe), "").replace("pipe.py", "") or name == "target", said
    assert "Traceback" not in shown
    assert set(place.run.root.parent.iterdir()) == before


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ("settings", "target")])
def test_a_file_that_is_too_large_is_refused_at_once(place: Lab, name: str) -> None:
    large = place.place / "large.patch"
    large.touch()
    os.truncate(large, max(NAMED_LIMIT, MAX_BYTES) + 1)
    said = place(*(word.replace("FILE", str(large)) for word in NAMED[name]))
    assert said.status in (1, 2), said
    assert place.calls == []
    assert f"more than {NAMED_LIMIT}" in said.out + said.err or "is larger than" in said.out + said.err, said


def in_bash(lab: Lab, words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    """A command line of bash whose `FILE` is a process substitution."""
    file = lab.place / "handed"
    file.write_text(text)
    shown = " ".join(word.replace("FILE", f"<(cat {file})") if "FILE" in word else shlex.quote(word) for word in words)
    command = f"{sys.executable} -m bakeoff {shown}"
    return subprocess.run(
        ["bash", "-c", command], cwd=lab.root, capture_output=True, text=True, timeout=120, check=False
    )


HANDED: dict[str, tuple[str, Callable[[subprocess.CompletedProcess[str], Lab], bool]]] = {
    "inputs": ('{"a": "handed over"}', lambda said, lab: '"handed over"' in lab("show", "--json").out),
    "task": ("mend it", lambda said, lab: lab.calls == ["1"]),
    "plan": (PLAN, lambda said, lab: lab.calls == ["1"]),
    "goal": ("mend it all", lambda said, lab: "mend it all" in (lab.root / "plan.yml").read_text()),
    "previous": ("no json", lambda said, lab: "/dev/fd/" in said.stderr and "pipe" not in said.stderr),
}


@pytest.mark.parametrize(
    "name",
    [
        name if name in (*HANDED, "candidate") else pytest.param(name, marks=pytest.mark.soak(only=True))
        for name in NAMED
    ],
)
def test_process_substitution(place: Lab, name: str) -> None:
    """It is read where once is enough, and else refused with what to do."""
    if name in ("settings", "target"):
        pytest.skip("nobody hands these over")
    text, seen = HANDED.get(name, (PATCH, None))
    said = in_bash(place, NAMED[name], text)
    if seen is not None:
        assert name in ONCE
        assert said.returncode == (1 if name in ("inputs", "previous") else 0), said
        assert seen(said, place), said
        return
    assert said.returncode == 1, said
    assert "write it to" in said.stdout + said.stderr, said


def test_reading_what_a_person_names(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"text")
    (tmp_path / "link").symlink_to(file)
    assert read_named(tmp_path / "link") == b"text"
    for path, words in ((Path("/dev/null"), "a character device"), (tmp_path, "a folder")):
        with pytest.raises(OSError, match=words):
            read_named(path)
    with pytest.raises(OSError, match="more than 3"):
        read_named(file, 3)


@pytest.mark.parametrize(("size", "fits"), [(0, True), (3_000_000, True), (3_000_001, False)])
def test_a_pipe_of_the_shell_is_read_to_its_end(size: int, fits: bool) -> None:
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(ours)
        with os.fdopen(theirs, "wb") as pipe:
            try:
                pipe.write(b"x" * size)
            except OSError:
                os._exit(1)
        os._exit(0)
    os.close(theirs)
    try:
        if fits:
            assert len(read_named(Path(f"/dev/fd/{ours}"), 3_000_000, once=True)) == size
        else:
            with pytest.raises(OSError, match="more than 3000000 bytes"):
                read_named(Path(f"/dev/fd/{ours}"), 3_000_000, once=True)
    finally:
        os.close(ours)
        os.waitpid(pid, 0)
