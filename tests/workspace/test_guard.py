from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.engine.mask import Masker
from bakeoff.process.spawner import Spawner
from bakeoff.workspace.guard.facade import Moved
from bakeoff.workspace.guard.guarded import Guard, GuardReport, Problem, canary, guarded
from bakeoff.workspace.guard.interpreter import ask, find_python
from bakeoff.workspace.guard.names import import_names, names_in
from bakeoff.workspace.guard.programs.canary import json_of
from bakeoff.workspace.sandbox.policy import SandboxPolicy, agent_policy
from bakeoff.workspace.sandbox.sandbox import Sandbox, sandbox
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import open_workspace

from .conftest import settings
from .editables import KINDS, Editables, Installed

# One worker for all: each would install build tools and environments of its own.
pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("editables")]

NONE, FULL = SandboxPolicy("none"), SandboxPolicy("full")
SHOW = "import {0}.mod as m; print(m.__file__, m.VALUE)"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installed]:
    editables = Editables(tmp_path_factory.mktemp("editables"))
    made: dict[str, Installed] = {}

    def get(kind: str) -> Installed:
        if kind not in made:
            made[kind] = KINDS[kind](editables)
        return made[kind]

    return get


@pytest.fixture
async def processes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Spawner]:
    for name in ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    async with Spawner(token="test", base_env=dict(os.environ), masker=Masker()) as spawner:
        yield spawner


@asynccontextmanager
async def opened(
    project: Installed,
    policy: SandboxPolicy,
    monkeypatch: pytest.MonkeyPatch,
    kind: str = "repository",
    at: bool = False,
) -> AsyncIterator[Sandbox]:
    monkeypatch.setenv("PATH", f"{project.venv}/bin:{os.environ['PATH']}")
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1, mount_at=at) as workspace:
        async with workspace.lease() as slot:
            yield await sandbox(slot, policy)


def write(slot: Slot, path: str, text: str) -> None:
    (slot.outside / path).write_text(text)


def package(kind: str) -> tuple[str, str]:
    return {"namespace": ("space.part", "src/space/part"), "finder": ("alpha", "lib/code")}.get(
        kind, ("alpha", "src/alpha")
    )


async def printed(processes: Spawner, guard: Guard, argv: list[str], **more: object) -> str:
    done = await processes.run(guard.command(argv, **more))
    assert done.exit_code == 0, (done.stdout.value, done.stderr.value)
    return str(done.stdout.value).strip()


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        *((kind, NONE) for kind in ("pth", "finder", "hatchling", "namespace", "first")),
        *((kind, FULL) for kind in ("pth", "first")),
        *(pytest.param(kind, FULL, marks=pytest.mark.soak(only=True)) for kind in ("finder", "hatchling", "namespace")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.level,
)
async def test_the_facade_means_the_slot(
    installed: Callable[[str], Installed],
    kind: str,
    policy: SandboxPolicy,
    processes: Spawner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = installed(kind)
    name, folder = package(kind)
    slots = "repository" if policy is NONE else "overlay"
    async with opened(project, policy, monkeypatch, slots) as box:
        write(box.slot, f"{folder}/mod.py", "VALUE = 'slot'\n")
        argv = ["python", "-c", SHOW.format(name)]
        async with guarded(box, argv, processes) as guard:
            expected = f"{box.slot.path}/{folder}/mod.py slot"
            assert await printed(processes, guard, argv) == expected
            assert await printed(processes, guard, ["python", "-I", *argv[1:]]) == expected
            empty = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {argv[2]!r}], env={{}}, check=True)"
            assert await printed(processes, guard, ["python", "-c", empty]) == expected
            assert await printed(processes, guard, ["sh", "-c", f"python -c '{argv[2]}'"]) == expected
        assert guard.report.problems == []
        assert guard.report.invalid is None
        assert guard.report.kind == "facade"
        assert guard.report.looked == ["before", "after"]
        assert guard.report.scanned >= 5
        assert name.split(".")[0] in guard.report.names or kind == "finder"


