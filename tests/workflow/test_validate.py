from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from bakeoff.workflow.document import parse_document
from bakeoff.workflow.problems import InvalidWorkflowError, Problem
from bakeoff.workflow.validate import load_workflow, parse_workflow, validate
from bakeoff.workflow.values import concurrency

CASES = Path(__file__).parent / "cases"
HEAD = 'workflow: {id: a, name: A, version: "1.0.0"}\n'


def problems(text: str, **options: Any) -> list[Problem]:
    return validate(parse_document(HEAD + text), **options)


def found(text: str, **options: Any) -> list[str]:
    """`severity line: message` of each problem; the header is line 1."""
    return [f"{problem.severity} {problem.line}: {problem.message}" for problem in problems(text, **options)]


def errors_of_step(step: str, top: str = "") -> list[str]:
    """The messages of the errors in a workflow of one step."""
    text = f"{top}\nsteps:\n  - {step}\n"
    return [problem.message for problem in problems(text) if problem.severity == "error"]


def warnings_of_step(step: str, top: str = "inputs: {name: {type: string}}") -> list[str]:
    text = f"{top}\nsteps:\n  - {step}\n"
    listed = problems(text)
    assert all(problem.severity == "warning" for problem in listed), listed
    return [problem.message for problem in listed]


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yml")), ids=lambda path: path.stem)
def test_the_cases_are_valid_but_for_the_one_that_is_wrong_on_purpose(path: Path) -> None:
    if "rejects" not in path.stem:
        assert load_workflow(path).id.startswith("case-")
        return
    with pytest.raises(InvalidWorkflowError) as caught:
        load_workflow(path)
    words = "permissions bad dup later f:dup:0 continue_on_error a:b timeout max_iterations reject cases parallel line"
    for word in words.split():
        assert word in str(caught.value)
    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert places == sorted(places)
    assert str(caught.value).count("`dup` is taken") == 1


def test_the_bare_on_of_a_retry_keeps_its_name() -> None:
    listed = problems("steps: [{id: s, type: shell, run: x, retry: {on: [foo]}}, {id: t, type: slot, retry: {on: 5}}]")
    assert [(problem.path, problem.message) for problem in listed] == [
        ("steps[0].retry.on[0]", listed[0].message),
        ("steps[1].retry.on", "`on` must be a list, not the number 5"),
    ]


@pytest.mark.parametrize(
    "step",
    [
        "{id: i, type: if, condition: '{{ inputs.name }}', then: [{id: n, type: init, here: true}]}",
        "{id: n, type: github, when: '{{ false }}'}",
        "{id: w, type: while, condition: '{{ inputs.name }}', max_iterations: 1, steps: [{id: n, type: init}]}",
    ],
)
def test_a_type_of_spec_kits_that_may_never_be_reached_refuses_no_file(step: str) -> None:
    (said,) = warnings_of_step(step)
    assert "fail where they are reached" in said


