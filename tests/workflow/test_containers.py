"""What a step that holds others says of them: timeout, retry, env, cwd, lane; and called workflows that go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from bakeoff.cli.inputs import parse_inputs
from bakeoff.engine.events import NodeRetried, Warned
from bakeoff.errors import BakeoffError
from bakeoff.workflow.find import require_workflow

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def test_env_cwd_and_lane_hold_for_everything_inside(project: Project) -> None:
    (project.folder / "sub" / "deep").mkdir(parents=True)
    ending = await project.start(
        """
lanes: {one: 1}
inputs: {word: {type: string, default: outer}}
steps:
  - id: fan
    type: fan-out
    items: [0, 1, 2, 3]
    max_concurrency: 4
    env: {WORD: "{{ inputs.word }}"}
    cwd: sub
    lane: one
    step:
      id: body
      type: if
      condition: true
      cwd: deep
      then:
        - {id: in, type: shell, run: "mkdir busy && echo $WORD $(basename $PWD) >> ../../trace; sleep 0.02; rmdir busy"}
        - {id: own, type: shell, env: {WORD: mine}, cwd: .., run: "echo $WORD $(basename $PWD) >> ../trace"}
"""
    )
    # Each step of the lane found nobody else at work, or `mkdir` had failed.
    assert (ending.status, ending.error) == ("completed", None)
    lines = (project.folder / "trace").read_text().splitlines()
    assert sorted(lines) == ["mine sub"] * 4 + ["outer deep"] * 4


async def test_an_unknown_lane_is_named(project: Project) -> None:
    with pytest.raises(BakeoffError, match="no lane `nowhere`; there are agents, apply, bench, leaves, slots, tests"):
        await project.start('steps: [{id: a, type: shell, run: "true", lane: nowhere}]')
    (project.folder / "bakeoff.toml").write_text("lanes = {nowhere = 1}")
    ending = await project.start('steps: [{id: a, type: shell, run: "true", lane: nowhere}]')
    assert ending.status == "completed"


async def test_timeout_covers_all_that_is_inside_and_keeps_what_had_ended(project: Project) -> None:
    flow = """
inputs: {nap: {type: string, default: "60"}}
steps:
  - id: fan
    type: fan-out
    items: ["0", "{{ inputs.nap }}"]
    timeout: TIME
    continue_on_error: CONTINUE
    step: {id: it, type: shell, run: "echo {{ index }} >> trace; test {{ index }} = 0 || sleep {{ inputs.nap }}"}
  - {id: after, type: shell, run: "echo after >> trace"}
"""
    ending = await project.start(flow.replace("TIME", "1.5").replace("CONTINUE", "false"))
    assert (ending.status, ending.error) == ("failed", "step fan: timed out after 1.5 s")
    steps = project.state()["steps"]
    assert (steps["fan"]["kind"], steps["fan"]["output"]["timed_out"]) == ("timeout", True)
    assert steps["fan:it:0"]["status"] == "completed"
    assert (await project.resume({"nap": "0"})).status == "completed"
    assert project.trace() == ["0", "1", "1", "after"]


async def test_a_timeout_that_is_absorbed_is_final(project: Project) -> None:
    flow = """
steps:
  - {id: w, type: if, condition: true, timeout: 2, continue_on_error: true, then: [{id: s, type: shell, run: "echo s >> trace; sleep 60"}]}
  - {id: bad, type: shell, run: "echo bad >> trace; test -e fixed"}
"""
    assert (await project.start(flow)).error == "step bad: the command exited with status 1"
    assert project.state()["steps"]["w"]["status"] == "failed"
    (project.folder / "fixed").touch()
    assert (await project.resume()).status == "completed"
    assert project.trace() == ["s", "bad", "bad"]


async def test_retry_runs_again_what_had_not_ended_well(project: Project) -> None:
    ending = await project.start(
        """
steps:
  - id: fan
    type: fan-out
    items: [a, b, c]
    retry: {attempts: 3, delay: 0.001}
    step: {id: it, type: shell, run: "echo {{ item }} >> trace; test {{ item }} != b || test $(grep -c b trace) = 3"}
"""
    )
    assert ending.status == "completed"
    assert project.trace() == ["a", "b", "b", "b", "c"]
    retried = [event for event in project.events if isinstance(event, NodeRetried)]
    assert [(event.path, event.attempt) for event in retried] == [("fan", 2), ("fan", 3)]
    assert project.state()["steps"]["fan:it:1"]["attempts"] == 3


async def test_retry_of_a_container_heeds_kinds_and_its_end(project: Project) -> None:
    flow = """
steps:
  - id: p
    type: parallel
    retry: {attempts: 2, delay: 0.001, on: [KIND]}
    branches: {l: [{id: a, type: shell, run: "echo a >> trace; exit 3"}], r: [{id: b, type: shell, run: "true"}]}
"""
    assert (await project.start(flow.replace("KIND", "timeout"))).status == "failed"
    assert project.trace() == ["a"]
    project.store.open("r").delete()
    project.forget()
    assert (await project.start(flow.replace("KIND", "exit"))).error == "step a: the command exited with status 3"
    assert project.trace() == ["a", "a"]


async def test_min_success_that_is_missed_and_then_reached(project: Project) -> None:
    flow = """
