"""What every step can say (`when`, `retry`, `env`, `cwd`, `argv`, `lane`), secrets, budgets and the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import NodeRetried, Warned
from bakeoff.errors import BakeoffError
from flows import NOTE, Flow


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path)


def test_when(flow: Flow) -> None:
    flow.start(f"""
        steps:
          - {{id: a, type: shell, run: '{NOTE}', when: "{{{{ inputs.no }}}}"}}
          - {{id: b, type: shell, run: '{NOTE}', when: "{{{{ steps.a.status == 'skipped' }}}}"}}
          - {{id: f, type: fan-out, when: false, items: [1], step: {{id: it, type: shell, run: '{NOTE}'}}}}
        """)
    assert (flow.status("a"), flow.status("b"), flow.status("f")) == ("skipped", "completed", "skipped")
    assert flow.trace() == ["b"]


def test_retry_until_it_succeeds_and_no_further(flow: Flow) -> None:
    flow.start(f"""
        steps:
          - id: a
            type: shell
            run: '{NOTE}; test "$(wc -l < trace)" -ge 3'
            retry: {{attempts: 5, delay: 0.01, jitter: 0}}
        """)
    assert len(flow.trace()) == 3
    step = flow.state["steps"]["a"]
    assert (step["status"], step["attempts"], len(step["retries"])) == ("completed", 3, 2)
    delays = [event.delay for event in flow.events if isinstance(event, NodeRetried)]
    assert delays == pytest.approx([0.01, 0.02])


def test_retry_only_after_the_kinds_it_names(flow: Flow) -> None:
    for on, count in (("[timeout]", 1), ("[exit]", 2)):
        ending = flow.start(f"""
            steps:
              - {{id: a, type: shell, run: '{NOTE}; exit 3', retry: {{attempts: 2, delay: 0, on: {on}}}}}
            """)
        assert ending.status == "failed"
        assert len(flow.trace()) == count


def test_timeout_keeps_what_was_printed_and_counts_from_the_start_of_the_work(flow: Flow) -> None:
    """The second item queues behind the first for longer than its timeout, and is fine."""
    ending = flow.start("""
        lanes: {one: 1}
        workflow: {id: f, name: F, version: 1.0.0}
        steps:
          - id: fan
            type: fan-out
            items: [0.6, 0]
            max_concurrency: 2
            step: {id: it, type: shell, lane: one, run: "sleep {{ item }}", timeout: 5}
          - {id: slow, type: shell, run: "printf partial; sleep 30", timeout: 2}
        """)
    assert ending.error == "step slow: timed out after 2 s"
    assert flow.output("slow") | {"stderr": ""} == {
        "exit_code": -1, "stdout": "partial", "stderr": "", "timed_out": True,
    }  # fmt: skip


def test_env_cwd_argv(flow: Flow) -> None:
    (flow.root / "sub").mkdir()
    flow.start("""
        workflow: {id: f, name: F, version: 1.0.0}
        env: {A: workflow, B: kept, HOME: null}
        steps:
          - {id: a, type: shell, env: {A: "{{ context.run_id }}", C: null}, run: 'echo "$A $B ${HOME-none}"'}
          - {id: c, type: shell, cwd: sub, run: 'basename "$PWD"'}
          - {id: v, type: shell, argv: [printf, "%s|", "a b; $HOME `id` 'x'", "*"]}
        """, run_id="it")  # fmt: skip
    assert flow.output("a")["stdout"] == "it kept none\n"
    assert flow.output("c")["stdout"] == "sub\n"
    assert flow.output("v")["stdout"] == "a b; $HOME `id` 'x'|*|"


def test_a_lane_bounds_across_fan_outs(flow: Flow) -> None:
    body = 'mkdir "lock-$BAKEOFF_NODE"; ls -d lock-* | wc -l >> seen; sleep 0.03; rmdir "lock-$BAKEOFF_NODE"'
    flow.start(f"""
        workflow: {{id: f, name: F, version: 1.0.0}}
        lanes: {{db: 2}}
        steps:
          - id: p
            type: parallel
            branches:
              a: [{{id: fa, type: fan-out, items: [1, 2, 3], max_concurrency: 3, step: {{id: ia, type: shell, lane: db, run: '{body}'}}}}]
              b: [{{id: fb, type: fan-out, items: [1, 2, 3], max_concurrency: 3, step: {{id: ib, type: shell, lane: [db], run: '{body}'}}}}]
        """)
    assert max(map(int, (flow.root / "seen").read_text().split())) == 2


def test_an_unknown_lane_is_named(flow: Flow) -> None:
    try:
        ending = flow.start("steps:\n  - {id: a, type: shell, lane: nowhere, run: 'true'}\n")
    except BakeoffError as failure:
        assert "nowhere" in str(failure)  # noqa: PT017 - either way of saying it is fine
    else:
        assert ending.status == "failed"
        assert "nowhere" in str(ending.error)


def test_a_command_that_comes_out_empty_is_an_error(flow: Flow) -> None:
    ending = flow.start("steps:\n  - {id: a, type: shell, run: '{{ inputs.typo }}'}\n")
    assert ending.status == "failed"
    assert "{{ inputs.typo }} came out empty" in str(ending.error)


def test_output_format_json(flow: Flow) -> None:
    ending = flow.start("""
        steps:
          - {id: good, type: shell, run: "echo '{\\"a\\": [1]}'", output_format: json}
          - {id: bad, type: shell, run: "echo nonsense", output_format: json}
        """)
    assert flow.output("good")["data"] == {"a": [1]}
    assert "standard output is not JSON" in str(ending.error)
    assert flow.output("bad")["stdout"] == "nonsense\n"


SECRET = 'sw0rd"fish\\hidden'


def test_secrets_reach_the_command_and_nothing_that_is_written(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    heard: list[Any] = []
    ending = flow.start("""
        workflow: {id: f, name: F, version: 1.0.0}
        secrets: [API_TOKEN]
        steps:
          - {id: a, type: shell, run: 'printf "%s" "$API_TOKEN"; printf "%s" "$API_TOKEN" >&2; test ${#API_TOKEN} = 17'}
          - {id: big, type: shell, run: 'n=0; while [ $n -lt 3000 ]; do printf "%s\\n" "$API_TOKEN"; n=$((n+1)); done'}
          - {id: cut, type: shell, run: 'printf "%.9s" "$API_TOKEN"; sleep 0.2; printf "%s" "$API_TOKEN" | tail -c +10'}
          - {id: again, type: shell, argv: [echo, "{{ steps.a.output.stdout }}"]}
          - {id: f, type: shell, run: 'printf "%s" "$API_TOKEN"; exit 3', continue_on_error: true}
        """, hear=heard.append)  # fmt: skip
    assert ending.status == "completed", ending.error
    assert flow.output("a")["stdout"] == "***"
    assert flow.output("cut")["stdout"] == "***"
    assert flow.folder is not None
    needles = [SECRET.encode(), json.dumps(SECRET)[1:-1].encode(), b"sw0rd"]
    for file in flow.folder.root.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert not any(needle in data for needle in needles), f"the secret stands in {file.name}"
    assert "sw0rd" not in repr(heard)
    assert "sw0rd" not in json.dumps(flow.state)


def test_a_budget_of_seconds_ends_the_run_and_keeps_what_was_done(flow: Flow) -> None:
    ending = flow.start(f"""
        workflow: {{id: f, name: F, version: 1.0.0}}
        budget: {{seconds: 0.7}}
        steps:
          - {{id: a, type: shell, run: '{NOTE}'}}
          - {{id: b, type: shell, run: '{NOTE}; sleep 60'}}
        """)
    assert ending.status == "budget_spent"
    assert flow.status("a") == "completed"
    assert flow.trace() == ["a", "b"]
    assert flow.resume().status == "budget_spent", "the time of all sessions counts"


def test_a_budget_of_calls_counts_agents_over_the_whole_tree_and_over_resumes(flow: Flow) -> None:
    (flow.root / "fake.py").write_text("import sys; print('said'); sys.exit(0)\n")
    (flow.root / "bakeoff.toml").write_text(
        f'[agents.fake]\nargv = ["{sys.executable}", "{flow.root}/fake.py", "{{prompt}}"]\n'
    )
    text = """
        workflow: {id: f, name: F, version: 1.0.0, integration: fake}
        budget: {calls: 3}
        steps:
          - id: fan
            type: fan-out
            items: [1, 2, 3, 4, 5]
            max_concurrency: 5
            step: {id: it, type: prompt, prompt: "do {{ item }}"}
        """
    ending = flow.start(text)
    assert ending.status == "budget_spent", ending.error
    done = [path for path, step in flow.state["steps"].items() if step["status"] == "completed" and "it" in path]
    assert len(done) == 3
    assert flow.state["usage"]["calls"] == 3
    assert flow.resume().status == "budget_spent"
    assert flow.state["usage"]["calls"] == 3


@pytest.mark.parametrize("bound", [1, 2, 8])
def test_the_normalised_report_does_not_depend_on_the_bound_or_on_resuming(flow: Flow, bound: int) -> None:
    text = """
        workflow: {id: f, name: F, version: 1.0.0}
        inputs: {n: {type: number}, go: {type: string, default: ""}}
        steps:
          - {id: list, type: shell, run: "echo '[5,4,3,2,1,0]'", output_format: json}
          - id: fan
            type: fan-out
            items: "{{ steps.list.output.data }}"
            max_concurrency: "{{ inputs.n }}"
            step:
              id: it
              type: if
              condition: "{{ item > 2 }}"
              then: [{id: a, type: shell, run: "sleep 0.0{{ item }}; echo {{ item }}"}]
              else: [{id: b, type: fan-out, items: [x, y], max_concurrency: "{{ inputs.n }}", step: {id: c, type: shell, run: "echo {{ item }}{{ parent_item }}"}}]
          - {id: g, type: gate, message: "?", verdict_input: go}
          - {id: join, type: fan-in, wait_for: [fan], output: {all: "{{ fan_in.results[0].results }}"}}
        """

    def run(folder: str, n: int, resumed: bool) -> dict[str, Any]:
        (flow.root / folder).mkdir()
        one = Flow(flow.root / folder)
        path = one.write(text)
        if resumed:
            assert one.start(path, {"n": n}).status == "paused"
            assert one.resume({"go": "approve"}).status == "completed"
        else:
            assert one.start(path, {"n": n, "go": "approve"}).status == "completed"
        report = one.report
        del report["inputs"]
        return report

    assert run("plain", bound, False) == run("one", 1, False) == run("resumed", bound, True)


def test_concurrent_steps_keep_their_lines_apart_and_the_record_whole(flow: Flow) -> None:
    """Eight steps print at once, in pieces; each keeps its own lines, in order, and every record is there."""
    script = 'i=0; while [ $i -lt 200 ]; do printf "%s-" {{ item }}; printf "%s\\n" $i; i=$((i+1)); done'
    flow.start(f"""
        steps:
          - id: fan
            type: fan-out
            items: [0, 1, 2, 3, 4, 5, 6, 7]
            max_concurrency: 8
            step: {{id: it, type: shell, run: '{script}'}}
        """)
    for item in range(8):
        assert flow.output(f"fan:it:{item}")["stdout"] == "".join(f"{item}-{line}\n" for line in range(200))


STEP_TYPE = """
import threading
from bakeoff.workflow.models import StepModel, Text

