"""Resume by key after an edit, and what is said before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from bakeoff.errors import BakeoffError
from bakeoff.workflow.explain_walk import Row

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def actions(rows: list[Row]) -> dict[str, str]:
    return {row.path: row.action for row in rows}


FLOW = """
inputs: {code: {type: number, default: 3}}
steps:
  - {id: a, type: shell, run: "echo a >> trace; echo 1"}
  - {id: fan, type: fan-out, items: [x, y, z], max_concurrency: 2, step: {id: it, type: shell, run: "echo {{ item }} >> trace"}}
  - {id: c, type: if, condition: "{{ steps.a.output.exit_code == 0 }}", then: [{id: d, type: shell, run: "echo d >> trace; exit {{ inputs.code }}"}]}
  - {id: e, type: shell, run: "echo e >> trace"}
"""


async def test_ids_and_order_of_items_do_not_count_and_new_items_run(project: Project) -> None:
    assert (await project.start(FLOW)).error == "step d: the command exited with status 3"
    edited = (
        FLOW.replace("id: a,", "id: first,").replace("steps.a.", "steps.first.").replace("[x, y, z]", "[w, z, y, x]")
    )
    rows = project.explain(edit=edited)
    assert actions(rows) == {
        "first": "reuse",
        "fan": "run",
        "fan:it:0": "run",
        "fan:it:1": "reuse",
        "fan:it:2": "reuse",
        "fan:it:3": "reuse",
        "c": "decide",
        "d": "run",
        "e": "run",
    }
    project.forget()
    assert (await project.resume({"code": "0"}, edited)).status == "completed"
    assert project.trace() == ["w", "d", "e"]
    state = project.state()
    assert list(map(len, [state["steps"]["fan"]["output"]["results"]])) == [4]


async def test_a_changed_step_runs_again_with_all_that_follow_it(project: Project) -> None:
    await project.start(FLOW)
    project.forget()
    edited = FLOW.replace("echo a >> trace; echo 1", "echo A >> trace; echo 1")
    assert actions(project.explain(edit=edited))["fan"] == "run"
    await project.resume({"code": "0"}, edited)
    assert sorted(project.trace()) == ["A", "d", "e", "x", "y", "z"]


async def test_explain_of_an_edit_names_the_reason(project: Project) -> None:
    await project.start(FLOW)

    def reasons(edited: str) -> dict[str, str]:
        return {row.path: row.reason for row in project.explain(edit=edited)}

    found = reasons(FLOW.replace("[x, y, z]", "[x, w, z]"))
    assert found["a"] == "same key as before the edit"
    assert found["fan:it:1"] == "new, or what it is given has changed"
    assert found["d"] == "follows fan, which runs"
    assert reasons(FLOW)["d"] == "it failed: the command exited with status 3"
    assert reasons(FLOW)["e"] == "follows d, which runs"
    found = reasons(FLOW.replace("echo a >> trace; echo 1", "echo A; echo 1"))
    assert found["a"] == "what it is given has changed"
    assert found["fan:it:0"] == "follows a, which runs"
    added = FLOW.replace("  - {id: fan", '  - {id: b, type: shell, run: "true"}\n  - {id: fan')
    assert reasons(added)["b"] == "new, or it had not run yet"
    without = "\n".join(line for line in FLOW.splitlines() if "id: fan" not in line)
    assert reasons(without)["d"] == "what stands before it has changed"


async def test_an_independent_step_is_kept_whatever_went_before(project: Project) -> None:
    flow = """
steps:
  - {id: a, type: shell, run: "echo a >> trace"}
  - {id: b, type: shell, run: "echo b >> trace", independent: true}
  - {id: c, type: if, condition: true, independent: true, then: [{id: d, type: shell, run: "echo d >> trace"}]}
  - {id: e, type: shell, run: "echo e >> trace; false"}
"""
    await project.start(flow)
    project.forget()
    edited = flow.replace("echo a >>", "echo A >>").replace("; false", "")
    found = actions(project.explain(edit=edited))
    assert (found["a"], found["b"], found["d"], found["e"]) == ("run", "reuse", "reuse", "run")
    await project.resume(edit=edited)
    assert project.trace() == ["A", "e"]


async def test_an_edited_run_that_stops_again_resumes_by_path_and_still_by_key(project: Project) -> None:
    flow = """
inputs: {bad: {type: string, default: "2"}}
steps:
  - {id: fan, type: fan-out, items: [1, 2, 3], step: {id: it, type: shell, run: "echo {{ item }} >> trace; test {{ item }} != {{ inputs.bad }}"}}