SHELL = "{id: s, type: shell, run: x"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("5", "a step must be a mapping, not the number 5"),
        ("{type: shell, run: x}", "`id` is missing; a step of type `shell` needs it"),
        ("{id: no, type: shell, run: x}", "`id` must be text, not the boolean false"),
        ("{id: '', type: shell, run: x}", "`id` must not be empty"),
        ("{id: 'a/b', type: shell, run: x}", "contains `/`"),
        ("{id: x, type: [shell]}", "`type` must be text, not a list"),
        ("{id: x, type: shel, run: x}", "unknown step type `shel`; did you mean `shell`?"),
        ("{id: x, type: qqqq}", "there are attempt, command,"),
        ("{type: qqqq}", "`id` is missing"),
        ("{id: 5, type: qqqq}", "`id` must be text, not the number 5"),
        ("{id: x, type: init, here: true}", "`init` are not supported; set the project up"),
        ("{id: x, type: github}", "use a shell step with `gh`"),
        ("{id: x, type: shell}", "`run` is missing (or `argv`"),
        ("{id: x, type: shell, run: null}", "`run` is missing"),
        ("{id: x, type: shell, run: ' '}", "`run` is empty"),
        ("{id: x, type: shell, run: [a]}", "`run` must be text, not a list"),
        ("{id: x, type: shell, run: a, argv: [b]}", "`run` or `argv`, not both"),
        ("{id: x, type: shell, argv: []}", "`argv` must not be empty"),
        ("{id: x, type: shell, argv: [a, 5]}", "entry 1 must be text, not the number 5"),
        (SHELL + ", output_format: xml}", "`output_format` must be 'json', not the text \"xml\""),
        (SHELL + ", timeout: 0}", "`timeout` must be greater than 0, not the number 0"),
        (SHELL + ", timeout: .inf}", "`timeout` must be a finite number"),
        (SHELL + ", timeout: '5'}", '`timeout` must be a number, not the text "5"'),
        (SHELL + ", continue_on_error: 1}", "`continue_on_error` must be true or false"),
        (SHELL + ", retry: 3}", "`retry` must be a mapping, not the number 3"),
        (SHELL + ", retry: {attempts: 0}}", "`attempts` must be at least 1, not the number 0"),
        (SHELL + ", retry: {jitter: 2}}", "`jitter` must be at most 1, not the number 2"),
        (SHELL + ", retry: {on: exit}}", "must be a list, not the text"),
        (SHELL + ", env: {A: [1]}}", "`A` must be text or a number or true or false, not a list"),
        (SHELL + ", env: {5: x}}", "the key 5 must be text; put it in quotes"),
        (SHELL + ", env: {A-B: x}}", "`A-B` is no name for an environment variable"),
        (SHELL + ", lane: 5}", "`lane` must be text or a list, not the number 5"),
        (SHELL + ", when: 'inputs.x'}", 'always true; write "{{ inputs.x }}"'),
        (SHELL + ", cwd: 5}", "`cwd` must be text"),
        ("{id: x, command: ''}", "`command` must not be empty"),
        ("{id: x}", "`command` is missing; a step of type `command` needs it"),
        ("{id: x, type: prompt, prompt: p, capture_max_bytes: 0}", "greater than 0, or -1"),
        ("{id: x, type: prompt, prompt: p, capture_max_bytes: -2}", "at least -1"),
        ("{id: x, type: prompt, prompt: p, capture: false, capture_max_bytes: 9}", "means nothing"),
        ("{id: x, type: gate, message: m, options: []}", "`options` must not be empty"),
        ("{id: x, type: gate, message: m, options: [yes]}", "entry 0 must be text, not the boolean true"),
        ("{id: x, type: gate, message: m, options: [ok], on_reject: retry}", "needs an option `reject` or `abort`"),
        ("{id: x, type: gate, message: m, on_reject: abrt}", "did you mean `abort`?"),
        ("{id: x, type: gate, message: m, verdict_input: v}", "`v`, which is not declared"),
        ("{id: x, type: if, condition: 5, then: []}", "`condition` must be text or true or false"),
        ("{id: x, type: if, condition: '{{ a', then: []}", "never closed"),
        ("{id: x, type: if, condition: '{{ item }} > 1', then: []}", "always true, because it is text"),
        ("{id: x, type: if, condition: '{{ item }}{{ item }}', then: []}", "always true, because it is text"),
        ("{id: x, type: if, condition: ' ', then: []}", "always true, or true or false"),
        ("{id: x, type: if, condition: '{{ a | b }}', then: []}", "unknown filter `b`"),
        ("{id: x, type: if, condition: true}", "`then` is missing"),
        ("{id: x, type: if, condition: true, then: {a: b}}", "`then` must be a list, not a mapping"),
        ("{id: x, type: while, condition: true, steps: [], max_iterations: 0}", "at least 1"),
        ("{id: x, type: while, condition: true, steps: [], max_iterations: 2.0}", "a whole number"),
        ("{id: x, type: switch, expression: x, cases: {a: 5}}", "`a` must be a list"),
        ("{id: x, type: parallel, branches: {}}", "`branches` must not be empty"),
        ("{id: x, type: parallel, branches: {yes: []}}", "the name of a branch must be text"),
        ("{id: x, type: parallel, branches: {'a:b': []}}", "must not be empty or contain"),
        ("{id: x, type: parallel, branches: {a: []}, max_concurrency: []}", "must be a number or an expression"),
        (
            "{id: x, type: gate, message: m, options: [yes, no], on_reject: skip}",
            "entry 0 must be text, not the boolean true; put it in quotes (YAML reads a bare yes, no, on or off as",
        ),
        (
            "{id: x, type: fan-out, items: [1, 2], min_success: 3, step: {id: i, type: slot}}",
            "`min_success` is 3, but `items` has only 2 items",
        ),
        ("{id: x, type: fan-out, items: 5, step: {id: i, type: slot}}", "`items` must be a list or an expression"),
        ("{id: x, type: fan-out, items: [], step: []}", "`step` must be a mapping"),
        ("{id: x, type: fan-out, items: [], step: {id: i, type: slot}, min_success: 1.5}", "a share between 0 and 1"),
        ("{id: x, type: fan-out, items: [], step: {id: i, type: slot}, min_success: -1}", "at least 0"),
        ("{id: x, type: fan-out, items: [], step: {id: i, type: slot}, on_halt: stop}", "'finish' or 'cancel'"),
        ("{id: x, type: fan-in, wait_for: []}", "`wait_for` must not be empty"),
        ("{id: x, type: fan-in, wait_for: [5]}", "takes ids of steps, not the number 5"),
        ("{id: x, type: fan-in, wait_for: [nope]}", "there is no such step before this one"),
        ("{id: x, type: shell, run: 'echo {{ a == }}'}", "something is missing here"),
        ("{id: x, type: shell, run: ls, lane: agnts}", "no lane `agnts`; did you mean `agents`?"),
        ("{id: x, type: shell, run: ls, lane: [bench, qqqqq]}", "there are agents, apply, bench, leaves, slots, tests"),
        ('{id: " ", type: slot}', "begins or ends with a blank"),
        ('{id: "a ", type: slot}', "begins or ends with a blank"),
        ('{id: "..", type: slot}', "the name of a folder"),
        ('{id: ".", type: slot}', "the name of a folder"),
        ('{id: "a\\nb", type: slot}', "invisible character U+000A"),
        ('{id: "a\\e[1m", type: slot}', "invisible character U+001B"),
        ('{id: "a\\u202eb", type: slot}', "invisible character U+202E"),
        ('{id: "", type: slot}', "must not be empty"),
    ],
)
def test_errors_in_one_step(step: str, words: str) -> None:
    messages = errors_of_step(step)
    assert any(words in message for message in messages), messages


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (SHELL + ", tiemout: 5}", "unknown key `tiemout`; did you mean `timeout`?"),
        (SHELL + ", qqq: 5}", "unknown key `qqq`; it is ignored"),
        (SHELL + ", retry: {atempts: 5}}", "unknown key `atempts`; did you mean `attempts`?"),
        ("{id: s, type: shell, run: 'echo {{ input.name }}'}", "did you mean `inputs`?"),
        ("{id: s, type: shell, run: 'echo {{ inputs.nmae }}'}", "did you mean `name`?"),
        ("{id: s, type: shell, run: 'echo {{ inputs.name + 1 }}'}", "no input `name + 1`"),
        ("{id: s, type: shell, run: 'echo {{ index+1 }}'}", "no arithmetic"),
        ("{id: s, type: shell, run: 'echo {{ steps.t.output.x }}'}", "there is no step `t` here"),
        ("{id: s, type: shell, run: 'echo {{ steps.s.stdout }}'}", "did you mean `steps.s.output.stdout`?"),
        ("{id: s, type: shell, run: 'echo {{ item }}'}", "only inside the `step` of a fan-out"),
        ("{id: s, type: shell, run: 'echo {{ iteration }}'}", "only inside a loop"),
        ("{id: s, type: shell, run: 'echo {{ fan_in.results }}'}", "only under `output` of a fan-in"),
        (
            "{id: s, type: fan-out, items: [], max_concurrency: x, step: {id: i, type: slot}}",
            '`max_concurrency` is the text "x" and counts as 1',
        ),
        ("{id: s, type: parallel, branches: {a: []}, max_concurrency: 0}", "is the number 0 and counts as 1"),
        ("{id: s, type: parallel, branches: {a: []}, max_concurrency: 1.5}", "is the number 1.5 and counts as 1"),
        (
            "{id: s, type: fan-out, items: 'a, b', step: {id: i, type: slot}}",
            '`items` is the text "a, b", not a list; write [a, b], or an expression',
        ),
        (SHELL + ", retry: {on: [exit, timout]}}", "kind `timout`; did you mean `timeout`?"),
        (SHELL + ", retry: {'on': [qqqqqqq]}}", "kind `qqqqqqq`; there are exit"),
        ("{id: a.b, type: slot}", "expressions cannot name it"),
    ],
)
def test_warnings_in_one_step(step: str, words: str) -> None:
    messages = warnings_of_step(step)
    assert len(messages) == 1
    assert words in messages[0]


