from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.workflow.calls import finder
from bakeoff.workflow.document import parse_document
from bakeoff.workflow.expressions import compile_template
from bakeoff.workflow.models import StepModel, Text
from bakeoff.workflow.shell_text import PLAIN, surroundings
from bakeoff.workflow.step_type import StepTypes
from bakeoff.workflow.validate import validate
from searches import examples

HEAD = "workflow: {id: a, name: A}\nsteps:\n  - {id: agent, type: prompt, prompt: hello}\n"
SAFE_HEAD = HEAD.replace("type: prompt, prompt: hello", "type: shell, run: ls")


def errors(steps: str, head: str = HEAD, **options: Any) -> list[str]:
    document = parse_document(head + steps)
    return [problem.message for problem in validate(document, **options) if problem.severity == "error"]


def run(text: str) -> str:
    return f'  - {{id: use, type: shell, run: "{text}"}}\n'


LOOP = """
  - id: l
    type: while
    condition: true
    steps:
      - {id: p, type: prompt, prompt: p}
      - {id: f2, type: fan-out, items: [1], step: {id: i2, type: prompt, prompt: p}}
      - {id: build, type: shell, run: make}
"""
FAN = """
  - {id: fan, type: fan-out, items: [1], step: {id: it, type: prompt, prompt: p}}
  - id: fo
    type: fan-out
    items: [1]
    step: {id: c, type: if, condition: true, then: [{id: deep, type: prompt, prompt: p}]}
"""
UNSAFE = {
    "its text": run("echo {{ steps.agent.output.stdout }}"),
    "between quotes": run("echo '{{ steps.agent.output.stdout }}'"),
    "as the whole command": run("{{ steps.agent.output.stdout }}"),
    "its error": run("echo {{ steps.agent.error }}"),
    "its record": run("echo {{ steps.agent }}"),
    "every record": run("echo {{ steps }}"),
    "parsed": run("echo {{ steps.agent.output.stdout | from_json }}"),
    "as JSON": run("echo {{ steps.agent.output.stdout | json }}"),
    "in an argument": run("echo {{ inputs.x | default(steps.agent.output.stdout) }}"),
    "in a list": run("echo {{ [1, steps.agent.output.stdout] | join(' ') }}"),
    "quoted and then changed": run("echo {{ steps.agent.output.stdout | sh | upper }}"),
    "a field of parsed text that looks fixed": run("echo {{ steps.agent.output.data.status }}"),
    "mapped out of parsed text": run("echo {{ steps.agent.output.stdout | from_json | map('exit_code') }}"),
    "through a shell step": "  - {id: s, type: shell, run: 'echo {{ steps.agent.output.stdout | sh }}'}\n"
    + run("echo {{ steps.s.output.stdout }}"),
    "through the environment": "  - {id: s, type: shell, run: env, env: {A: '{{ steps.agent.output.stdout }}'}}\n"
    + run("echo {{ steps.s.output.stdout }}"),
    "through items": """
  - id: fan
    type: fan-out
    items: "{{ steps.agent.output.stdout | from_json }}"
    step: {id: it, type: shell, run: "echo {{ item.name }}"}
""",
    "through the items around": """
  - id: fan
    type: fan-out
    items: "{{ steps.agent.output.stdout | split(',') }}"
    step:
      id: inner
      type: fan-out
      items: [1]
      step: {id: it, type: shell, run: "echo {{ parent_item }}"}
""",
    "through results": """
  - {id: fan, type: fan-out, items: [1], step: {id: it, type: prompt, prompt: p}}
  - {id: s, type: shell, run: "echo {{ steps.fan.output.results[0].stdout }}"}
""",
    "through mapped results": """
  - {id: fan, type: fan-out, items: [1], step: {id: it, type: prompt, prompt: p}}
  - {id: s, type: shell, run: "echo {{ steps.fan.output.results | map('stdout') | join(' ') }}"}
""",
    "through inner results": """
  - id: fan
    type: fan-out
    items: [1]
    step: {id: it, type: if, condition: true, then: [{id: deep, type: prompt, prompt: p}]}
  - {id: s, type: shell, run: "echo {{ steps.fan.output.results[0].steps.deep.output.stdout }}"}
""",
    "through whole results": """
  - id: fan
    type: fan-out
    items: [1]
    step: {id: it, type: if, condition: true, then: [{id: deep, type: prompt, prompt: p}]}
  - {id: s, type: shell, run: "echo {{ steps.fan.output.results[0] }}"}
""",
    "through a fan-in": """
  - {id: join, type: fan-in, wait_for: [agent]}
  - {id: s, type: shell, run: "echo {{ steps.join.output.results[0].stdout }}"}
""",
    "through an output of a fan-in": """
  - {id: join, type: fan-in, wait_for: [agent], output: {x: "{{ fan_in.results[0].stdout }}"}}
  - {id: s, type: shell, run: "echo {{ steps.join.output.x }}"}
""",
    "through a switch": """
  - {id: sw, type: switch, expression: "{{ steps.agent.output.stdout }}", cases: {}}
  - {id: s, type: shell, run: "echo {{ steps.sw.output.expression_value }}"}
""",
    "backwards in a loop": """
  - id: loop
    type: while
    condition: "{{ true }}"
    steps:
      - {id: s, type: shell, run: "echo {{ steps.later.output.stdout }}"}
      - {id: later, type: shell, run: "cat", env: {X: "{{ steps.ask.output.stdout }}"}}
      - {id: ask, type: prompt, prompt: p}
""",
    "one pass of a loop": run("echo {{ steps.agent:x:1.output.stdout }}"),
    "by the number of its pass": LOOP + run("echo {{ steps.l:p:0.output.text }}"),
    "of a fan-out by the number of its pass": LOOP + run("echo {{ steps.l:f2:1.output.results[0].text }}"),
    "of an item by the number of its pass": LOOP + run("echo {{ steps.l:f2:1:i2:0.output.text }}"),
    "of an item by its number": FAN + run("echo {{ steps.fan:it:0.output.text | json }}"),
    "of a step inside an item": FAN + run("echo {{ steps.fo:c:0/deep.output.text }}"),
    "numbered and fed to a shell step": LOOP
    + "  - {id: s, type: shell, run: 'echo {{ steps.l:p:0.output.text | sh }}'}\n"
    + run("echo {{ steps.s.output.stdout }}"),
    "all steps of an item": FAN + run("echo {{ steps.fo.output.results[0].steps }}"),
    "all steps of items": FAN + run("echo {{ steps.fo.output.results | map('steps') }}"),
    "all steps of items as JSON": FAN + run("echo {{ steps.fo.output.results | map('steps') | json }}"),
    "one step of items": FAN + run("echo {{ steps.fo.output.results | map('steps.deep.output.text') }}"),
    "a numbered step of an item": """
  - id: fo
    type: fan-out
    items: [1]
    step: {id: w, type: while, condition: true, steps: [{id: p, type: prompt, prompt: p}]}
  - {id: s, type: shell, run: "echo {{ steps.fo.output.results[0].steps.w:p:0.output.text }}"}
""",
    "a step around the items": """
  - {id: fo, type: fan-out, items: [1], step: {id: w, type: shell, run: ls}}
  - {id: s, type: shell, run: "echo {{ steps.fo.output.results[0].steps.agent.output.text }}"}
""",
    "as an argument of sh -c": ""
    "  - {id: s, type: shell, argv: [/bin/sh, -ec, 'echo {{ steps.agent.output.stdout }}']}\n",
}


