"""What a fan-out promises to the workflow around it."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bakeoff.engine.control import send
from bakeoff.engine.events import FanOpened, GateOpened, Warned
from flows import NOTE, Flow


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path)


def barrier(count: int) -> str:
    """A command that ends only when `count` of its kind run at the same time."""
    return (
        'touch "at-$BAKEOFF_NODE"; n=0; '
        f'while [ "$(ls at-* | wc -l)" -lt {count} ] && [ $n -lt 400 ]; do sleep 0.02; n=$((n+1)); done; '
        f'[ "$(ls at-* | wc -l)" -ge {count} ]'
    )


def test_as_many_items_as_the_bound_are_open_at_once(flow: Flow) -> None:
    ending = flow.start(f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3]
            max_concurrency: 4
            step: {{id: it, type: shell, run: '{barrier(4)}'}}
        """)
    assert ending.status == "completed", ending.error


def test_never_more_than_the_bound(flow: Flow) -> None:
    body = 'mkdir "lock-$BAKEOFF_NODE"; ls -d lock-* | wc -l >> seen; sleep 0.03; rmdir "lock-$BAKEOFF_NODE"'
    flow.start(
        f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
            max_concurrency: "{{{{ 1 + 2 }}}}"
            step: {{id: it, type: shell, run: '{body}'}}
        """.replace("{{ 1 + 2 }}", "{{ inputs.n | default(3) }}")
    )
    assert max(map(int, (flow.root / "seen").read_text().split())) == 3


def test_max_parallel_bounds_leaves_over_all_nesting_and_says_what_it_lowers(flow: Flow) -> None:
    body = 'mkdir "lock-$BAKEOFF_NODE"; ls -d lock-* | wc -l >> seen; sleep 0.02; rmdir "lock-$BAKEOFF_NODE"'
    flow.start(
        f"""
        steps:
          - id: outer
            type: fan-out
            items: [0, 1, 2, 3]
            max_concurrency: 4
            step:
              id: it
              type: fan-out
              items: [a, b, c]
              max_concurrency: 3
              step: {{id: leaf, type: shell, run: '{body}'}}
        """,
        max_parallel=2,
    )
    assert flow.ending is not None
    assert flow.ending.status == "completed"
    assert max(map(int, (flow.root / "seen").read_text().split())) == 2
    assert any(isinstance(event, Warned) and "lowered to 2" in event.text for event in flow.events)
    assert next(event.bound for event in flow.events if isinstance(event, FanOpened)) == 2


def test_items_start_and_are_collected_in_item_order(flow: Flow) -> None:
    flow.start("""
        steps:
          - id: fan
            type: fan-out
            items: [0.2, 0.01, 0.1, 0]
            max_concurrency: 4
            step: {id: it, type: shell, run: "sleep {{ item }}; echo {{ index }}:{{ item }}"}
        """)
    results = [result["stdout"].strip() for result in flow.output("fan")["results"]]
    assert results == ["0:0.2", "1:0.01", "2:0.1", "3:0"]
    assert flow.output("fan")["items"] == [0.2, 0.01, 0.1, 0]


def test_a_free_place_is_not_held_back_by_an_older_slower_item(flow: Flow) -> None:
    """Item 0 waits for item 3, which can only start if places 1 and 2 are used again."""
    ending = flow.start("""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3]
            max_concurrency: 2
            step:
              id: it
              type: shell
              run: >-
                if [ {{ item }} = 3 ]; then touch done3; fi;
                if [ {{ item }} = 0 ]; then n=0; while [ ! -e done3 ] && [ $n -lt 400 ]; do sleep 0.02; n=$((n+1)); done; test -e done3; fi
        """)
    assert ending.status == "completed", ending.error


def test_items_see_their_own_steps_alone(flow: Flow) -> None:
    flow.start("""
        steps:
          - {id: first, type: shell, run: printf outer}
          - id: fan
            type: fan-out
            items: [q, r, s, t]
            max_concurrency: 4
            step:
              id: it
              type: if
              condition: true
              then:
                - {id: mine, type: shell, run: "printf {{ item }}; sleep 0.05"}
                - {id: read, type: shell, run: "printf '%s' {{ steps.mine.output.stdout | sh }}{{ steps.first.output.stdout | sh }}"}
          - id: after
            type: shell
            argv: [echo, "{{ steps.mine.output.stdout }}-{{ steps.fan.output.results[2].steps.read.output.stdout }}"]
        """)
    records = flow.state["steps"]
    assert [records[f"fan:it:{index}/read"]["output"]["stdout"] for index in range(4)] == [
        "qouter", "router", "souter", "touter",
    ]  # fmt: skip
    assert flow.output("after")["stdout"] == "-souter\n", "a step inside an item is visible outside"


def test_halt_is_attributed_to_the_first_item_in_item_order(flow: Flow) -> None:
    """Item 2 fails at once, item 1 later: the run is item 1's, and the result ends with it."""
    ending = flow.start(f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3, 4, 5]
            max_concurrency: 3
            step:
              id: it
              type: shell
              run: '{NOTE}; case {{{{ item }}}} in 1) while [ ! -e two ]; do sleep 0.01; done; sleep 0.1; exit 11;; 2) touch two; exit 12;; esac; sleep 0.3'
        """)
    assert ending.status == "failed"
    assert ending.error == "step fan:it:1: the command exited with status 11"
    assert ending.facts["current_step_id"] == "fan:it:1"
    assert len(flow.output("fan")["results"]) == 2
    assert flow.status("fan") == "completed"
    assert sorted(flow.trace()) == ["fan:it:0", "fan:it:1", "fan:it:2"]
    assert flow.status("fan:it:0") == "completed", "a lower item did not finish"


def test_a_failure_inside_a_composite_template_halts_too(flow: Flow) -> None:
    ending = flow.start("""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3]
            step:
              id: it
              type: if
              condition: true
              then:
                - {id: a, type: shell, run: "test {{ item }} != 1"}
        """)
    assert ending.error == "step fan:it:1/a: the command exited with status 1"
    assert len(flow.output("fan")["results"]) == 2


@pytest.mark.parametrize("policy", ["finish", "cancel"])
def test_on_halt(flow: Flow, policy: str) -> None:
    flow.start(f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1]
            max_concurrency: 2
            on_halt: {policy}
            step:
              id: it
              type: shell
              run: 'if [ {{{{ item }}}} = 0 ]; then while [ ! -e up ]; do sleep 0.01; done; exit 1; fi; touch up; sleep 0.4; touch finished'
        """)
    assert (flow.root / "finished").exists() is (policy == "finish")
    assert flow.folder is not None
    assert ("fan:it:1" in flow.folder.history().records) is (policy == "finish")