def test_lanes_are_those_of_the_file_and_of_the_settings() -> None:
    text = "workflow: {id: a, name: A}\nlanes: {db: 1}\nsteps: [{id: s, type: slot, lane: [db, gpu, tests]}]\n"
    assert [problem.path for problem in validate(parse_document(text))] == ["steps[0].lane[1]"]
    assert validate(parse_document(text), lanes={"gpu"}) == []


def test_an_unknown_type_is_said_in_one_sentence() -> None:
    assert errors_of_step("{id: x, type: shel, run: ls}") == ["unknown step type `shel`; did you mean `shell`?"]


@pytest.mark.parametrize(
    "step",
    [
        "{id: s, type: shell, run: 'echo {{ inputs.name }} {{ context.run_id }}'}",
        "{id: s, type: shell, argv: [echo, '{{ inputs.name }}'], retry: {attempts: 3, on: [exit]}}",
        "{id: s, type: while, condition: '{{ iterations.s < 3 }}', steps: [{id: t, type: slot}]}",
        "{id: s, type: fan-out, items: '{{ inputs.name }}', "
        "max_concurrency: '{{ inputs.name }}', step: {id: s, type: slot}}",
        "{id: s, type: fan-out, items: ['{{ nope }}'], max_concurrency: '2', step: {id: t, type: slot, name: x}}",
        "{id: s, type: switch, expression: 1, cases: {2: [], true: [{id: t, type: slot}]}, default: null}",
        "{id: s, type: if, condition: ' True ', then: [], else: null, when: '{{ inputs.name }}'}",
        "{id: s, integration: codex, command: speckit.plan, input: {args: '{{ inputs.name }}'}, capture_max_bytes: -1, timeout: 5}",
        "{id: s, type: gate, message: m, options: [ABORT, ok], verdict_input: name}",
    ],
)
def test_steps_that_are_right(step: str) -> None:
    assert warnings_of_step(step) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("steps: []", 2, "`steps` must not be empty"),
        ("inputs: {}", 1, "`steps` is missing"),
        ("steps: x", 2, "`steps` must be a list"),
        ("schema_version: '2.0'", 2, "`schema_version` must be '1.0'"),
        ("requires: null", 2, "`requires` must be a mapping, not null"),
        ("requires: {permissions: {}}", 2, "`permissions` is refused"),
        ("inputs: {a: 5}", 2, "`a` must be a mapping"),
        ("inputs: {a: {type: text}}", 2, "must be 'string', 'number' or 'boolean'"),
        (
            "inputs: {a: {default: 5}}",
            2,
            "the default of the input `a` must be text, not the number 5; put it in quotes",
        ),
        ("inputs: {a: {type: number, default: x}}", 2, "must be a number"),
        ("inputs: {a: {enum: [b, c], default: d}}", 2, "must be one of b, c"),
        (
            "outputs: {a: '{{ inputs.b }}'}",
            2,
            '`a` must be a mapping, not the text "{{ inputs.b }}"; write `a: {value: ...}`',
        ),
        ("inputs: {a: text}", 2, "; write `a: {type: string, default: ...}`"),
        ("inputs: {a: {enum: b}}", 2, "`enum` must be a list"),
        ("secrets: [A-B]", 2, "no name for an environment variable"),
        ("secrets: {token: 'A B'}", 2, "no name for an environment variable"),
        ("env: {'1A': x}", 2, "no name for an environment variable"),
        ("env: {A: '{{ | }}'}", 2, "something is missing"),
        ("outputs: {status: {value: 1}}", 2, "a name of the call itself"),
        ("outputs: {'a b': {value: 1}}", 2, "is no name"),
        ("outputs: {a: {}}", 2, "`value` is missing"),
        ("outputs: {a: {value: '{{ x | y }}'}}", 2, "unknown filter `y`"),
        ("budget: {usd: 0}", 2, "greater than 0"),
        ("lanes: {gpu: 0}", 2, "at least 1"),
        ("extends: x", 1, "overlays are not supported"),
    ],
)
def test_errors_at_the_top(text: str, line: int, words: str) -> None:
    rest = "" if text.startswith(("steps", "inputs: {}")) else "\nsteps: [{id: s, type: slot}]"
    listed = [message for message in found(text + rest) if message.startswith(f"error {line}")]
    assert any(words in message for message in listed), found(text + rest)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("{name: A}", "`id` is missing"),
        ("{}", "`id`, `name` are missing"),
        ("{id: A_b, name: A}", "`id` must be small letters"),
        ("{id: a-, name: A}", "`id` must be small letters"),
        ("{id: a, name: ''}", "`name` must not be empty"),
        ("{id: a, name: A, version: 1.0}", "`version` must be text, not the number 1.0"),
        ("{id: a, name: A, version: 1.0.0-rc1}", "three numbers"),
        ("{id: a, name: A, integration: [x]}", "`integration` must be text"),
    ],
)
def test_errors_in_the_header(header: str, words: str) -> None:
    listed = validate(parse_document(f"workflow: {header}\nsteps: [{{id: s, type: slot}}]"))
    assert any(words in problem.message for problem in listed), listed


