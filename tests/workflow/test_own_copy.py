"""A run goes on from its own copy of its definition, whatever has become of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from project import Project

pytestmark = pytest.mark.anyio

SUB = 'workflow: {id: sub, name: S, version: "1.0.0"}\nsteps: [{id: inner, type: shell, run: "echo WORD >> trace"}]\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_called_files_are_copied_when_the_run_begins(project: Project) -> None:
    project.write(SUB.replace("echo WORD >> trace", "true"), "deep.yml")
    sub = project.write(SUB + "  \n", "sub.yml")
    sub.write_text(SUB.replace("}]", "}, {id: d, type: workflow, workflow: deep.yml}]"))
    flow = """
steps:
  - {id: g, type: gate, message: go}
  - {id: c, type: workflow, workflow: sub.yml}
"""
    assert (await project.start(flow)).status == "paused"
    sub.write_text("nonsense")
    (project.folder / "deep.yml").unlink()
    (project.folder / "flow.yml").unlink()
    folder = project.store.open("r")
    from bakeoff.engine.journal import SqliteJournal

    journal = SqliteJournal(folder.journal)
    journal.append("answer", "g", '"approve"')
    journal.close()
    ending = await project.resume()
    assert (ending.status, ending.error) == ("completed", None)
    assert project.trace() == ["WORD"]
    assert project.state()["steps"]["c/d/inner"]["status"] == "completed"


async def test_what_was_allowed_when_it_began_is_not_judged_again(project: Project) -> None:
    (project.folder / "bakeoff.toml").write_text('[agents.mine]\nargv = ["echo", "{prompt}"]\n')
    flow = """
inputs: {code: {type: number, default: 1}}
steps:
  - {id: a, type: prompt, integration: mine, prompt: hi}
  - {id: b, type: shell, run: "exit {{ inputs.code }} {{ steps.a.output.text }}"}
"""
    assert (await project.start(flow, allow_unquoted=True)).status == "failed"
    assert (await project.resume({"code": "0"})).status == "completed"


async def test_a_called_workflow_gets_its_own_env_and_none_of_the_callers_names(project: Project) -> None:
    project.write(
        """workflow: {id: sub, name: S, version: "1.0.0"}
inputs: {n: {type: number}}
env: {TWICE: "{{ inputs.n }}{{ inputs.n }}"}
steps:
  - {id: inner, type: shell, run: "echo $TWICE $OUTER '{{ inputs.outer }}' >> trace"}
outputs: {n: {value: "{{ inputs.n }}"}}
""",
        "sub.yml",
    )
    ending = await project.start(
        """
inputs: {outer: {type: string, default: seen}}
env: {OUTER: "{{ inputs.outer }}"}
steps:
  - {id: c, type: workflow, workflow: sub.yml, input: {n: 4}}
  - {id: after, type: shell, run: "echo {{ steps.c.output.n }}{{ steps.inner.status }} >> trace"}
"""
    )
    assert ending.status == "completed", ending.error
    assert project.trace() == ["44", "seen", "4"]


async def test_an_answer_in_the_moment_of_the_pause_is_not_lost(project: Project) -> None:
    from bakeoff.engine.run import Run

    real = Run.commit

    async def answered(run: Run, record: Any, *more: Any) -> Any:
        record = await real(run, record, *more)
        if record.status == "paused":
            await run.answer(record.path, "approve")
        return record

    flow = "steps: [{id: a, type: shell, run: 'echo a >> trace'}, {id: g, type: gate, message: go}]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "commit", answered)
        assert (await project.start(flow)).status == "completed"
    assert project.trace() == ["a"]


async def test_what_was_interrupted_is_shown_as_pending(project: Project) -> None:
    import anyio

    async with anyio.create_task_group() as group:

        async def call() -> None:
            await project.start("steps: [{id: a, type: shell, run: 'echo a >> trace; sleep 60'}]")

        group.start_soon(call)
        while not project.trace():  # noqa: ASYNC110  (a process writes it)
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    state = project.state()
    assert (state["status"], state["steps"]["a"]["status"]) == ("paused", "pending")
    assert state["steps"]["a"]["error"] == "interrupted before it ended"


async def test_a_secret_given_as_input_is_not_kept_and_asked_for_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.errors import BakeoffError

    monkeypatch.setenv("API_TOKEN", "sk-very-secret-1")
    flow = """
secrets: [API_TOKEN]
inputs: {tok: {type: string}, code: {type: number, default: 1}}
steps: [{id: a, type: shell, run: "echo {{ inputs.tok | sh }} >> trace; exit {{ inputs.code }}"}]
"""
    assert (await project.start(flow, {"tok": "sk-very-secret-1"})).status == "failed"
    with pytest.raises(BakeoffError, match="give it again with -i tok=VALUE"):
        await project.resume({"code": "0"})
    assert (await project.resume({"code": "0", "tok": "sk-very-secret-1"})).status == "completed"
    assert project.trace() == ["sk-very-secret-1"] * 2
    for file in (project.folder / ".bakeoff").rglob("*"):
        assert not file.is_file() or b"sk-very-secret-1" not in file.read_bytes()


async def test_a_secret_reads_the_same_before_and_after_a_resume(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "sk-very-secret-1")
    flow = """
secrets: [API_TOKEN]
inputs: {code: {type: number, default: 1}}
steps:
  - {id: s, type: shell, argv: [printenv, API_TOKEN]}
  - {id: j, type: fan-in, wait_for: [s], output: {t: "{{ steps.s.output.stdout }}"}}
  - {id: f, type: fan-out, items: ["{{ steps.j.output.t }}", b], step: {id: i, type: shell, run: "echo {{ item | sh }} >> trace; exit {{ inputs.code }}"}}
"""
    await project.start(flow.replace('["{{ steps.j.output.t }}", b]', '"{{ [steps.j.output.t] }}"'))
    await project.resume({"code": "0"})
    assert project.trace() == ["***", "***"]


async def test_a_gate_that_waits_holds_no_place(project: Project) -> None:
    from collections.abc import Sequence

    import anyio

    worked = anyio.Event()

    class Person:
        async def ask(self, path: str, message: str, options: Sequence[str], show: str | None) -> str | None:
            await worked.wait()
            return "approve"

    flow = """
steps:
  - id: p
    type: parallel
    branches: {l: [{id: g, type: gate, message: go}], r: [{id: w, type: shell, run: "echo w >> trace"}]}
"""

    async def watch() -> None:
        while not project.trace():  # noqa: ASYNC110  (a process writes it)
            await anyio.sleep(0.01)
        worked.set()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            assert (await project.start(flow, asker=Person(), max_parallel=1)).status == "completed"