inputs: {bad: {type: string, default: "1 2"}}
steps:
  - id: fan
    type: fan-out
    items: ["0", "1", "2", "3"]
    max_concurrency: 1
    min_success: 0.75
    step: {id: it, type: shell, run: "echo {{ item }} >> trace; case ' {{ inputs.bad }} ' in *' {{ item }} '*) exit 1;; esac"}
  - {id: after, type: shell, run: "echo {{ steps.fan.output.succeeded }} >> trace; test -e go"}
"""
    # With two failures three can no longer succeed: the second one halts, and nothing more is paid for.
    assert (await project.start(flow)).error == "step fan:it:2: the command exited with status 1"
    assert project.trace() == ["0", "1", "2"]
    project.forget()
    ending = await project.resume({"bad": "1"})
    assert ending.error == "step after: the command exited with status 1"
    assert project.trace() == ["1", "2", "3", "3"]
    (project.folder / "go").touch()
    project.forget()
    # The fan-out has ended well; its failed item is not tried again.
    assert (await project.resume()).status == "completed"
    assert project.trace() == ["3"]


async def test_more_successes_than_items_fail_the_step_before_any_item(project: Project) -> None:
    flow = """
inputs: {list: {type: string, default: "a"}}
steps:
  - id: f
    type: fan-out
    items: "{{ inputs.list | split(',') }}"
    min_success: 2
    step: {id: i, type: shell, run: "echo {{ item }} >> trace"}
  - {id: after, type: shell, run: "echo {{ steps.f.status }} >> trace"}
"""
    ending = await project.start(flow)
    assert ending.error == "step f (line 5, column 5): min_success is 2, but there is only 1 item"
    step = project.state()["steps"]["f"]
    assert (step["status"], step["error"]) == ("failed", "min_success is 2, but there is only 1 item")
    assert step["output"]["item_count"] == 1
    assert project.trace() == []
    assert [(row.action, row.reason) for row in project.explain()] == [
        ("run", "fails: min_success is 2, but there is only 1 item"),
        ("run", "it has not run yet; what it is given hangs on f"),
    ]
    # What was given is on record, so only a changed file can give it more items.
    edited = flow.replace('default: "a"', 'default: "a,b"')
    assert (await project.resume({"list": "a,b"}, edit=edited)).status == "completed"
    assert project.trace() == ["a", "b", "completed"]


async def test_more_successes_than_items_can_be_gone_past_and_tried_again_by_kind(project: Project) -> None:
    ending = await project.start(
        """
steps:
  - id: f
    type: fan-out
    items: "{{ [] }}"
    min_success: 1
    continue_on_error: true
    retry: {attempts: 2, delay: 0, jitter: 0, on: [items]}
    step: {id: i, type: slot}
  - {id: after, type: shell, run: "echo '{{ steps.f.error }}' >> trace"}
"""
    )
    assert ending.status == "completed"
    assert " ".join(project.trace()) == "min_success is 1, but there are only 0 items"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0", "the number 0 and counts as 1"),
        ("1.5", "the number 1.5 and counts as 1"),
        ("2.9", "the number 2.9 and counts as 2"),
        ("'x'", 'the text "x" and counts as 1'),
        ("2", None),
        ("'2'", None),
        ("null", None),
    ],
)
async def test_a_bound_that_counts_as_another_is_said_once(project: Project, value: str, words: str | None) -> None:
    flow = """
steps:
  - id: outer
    type: fan-out
    items: [1, 2]
    step: {id: f, type: fan-out, items: [1], max_concurrency: "{{ VALUE }}", step: {id: i, type: slot}}
  - {id: p, type: parallel, max_concurrency: "{{ VALUE }}", branches: {a: [{id: x, type: slot}]}}
  - {id: bad, type: shell, run: "false"}