def test_an_id_is_unique_in_the_workflow_and_fresh_in_a_template() -> None:
    listed = found(
        """
steps:
  - {id: p, type: parallel, branches: {a: [{id: x, type: slot}], b: [{id: x, type: slot}]}}
  - id: w
    type: do-while
    condition: "{{ false }}"
    steps: [{id: p, type: slot}]
  - {id: f, type: fan-out, items: [], step: {id: x, type: if, condition: true, then: [{id: x, type: slot}]}}
  - {id: g, type: fan-out, items: [], step: {id: x, type: slot}}
"""
    )
    assert [line.split(";")[0] for line in listed] == [
        "error 4: the id `x` is taken by the step in line 4",
        "error 8: the id `p` is taken by the step in line 4",
        "error 9: the id `x` is taken by the step in line 9",
    ]


def test_waiting_for_steps_that_cannot_be_waited_for() -> None:
    listed = found(
        """
steps:
  - {id: fan, type: fan-out, items: [], step: {id: inner, type: slot}}
  - {id: join, type: fan-in, wait_for: [fan, inner, "fan:inner:0", later, join, fna]}
  - {id: later, type: slot}
"""
    )
    assert [line.split("`, ")[1] for line in listed] == [
        "which stands inside the fan-out `fan`; wait for that and take its results",
        "which is one item or pass; wait for `fan` and take its results",
        "which is declared later; move this step behind it",
        "which is this step itself",
        "and there is no such step before this one; did you mean `fan`?",
    ]


