"""The most calls that a workflow may make, said before the first."""

from __future__ import annotations

import pytest

from bakeoff.workflow.cost import announcement
from bakeoff.workflow.validate import reread_workflow

HEAD = 'workflow: {id: t, name: T, version: "1.0.0"}\nsteps:\n'
ASK = "{id: %s, type: prompt, prompt: p}"


def ask(name: str) -> str:
    return ASK % name


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
            "0 agent calls and more: 1 for each item of f, not counted yet",
        ),
        ('- {id: f, type: fan-out, items: "{{ inputs.x }}", step: {id: a, type: shell, run: "true"}}', None),
        ("- {id: c, type: workflow, workflow: other}", None),
        (
            f"- {{id: c, type: workflow, workflow: other}}\n- {ask('a')}",
            "1 agent calls and more: those of workflow other",
        ),
    ],
)
def test_bound(steps: str, words: str | None) -> None:
    found = announcement(reread_workflow(HEAD + steps, "flow.yml", None).steps, {})
    assert found == (None if words is None else f"{words}; no budget is set")


def test_budgets_are_named_with_what_may_go_over() -> None:
    steps = reread_workflow(HEAD + f"- {ask('a')}", "flow.yml", None).steps
    assert announcement(steps, {"calls": 3, "tokens": 10}) == (
        "at most 1 agent call; budget: 3 calls, 10 tokens; "
        "tokens are counted when a call has ended, so calls under way may go over"
    )