""".replace("VALUE", value)
    await project.start(flow)
    await project.resume()
    said = [event.text for event in project.events if isinstance(event, Warned)]
    whole = f"max_concurrency is {words}; write a whole number from 1"
    assert said == ([] if words is None else [f"step f: {whole}", f"step p: {whole}"])


async def test_a_bound_that_is_lowered_is_said(project: Project) -> None:
    await project.start(
        'steps: [{id: f, type: fan-out, items: [1, 2, 3], max_concurrency: 3, step: {id: i, type: shell, run: "true"}}]',
        max_parallel=2,
    )
    said = [event.text for event in project.events if isinstance(event, Warned)]
    assert said == ["max_concurrency 3 is lowered to 2: --max-parallel allows no more leaves at once"]


SUB = 'workflow: {id: sub, name: S, version: "1.0.0"}\ninputs: {n: {type: number, required: true}}\nsteps: [{id: s, type: shell, run: "exit {{ inputs.n }}"}]\n'


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("workflow: \"{{ 'nowhere' }}\"", "there is no workflow 'nowhere'"),
        ("workflow: \"{{ 'sub.yml' }}\", input: {n: x}", "input `n` must be a number"),
        ("workflow: \"{{ 'sub.yml' }}\"", "required input `n` is not provided"),
        ("workflow: \"{{ 'sub.yml' }}\", input: {n: 0, m: 1}", "workflow sub has no input m"),
        ("workflow: \"{{ 'sub.yml' }}\", input: {n: 3}", "the command exited with status 3"),
        ("workflow: \"{{ 'flow.yml' }}\"", "more than 16 deep"),
    ],
)
async def test_a_call_that_fails_is_a_failed_step(project: Project, call: str, words: str) -> None:
    project.write(SUB, "sub.yml")
    flow = f'steps: [{{id: c, type: workflow, continue_on_error: true, {call}}}, {{id: after, type: shell, run: "echo after >> trace"}}]'
    if "flow.yml" in call:
        flow = flow.replace("continue_on_error: true, ", "")
    ending = await project.start(flow)
    if "flow.yml" in call:
        assert words in (ending.error or "")
        return
    assert ending.status == "completed", ending.error
    call_step = project.state()["steps"]["c"]
    assert (call_step["status"], call_step["kind"]) == ("failed", "workflow")
    assert words in call_step["error"]
    assert words in call_step["output"]["error"]
    assert project.trace() == ["after"]


async def test_a_call_is_kept_when_it_has_ended(project: Project) -> None:
    project.write(SUB.replace("exit {{ inputs.n }}", "echo in >> trace"), "sub.yml")
    flow = """
steps:
  - {id: c, type: workflow, workflow: sub.yml, input: {n: 1}}
  - {id: bad, type: shell, run: "echo {{ steps.c.output.status }} >> trace; test -e go"}
"""
    await project.start(flow)
    (project.folder / "go").touch()
    assert [row.action for row in project.explain()] == ["reuse", "run"]
    assert (await project.resume()).status == "completed"
    assert project.trace() == ["in", "completed", "completed"]
    # And by key: the same call before, so `bad` is found again after an edit of what follows it.
    project.store.open("r")


async def test_a_broken_step_type_file_is_named(project: Project) -> None:
    (project.folder / "bakeoff.toml").write_text('step_types = "types.py"\n')
    (project.folder / "types.py").write_text("raise RuntimeError('no')\n")
    with pytest.raises(BakeoffError, match=r"types\.py: RuntimeError: no"):
        await project.start('steps: [{id: a, type: shell, run: "true"}]')


@pytest.mark.parametrize(("kind", "passes"), [("while", 3), ("do-while", 4)])
@pytest.mark.parametrize("name", ["iteration", "iterations.w"])
async def test_a_loop_can_count_its_own_passes(project: Project, kind: str, passes: int, name: str) -> None:
    ending = await project.start(f"""
steps:
  - {{id: w, type: {kind}, condition: "{{{{ {name} < 3 }}}}", steps: [{{id: a, type: slot}}]}}
""")
    assert ending.status == "completed"
    assert sorted(path for path in project.state()["steps"] if path.startswith("w:")) == [
        f"w:a:{number}" for number in range(passes)
    ]


async def test_a_mistyped_input_is_said(project: Project) -> None:
    text = "inputs: {branch: {default: main}}\nsteps: [{id: a, type: slot}]"
    for strict in (False, True):
        with pytest.raises(BakeoffError, match="there is no input `brnch`; did you mean `branch`"):
            await project.start(text, {"brnch": "x"}, strict=strict)
    with pytest.raises(BakeoffError, match="there is no input `unlike`"):
        await project.start(text, {"unlike": "x"}, strict=True)
    assert (await project.start(text, {"unlike": "x"})).status == "completed"
    said = [event.text for event in project.events if isinstance(event, Warned)]
    assert "there is no input `unlike`; its value is dropped" in said


async def test_a_secret_given_for_a_number_is_not_shown(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "sk-abcdefghijkl")
    with pytest.raises(BakeoffError) as caught:
        await project.start(
            "secrets: [API_TOKEN]\ninputs: {n: {type: number}}\nsteps: [{id: a, type: slot}]", {"n": "sk-abcdefghijkl"}
        )
    assert "sk-" not in str(caught.value)


async def test_an_agent_of_the_project_that_nothing_names_is_said(project: Project) -> None:
    ending = await project.start(
        "inputs: {integration: {default: auto}}\n"
        'steps: [{id: a, type: prompt, prompt: p, integration: "{{ inputs.integration }}"}]'
    )
    assert ".specify/integration.json" in (ending.error or "")
    assert "-i integration=NAME" in (ending.error or "")


def test_a_folder_is_no_workflow(tmp_path: Path) -> None:
    with pytest.raises(BakeoffError, match="is a folder, not a workflow file"):
        require_workflow(".", None, tmp_path)


def test_a_file_of_inputs_that_is_wrong(tmp_path: Path) -> None:
    for content, words in ((None, "cannot be read: No such file"), ("{", "is not JSON")):
        if content is not None:
            (tmp_path / "i.json").write_text(content)
        with pytest.raises(BakeoffError, match=words):
            parse_inputs((f"@{tmp_path / 'i.json'}",))