def test_a_template_sees_the_steps_around_it_and_not_the_other_way_round() -> None:
    listed = found(
        """
steps:
  - {id: pre, type: slot}
  - id: fan
    type: fan-out
    items: [1]
    step:
      id: body
      type: if
      condition: "{{ steps.pre.status == 'completed' and parent_item == null }}"
      then:
        - {id: inner, type: shell, run: "echo {{ steps.pre.status }} {{ item }} {{ index }} {{ steps.body.status }}"}
        - {id: join, type: fan-in, wait_for: [pre, inner], output: {x: "{{ fan_in.results[0] }}"}}
  - {id: after, type: shell, run: "echo {{ steps.inner.status }} {{ steps.fan:body:0.status }}"}
outputs: {x: {value: "{{ steps.inner.output }}"}}
"""
    )
    assert listed == [
        "warning 15: there is no step `inner` here; it reads as null",
        "warning 16: there is no step `inner` here; it reads as null",
    ]


def test_verdict_inputs() -> None:
    top = "inputs: {v: {enum: [approve, reject]}}"
    gate = "type: gate, message: m, verdict_input: v"
    assert "must contain" in errors_of_step(f"{{id: g, {gate}, on_reject: retry}}", top)[0]
    assert errors_of_step(f"{{id: g, {gate}}}", top) == []
    inside = f"{{id: f, type: fan-out, items: [], step: {{id: g, {gate}}}}}"
    assert "bakeoff answer" in errors_of_step(inside, top)[0]