@pytest.mark.parametrize("kind", ["pth", "finder", "hatchling", "namespace", "first", "hidden"])
async def test_without_a_facade_the_canary_names_who_leads_to_the_checkout(
    installed: Callable[[str], Installed], kind: str, processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed(kind)
    async with opened(project, NONE, monkeypatch) as box:
        found = await ask(project.python, box, processes)
        assert not isinstance(found, str)
        names = ("alpha",) if kind == "finder" else import_names(box.slot)
        report = await canary(Guard(box, GuardReport("facade", found.executable, names), found), processes, "before")
        assert report.invalid is not None
        culprits = {Path(problem.by.split(" ")[0]).name for problem in report.problems}
        known = {path.name for path in project.site.glob("*.pth")}
        assert culprits & known, report.problems
        assert any(str(project.root) in problem.path for problem in report.problems)


async def test_a_finder_that_cannot_be_moved_makes_the_verdict_invalid(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("hidden")
    async with opened(project, NONE, monkeypatch) as box:
        async with guarded(box, ["python", "-c", "pass"], processes) as guard:
            before = list(guard.report.problems)
            assert before
            done = await processes.run(guard.command(["python", "-c", "import alpha.mod"]))
            assert done.exit_code == 0
        assert "zz_alpha.pth (finder _alpha_editable.First)" in {Path(p.by).name for p in before}
        assert str(guard.report.invalid).startswith("wrong tree: ")
        loaded = [problem for problem in guard.report.problems if problem.when == "loaded"]
        assert {str(project.root / "src/alpha/mod.py")} <= {problem.path for problem in loaded}
        receipt = guard.report.receipt()
        assert receipt["invalid"] == guard.report.invalid
        assert receipt["problems"][0]["by"]


async def test_a_module_that_was_deleted_in_the_slot_is_gone(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("pth")
    async with opened(project, NONE, monkeypatch) as box:
        (box.slot.outside / "src/single.py").unlink()
        (box.slot.outside / "src/alpha/mod.py").unlink()
        async with guarded(box, ["python", "-c", "pass"], processes) as guard:
            for name in ("single", "alpha.mod"):
                done = await processes.run(guard.command(["python", "-c", f"import {name}"]))
                assert (done.exit_code, "ModuleNotFoundError" in str(done.stderr.value)) == (1, True)
        assert guard.report.problems == []
        assert guard.report.names == ("alpha", "single")
        found = guard.interpreter
        assert found is not None
        report = await canary(Guard(box, GuardReport("facade", None, ("single",)), found), processes, "before")
        assert any("module single comes from" in problem.what for problem in report.problems)


@pytest.mark.parametrize("kind", ["pth", "hatchling", "hidden"])
async def test_a_slot_at_the_projects_own_path_needs_no_facade(
    installed: Callable[[str], Installed], kind: str, processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed(kind)
    for policy in (NONE, FULL):
        async with opened(project, policy, monkeypatch, "overlay", at=True) as box:
            write(box.slot, "src/alpha/mod.py", "VALUE = 'slot'\n")
            argv = [f"{project.venv}/bin/python", "-I", "-c", SHOW.format("alpha")]
            async with guarded(box, argv, processes) as guard:
                assert await printed(processes, guard, argv) == f"{project.root}/src/alpha/mod.py slot"
            assert guard.report.problems == []
            assert (guard.report.kind, guard.report.looked) == ("mounted", ["before", "after"])
            assert [path.path for path in (await box.slot.commit("n")).changed] == ["src/alpha/mod.py"]
    assert (project.root / "src/alpha/mod.py").read_text() == "VALUE = 'main'\n"


async def test_the_sentinel_tells_a_slot_that_is_not_mounted(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("pth")
    async with opened(project, NONE, monkeypatch, "overlay", at=True) as box:
        found = await ask(project.python, box, processes)
        assert not isinstance(found, str)
        monkeypatch.setattr(box.slot.place, "prefix", ())
        monkeypatch.setattr(box.slot.place, "cwd", str(project.root))
        report = await canary(Guard(box, GuardReport("mounted", None, ("alpha",)), found), processes, "before")
        assert "the project's own path is not the slot here" in {problem.what for problem in report.problems}


@pytest.mark.parametrize("slots", ["overlay", "repository"])
async def test_scripts_of_the_environment_start_the_facade(
    installed: Callable[[str], Installed], slots: str, processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("hatchling")
    for name, head in (
        ("tool", f"#!{project.venv}/bin/python\n"),
        ("long", f"#!/bin/sh\n'''exec' \"{project.venv}/bin/python\" \"$0\" \"$@\"\n' '''\n"),
    ):
        script = project.venv / "bin" / name
        script.write_text(head + SHOW.format("alpha") + "\nimport sys; print(sys.prefix)\n")
        script.chmod(0o755)
    async with opened(project, FULL, monkeypatch, slots) as box:
        write(box.slot, "src/alpha/mod.py", "VALUE = 'slot'\n")
        async with guarded(box, ["tool"], processes) as guard:
            assert guard.facade is not None
            for argv in (["tool"], ["long"], ["sh", "-c", "tool"], [".venv/bin/tool"], [f"{project.venv}/bin/long"]):
                shown = (await printed(processes, guard, argv)).splitlines()
                assert shown == [f"{box.slot.path}/src/alpha/mod.py slot", str(guard.facade.prefix)]
        assert guard.report.problems == []


async def test_an_installed_copy_is_not_the_slot(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("first")
    copy = project.site / "beta.py"
    async with opened(project, NONE, monkeypatch) as box:
        copy.write_text("")
        try:
            found = await ask(project.python, box, processes)
            assert not isinstance(found, str)
            guard = Guard(box, GuardReport("facade", None, ("beta",)), found)
            report = await canary(guard, processes, "before", {"PYTHONPATH": None})
            assert f"module beta does not come from the slot: {copy}" in {str(problem) for problem in report.problems}
        finally:
            copy.unlink()


async def test_which_python_a_command_uses(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("hatchling")
    other = installed("pth")
    script = other.venv / "bin" / "pytest"
    script.write_text(f"#!/usr/bin/env {other.venv}/bin/python3\n")
    script.chmod(0o755)
    async with opened(other, NONE, monkeypatch) as box:
        path = {"PATH": f"{other.venv}/bin"}
        for argv, found in (
            (["python", "x.py"], f"{other.venv}/bin/python"),
            (["sh", "-ec", "cd x && pytest -q 'a b'"], f"{other.venv}/bin/python3"),
            (["bash", "-c", "echo 'open; python3 x"], f"{other.venv}/bin/python3"),
            (["make", "test"], f"{other.venv}/bin/python"),
            ([project.python, "x.py"], project.python),
            (["nowhere/python"], f"{other.venv}/bin/python"),
        ):
            assert find_python(box.slot, argv, path) == found, argv
        assert find_python(box.slot, ["make"], {"PATH": "/nonexistent"}) is None
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "/nonexistent")
            async with guarded(box, ["make"], processes) as guard:
                assert guard.command(["true"]).argv
        assert (guard.report.kind, guard.report.problems) == ("none", [])
    async with opened(project, NONE, monkeypatch) as box:
        assert find_python(box.slot, ["make"], {"PATH": "/usr/bin"}) == f"{box.slot.path}/.venv/bin/python"


async def test_a_python_that_does_not_run_is_a_problem(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bin" / "python"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    broken.chmod(0o755)
    async with opened(installed("pth"), NONE, monkeypatch) as box:
        async with guarded(box, [str(broken)], processes) as guard:
            pass
        assert guard.report.invalid == f"wrong tree: {broken} does not run: broken"
        assert await canary(guard, processes, "after") is guard.report
        found = await ask(installed("pth").python, box, processes)
        assert not isinstance(found, str)
        guard = Guard(box, GuardReport("facade"), found)
        site = installed("pth").site / "zz_broken.pth"
        site.write_text("import os; os._exit(4)\n")
        try:
            report = await canary(guard, processes, "before")
        finally:
            site.unlink()
        assert report.problems == [Problem("the canary did not answer: exit status 4", "", "", "before")]


async def test_a_python_that_lies_opens_no_other_place(
    installed: Callable[[str], Installed],
    processes: Spawner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    home: Path,
) -> None:
    """What its facts name would be copied to where the sandbox sees it."""
    facts = {name: str(home) for name in ("executable", "base", "prefix", "base_prefix", "version", "scripts")}
    liar = tmp_path / "bin" / "python"
    liar.parent.mkdir()
    liar.write_text(f"#!/bin/sh\necho '{json.dumps(facts | {'sites': [str(home)]})}'\n")
    liar.chmod(0o755)
    async with opened(installed("pth"), FULL, monkeypatch) as box:
        policy = replace(box.policy, reads=[str(liar.parent)])
        async with guarded(replace(box, policy=policy), [str(liar)], processes) as guard:
            pass
        assert guard.report.invalid == f"wrong tree: {liar} tells of places that it may not see"
        assert replace(box, policy=agent_policy([])).may_read([str(home)])


async def test_relative_lines_and_large_scripts(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = installed("first")
    pth, script = project.site / "relative.pth", project.venv / "bin" / "large"
    pth.write_text(f"# a comment\n{os.path.relpath(project.root / 'src', project.site)}\n")
    script.write_text("#!/bin/sh\n" + "#" * (1 << 20))
    other = project.venv / "bin" / "pytest"
    other.write_text("#!/bin/sh\nexit 0\n")
    for path in (script, other):
        path.chmod(0o755)
    try:
        async with opened(project, NONE, monkeypatch) as box:
            async with guarded(box, ["pytest"], processes) as guard:
                assert guard.facade is not None
                site = next(guard.facade.prefix.glob("lib/python*/site-packages"))
                assert (site / "relative.pth").read_text() == f"# a comment\n{box.slot.path}/src\n"
                assert (guard.facade.scripts / "large").is_symlink()
            assert guard.report.problems == []
            assert not guard.facade.prefix.exists()
    finally:
        for path in (pth, script, other):
            path.unlink()


async def test_notes_of_processes_are_not_believed_blindly(
    installed: Callable[[str], Installed], processes: Spawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(installed("pth"), NONE, monkeypatch) as box:
        async with guarded(box, ["python"], processes) as guard:
            assert guard.facade is not None
            (guard.facade.report / "junk").write_text("__import__('os')\n('a', )\n" + "(" * 500)
            (guard.facade.report / "link").symlink_to("/etc/passwd")
            os.mkfifo(guard.facade.report / "pipe")
        assert guard.report.problems == []


def test_names_of_a_project() -> None:
    files = ["src/a/__init__.py", "src/b.py", "src/ns/x/y.py", "src/not-a-name.py", "c/__init__.py", "d/x.py", "e.py", "setup.py",
             "tests/__init__.py", "README.md"]  # fmt: skip
    assert names_in(files, ["src", ""]) == ("a", "b", "c", "e", "ns")
    assert names_in(files, [""]) == ("c", "e")
    assert names_in(files, []) == ()


def test_paths_are_replaced_on_their_boundaries() -> None:
    moved = Moved("/home/u/proj", "/slots/1/tree")
    for text, found in (
        ("/home/u/proj", "/slots/1/tree"),
        ("/home/u/proj/src\n", "/slots/1/tree/src\n"),
        ("{'a': '/home/u/proj/src/a'}", "{'a': '/slots/1/tree/src/a'}"),
        ("/home/u/proj2/src", "/home/u/proj2/src"),
        ("/home/u/proj-old", "/home/u/proj-old"),
        ("/home/u/proj.bak", "/home/u/proj.bak"),
        ("/mnt/home/u/proj", "/mnt/home/u/proj"),
        ("file:///home/u/proj", "file:///slots/1/tree"),
    ):
        assert moved.text(text) == found


@pytest.mark.parametrize("text", ["", "plain ~", 'a "b" \\c', "\x00\n\t\x7f", "é€", "\U0001f600", "\udc80 \ud83d"])
def test_what_the_canary_says_is_json_whatever_is_in_a_path(text: str) -> None:
    said = {"problems": [{"what": text, "path": f"/{text}/x"}, {}], text: []}
    written = json_of(said)
    assert written.isascii()
    assert json.loads(written) == said
