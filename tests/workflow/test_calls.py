from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.workflow.calls import finder
from bakeoff.workflow.document import load_document
from bakeoff.workflow.validate import validate

LEAF = "workflow: {id: leaf, name: L}\ninputs: {x: {required: true}, y: {}}\nsteps: [{id: s, type: slot}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".bakeoff" / "workflows").mkdir(parents=True)
    (tmp_path / ".specify" / "workflows" / "spec").mkdir(parents=True)
    return tmp_path


def write(path: Path, *steps: str, head: str = "workflow: {id: a, name: A, integration: codex}\n") -> Path:
    path.write_text(head + "steps:\n" + "".join(f"  - {step}\n" for step in steps))
    return path


def messages(path: Path, project: Path) -> list[str]:
    return [problem.message for problem in validate(load_document(path), find_workflow=finder(project))]


def test_where_a_workflow_is_found(project: Path) -> None:
    find = finder(project)
    (project / "sub").mkdir()
    caller = project / "sub" / "main.yml"
    for path in (project / ".specify/workflows/spec/workflow.yml", project / ".bakeoff/workflows/spec.yml"):
        path.write_text(LEAF)
        assert find("spec", caller) == path
    (project / "sub" / "spec").write_text(LEAF)
    assert find("spec", caller) == project / "sub" / "spec"
    assert find("spec", None) == project / ".bakeoff/workflows/spec.yml"
    assert find("sub/spec", None) == project / "sub" / "spec"
    assert find("../spec", None) is None
    assert find("x" * 5000, None) is None
    assert find("a\0b", None) is None


def test_inputs_of_a_call(project: Path) -> None:
    (project / "leaf.yml").write_text(LEAF)
    main = write(
        project / "main.yml",
        "{id: a, type: workflow, workflow: leaf.yml, input: {x: 1}}",
        "{id: b, type: workflow, workflow: leaf.yml, input: {z: 1}}",
        "{id: c, type: workflow, workflow: '{{ inputs.which }}', input: {z: 1}}",
        "{id: d, type: workflow, workflow: nowhere}",
    )
    found = messages(main, project)
    assert found[0] == "the workflow `leaf.yml` needs the input `x`; give it under `input`"
    assert found[1].startswith("the workflow `leaf.yml` has no input `z`")
    assert found[2].startswith("there is no input `which`")
    assert found[3].startswith("there is no workflow `nowhere`; looked for")
    assert len(found) == 4


def test_faults_of_the_called_workflow_are_told(project: Path) -> None:
    write(project / "bad.yml", "{id: s, type: shell}", "{id: t, type: shell}")
    (project / "worse.yml").write_text("a: [")
    main = write(
        project / "main.yml",
        "{id: a, type: workflow, workflow: bad.yml}",
        "{id: b, type: workflow, workflow: worse.yml}",
    )
    first, second = messages(main, project)
    assert "has 2 errors, the first: " in first
    assert "line 3" in first
    assert "cannot be read" in second


def test_workflows_that_call_themselves(project: Path) -> None:
    write(project / "b.yml", "{id: s, type: workflow, workflow: a.yml}")
    main = write(project / "a.yml", "{id: s, type: workflow, workflow: b.yml}")
    (message,) = messages(main, project)
    assert "a.yml -> b.yml -> a.yml" in message
    (message,) = messages(write(project / "c.yml", "{id: s, type: workflow, workflow: c.yml}"), project)
    assert "calls itself: c.yml -> c.yml" in message


def chain(project: Path, length: int) -> Path:
    """A workflow over `length` calls; it calls the next one twice, so that re-use is seen too."""
    (project / "w0.yml").write_text(LEAF.replace("required: true", ""))
    for number in range(1, length + 1):
        step = f"type: workflow, workflow: w{number - 1}.yml"
        write(project / f"w{number}.yml", f"{{id: s, {step}}}", f"{{id: t, {step}}}")
    return project / f"w{length}.yml"