def test_problems_in_expressions_point_at_the_character() -> None:
    listed = problems(
        """
steps:
  - {id: a, type: shell, run: "echo {{ inputs.x | nope }}"}
  - id: b
    type: shell
    run: |
      echo {{ context.run_id }}
      echo {{ steps.zz }}
"""
    )
    assert [(problem.line, problem.column) for problem in listed] == [(4, 51), (9, 15)]


def test_strict_makes_warnings_errors() -> None:
    text = "steps: [{id: s, type: slot, nmae: x}]"
    assert [problem.severity for problem in problems(text)] == ["warning"]
    assert [problem.severity for problem in problems(text, strict=True)] == ["error"]
    with pytest.raises(InvalidWorkflowError, match="did you mean `name`"):
        parse_workflow(HEAD + text, strict=True)
    assert [problem.line for problem in parse_workflow(HEAD + text).warnings] == [2]


def test_duplicate_keys_are_told() -> None:
    assert "stands here again" in found("steps: [{id: s, type: slot, id: s}]")[0]


def test_overlays_beside_an_installed_workflow_are_told(tmp_path: Path) -> None:
    folder = tmp_path / ".specify" / "workflows"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "workflow.yml").write_text(HEAD + "steps: [{id: s, type: slot}]")
    assert load_workflow(folder / "a" / "workflow.yml").warnings == ()
    (folder / "overlays" / "a").mkdir(parents=True)
    (folder / "overlays" / "a" / "x.yml").write_text("id: x")
    (warning,) = load_workflow(folder / "a" / "workflow.yml").warnings
    assert "not applied" in warning.message


def test_ten_thousand_steps_are_quick() -> None:
    step = "  - {id: s%d, type: shell, run: 'echo {{ inputs.x }} {{ steps.s0.output.stdout }}', timeout: 5}\n"
    text = HEAD + "inputs: {x: {}}\nsteps:\n" + "".join(step % number for number in range(10_000))
    started = time.process_time()
    assert len(parse_workflow(text).steps) == 10_000
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "step",
    [
        "  - {id: step%d, type: shell, run: 'echo {{ steps.stepp%d.output.stdout }} {{ inputs.q%d }}'}\n",
        "  - {id: step%d, type: fan-in, wait_for: [stepp%d, s%d]}\n",
        "  - {id: step%d, type: shell, run: 'echo {{ steps.step%d.output.stdout }}', nmae: %d}\n",
    ],
)
def test_a_file_in_which_everything_is_wrong_is_no_trouble(step: str) -> None:
    text = HEAD + "steps:\n" + "".join(step % (number, number, number) for number in range(5_000))
    started = time.process_time()
    assert len(problems(text)) >= 1000
    assert time.process_time() - started < 10


def test_a_text_full_of_blocks_is_no_trouble() -> None:
    started = time.process_time()
    assert problems(HEAD + "steps: [{id: s, type: shell, run: '" + "{{ a }} " * 100_000 + "'}]")
    assert time.process_time() - started < 20


def test_nesting_is_bounded() -> None:
    step = "{id: s, type: slot}"
    for number in range(60):
        step = f"{{id: i{number}, type: if, condition: true, then: [{step}]}}"
    with pytest.raises(InvalidWorkflowError, match="nested more than 100 deep"):
        parse_workflow(HEAD + f"steps: [{step}]")