@pytest.mark.parametrize("steps", UNSAFE.values(), ids=UNSAFE)
def test_text_that_nobody_has_read_is_not_pasted_into_a_shell(steps: str) -> None:
    (message,) = errors(steps)
    assert all(word in message for word in ("| sh", "env:", "argv:"))
    assert errors(steps, allow_unquoted=True) == []
    assert [message for message in errors(steps, SAFE_HEAD) if "prompt" not in steps] == []


SAFE = {
    "numbered, another step or what is fixed": LOOP
    + run("echo {{ steps.l:build:1.output.stdout }} {{ steps.l:p:1.output.exit_code }} {{ steps.l:f2:0.status }}"),
    "quoted": run("echo {{ steps.agent.output.stdout | sh }} {{ steps.agent.output.lines | sh }}"),
    "its exit code": run("exit {{ steps.agent.output.exit_code }}"),
    "its status": run("echo {{ steps.agent.status }}"),
    "a comparison": run("echo {{ steps.agent.output.stdout == 'yes' and not steps.agent.output.stderr }}"),
    "a length": run("echo {{ steps.agent.output.stdout | length }} {{ steps.agent.output.stdout | contains('x') }}"),
    "in the environment": "  - {id: s, type: shell, run: 'echo \"$A\"', env: {A: '{{ steps.agent.output.stdout }}'}}\n",
    "as an argument": "  - {id: s, type: shell, argv: [echo, -c, '{{ steps.agent.output.stdout }}']}\n",
    "a script of its own": "  - {id: s, type: shell, argv: [sh, script, '{{ steps.agent.output.stdout }}']}\n",
    "to another agent": "  - {id: s, type: prompt, prompt: 'judge {{ steps.agent.output.stdout }}'}\n",
    "exit codes of results": """
  - {id: fan, type: fan-out, items: [1], step: {id: it, type: prompt, prompt: p}}
  - {id: join, type: fan-in, wait_for: [fan, agent]}
  - id: s
    type: shell
    run: >-
      echo {{ steps.fan.output.results[0].exit_code }} {{ steps.fan.output.item_count }}
      {{ steps.fan.output.results | map('exit_code') | join(' ') }}
      {{ steps.join.output.results[0].results[0].exit_code }} {{ steps.join.output.results[1].exit_code }}
""",
    "the condition of an if": """
  - {id: c, type: if, condition: "{{ steps.agent.output.stdout == 'x' }}", then: []}
  - {id: s, type: shell, run: "echo {{ steps.c.output.condition_result }} {{ steps.c.output }}"}
""",
    "the choice of a gate": """
  - {id: g, type: gate, message: "{{ steps.agent.output.stdout }}"}
  - {id: s, type: shell, run: "echo {{ steps.g.output.choice }}"}
""",
    "another step of an item": """
  - id: fan
    type: fan-out
    items: [1]
    step: {id: it, type: if, condition: true, then: [{id: a, type: prompt, prompt: p}, {id: b, type: shell, run: ls}]}
  - {id: s, type: shell, run: "echo {{ steps.fan.output.results[0].steps.b.output.stdout }}"}
  - {id: t, type: shell, run: "echo {{ steps.fan.output.results[0].condition_result }}"}
""",
    "a fan-in of other steps": """
  - {id: one, type: shell, run: ls}
  - {id: join, type: fan-in, wait_for: [one, agent]}
  - {id: s, type: shell, run: "echo {{ steps.join.output.results[0].stdout }} {{ steps.nope }}"}
""",
}