def test_depth_of_calls(project: Path) -> None:
    assert messages(chain(project, 16), project) == []
    assert "more than 16 deep" in messages(chain(project, 17), project)[0]
    both = write(
        project / "both.yml",
        "{id: s, type: workflow, workflow: w15.yml}",
        "{id: t, type: workflow, workflow: w16.yml}",
    )
    assert "more than 16 deep" in messages(both, project)[0]


PROMPT = "{id: ask, type: prompt, prompt: p}"
USE = "{id: use, type: shell, run: 'echo {{ steps.call.output.text }} {{ steps.call.output.status }}'}"


def test_untrusted_text_comes_out_of_a_call(project: Path) -> None:
    outputs = "workflow: {id: a, name: A}\noutputs: {text: {value: '%s'}}\n"
    write(project / "asks.yml", PROMPT, head=outputs % "{{ steps.ask.output.stdout }}")
    write(project / "counts.yml", PROMPT, head=outputs % "{{ steps.ask.output.exit_code }}")
    write(
        project / "passes.yml",
        "{id: s, type: workflow, workflow: asks.yml}",
        head=outputs % "{{ steps.s.output.text }}",
    )
    for name, wrong in (("asks", True), ("counts", False), ("passes", True)):
        main = write(project / "main.yml", f"{{id: call, type: workflow, workflow: {name}.yml}}", USE)
        assert bool(messages(main, project)) is wrong, name
    main = write(project / "main.yml", "{id: call, type: workflow, workflow: '{{ context.run_id }}.yml'}", USE)
    assert "| sh" in messages(main, project)[0]


def test_untrusted_text_goes_into_a_call(project: Path) -> None:
    head = "workflow: {id: a, name: A}\ninputs: {x: {}, y: {}}\noutputs: {text: {value: '{{ inputs.x }}'}}\n"
    write(project / "runs.yml", "{id: s, type: shell, run: 'echo {{ inputs.x }} {{ inputs.y | sh }}'}", head=head)
    write(project / "deep.yml", "{id: s, type: workflow, workflow: runs.yml, input: {x: '{{ inputs.y }}'}}", head=head)
    text = "'{{ steps.ask.output.stdout }}'"
    call = "{id: call, type: workflow, workflow: %s, input: {%s: " + text + "}}"
    (message,) = messages(write(project / "main.yml", PROMPT, call % ("runs.yml", "x")), project)
    assert message.startswith(
        "text that nobody has read goes into `x`, and in runs.yml, line 5, `{{ inputs.x }}` pastes"
    )
    assert messages(write(project / "main.yml", PROMPT, call % ("runs.yml", "y")), project) == []
    (message,) = messages(write(project / "main.yml", PROMPT, call % ("deep.yml", "y")), project)
    assert "in runs.yml, line 5" in message
    assert messages(write(project / "main.yml", PROMPT, call % ("deep.yml", "x")), project) == []
    found = messages(write(project / "main.yml", PROMPT, call % ("runs.yml", "x"), USE), project)
    assert len(found) == 2


def test_a_budget_of_a_called_file_is_an_error_at_any_depth(project: Path) -> None:
    (project / "paid.yml").write_text(LEAF.replace("{required: true}", "{}") + "budget: {calls: 2}\n")
    (project / "free.yml").write_text(LEAF.replace("{required: true}", "{}") + "budget: {calls: null}\n")
    write(project / "mid.yml", "{id: m, type: workflow, workflow: paid.yml}")
    whole = "the workflow `paid.yml` has a `budget` (line 4), which has no effect where it is called; put it into the file that is run"
    assert messages(write(project / "main.yml", "{id: a, type: workflow, workflow: paid.yml}"), project) == [whole]
    (message,) = messages(write(project / "main.yml", "{id: a, type: workflow, workflow: mid.yml}"), project)
    assert message.startswith("the workflow `mid.yml` has 1 error, the first: ")
    assert whole in message
    assert messages(write(project / "main.yml", "{id: a, type: workflow, workflow: free.yml}"), project) == []
    assert messages(project / "paid.yml", project) == []