def test_the_definition_carries_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "flow.yml"
    path.write_text(
        """\
workflow: {id: a, name: A, version: "1.2.3", integration: claude, model: m, options: {x: 1}}
inputs: {n: {type: number, default: "5"}}
secrets: {token: MY_TOKEN}
env: {A: 1}
lanes: {gpu: 2}
budget: {usd: 5}
outputs: {o: {value: "{{ inputs.n }}"}}
steps:
  - id: c
    type: if
    condition: true
    then: [{id: s, type: shell, run: "echo {{ inputs.n }}", argv: null, env: {B: "{{ inputs.n }}"}}]
    else: [{id: p, type: parallel, branches: {x: [{id: q, type: slot}]}}]
  - {id: f, type: fan-out, items: [1], step: {id: i, type: shell, argv: [echo, "{{ item }}"]}}
"""
    )
    workflow = load_workflow(path)
    assert (workflow.id, workflow.name, workflow.version, workflow.integration) == ("a", "A", "1.2.3", "claude")
    assert (workflow.secrets, workflow.env, workflow.lanes, workflow.budget.usd) == (
        ("MY_TOKEN",),
        {"A": 1},
        {"gpu": 2},
        5,
    )
    assert (workflow.outputs, workflow.directory) == ({"o": "{{ inputs.n }}"}, tmp_path.resolve())
    choice, fan = workflow.steps
    (shell,) = choice.then  # type: ignore[attr-defined]
    assert (shell.position, shell.raw["run"]) == ((12, 12), "echo {{ inputs.n }}")
    assert shell.template("run") is shell.template("run")
    assert shell.templates("argv") == {}
    assert shell.template("env", "B").references == ("inputs.n",)
    assert choice.else_[0].branches["x"][0].id == "q"  # type: ignore[attr-defined]
    assert [template.is_literal for template in fan.step.templates("argv").values()] == [True, False]  # type: ignore[attr-defined]
    with pytest.raises(InvalidWorkflowError, match=r"flow\.yml: line 1"):
        parse_workflow("a: 1", "flow.yml")


@pytest.mark.parametrize(
    ("value", "bound"),
    [(1, 1), (2.9, 2), ("3", 3), (0, None), (-1, None), ("x", None), (True, None), (None, None), (float("inf"), None)],
)
def test_bounds(value: Any, bound: int | None) -> None:
    assert concurrency(value) == bound


def test_references_to_steps_that_have_not_run_read_as_null() -> None:
    text = """
env: {E: "{{ steps.a.output }}"}
steps:
  - {id: a, type: shell, run: "echo {{ steps.a.output.stdout }} {{ steps.b.status }}", when: "{{ steps.late.status }}"}
  - {id: b, type: if, condition: "{{ steps.then.status }}", then: [{id: then, type: slot}], else: [{id: else, type: slot, when: "{{ steps.then.status }}"}]}
  - id: p
    type: parallel
    branches:
      l: [{id: l, type: slot, when: "{{ steps.r.status }}"}]
      r: [{id: r1, type: slot}, {id: r, type: slot, when: "{{ steps.l.status and steps.r1.status }}"}]
  - id: f
    type: fan-out
    items: "{{ [steps.late.output] }}"
    step: {id: it, type: if, condition: "{{ steps.late.status or steps.two.status }}", then: [{id: one, type: slot, when: "{{ steps.two.status }}"}, {id: two, type: slot, when: "{{ steps.one.status }}"}]}
  - {id: sw, type: switch, expression: x, cases: {x: [{id: x1, type: slot}, {id: x2, type: slot, when: "{{ steps.x1.status }}"}], y: [{id: y, type: slot, when: "{{ steps.x1.status }}"}]}}
  - {id: late, type: shell, run: "echo {{ steps.a.output }} {{ steps.then.status }} {{ steps.r.status }} {{ steps.f.output }}"}
outputs: {o: {value: "{{ steps.late.output }}"}}
"""
    behind = "runs after this one and reads as null here; move this step behind it"
    apart = "stands in another branch of `%s`, which this one cannot see; it reads as null"
    assert found(text) == [
        "warning 3: the step `a` (line 5) has not run when `env` is evaluated; it reads as null",
        "warning 5: the step `a` (line 5) is this step itself, which has not run yet; it reads as null",
        f"warning 5: the step `b` (line 6) {behind}",
        f"warning 5: the step `late` (line 17) {behind}",
        f"warning 6: the step `then` (line 6) {behind}",
        f"warning 6: the step `then` (line 6) {apart % 'b'}",
        f"warning 10: the step `r` (line 11) {apart % 'p'}",
        f"warning 11: the step `l` (line 10) {apart % 'p'}",
        f"warning 14: the step `late` (line 17) {behind}",
        f"warning 15: the step `late` (line 17) {behind}",
        f"warning 15: the step `two` (line 15) {behind}",
        f"warning 15: the step `two` (line 15) {behind}",
        f"warning 16: the step `x1` (line 16) {apart % 'sw'}",
    ]