class Count:
    name = "count"
    model = type("Model", (StepModel,), {"__annotations__": {"what": Text}, "__module__": "<run_path>"})

    def run(self, step, context):
        return {"thread": threading.get_ident(), "what": context.values["what"], "node": context.path}
"""


def test_a_step_type_in_threads_loses_no_record(flow: Flow) -> None:
    (flow.root / "types.py").write_text(STEP_TYPE)
    (flow.root / "bakeoff.toml").write_text('step_types = "types.py"\n')
    ending = flow.start("""
        steps:
          - {id: list, type: shell, run: "seq 0 199 | tr '\\\\n' ',' | sed 's/^/[/; s/,$/]/'", output_format: json}
          - id: fan
            type: fan-out
            items: "{{ steps.list.output.data }}"
            max_concurrency: 16
            step: {id: it, type: count, what: "{{ item }}"}
        """)
    assert ending.status == "completed", ending.error
    assert [result["what"] for result in flow.output("fan")["results"]] == list(range(200))
    assert [result["node"] for result in flow.output("fan")["results"]] == [f"fan:it:{n}" for n in range(200)]


def test_the_clock_may_be_put_back(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Durations come from a clock that never goes back; no step ends before it began."""
    wall = iter(range(10**6, 0, -1000))
    monkeypatch.setattr(SystemClock, "wall", staticmethod(lambda: float(next(wall))))
    text = "steps:\n  - {id: a, type: shell, run: 'true'}\n  - {id: f, type: fan-out, items: [1, 2], step: {id: it, type: shell, run: test -e go}}\n"
    assert flow.start(text).status == "failed"
    (flow.root / "go").touch()
    assert flow.resume().status == "completed"
    for step in flow.state["steps"].values():
        assert step["ended_at"] >= step["started_at"]