def test_continue_on_error_covers_the_step_that_says_so_and_nothing_else(flow: Flow) -> None:
    flow.start("""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2]
            max_concurrency: 2
            step: {id: it, type: shell, run: "exit {{ item }}", continue_on_error: true}
          - {id: after, type: shell, argv: [echo, "{{ steps.fan.output.results | map('exit_code') | join(',') }}"]}
        """)
    assert flow.output("after")["stdout"] == "0,1,2\n"
    assert flow.status("fan:it:1") == "failed"
    for holder in (
        "{id: o, type: fan-out, continue_on_error: true, items: [1], step: {id: it, type: shell, run: exit 3}}",
        "{id: o, type: if, condition: true, continue_on_error: true, then: [{id: it, type: shell, run: exit 3}]}",
    ):
        ending = flow.start(f"steps:\n  - {holder}\n  - {{id: never, type: shell, run: '{NOTE}'}}\n")
        assert ending.status == "failed"
        assert flow.trace() == []


def test_an_expression_error_is_not_covered_by_continue_on_error(flow: Flow) -> None:
    ending = flow.start("""
        steps:
          - {id: a, type: shell, run: echo not json}
          - {id: bad, type: shell, run: "echo {{ steps.a.output.stdout | from_json }}", continue_on_error: true}
        """)
    assert ending.status == "failed"
    assert "step bad (line " in str(ending.error)
    assert "bad" not in flow.state["steps"]