"""
    await project.start(flow)
    assert project.trace() == ["1", "2"]
    edited = flow.replace("[1, 2, 3]", "[0, 2, 1, 3]")
    project.forget()
    await project.resume(edit=edited)
    assert project.trace() == ["0", "2"]
    assert actions(project.explain({"bad": "9"})) == {
        "fan": "run",
        "fan:it:0": "reuse",
        "fan:it:1": "run",
        "fan:it:2": "run",
        "fan:it:3": "run",
    }
    project.forget()
    # The input is part of what item 1 is given, so it is no longer found by key; by path nothing finished is lost.
    assert (await project.resume({"bad": "9"})).status == "completed"
    assert project.trace() == ["2", "1", "3"]


async def test_passes_of_a_loop_are_told_apart_by_number(project: Project) -> None:
    flow = """
steps:
  - id: w
    type: while
    condition: "{{ iteration != 2 }}"
    max_iterations: 3
    steps: [{id: n, type: shell, run: "echo n >> trace"}]
  - {id: bad, type: shell, run: "false"}
"""
    await project.start(flow.replace("{{ iteration != 2 }}", "{{ true }}"))
    assert project.trace() == ["n", "n", "n"]
    project.forget()
    edited = (
        flow.replace("{{ iteration != 2 }}", "{{ true }}")
        .replace("max_iterations: 3", "max_iterations: 4")
        .replace('"false"', '"true"')
    )
    await project.resume(edit=edited)
    assert project.trace() == ["n"]


async def test_explain_of_a_plain_resume_names_each_reason(project: Project) -> None:
    flow = """
inputs: {go: {type: string, default: ""}}
steps:
  - {id: ok, type: shell, run: "true"}
  - {id: by, type: switch, expression: "{{ steps.ok.output.exit_code }}", cases: {0: [{id: in, type: shell, run: "true"}]}}
  - {id: w, type: while, condition: "{{ steps.in.output.exit_code == 0 }}", max_iterations: 2, steps: [{id: p, type: shell, run: "true"}]}
  - {id: par, type: parallel, branches: {l: [{id: l1, type: shell, run: "true"}], r: [{id: r1, type: shell, run: "true"}]}}
  - {id: skipped, type: shell, run: "true", when: false}
  - {id: g, type: gate, message: go}
  - {id: bad, type: shell, run: "exit 4"}
  - {id: later, type: if, condition: "{{ steps.bad.output.exit_code == 4 }}", then: [{id: t, type: shell, run: "true"}]}
  - {id: fan, type: fan-out, items: "{{ steps.bad.output.data }}", step: {id: it, type: shell, run: "true"}}
"""
    assert (await project.start(flow)).status == "paused"
    rows = {row.path: (row.action, row.reason) for row in project.explain()}
    assert rows["ok"] == ("reuse", "ended: completed")
    assert rows["by"] == ("reuse", "decided: 0")
    assert rows["in"][0] == "reuse"
    assert rows["w:p:0"][0] == rows["w:p:1"][0] == "reuse"
    assert rows["l1"][0] == rows["r1"][0] == "reuse"
    assert rows["skipped"][0] == "reuse"
    assert rows["g"] == ("run", "it waits for an answer")
    assert rows["bad"] == ("run", "it has not run yet")
    assert rows["later"] == ("unknown", "hangs on bad, which has yet to run")
    assert rows["fan"][0] == "unknown"
    assert "t" not in rows


async def test_a_dry_run_says_what_can_be_known_and_leaves_nothing_behind(project: Project) -> None:
    project.write(
        'workflow: {id: sub, name: S, version: "1.0.0"}\ninputs: {n: {type: number}}\n'
        'steps: [{id: inner, type: shell, run: "echo {{ inputs.n }}"}]',
        "sub.yml",
    )
    rows = project.plan(
        """
inputs: {list: {type: string, default: "a b"}, deep: {type: boolean, default: false}}
steps:
  - {id: fan, type: fan-out, items: "{{ inputs.list | split(' ') }}", step: {id: it, type: shell, run: "touch ran"}}
  - {id: not, type: shell, run: "touch ran", when: "{{ inputs.deep }}"}
  - {id: i, type: if, condition: "{{ inputs.deep }}", then: [{id: x, type: shell, run: "touch ran"}], else: [{id: y, type: shell, run: "touch ran"}]}
  - {id: s, type: switch, expression: "{{ inputs.list }}", cases: {"a b": [{id: z, type: shell, run: "touch ran"}]}}
  - {id: call, type: workflow, workflow: sub.yml, input: {n: 1}}
  - {id: w, type: do-while, condition: false, steps: [{id: p, type: shell, run: "touch ran"}]}
  - {id: par, type: parallel, branches: {l: [{id: l1, type: shell, run: "touch ran"}]}}
  - {id: none, type: fan-out, items: "{{ inputs.list }}", step: {id: it, type: shell, run: "touch ran"}}
  - {id: after, type: shell, run: "echo {{ steps.fan.output.item_count }}"}
  - {id: hung, type: shell, run: "true", when: "{{ steps.after.status == 'completed' }}"}