@pytest.mark.parametrize("steps", SAFE.values(), ids=SAFE)
def test_what_is_quoted_or_fixed_is_let_through(steps: str) -> None:
    assert errors(steps) == []


TEXT = "{{ steps.agent.output.text }}"
QUOTED = "{{ steps.agent.output.text | sh }}"


@pytest.mark.parametrize(
    "before",
    [
        "eval",
        "set -e; eval",
        "if eval",
        "A=1 eval",
        "sh -c",
        "/bin/bash -o pipefail -ec",
        "bash",
        "'ba'sh -c",
        "env A=1 sh -c",
        "exec sh -c",
        "sudo -u me bash -c",
        "nohup zsh -c",
        "timeout -s KILL 5 dash -c",
        "timeout 5 \\\n  sh \\\n  -c",
        f"timeout 5 env {'A=1 ' * 500} eval",
        "echo a | xargs -n 1 sh -c",
        "find . -name a -exec sh -c",
        'echo "$(sh -c',
        "(cd a && ksh -c",
        "python3 -c",
        "python3.11 -W ignore -c",
        "perl -ne",
        "ruby -e",
        "node --eval",
        "php -r",
        "awk",
        "ssh host",
        "trap",
        "env",
        "timeout 5",
        "",
    ],
)
def test_a_program_that_executes_its_argument_is_not_given_text_that_nobody_has_read(before: str) -> None:
    text = json.dumps(f"{before} {QUOTED}" + (')"' if '"' in before else ")" if "(" in before else ""))
    step = f"  - {{id: s, type: shell, run: {text}}}\n"
    (message,) = errors(step)
    assert "env:" in message
    assert errors(step, allow_unquoted=True) == errors(step, SAFE_HEAD) == []