def test_in_a_loop_a_later_step_is_that_of_the_pass_before() -> None:
    text = """
steps:
  - id: w
    type: while
    condition: "{{ steps.b.status != 'skipped' and steps.w.status == null }}"
    steps:
      - {id: a, type: shell, run: "echo {{ steps.b.output }} {{ steps.a.output }} {{ steps.w:b:0.output }}"}
      - {id: p, type: parallel, branches: {l: [{id: l, type: slot, when: "{{ steps.r.status }}"}], r: [{id: r, type: slot}]}}
      - {id: f, type: fan-out, items: [1], step: {id: it, type: if, condition: "{{ steps.b.status }}", then: [{id: x, type: slot, when: "{{ steps.y.status }}"}, {id: y, type: slot}]}}
      - {id: b, type: shell, run: echo}
"""
    # An item's own steps are new in each pass.
    behind = "the step `y` (line 10) runs after this one and reads as null here; move this step behind it"
    assert found(text) == [f"warning 10: {behind}"]


@pytest.mark.parametrize(
    ("step", "column"),
    [
        ("{id: s, type: shell, run: 'echo {{ inputs.name'}", 37),
        ("{id: s, type: shell, run: 'echo {{ inputs.name }} {{ inputs.name'}", 55),
        ("{id: s, type: shell, argv: [echo, '{{ inputs.name }']}", 40),
        ("{id: s, type: prompt, integration: codex, prompt: '{{'}", 56),
        ("{id: s, type: workflow, workflow: '{{ x', input: {}}", 40),
        ("{id: s, type: slot, env: {A: '{{ x'}}", 35),
    ],
)
def test_braces_that_do_not_close_are_said(step: str, column: int) -> None:
    (problem,) = problems(f"inputs: {{name: {{}}}}\nsteps:\n  - {step}\n")
    assert (problem.severity, problem.line, problem.column) == ("warning", 4, column)
    assert problem.message == "its `{{` is never closed by `}}`, so it stays as it is written"
    (problem,) = problems(f"inputs: {{name: {{}}}}\nsteps:\n  - {step}\n", strict=True)
    assert problem.severity == "error"


def test_braces_that_do_not_close_are_said_at_the_top_level_too() -> None:
    text = "env: {A: '{{ x'}\nsteps: [{id: s, type: slot}]\noutputs: {o: {value: '{{ y }'}}\n"
    assert [line.split(":")[0] for line in found(text)] == ["warning 2", "warning 4"]


LONG = "1" + "0" * 400


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {a: {type: [string]}}\nsteps:\n",
        "inputs: {a: {type: {a: 1}}}\nsteps:\n",
        "steps:\n  - {id: g, type: gate, message: x, on_reject: [abort]}\n",
        f"steps:\n  - {{id: a, type: shell, run: ls, timeout: {LONG}}}\n",
        f"steps:\n  - {{id: a, type: shell, run: ls, retry: {{delay: {LONG}}}}}\n",
        "steps:\n  - {id: a, type: shell, run: ls}\n  - {id: f, type: fan-in, wait_for: [a], output: 5}\n",
    ],
)
def test_a_value_of_another_kind_is_a_problem_among_the_others(text: str) -> None:
    document = parse_document(f"workflow: {{id: a, name: A}}\n{text}  - {{id: last, type: shell}}\n")
    found = [problem for problem in validate(document) if problem.severity == "error"]
    assert found[-1].line == document.text.count("\n")
    assert len(found) >= 2


def test_a_step_without_type_is_told_which_is_meant_and_errors_come_first() -> None:
    head = "workflow: {id: a, name: A}\nextra: 1\nsteps:\n"
    with pytest.raises(InvalidWorkflowError) as raised:
        parse_workflow(head + "  - {id: b, run: ls}\n")
    lines = str(raised.value).splitlines()
    assert "write `type: shell`" in lines[0]
    assert all("warning: " in line for line in lines[1:])


def test_what_spec_kit_reads_kindly_is_read_so() -> None:
    workflow = parse_workflow(
        "workflow: {id: a, name: A}\ninputs: {x: {type: ''}}\nsteps:\n"
        "  - {id: g, type: gate, message: 2026}\n"
        "  - {id: i, type: if, condition: '', then: []}\n"
        "  - {id: w, type: while, condition: true, max_iterations: null, steps: [{id: s, type: shell, run: ls}]}\n"
    )
    assert workflow.inputs["x"].type == "string"
    assert workflow.steps[0].template("message").source == "2026"
    assert workflow.steps[2].max_iterations == 10  # type: ignore[attr-defined]
