"""The most calls that a workflow may make, said before the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.workflow.cost import announcement
from bakeoff.workflow.definition import Workflow
from bakeoff.workflow.validate import reread_workflow

HEAD = 'workflow: {id: t, name: T, version: "1.0.0"}\nsteps:\n'
ASK = "{id: %s, type: prompt, prompt: p}"


OTHERS = {
    "silent.yml": '- {id: s, type: shell, run: "true"}',
    "asks.yml": "- {id: a, type: prompt, prompt: p, retry: {attempts: 2}}",
    "many.yml": '- {id: m, type: fan-out, items: "{{ inputs.x }}", step: {id: a, type: prompt, prompt: p}}',
    "deep.yml": "- {id: d, type: workflow, workflow: many.yml}\n- {id: e, type: workflow, workflow: asks.yml}\n"
    '- {id: g, type: workflow, workflow: "{{ inputs.x }}"}',
}


def ask(name: str) -> str:
    return ASK % name


def read(steps: str, name: str = "flow.yml") -> Workflow:
    return reread_workflow(HEAD + steps, name, Path("/", name))


def find(name: str, caller: Path | None) -> Workflow | None:
    assert caller is not None
    return read(OTHERS[name], name) if name in OTHERS else None


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ('- {id: a, type: shell, run: "true"}', None),
        (f"- {ask('a')}", "at most 1 agent call"),
        ("- {id: a, command: c, retry: {attempts: 3}}", "at most 3 agent calls"),
        (
            f"- {{id: i, type: if, condition: true, then: [{ask('a')}, {ask('b')}], else: [{ask('c')}]}}",
            "at most 2 agent calls",
        ),
        (
            f"- {{id: s, type: switch, expression: x, cases: {{a: [{ask('a')}]}}, default: [{ask('b')}, {ask('c')}]}}",
            "at most 2 agent calls",
        ),
        (f"- {{id: w, type: while, condition: true, max_iterations: 7, steps: [{ask('a')}]}}", "at most 7 agent calls"),
        (f"- {{id: p, type: parallel, branches: {{l: [{ask('a')}], r: [{ask('b')}]}}}}", "at most 2 agent calls"),
        (
            f"- {{id: f, type: fan-out, items: [1, 2, 3], retry: {{attempts: 2}}, step: {ask('a')}}}",
            "at most 6 agent calls",
        ),
        (
            f'- {{id: f, type: fan-out, items: "{{{{ inputs.x }}}}", step: {ask("a")}}}',
            "at most 1 agent call for each item of f",
        ),
        ('- {id: f, type: fan-out, items: "{{ inputs.x }}", step: {id: a, type: shell, run: "true"}}', None),
        (
            f'- {{id: f, type: fan-out, items: "{{{{ inputs.x }}}}", step: {{id: g, type: fan-out, items: "{{{{ item }}}}", '
            f"step: {{id: w, type: while, condition: true, max_iterations: 3, steps: [{ask('a')}]}}}}}}\n- {ask('b')}",
            "at most 1 agent call, and 3 for each item of g for each item of f",
        ),
        (
            f'- {{id: i, type: if, condition: true, then: [{{id: f, type: fan-out, items: "{{{{ inputs.x }}}}", '
            f"step: {ask('a')}}}], else: [{ask('b')}]}}",
            "at most 1 agent call, and 1 for each item of f",
        ),
        ("- {id: c, type: workflow, workflow: silent.yml}", None),
        ('- {id: c, type: workflow, workflow: "{{ inputs.x }}"}', None),
        ("- {id: c, type: workflow, workflow: asks.yml, retry: {attempts: 3}}", "at most 6 agent calls"),
        ("- {id: c, type: workflow, workflow: many.yml}", "at most 1 agent call for each item of c/m"),
        (
            "- {id: f, type: fan-out, items: [1, 2], step: {id: c, type: workflow, workflow: deep.yml}}",
            "at most 4 agent calls, and 2 for each item of c/d/m, and those of the workflow that step c/g chooses",
        ),
        (
            f"- {{id: c, type: workflow, workflow: gone.yml}}\n- {ask('a')}",
            "at most 1 agent call, and those of the workflow that step c chooses",
        ),
    ],
)
def test_bound(steps: str, words: str | None) -> None:
    assert announcement(read(steps), find, {}) == (None if words is None else f"{words}; no budget is set")


def test_budgets_are_named_with_what_may_go_over_and_what_was_made() -> None:
    assert announcement(read(f"- {ask('a')}"), find, {"calls": 3, "tokens": 10}, 2.0) == (
        "at most 1 agent call (2 made already); budget: 3 calls, 10 tokens; "
        "tokens are counted when a call has ended, so calls under way may go over"
    )


def test_ceilings_of_single_steps_are_named() -> None:
    steps = """- {id: a, type: attempt, task: do it, check: "true", attempts: 2, max_cost: 3}
- {id: b, type: attempt, task: do it, check: "true"}
"""
    assert announcement(read(steps), find, {}) == ("at most 3 agent calls; ceilings of their own: a; no budget is set")
    assert announcement(read(steps), find, {"calls": 9}) == (
        "at most 3 agent calls; ceilings of their own: a; budget: 9 calls"
    )
    steps = "- {id: s, type: sample, model: m, prompt: say, max_tokens: 5, loop_budget: 1%s}"
    words = "at most 1 call of agents and models, of up to 8 requests each where a model fails"
    assert announcement(read(steps % ""), find, {}) == f"{words}; no budget is set"
    own = f"{words}; ceilings of their own: s; no budget is set"
    assert announcement(read(steps % ", budget: {calls: 1}"), find, {}) == own


def test_workflows_that_call_many_others_are_counted_once_each_and_named_in_part() -> None:
    def chained(name: str, caller: Path | None) -> Workflow:
        depth = int(name)
        if depth == 0:
            return read(OTHERS["many.yml"], "0")
        return read("\n".join(f"- {{id: s{i}, type: workflow, workflow: '{depth - 1}'}}" for i in range(30)), name)

    text = announcement(read("- {id: top, type: workflow, workflow: '15'}"), chained, {})
    assert text is not None
    assert text.count(" for each item of ") == 20