def test_warnings_are_events(flow: Flow) -> None:
    flow.start("steps:\n  - {id: a, type: shell, run: 'true', tiemout: 3}\n")
    assert any(isinstance(event, Warned) and "timeout" in event.text for event in flow.events)
    with pytest.raises(BakeoffError, match="tiemout"):
        flow.start("steps:\n  - {id: a, type: shell, run: 'true', tiemout: 3}\n", strict=True)


SAYS = """
    steps:
      - {{id: agent, type: prompt, integration: fake, prompt: "{word}"}}
      - {{id: use, type: shell, argv: {argv}}}
"""
SAID = "{{ steps.agent.output.text }}"


@pytest.mark.parametrize(
    ("word", "argv", "status"),
    [
        ("hello", f'[echo, "{SAID}"]', "completed"),
        ("-n", f'[echo, "{SAID}"]', "failed"),
        ("-n", f'[timeout, "5", echo, "{SAID}"]', "failed"),
        ("-n", f'[timeout, --, "5", echo, "{SAID}"]', "failed"),
        ("-n", f'[printf, --, "%s", "{SAID}"]', "completed"),
        ("-n", f'[echo, "x{SAID}"]', "completed"),
        ("-n", f'[echo, "{SAID}/x"]', "failed"),
    ],
)
def test_a_word_that_an_agent_said_is_no_option(flow: Flow, word: str, argv: str, status: str) -> None:
    (flow.root / "bakeoff.toml").write_text('[agents.fake]\nargv = ["printf", "%s", "{prompt}"]\n')
    flow.start(SAYS.format(word=word, argv=argv))
    assert flow.status("use") == status, flow.state
    if status == "failed":
        assert "would be an option of" in flow.state["steps"]["use"]["error"]


def test_a_word_of_the_users_own_may_be_an_option(flow: Flow) -> None:
    flow.start(
        """
        inputs: {flag: {type: string, default: "-n"}}
        steps:
          - {id: use, type: shell, argv: [echo, "{{ inputs.flag }}"]}
        """
    )
    assert flow.status("use") == "completed"


def test_a_called_file_does_not_take_its_inputs_for_options(flow: Flow) -> None:
    (flow.root / "bakeoff.toml").write_text('[agents.fake]\nargv = ["printf", "%s", "{prompt}"]\n')
    flow.write(
        """
        workflow: {id: inner, name: inner, version: "1.0.0"}
        inputs: {word: {type: string}}
        steps:
          - {id: use, type: shell, argv: [echo, "{{ inputs.word }}"]}
        """,
        "inner.yml",
    )
    ending = flow.start(
        """
        steps:
          - {id: agent, type: prompt, integration: fake, prompt: "-n"}
          - {id: call, type: workflow, workflow: inner.yml, input: {word: "{{ steps.agent.output.text }}"}}
        """
    )
    assert ending.status == "failed"
    assert "would be an option of" in str(ending.error)
