"""Secrets of called files are hidden as those of the file that is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from bakeoff.workflow.secrets import called_texts, secrets_of

pytestmark = pytest.mark.anyio

SECRET = "s3cret-of-the-called-file"
SUB = """workflow: {id: sub, name: S, version: "1.0.0"}
secrets: SECRETS
inputs: {n: {type: number, default: 1}}
steps:
  - {id: says, type: shell, run: 'echo "$SUB_TOKEN"; echo "$SUB_TOKEN" >&2'}
  - {id: much, type: shell, run: 'seq 5000; echo "$SUB_TOKEN"'}
  - {id: fails, type: shell, run: 'test -e ok', when: "{{ inputs.n == 1 }}"}
outputs: {said: {value: "{{ steps.says.output.stdout }}"}}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("SUB_TOKEN", SECRET)
    return Project(tmp_path)


def leaks(project: Project) -> list[str]:
    """The files of the run that hold the secret."""
    files = [path for path in project.store.open("r").root.rglob("*") if path.is_file()]
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


def text_of(secrets: str) -> str:
    return SUB.replace("SECRETS", secrets)


@pytest.mark.parametrize("secrets", ["[SUB_TOKEN]", "{token: SUB_TOKEN}"])
async def test_a_secret_of_a_called_file_is_hidden_everywhere(project: Project, secrets: str) -> None:
    project.write(text_of(secrets), "deep.yml")
    project.write("steps: [{id: d, type: workflow, workflow: deep.yml}]", "sub.yml")
    ending = await project.start(
        """
steps:
  - {id: before, type: shell, run: 'echo "$SUB_TOKEN"'}
  - {id: c, type: workflow, workflow: sub.yml}
  - {id: after, type: shell, run: 'echo "$SUB_TOKEN"; exit 1'}
outputs: {o: {value: "{{ steps.after.output.stdout }}"}}
"""
    )
    assert ending.status == "failed"
    assert leaks(project) == []
    assert project.state()["steps"]["before"]["output"]["stdout"] == "***\n"
    # Resumed, the copies count, not the files.
    for name in ("sub.yml", "deep.yml"):
        (project.folder / name).unlink()
    (project.folder / "ok").touch()
    await project.resume()
    assert project.state()["steps"]["after"]["output"]["stdout"] == "***\n"
    assert leaks(project) == []


async def test_a_secret_of_a_file_that_an_edit_calls_is_hidden(project: Project) -> None:
    await project.start('steps: [{id: a, type: shell, run: "false"}]')
    project.write(text_of("[SUB_TOKEN]"), "sub.yml")
    (project.folder / "ok").touch()
    ending = await project.resume(edit="steps: [{id: c, type: workflow, workflow: sub.yml}]")
    assert ending.status == "completed"
    assert project.state()["steps"]["c/says"]["output"]["stdout"] == "***\n"
    assert leaks(project) == []


async def test_an_input_that_holds_a_secret_of_a_called_file_is_asked_for_again(project: Project) -> None:
    project.write(text_of("[SUB_TOKEN]"), "sub.yml")
    flow = "inputs: {k: {type: string}}\nsteps: [{id: c, type: workflow, workflow: sub.yml}]"
    await project.start(flow, {"k": SECRET})
    assert leaks(project) == []
    with pytest.raises(Exception, match="was given a secret as input, which is not kept"):
        await project.resume()


async def test_a_value_that_is_refused_is_not_shown_in_part(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUB_TOKEN", SECRET * 3)
    project.write(text_of("[SUB_TOKEN]"), "sub.yml")
    flow = """
steps:
  - {id: p, type: shell, run: 'printf "$SUB_TOKEN"'}
  - {id: c, type: workflow, workflow: sub.yml, input: {n: "{{ inputs.k }}"}}
inputs: {k: {type: string}}
"""
    ending = await project.start(flow, {"k": SECRET * 3})
    assert ending.error == 'step c: input `n` must be a number, not the text "***"'
    assert leaks(project) == []
    with pytest.raises(Exception, match="must be a number; what is given holds a secret"):
        project.plan(flow, {"k": SECRET * 3})


async def test_a_file_called_by_a_name_made_up_on_the_way_cannot_bring_secrets(project: Project) -> None:
    project.write(text_of("[SUB_TOKEN]"), "sub.yml")
    (project.folder / "ok").touch()
    flow = """SECRETS
inputs: {which: {type: string, default: sub.yml}}
steps: [{id: c, type: workflow, workflow: "{{ inputs.which }}"}]
"""
    ending = await project.start(flow.replace("SECRETS", ""))
    assert ending.error is not None
    assert "sub.yml names the secret SUB_TOKEN, and which file" in ending.error
    assert "put it under `secrets:` of the file that is run, too" in ending.error
    assert (await project.resume(edit=flow.replace("SECRETS", "secrets: [SUB_TOKEN]"))).status == "completed"
    assert leaks(project) == []


async def test_nor_can_it_bring_a_budget(project: Project) -> None:
    project.write("budget: {calls: 1}\nsteps: [{id: s, type: slot}]", "sub.yml")
    flow = 'inputs: {w: {default: sub.yml}}\nsteps: [{id: c, type: workflow, workflow: "{{ inputs.w }}"}]'
    ending = await project.start(flow)
    assert ending.error is not None
    assert (
        "sub.yml has a `budget`, which has no effect where it is called; put it into the file that is run"
        in ending.error
    )


async def test_a_secret_given_as_an_agents_name_is_not_said(project: Project) -> None:
    flow = """
secrets: [SUB_TOKEN]
inputs: {k: {type: string}}
steps: [{id: a, type: prompt, prompt: p, integration: "{{ inputs.k }}"}]
"""
    await project.start(flow, {"k": SECRET})
    assert not any(SECRET in str(event) for event in project.events[:1])
    assert "no agent is called `***`" in str(project.events[0])


def test_texts_that_are_no_workflow_name_no_secrets() -> None:
    assert secrets_of("secrets: [A, 5, B]", "secrets: {x: C, y: A}", "secrets: 5", "secrets: [", "x: 1") == (
        "A",
        "B",
        "C",
    )


async def test_files_chosen_on_the_way_are_among_the_copies(project: Project) -> None:
    project.write("steps: [{id: s, type: slot}]", "sub.yml")
    project.write("steps: [{id: t, type: slot}]", "other.yml")
    flow = """
inputs: {w: {default: other.yml}}
steps: [{id: c, type: workflow, workflow: sub.yml}, {id: d, type: workflow, workflow: "{{ inputs.w }}"}]
"""
    await project.start(flow)
    texts = called_texts(project.store.open("r").history())
    assert any("id: s" in text for text in texts)
    assert any("id: t" in text for text in texts)