@pytest.mark.parametrize(
    "argv",
    [
        ["env", "sh", "-c", TEXT],
        ["env", "sh", "-c", QUOTED],
        ["sudo", "/bin/bash", "-c", f"cat {TEXT}"],
        ["sh", TEXT],
        ["python3", "-c", TEXT],
        ["python", f"-c{TEXT}"],
        ["perl", "-e", f"print {QUOTED}"],
        [TEXT],
        [f"bin/{TEXT}", "a"],
        ["nice", "-n", "5", TEXT],
    ],
)
def test_nor_is_one_that_is_run_without_a_shell(argv: list[str]) -> None:
    step = f"  - {{id: s, type: shell, argv: {json.dumps(argv)}}}\n"
    (message,) = errors(step)
    assert "env:" in message
    assert errors(step, allow_unquoted=True) == errors(step, SAFE_HEAD) == []


@pytest.mark.parametrize(
    "step",
    [
        {"argv": ["sh", "-c", 'echo "$1"', "sh", TEXT]},
        {"argv": ["env", "A=1", "python3", "-m", "pytest", TEXT]},
        {"argv": ["python3", "script.py", "-c", TEXT]},
        {"argv": ["env", f"A={TEXT}", "make"]},
        {"argv": ["bash", "-c", f"cat {QUOTED}"]},
        {"argv": ["find", TEXT, "-exec", "cat", "{}", ";"]},
        {"run": f"eval x; echo {QUOTED}"},
        {"run": f"timeout 5 grep -e {QUOTED} eval"},
        {"run": f"echo eval {QUOTED} | sh -c 'cat'"},
        {"run": f"A={QUOTED} make"},
        {"run": f"bash -c 'echo \"$1\"' sh {QUOTED}"},
        {"run": f"case a in eval) echo {QUOTED};; esac"},
        {"run": f'echo "$(date)" sh -c {QUOTED}'},
        {"run": f"awk -v a={QUOTED} '{{print a}}'"},
    ],
)
def test_what_is_data_to_such_a_program_is_let_through(step: dict[str, Any]) -> None:
    assert errors(f"  - {json.dumps({'id': 's', 'type': 'shell', **step})}\n") == []


