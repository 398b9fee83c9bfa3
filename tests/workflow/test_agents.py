"""Agents that are not there are said before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from bakeoff.engine.events import Warned
from bakeoff.workflow.availability import Agents
from bakeoff.workflow.calls import finder
from bakeoff.workflow.document import load_document, parse_document
from bakeoff.workflow.validate import validate

KNOWN = Agents(["claude", "codex", "mine"])
HEAD = 'workflow: {id: a, name: A, version: "1.0.0"%s}\n'
ASK = "{id: %s, type: prompt, prompt: p}"
NOWHERE = "no agent is named for this step: give the step or the workflow an `integration`, or set `integration` in the settings"
OWN = ", built in or in the settings"


def found(steps: str, more: str = "", agents: Agents = KNOWN, **options: object) -> list[tuple[str, str]]:
    document = parse_document(f"{HEAD % more}steps: [{steps}]")
    return [(problem.path, problem.message) for problem in validate(document, agents=agents, **options)]  # type: ignore[arg-type]


def test_a_step_names_an_agent_that_is_not_there() -> None:
    assert found("{id: a, type: prompt, integration: codx, prompt: p}, {id: b, command: c, integration: zzz}") == [
        ("steps[0].integration", f"no agent is called `codx`{OWN}; did you mean `codex`?"),
        ("steps[1].integration", f"no agent is called `zzz`{OWN}; known are claude, codex, mine"),
    ]


@pytest.mark.parametrize("integration", ["claude", "mine", "'{{ inputs.x }}'"])
def test_names_that_are_known_or_not_known_yet_are_right(integration: str) -> None:
    document = parse_document(
        f"{HEAD % ''}inputs: {{x: {{}}}}\nsteps: [{{id: a, type: prompt, prompt: p, integration: {integration}}}]"
    )
    assert validate(document, agents=KNOWN) == []


def test_a_step_that_names_none_has_that_of_the_workflow_or_of_the_settings() -> None:
    two = f"{ASK % 'a'}, {{id: if, type: if, condition: true, then: [{ASK % 'b'}]}}"
    assert found(two) == [("steps[0]", NOWHERE)]
    assert found(two, ", integration: claude") == []
    assert found(two, agents=Agents(["claude"], "claude")) == []
    assert found(two, ", integration: clade") == [
        ("workflow.integration", f"no agent is called `clade`{OWN}; did you mean `claude`?")
    ]
    assert found(two, agents=Agents(["claude"], "clade")) == [
        ("steps[0]", f"the setting `integration`: no agent is called `clade`{OWN}; did you mean `claude`?")
    ]
    # The workflow's own is not asked where every step names one.
    assert found("{id: a, type: prompt, integration: codex, prompt: p}", ", integration: clade") == []
    assert found("{id: s, type: slot}", ", integration: clade") == []


def test_strict_makes_it_an_error() -> None:
    document = parse_document(f"{HEAD % ''}steps: [{ASK % 'a'}]")
    (problem,) = validate(document, agents=KNOWN, strict=True)
    assert (problem.severity, problem.line, problem.column) == ("error", 2, 9)


def test_a_called_file_has_the_callers_agent_and_its_faults_are_said_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "deep.yml").write_text(f"{HEAD % ''}steps: [{ASK % 'a'}, {{id: b, command: c, integration: codx}}]")
    call = "{id: %s, type: workflow, workflow: %s.yml}"
    (tmp_path / "mid.yml").write_text(f"{HEAD % ''}steps: [{call % ('x', 'deep')}, {call % ('y', 'deep')}]")
    main = tmp_path / "main.yml"

    def messages(more: str, **options: bool) -> list[tuple[int, str]]:
        main.write_text(f"{HEAD % more}steps:\n  - {call % ('p', 'mid')}\n  - {call % ('q', 'deep')}\n")
        listed = validate(load_document(main), agents=KNOWN, find_workflow=finder(tmp_path), **options)
        return [(problem.line, problem.message) for problem in listed]

    wrong = f"in `deep.yml`, line 2: no agent is called `codx`{OWN}; did you mean `codex`?"
    assert messages(", integration: claude") == [(3, f"in `mid.yml`, line 2: {wrong}")]
    assert messages("") == [
        (3, f"in `mid.yml`, line 2: in `deep.yml`, line 2: {NOWHERE}"),
        (3, f"in `mid.yml`, line 2: {wrong}"),
    ]
    (tmp_path / "deep.yml").write_text(f"{HEAD % ''}steps: [{ASK % 'a'}]")
    assert messages(", integration: claude", strict=True) == []


def test_the_settings_of_the_current_project_count_where_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bakeoff.toml").write_text('integration = "own"\n[agents.own]\nargv = ["own", "{prompt}"]\n')
    assert validate(parse_document(f"{HEAD % ''}steps: [{ASK % 'a'}]")) == []
    (tmp_path / "bakeoff.toml").unlink()
    assert [problem.message for problem in validate(parse_document(f"{HEAD % ''}steps: [{ASK % 'a'}]"))] == [NOWHERE]


@pytest.mark.anyio
async def test_a_run_says_it_before_its_first_step(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (tmp_path / "bakeoff.toml").write_text('[agents.own]\nargv = ["true", "{prompt}"]\n')
    await project.start('steps: [{id: a, type: shell, run: "true"}, {id: b, command: c, integration: ovn}]')
    first = project.events[0]
    assert isinstance(first, Warned)
    assert "no agent is called `ovn`, built in or in the settings; did you mean `own`?" in first.text


@pytest.mark.anyio
async def test_an_agent_that_an_input_names_is_looked_for_before_the_first_step(tmp_path: Path) -> None:
    project = Project(tmp_path)
    flow = """
inputs: {integration: {default: auto}, n: {type: string, default: x}}
steps:
  - {id: a, type: shell, run: "test -e ok"}
  - {id: b, command: c, integration: "{{ inputs.integration }}"}
  - {id: d, command: c, integration: "{{ inputs.n | from_json }}"}
  - {id: e, command: c, integration: "{{ steps.a.output.stdout }}"}
"""

    def warned() -> list[str]:
        found = [event.text for event in project.events if isinstance(event, Warned) and "agent call" not in event.text]
        project.events.clear()
        return found

    where = "step b (line 6, column 5)"
    await project.start(flow)
    assert warned() == [f"{where}: `auto` is the agent that .specify/integration.json names, and that file names none"]
    await project.resume({"integration": "codx"})
    assert warned() == [f"{where}: no agent is called `codx`{OWN}; did you mean `codex`?"]
    await project.resume()
    assert warned() == []
    await project.resume({"integration": "codex"})
    assert warned() == []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