"""
    )
    found = actions(rows)
    assert (found["fan:it:0"], found["fan:it:1"]) == ("run", "run")
    assert (found["not"], found["i"], found["y"]) == ("skip", "decide", "run")
    assert "x" not in found
    assert (found["z"], found["call/inner"], found["w:p:0"], found["l1"]) == ("run", "run", "run", "run")
    assert [row.reason for row in rows if row.path == "none"] == ["fails: `items` is no list"]
    assert [row.reason for row in rows if row.path == "after"] == ["it has not run yet; what it is given hangs on fan"]
    assert found["hung"] == "unknown"
    assert not (project.folder / "ran").exists()
    assert not (project.folder / ".bakeoff").exists()


async def test_runs_that_cannot_be_resumed_are_refused(project: Project) -> None:
    with pytest.raises(BakeoffError, match="there is no run 'r'"):
        project.explain()
    await project.start('steps: [{id: a, type: shell, run: "true"}]')
    advice = "run r is completed; it cannot be resumed as it is.*`bakeoff resume r --edit FILE`"
    with pytest.raises(BakeoffError, match=advice):
        await project.resume()
    with pytest.raises(BakeoffError, match=advice):
        project.explain()


async def test_a_completed_run_goes_on_with_what_a_changed_file_adds(project: Project) -> None:
    flow = """
steps:
  - {id: a, type: shell, run: "echo a >> trace"}
  - {id: fan, type: fan-out, items: [x, y], step: {id: it, type: shell, run: "echo {{ item }} >> trace"}}
outputs: {n: {value: "{{ steps.fan.output.item_count }}"}}
"""
    assert (await project.start(flow)).status == "completed"
    project.forget()
    edited = flow.replace("[x, y]", "[y, z, x]").replace(
        "outputs:", '  - {id: b, type: shell, run: "echo b{{ steps.fan.output.item_count }} >> trace"}\noutputs:'
    )
    assert actions(project.explain(edit=flow)) == {"a": "reuse", "fan": "run", "fan:it:0": "reuse", "fan:it:1": "reuse"}
    rows = project.explain(edit=edited)
    assert actions(rows) == {
        "a": "reuse",
        "fan": "run",
        "fan:it:0": "reuse",
        "fan:it:1": "run",
        "fan:it:2": "reuse",
        "b": "run",
    }
    assert project.state()["status"] == "completed"  # explaining changes nothing
    ending = await project.resume(edit=edited)
    assert (ending.status, ending.facts["outputs"]) == ("completed", {"n": 3})
    assert project.trace() == ["z", "b3"]
    project.forget()
    with pytest.raises(BakeoffError, match="run r is completed"):
        await project.resume()
    assert (await project.resume(edit=edited)).status == "completed"
    assert project.trace() == []


async def test_a_completed_run_whose_edit_fails_resumes_from_there(project: Project) -> None:
    flow = 'steps: [{id: a, type: shell, run: "echo a >> trace"}, {id: b, type: shell, run: "echo b >> trace; test -e ok"}]'
    await project.start('steps: [{id: a, type: shell, run: "echo a >> trace"}]')
    assert (await project.resume(edit=flow)).status == "failed"
    (project.folder / "ok").touch()
    assert (await project.resume()).status == "completed"
    assert project.trace() == ["a", "b", "b"]


async def test_an_aborted_run_is_not_resumed_with_an_edit_either(project: Project) -> None:
    flow = "inputs: {v: {default: reject}}\nsteps: [{id: g, type: gate, message: go, verdict_input: v}]"
    assert (await project.start(flow)).status == "aborted"
    for edit in (None, flow):
        with pytest.raises(BakeoffError, match=r"run r is aborted; .*start a new one with `bakeoff run`"):
            await project.resume(edit=edit)


async def test_an_invalid_edit_changes_nothing(project: Project) -> None:
    await project.start(FLOW)
    with pytest.raises(BakeoffError, match=r"nonsense"):
        await project.resume(edit="steps: [{id: a, type: nonsense}]")
    assert (await project.resume({"code": "0"})).status == "completed"
    assert project.trace().count("a") == 1