def test_custom_step_types_may_be_untrusted_or_fed() -> None:
    class Fields(StepModel):
        text: Text = ""

    class Attempt:
        name, model, untrusted = "attempt", Fields, True

        def run(self, step: Any, context: Any) -> None: ...

    class Echo:
        name, model = "echo", Fields

        def run(self, step: Any, context: Any) -> None: ...

    types = StepTypes([Attempt(), Echo()], discover=False)
    steps = """
  - {id: try, type: attempt}
  - {id: good, type: echo, text: "{{ inputs.x }}"}
  - {id: bad, type: echo, text: "{{ steps.try.output.text }}"}
  - {id: a, type: shell, run: "echo {{ steps.try.output.exit_code }}"}
  - {id: b, type: shell, run: "echo {{ steps.good.output.text }}"}
  - {id: c, type: shell, run: "echo {{ steps.bad.output.text }}"}
"""
    assert ["steps.try" in message or "steps.bad" in message for message in errors(steps, step_types=types)] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("echo {{ x | sh }}", PLAIN),
        ("echo '{{ x | sh }}'", "inside '...'"),
        ('echo "a {{ x | sh }}"', 'inside "..."'),
        ("echo 'a'{{ x | sh }}'b'", PLAIN),
        ("echo 'it'\"'\"'s' {{ x | sh }}", PLAIN),
        ('echo "\\"" {{ x | sh }}', PLAIN),
        ("echo \\' {{ x | sh }}", PLAIN),
        ("echo \\{{ x | sh }}", "after a backslash"),
        ('echo "$(cat {{ x | sh }})"', PLAIN),
        ('echo "$(cat "{{ x | sh }}")"', 'inside "..."'),
        ('echo "`cat {{ x | sh }}` {{ y }}"', "inside `...`"),
        ("echo `cat '{{ x | sh }}'`", "inside '...'"),
        ("echo `echo {{ x | sh }}`", "inside `...`"),
        ("echo `echo $(ls {{ x | sh }})`", "inside `...`"),
        ("echo `ls` {{ x | sh }}", PLAIN),
        ("echo $(({{ x | sh }} + 1))", "inside $((...))"),
        ("(cd a; ls {{ x | sh }})", PLAIN),
        ("echo a # it's {{ x | sh }}", "inside a comment"),
        ("echo a # it's\necho {{ x | sh }}", PLAIN),
        ("echo a#' {{ x | sh }}'", "inside '...'"),
        ("cat <<EOF\n{{ x | sh }}\nEOF\n", "inside a here-document"),
        ("cat <<-'EOF' | wc\n\tit's {{ x | sh }}\n\tEOF\n", "inside a here-document"),
        ("cat <<EOF\nit's\nEOF\necho {{ x | sh }}", PLAIN),
        ("cat <<A <<B\n'\nA\n\"\nB\necho {{ x | sh }}", PLAIN),
        ("echo $((1 << n))\necho {{ x | sh }}", PLAIN),
        ("echo $((1<2))\necho {{ x | sh }}", PLAIN),
        ("echo $(( (1) << n ))\necho {{ x | sh }}", PLAIN),
        ("cat <<'A B' <<\\C\nx\nA B\n{{ x | sh }}\nC", "inside a here-document"),
        ("cat <<E\n{{ x | sh }}", "inside a here-document"),
        ("cat <<{{ x | sh }}", "inside a here-document"),
        ("cat <<<{{ x | sh }}", PLAIN),
        ("case a in a) echo {{ x | sh }};; esac", PLAIN),
        ("echo 'open {{ x | sh }}", "inside '...'"),
    ],
)
def test_where_a_block_stands(text: str, where: str) -> None:
    block, found, _ = surroundings(compile_template(text))[0]
    assert (block.text, found) == ("x | sh", where)
    message = errors(f"  - {{id: s, type: shell, run: {json.dumps(text)}}}\n")
    assert bool(message) == (where != PLAIN)


def test_quoting_between_quotes_is_an_error_even_for_old_files() -> None:
    (message,) = errors(run("echo '{{ context.run_id | sh }}'"), allow_unquoted=True)
    assert "inside '...'" in message
    assert "brings its own quotes" in message