@pytest.mark.parametrize(("quorum", "status"), [("3", "completed"), ("0.75", "completed"), ("4", "failed")])
def test_min_success(flow: Flow, quorum: str, status: str) -> None:
    ending = flow.start(f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 0, 1, 0]
            max_concurrency: 2
            min_success: {quorum}
            step: {{id: it, type: shell, run: "exit {{{{ item }}}}"}}
        """)
    assert ending.status == status
    if status == "completed":
        assert (flow.output("fan")["succeeded"], flow.output("fan")["failed"]) == (3, 1)


@pytest.mark.parametrize(
    ("items", "error"),
    [
        (
            "context.run_id",
            "`items` is a text, not a list; split it with `| split(',')`, or read JSON with `| from_json`",
        ),
        ("steps.gone.output", "`items` is nothing (null), not a list"),
        ("context", "`items` is a mapping, not a list"),
        ("5", "`items` is the number 5, not a list"),
    ],
)
def test_items_that_are_no_list_fail_the_step(flow: Flow, items: str, error: str) -> None:
    ending = flow.start(f"""
        steps:
          - {{id: fan, type: fan-out, items: '{{{{ {items} }}}}', step: {{id: it, type: slot}}}}
        """)
    assert ending.status == "failed"
    assert ending.error == f"step fan (line 5, column 5): {error}"
    assert flow.output("fan")["item_count"] == 0
    assert "results" not in flow.output("fan")


def test_no_items_no_results(flow: Flow) -> None:
    assert (
        flow.start("steps:\n  - {id: fan, type: fan-out, items: [], step: {id: it, type: slot}}\n").status
        == "completed"
    )
    assert flow.output("fan")["results"] == []


def test_nested_ids_and_names(flow: Flow) -> None:
    flow.start("""
        steps:
          - id: outer
            type: fan-out
            items: [x, y]
            max_concurrency: 2
            step:
              id: inner
              type: fan-out
              items: [1, 2]
              max_concurrency: 2
              step: {id: leaf, type: shell, run: "echo {{ parent_item }}{{ item }}{{ index }}"}
          - id: after
            type: shell
            argv: [echo, "{{ steps.outer.output.results[1].results[0].stdout }}"]
        """)
    steps = flow.state["steps"]
    assert [steps[f"outer:inner:{a}:leaf:{b}"]["output"]["stdout"].strip() for a in (0, 1) for b in (0, 1)] == [
        "x10", "x21", "y10", "y21",
    ]  # fmt: skip
    assert flow.output("after")["stdout"] == "y10\n\n"


def test_resume_runs_the_failed_and_the_unstarted_alone(flow: Flow) -> None:
    text = f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3, 4]
            max_concurrency: 2
            step: {{id: it, type: shell, run: '{NOTE}; test {{{{ item }}}} != 1 || test -e mended && sleep 0.1'}}
          - {{id: z, type: shell, run: '{NOTE}'}}
        """
    assert flow.start(text).status == "failed"
    ran = set(flow.trace())
    (flow.root / "mended").touch()
    assert flow.resume().status == "completed"
    assert sorted(flow.trace()) == sorted({"fan:it:1", "z"} | {f"fan:it:{n}" for n in range(5)} - ran)
    assert [result["exit_code"] for result in flow.output("fan")["results"]] == [0] * 5


GATED = """
    steps:
      - id: fan
        type: fan-out
        items: [0, 1]
        max_concurrency: 2
        step:
          id: it
          type: switch
          expression: "{{ item }}"
          cases:
            0:
              - {id: g, type: gate, message: go on?}
              - {id: say, type: shell, run: touch answered}
            1:
              - {id: wait, type: shell, run: 'WAIT'}
    """


def test_a_gate_inside_a_fan_out_is_answered_while_others_work(flow: Flow) -> None:
    """Item 1 ends only after the step that follows item 0's gate."""
    gates: list[str] = []

    async def answer() -> None:
        while not gates:  # noqa: ASYNC110 - somebody else makes it so
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)  # the item is on record as paused by then
        folder = flow.root / ".bakeoff" / "runs" / "it"
        assert await anyio.to_thread.run_sync(send, folder, {"do": "answer", "path": gates[0], "choice": "APPROVE"})

    waits = "n=0; while [ ! -e answered ] && [ $n -lt 400 ]; do sleep 0.02; n=$((n+1)); done; test -e answered"
    ending = flow.start(
        GATED.replace("WAIT", waits),
        run_id="it",
        hear=lambda event: gates.append(event.path) if isinstance(event, GateOpened) else None,
        beside=answer,
    )
    assert gates == ["fan:it:0/g"]
    assert ending.status == "completed", ending.error
    assert flow.output("fan:it:0/g")["choice"] == "approve"


def test_a_gate_beside_items_kept_from_before_is_answered_live_too(flow: Flow) -> None:
    """After a resume the finished items are there at once, which must not look as if nobody worked."""
    text = GATED.replace("items: [0, 1]", "items: [1, 1, 0, 1]").replace("max_concurrency: 2", "max_concurrency: 4")
    waits = (
        "test -e second || { test $BAKEOFF_NODE != fan:it:3/wait; exit; }; while [ ! -e answered ]; do sleep 0.02; done"
    )
    text = text.replace("run: 'WAIT'", f"timeout: 10, run: '{waits}'")
    assert flow.start(text, run_id="it").status == "paused"
    (flow.root / "second").touch()
    gates: list[str] = []

    async def answer() -> None:
        while not gates:  # noqa: ASYNC110 - somebody else makes it so
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)
        assert flow.folder is not None
        assert await anyio.to_thread.run_sync(
            send, flow.folder.root, {"do": "answer", "path": gates[0], "choice": "approve"}
        )

    ending = flow.resume(
        hear=lambda event: gates.append(event.path) if isinstance(event, GateOpened) else None, beside=answer
    )
    assert ending.status == "completed", ending.error


def test_several_gates_pause_at_the_first_in_item_order(flow: Flow) -> None:
    ending = flow.start("""
        steps:
          - id: fan
            type: fan-out
            items: [a, b, c]
            max_concurrency: 3
            step: {id: g, type: gate, message: "{{ item }}?"}
        """)
    assert ending.status == "paused"
    assert ending.facts["gate"]["step_id"] == "fan:g:0"
    assert len(flow.output("fan")["results"]) == 1
