"""Loops, branches, gates, parallel branches and calls of other workflows."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bakeoff.engine.control import send
from bakeoff.engine.events import GateOpened
from bakeoff.errors import BakeoffError
from flows import NOTE, Flow


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path)


LOOP = f"""
    steps:
      - id: loop
        type: do-while
        condition: "{{{{ steps.count.output.data < 3 }}}}"
        max_iterations: 9
        steps:
          - {{id: count, type: shell, run: '{NOTE}; echo x >> n; wc -l < n', output_format: json}}
          - id: fan
            type: fan-out
            items: [a, b]
            step: {{id: it, type: shell, run: '{NOTE}; echo {{{{ item }}}}{{{{ iteration }}}}'}}
      - {{id: after, type: shell, argv: [echo, "{{{{ steps.count.output.data }}}} {{{{ steps.fan.output.results[1].stdout }}}}"]}}
    """


def test_a_bare_id_means_the_newest_pass(flow: Flow) -> None:
    flow.start(LOOP)
    assert flow.output("after")["stdout"] == "3 b2\n\n"
    steps = flow.state["steps"]
    assert [steps[f"loop:count:{k}"]["output"]["data"] for k in range(3)] == [1, 2, 3]
    assert steps["count"] == steps["loop:count:2"]
    assert steps["loop:fan:1:it:0"]["output"]["stdout"] == "a1\n"
    assert flow.output("loop") == {
        "condition": "{{ steps.count.output.data < 3 }}", "iterations": 3, "max_iterations": 9, "capped": False, "loop_type": "do-while",
    }  # fmt: skip


def test_reaching_the_cap_is_visible(flow: Flow) -> None:
    flow.start("""
        steps:
          - {id: w, type: while, condition: true, max_iterations: 2, steps: [{id: a, type: shell, run: "true"}]}
          - {id: n, type: while, condition: "{{ inputs.no }}", steps: [{id: b, type: shell, run: "true"}]}
        """)
    assert (flow.output("w")["iterations"], flow.output("w")["capped"]) == (2, True)
    assert (flow.output("n")["iterations"], flow.output("n")["capped"]) == (0, False)


def test_a_resumed_loop_goes_on_inside_its_pass(flow: Flow) -> None:
    text = f"""
        steps:
          - id: loop
            type: do-while
            condition: "{{{{ iteration < 2 }}}}"
            steps:
              - {{id: n, type: shell, run: '{NOTE}'}}
              - {{id: k, type: shell, run: '{NOTE}; test {{{{ iteration }}}} != 1 || test -e mended'}}
        """
    assert flow.start(text).status == "failed"
    assert flow.trace() == ["loop:n:0", "loop:k:0", "loop:n:1", "loop:k:1"]
    (flow.root / "mended").touch()
    assert flow.resume().status == "completed"
    assert flow.trace() == ["loop:k:1", "loop:n:2", "loop:k:2"]


def test_a_branch_once_chosen_stays(flow: Flow) -> None:
    path = flow.write("""
        workflow: {id: f, name: F, version: 1.0.0}
        inputs: {way: {type: string}}
        steps:
          - id: c
            type: if
            condition: "{{ inputs.way == 'left' }}"
            then: [{id: l, type: shell, run: test -e mended}]
            else: [{id: r, type: shell, run: "true"}]
          - {id: seen, type: shell, argv: [echo, "{{ inputs.way }}"]}
        """)
    assert flow.start(path, {"way": "left"}).status == "failed"
    (flow.root / "mended").touch()
    assert flow.resume({"way": "right"}).status == "completed"
    assert "r" not in flow.state["steps"]
    assert flow.output("seen")["stdout"] == "right\n", "new inputs apply to what runs now"


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("true", "True"), ("'true'", "true"), ("2", "2"), ("2.0", "2.0"), ("' padded '", "padded"), ("'TRUE'", None),
        ("null", ""), ("[1]", None), ("'2'", "2"),
    ],
)  # fmt: skip
def test_switch_compares_spellings(flow: Flow, expression: str, matched: str | None) -> None:
    flow.start(f"""
        steps:
          - id: s
            type: switch
            expression: "{{{{ {expression} }}}}"
            cases:
              true: []
              "true": []
              2: []
              "2.0": []
              padded: []
              "": []
            default: [{{id: d, type: shell, run: "true"}}]
        """)
    assert flow.output("s")["matched_case"] == (matched if matched is not None else "__default__")
    assert ("d" in flow.state["steps"]) is (matched is None)


GATE = """
    workflow: {id: f, name: F, version: 1.0.0}
    inputs: {verdict: {type: string, default: ""}}
    steps:
      - {id: g, type: gate, message: "ok?", options: [Ship, reject], on_reject: ON, verdict_input: verdict}
      - {id: after, type: shell, argv: [echo, "{{ steps.g.output.choice }}"]}
    """


@pytest.mark.parametrize(
    ("on_reject", "verdict", "status", "choice"),
    [
        ("abort", "ship", "completed", "Ship"),
        ("abort", "REJECT", "aborted", "reject"),
        ("skip", "reject", "completed", "reject"),
        ("retry", "reject", "paused", "reject"),
        ("abort", "maybe", "failed", None),
        ("abort", "", "paused", None),
    ],
)
def test_gates_decided_by_an_input(flow: Flow, on_reject: str, verdict: str, status: str, choice: str | None) -> None:
    ending = flow.start(flow.write(GATE.replace("ON", on_reject)), {"verdict": verdict})
    assert ending.status == status
    assert flow.output("g")["choice"] == choice
    assert ("after" in flow.state["steps"]) is (status == "completed")
    if status == "aborted":
        assert flow.output("g")["aborted"] is True
        with pytest.raises(BakeoffError, match="aborted"):
            flow.resume({"verdict": "ship"})
    if status == "failed":
        assert "'maybe'; the choices are Ship, reject" in str(ending.error)
    if status == "paused":
        assert flow.resume({"verdict": "ship"}).status == "completed"
        assert flow.output("after")["stdout"] == "Ship\n"


def test_a_rejection_that_retries_forgets_the_verdict(flow: Flow) -> None:
    flow.start(flow.write(GATE.replace("ON", "retry")), {"verdict": "reject"})
    assert flow.resume().status == "paused", "the old verdict must not decide again"


def test_a_rejection_that_aborts_is_not_absorbed(flow: Flow) -> None:
    text = GATE.replace("ON", "abort").replace("message:", "continue_on_error: true, message:")
    assert flow.start(flow.write(text), {"verdict": "reject"}).status == "aborted"


def test_an_answer_to_a_run_whose_gate_is_at_the_top_lets_it_resume(flow: Flow) -> None:
    """The answer arrives while another branch still works; the run of a dead process keeps it too."""
    text = """
        steps:
          - id: p
            type: parallel
            branches:
              a: [{id: g, type: gate, message: ok?}, {id: say, type: shell, run: touch answered}]
              b: [{id: w, type: shell, timeout: 10, run: 'while [ ! -e answered ]; do sleep 0.02; done'}]
        """
    gates: list[str] = []

    async def answer() -> None:
        while not gates:  # noqa: ASYNC110 - somebody else makes it so
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)
        folder = flow.root / ".bakeoff" / "runs" / "it"
        with pytest.raises(BakeoffError, match="no choice"):
            await anyio.to_thread.run_sync(send, folder, {"do": "answer", "path": "g", "choice": "perhaps"})
        with pytest.raises(BakeoffError, match="no gate waits at 'x'"):
            await anyio.to_thread.run_sync(send, folder, {"do": "answer", "path": "x", "choice": "approve"})
        await anyio.to_thread.run_sync(send, folder, {"do": "answer", "path": "g", "choice": "approve"})

    ending = flow.start(
        text, run_id="it", beside=answer,
        hear=lambda event: gates.append(event.path) if isinstance(event, GateOpened) else None,
    )  # fmt: skip
    assert ending.status == "completed", ending.error


def test_cancel_reaches_a_live_run(flow: Flow) -> None:
    async def cancel() -> None:
        while not (flow.root / "up").exists():  # noqa: ASYNC110 - somebody else makes it so
            await anyio.sleep(0.01)
        folder = flow.root / ".bakeoff" / "runs" / "it"
        await anyio.to_thread.run_sync(send, folder, {"do": "cancel"})

    ending = flow.start("steps:\n  - {id: a, type: shell, run: 'touch up; sleep 60'}\n", run_id="it", beside=cancel)
    assert ending.status == "cancelled"
    assert flow.state["status"] == "cancelled"


def test_parallel_branches_run_side_by_side_and_blind(flow: Flow) -> None:
    wait = "n=0; while [ ! -e %s ] && [ $n -lt 400 ]; do sleep 0.02; n=$((n+1)); done; test -e %s"
    ending = flow.start(f"""
        steps:
          - id: p
            type: parallel
            branches:
              a:
                - {{id: a1, type: shell, run: 'touch A; {wait % ("B", "B")}'}}
                - {{id: a2, type: shell, argv: [echo, "<{{{{ steps.b1.status }}}}>"]}}
              b: [{{id: b1, type: shell, run: 'touch B; {wait % ("A", "A")}'}}]
          - {{id: after, type: shell, argv: [echo, "{{{{ steps.b1.status }}}}"]}}
        """)
    assert ending.status == "completed", ending.error
    assert flow.output("a2")["stdout"] == "<>\n"
    assert flow.output("after")["stdout"] == "completed\n"


def test_a_halt_in_parallel_is_that_of_the_first_branch_in_order(flow: Flow) -> None:
    ending = flow.start(f"""
        steps:
          - id: p
            type: parallel
            branches:
              a: [{{id: a1, type: shell, run: 'while [ ! -e b ]; do sleep 0.01; done; sleep 0.1; exit 5'}}]
              b: [{{id: b1, type: shell, run: 'touch b; exit 6'}}]
          - {{id: never, type: shell, run: '{NOTE}'}}
        """)
    assert ending.error == "step a1: the command exited with status 5"
    assert flow.trace() == []


CALLEE = """
    workflow: {id: sub, name: Sub, version: 1.0.0}
    inputs: {x: {type: string, required: true}}
    outputs: {y: {value: "{{ steps.a.output.stdout }}"}}
    steps:
      - {id: a, type: shell, run: 'echo "$BAKEOFF_NODE" >> trace; test -e mended || test {{ inputs.x | sh }} != bad; echo "<{{ steps.outer.status }}{{ inputs.secret }}>"'}
    """


def test_a_call_has_a_private_scope_and_declared_outputs(flow: Flow) -> None:
    flow.write(CALLEE, "sub.yml")
    flow.start("""
        steps:
          - {id: outer, type: shell, run: "true"}
          - {id: call, type: workflow, workflow: sub.yml, input: {x: fine}}
          - {id: after, type: shell, argv: [echo, "{{ steps.call.output.y }}{{ steps.a.status }}"]}
        """)
    assert flow.output("call") == {"workflow": "sub", "status": "completed", "y": "<>\n"}
    assert flow.output("after")["stdout"] == "<>\n\n"
    assert flow.status("call/a") == "completed"


def test_a_failing_call_fails_its_step_and_can_be_absorbed_or_resumed(flow: Flow) -> None:
    flow.write(CALLEE.replace('echo "<', 'exit 4; echo "<'), "dead.yml")
    ending = flow.start("""
        steps:
          - {id: call, type: workflow, workflow: dead.yml, input: {x: fine}, continue_on_error: true}
          - {id: after, type: shell, argv: [echo, "{{ steps.call.output.status }}"]}
        """)
    assert ending.status == "completed"
    assert flow.output("after")["stdout"] == "failed\n"
    flow.trace()
    flow.write(CALLEE.replace("test -e mended ||", "test -e mended || exit 1;"), "sub.yml")
    assert flow.start("steps:\n  - {id: call, type: workflow, workflow: sub.yml, input: {x: bad}}\n").status == "failed"
    (flow.root / "mended").touch()
    flow.write(CALLEE.replace("echo", "exit 9; echo"), "sub.yml")  # the run goes on with the copy it began with
    assert flow.resume().status == "completed"
    assert flow.trace() == ["call/a", "call/a"]


def test_calls_in_a_circle_are_refused(flow: Flow) -> None:
    flow.write("steps:\n  - {id: c, type: workflow, workflow: b.yml}\n", "a.yml")
    flow.write("steps:\n  - {id: c, type: workflow, workflow: a.yml}\n", "b.yml")
    with pytest.raises(BakeoffError, match=r"a\.yml"):
        flow.start(flow.root / "a.yml")
    path = flow.write("""
        workflow: {id: f, name: F, version: 1.0.0}
        inputs: {n: {type: string, default: self.yml}}
        steps: [{id: c, type: workflow, workflow: "{{ inputs.n }}"}]
        """, "self.yml")  # fmt: skip
    ending = flow.start(path)
    assert ending.status == "failed"
    assert "16 deep" in str(ending.error)


def test_a_call_names_what_it_cannot_do(flow: Flow) -> None:
    flow.write(CALLEE, "sub.yml")
    for step, words in (
        ("workflow: gone.yml", "gone.yml"),
        ("workflow: sub.yml, input: {x: a, z: b}", "no input `z`"),
        ("workflow: sub.yml", "needs the input `x`"),
    ):
        with pytest.raises(BakeoffError, match=words):
            flow.start(f"steps:\n  - {{id: c, type: workflow, {step}}}\n")


def test_what_is_known_of_a_step_is_seen_inside_it_and_whether_a_loop_was_entered_after_it(flow: Flow) -> None:
    flow.start(
        """
        steps:
          - {id: f, type: fan-out, items: [a], step: {id: one, type: shell, run: "echo {{ steps.f.output.item_count }}"}}
          - id: l
            type: while
            condition: "{{ steps.t.output.exit_code == null }}"
            max_iterations: 3
            steps: [{id: t, type: shell, run: "echo {{ steps.l.output.max_iterations }}"}]
          - {id: n, type: while, condition: "{{ false }}", steps: [{id: u, type: shell, run: "true"}]}
          - {id: o, type: shell, run: "echo {{ steps.f.output.step_template.id }}"}
        """
    )
    assert flow.output("f:one:0")["stdout"] == "1\n"
    assert flow.output("l:t:0")["stdout"] == "3\n"
    assert (flow.output("l")["condition_result"], flow.output("n")["condition_result"]) == (True, False)
    assert flow.output("o")["stdout"] == "one\n"


def test_a_command_whose_program_is_missing_has_what_was_asked(flow: Flow) -> None:
    flow.start(
        """
        steps:
          - {id: k, command: c, integration: nope, model: m, input: {args: hi}, options: {a: 1}, continue_on_error: true}
          - {id: o, type: shell, run: "echo {{ steps.k.output.command }}{{ steps.k.model }}{{ steps.k.input.args }}"}
        """
    )
    assert flow.output("o")["stdout"] == "cmhi\n"


def test_a_type_of_spec_kits_that_is_not_carried_out_fails_where_it_is_reached_alone(flow: Flow) -> None:
    flow.start("""
        steps:
          - {id: never, type: if, condition: false, then: [{id: n, type: init}]}
          - {id: taken, type: if, condition: true, then: [{id: y, type: init, here: true, continue_on_error: true}]}
          - {id: last, type: shell, run: "true"}
        """)
    steps = flow.state["steps"]
    assert "n" not in steps
    assert (steps["y"]["status"], steps["last"]["status"]) == ("failed", "completed")
    assert "set the project up before the run" in steps["y"]["error"]