@pytest.mark.soak
@settings(max_examples=examples(50))
@given(
    st.lists(st.sampled_from(["'", '"', "`", "\\", "$(", ")", "(", "#", "\n", " ", "a", "<<E\n", "\nE\n", "{{x|sh}}"]))
)
def test_a_block_that_counts_as_plain_is_one_whole_word_to_a_real_shell(pieces: list[str]) -> None:
    """Put a value in that would run a command if it were not quoted: where the block counts as plain it must not."""
    template = compile_template("".join(pieces))
    places = surroundings(template)
    assert len(places) == len(template.blocks)
    if not places or any(where != PLAIN for _, where, _ in places):
        return

    class Hostile:
        def lookup(self, root: str) -> str:
            return "'\";touch pwned\n`touch pwned`$(touch pwned)"

    script = template.evaluate(Hostile())
    checked = subprocess.run(["/bin/sh", "-nc", script], capture_output=True)
    if checked.returncode:
        return
    traced = subprocess.run(
        ["/bin/sh", "-c", f"touch() {{ echo RAN >&2; }}\n{script}"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": "/nonexistent"},
    )
    assert b"RAN" not in traced.stderr


AGENT = "{{ steps.agent.output.text }}"
ENV = f"env: {{T: '{AGENT}', S: safe}}"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("$(echo {{ T | sh }})", "the name of the program"),
        ("if $(echo a; echo {{ T | sh }} | tail -1) now; then x; fi", "the name of the program"),
        ("cd x && sudo $(echo {{ T | sh }})", "the name of the program"),
        ("sh -c $(echo {{ T | sh }})", "executed by `sh`"),
        ('sh -c "a; $(echo {{ T | sh }})"', "executed by `sh`"),
        ('eval "$(echo $(cat {{ T | sh }}))"', "executed by `eval`"),
        ("X=$(echo {{ T | sh }}) make", None),
        ("make TARGET=$(echo {{ T | sh }}) && ls $(dirname {{ T | sh }})", None),
        ('cd "$(dirname {{ T | sh }})"; for f in $(echo {{ T | sh }}); do echo "$f"; done', None),
        ('python tool.py "$(cat {{ T | sh }})"', None),
        ("(cd x; echo {{ T | sh }})", None),
    ],
)
def test_what_a_substitution_makes_of_the_text_is_not_executed(text: str, program: str | None) -> None:
    written = text.replace("T | sh", "steps.agent.output.text | sh")
    steps = f"  - id: use\n    type: shell\n    run: |\n      {written}\n"
    found = errors(steps)
    assert len(found) == (program is not None)
    assert all(str(program) in message for message in found)
    assert errors(steps, SAFE_HEAD) == []


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ('sh -c "$T"', "executed by `sh`"),
        ("bash -ec $T", "executed by `bash`"),
        ('python3 -c "${T}"', "executed by `python`"),
        ('eval "x=${T:-1}"', "executed by `eval`"),
        ('"$T" now', "the name of the program"),
        ('cd x; sh -c "$(cat "$T")"', "executed by `sh`"),
        ('echo "$T" $T; test "$T" = x && printf %s "$T" > "$T"', None),
        ('T=ls; sh -c "$T"', None),
        ('sh -c "$S" && sh -c "$TT" && sh -c "${#T}"', None),
        ('sh -c \'echo "$1"\' _ "$T"', None),
        ("echo '$T' \\$T # sh -c $T", None),
        ('python tool.py "$T"', None),
    ],
)
def test_a_variable_with_the_text_is_not_executed(text: str, program: str | None) -> None:
    steps = f"  - id: use\n    type: shell\n    {ENV}\n    run: |\n      {text}\n"
    found = errors(steps)
    assert len(found) == (program is not None)
    assert all(str(program) in message and "`$T`" in message for message in found)
    assert errors(steps, SAFE_HEAD) == []
    assert errors(steps, allow_unquoted=True) == []


def test_a_variable_of_what_is_around_counts_unless_a_nearer_one_is_clean() -> None:
    around = f"  - {{id: c, type: if, condition: true, {ENV}, then: [{{id: use, type: shell, run: 'eval $T'%s}}]}}\n"
    assert len(errors(around % "")) == 1
    assert errors(around % ", env: {T: ls}") == []
    assert errors(around % ", env: {T: null}") == []
    argv = f"  - {{id: use, type: shell, argv: [sh, -c, 'exec $T'], {ENV}}}\n"
    assert len(errors(argv)) == 1
    assert errors(argv.replace("[sh, -c, 'exec $T']", "[echo, 'exec $T']")) == []
    (wrong,) = errors(f"  - {{id: use, type: shell, run: 'eval $T {{{{ ( }}}}', {ENV}}}\n")
    assert "executed" not in wrong


def test_a_variable_of_a_called_file_is_looked_at_with_what_the_caller_hands_over(tmp_path: Path) -> None:
    (tmp_path / "sub.yml").write_text(
        "workflow: {id: a, name: A}\ninputs: {x: {}}\nenv: {T: '{{ inputs.x }}'}\n"
        "steps: [{id: s, type: shell, run: 'eval $T'}]\n"
    )
    call = "  - {id: c, type: workflow, workflow: sub.yml, input: {x: '%s'}}\n"
    (message,) = errors(call % AGENT, find_workflow=finder(tmp_path))
    assert "in sub.yml, line 4, `$T` is text that nobody has read" in message
    assert errors(call % "ls", find_workflow=finder(tmp_path)) == []


def test_a_hostile_nest_of_substitutions_is_read_in_time() -> None:
    text = "$(" * 3000 + "echo {{ steps.agent.output.text | sh }} " * 300
    started = time.process_time()
    errors(f"  - {{id: use, type: shell, run: '{text}'}}\n")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "step",
    [
        {"run": "true", "env": {"PATH": "{{ steps.agent.output.text }}"}},
        {"run": "true", "env": {"LD_PRELOAD": "/lib/{{ steps.agent.output.text }}"}},
        {"argv": ["ls"], "env": {"GIT_SSH_COMMAND": "{{ steps.agent.output.text }}"}},
        {"argv": ["env", "BASH_ENV={{ steps.agent.output.text }}", "bash", "x.sh"]},
        {"run": "PYTHONPATH={{ steps.agent.output.text | sh }} make"},
        {"argv": ["git", "-c", "core.pager={{ steps.agent.output.text }}", "log"]},
        {"argv": ["git", "{{ steps.agent.output.text }}"]},
        {"argv": ["timeout", "5", "nice", "-n", "3", "git", "-c", "{{ steps.agent.output.text }}", "log"]},
        {"argv": ["flock", "x.lock", "sh", "-c", "{{ steps.agent.output.text }}"]},
        {"argv": ["env", "-S", "{{ steps.agent.output.text }}"]},
        {"argv": ["ls"], "cwd": "{{ steps.agent.output.text }}"},
        {"type": "workflow", "workflow": "{{ steps.agent.output.text }}"},
        {"type": "prompt", "prompt": "p", "integration_args": ["{{ steps.agent.output.text }}"]},
    ],
)
def test_text_that_nobody_has_read_chooses_nothing_that_is_run(step: dict[str, Any]) -> None:
    found = errors(f"  - {json.dumps({'id': 'use', 'type': 'shell', **step})}\n")
    assert len(found) == 1, found
    assert "nobody has read" in found[0]


def test_a_word_after_the_subcommand_of_git_is_data() -> None:
    step = {"id": "use", "type": "shell", "argv": ["git", "-C", "x", "grep", "{{ steps.agent.output.text }}"]}
    assert errors(f"  - {json.dumps(step)}\n") == []


@pytest.mark.parametrize(
    ("command", "input_", "use", "safe"),
    [
        ("speckit.plan", "hello", "command", True),
        ("speckit.plan", "hello", "text", False),
        ("{{ steps.p.output.text }}", "hello", "command", False),
        ("speckit.plan", "{{ steps.p.output.text }}", "input.args", False),
    ],
)
def test_what_the_file_says_of_a_command_is_read(command: str, input_: str, use: str, safe: bool) -> None:
    steps = (
        "  - {id: p, type: prompt, prompt: p}\n"
        f"  - {{id: k, type: command, command: '{command}', input: {{args: '{input_}'}}}}\n"
    )
    found = errors(steps + run(f"echo {{{{ steps.k.output.{use} }}}}"))
    assert ("nobody has read" in "".join(found)) is not safe, found
