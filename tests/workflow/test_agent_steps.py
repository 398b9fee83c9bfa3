"""`command` and `prompt` steps: what the agent is asked, what is kept, what it may cost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from project import Project

from bakeoff.engine.events import Warned

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return Project(tmp_path)


def install(project: Project, name: str, body: str) -> None:
    path = project.folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def claude_says(project: Project, text: str, usd: float | None = 0.01, **more: Any) -> None:
    """A claude that notes its arguments and reports as the real one does."""
    event = {"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": "s-1", **more}
    event |= {"num_turns": 2, "usage": {"input_tokens": 30, "output_tokens": 12}}
    if usd is not None:
        event["total_cost_usd"] = usd
    (project.folder / "event.json").write_text(json.dumps(event))
    install(
        project,
        "claude",
        f'for a; do printf "%s\\n" "$a"; done >> {project.folder}/args\ncat {project.folder}/event.json',
    )


def settings(project: Project, text: str) -> None:
    (project.folder / "bakeoff.toml").write_text(text)


async def test_prompt_keeps_text_usage_cost_session_and_evidence(project: Project) -> None:
    claude_says(project, "mended")
    ending = await project.start(
        """
inputs: {what: {type: string, default: "the 'parser'"}}
steps:
  - {id: fix, type: prompt, integration: claude, model: m-1, prompt: "Mend {{ inputs.what }}", integration_args: [--debug]}
  - {id: say, type: shell, run: "printf %s {{ steps.fix.output.text | sh }}"}
"""
    )
    assert ending.status == "completed", ending.error
    fix, say = project.state()["steps"]["fix"], project.state()["steps"]["say"]
    assert (fix["output"]["stdout"], fix["output"]["text"], fix["output"]["session_id"]) == ("mended", "mended", "s-1")
    assert (fix["output"]["prompt"], fix["output"]["dispatched"]) == ("Mend the 'parser'", True)
    assert (fix["facts"]["evidence"], fix["facts"]["turns"]) == ("final-event", 2)
    assert {name: fix["usage"][name] for name in ("tokens", "calls", "usd")} == {"tokens": 42, "calls": 1, "usd": 0.01}
    assert say["output"]["stdout"] == "mended"
    arguments = (project.folder / "args").read_text().split("\n")
    assert {"Mend the 'parser'", "--debug", "--model=m-1"} <= set(arguments)


async def test_command_speaks_the_agents_own_form_and_inherits_the_workflows_agent(project: Project) -> None:
    claude_says(project, "planned")
    flow = """workflow: {id: t, name: T, version: "1.0.0", integration: claude, model: m-9, options: {a: 1, b: 1}}
steps: [{id: plan, command: speckit.plan, input: {args: "fast 'n' easy"}, options: {b: 2}}]
"""
    assert (await project.start(flow)).status == "completed"
    output = project.state()["steps"]["plan"]["output"]
    assert (output["command"], output["options"], output["input"]) == (
        "speckit.plan",
        {"a": 1, "b": 2},
        {"args": "fast 'n' easy"},
    )
    arguments = (project.folder / "args").read_text().split("\n")
    assert {"/speckit-plan fast 'n' easy", "--model=m-9"} <= set(arguments)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("exit 0", "agent", "final event"),
        ("echo garbage; exit 0", "agent", "final event"),
        ("echo 'API Error: 429 rate limit' >&2; exit 1", "rate-limit", "429"),
    ],
)
async def test_exit_status_alone_is_no_success(project: Project, body: str, kind: str, words: str) -> None:
    install(project, "claude", body)
    ending = await project.start("steps: [{id: a, type: prompt, integration: claude, prompt: hi}]")
    assert ending.status == "failed"
    step = project.state()["steps"]["a"]
    assert step["kind"] == kind
    assert words in step["error"]


async def test_a_missing_agent_is_a_failed_step_that_says_how_to_get_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ending = await project.start(
        """
steps:
  - {id: a, type: prompt, integration: codex, prompt: hi, continue_on_error: true}
  - {id: b, type: prompt, integration: nobody, prompt: hi, continue_on_error: true}
  - {id: c, type: prompt, integration: "{{ [1] }}", prompt: hi, continue_on_error: true}
  - {id: d, type: prompt, prompt: hi}
"""
    )
    steps = project.state()["steps"]
    assert steps["a"]["kind"] == "missing"
    assert "npm install -g @openai/codex" in steps["a"]["error"]
    assert "Known are" in steps["b"]["error"]
    assert "claude" in steps["b"]["error"]
    assert "must be text" in steps["c"]["error"]
    assert steps["a"]["output"]["dispatched"] is False
    assert ending.error is not None
    assert "no agent is named" in ending.error


async def test_a_rate_limit_is_tried_again_as_retry_says(project: Project) -> None:
    claude_says(project, "at last")
    event = project.folder / "event.json"
    install(
        project,
        "claude",
        f"n=$(cat {project.folder}/n 2>/dev/null || echo 0); echo $((n+1)) > {project.folder}/n\n"
        f'if [ "$n" = 0 ]; then echo "429 Too Many Requests" >&2; exit 1; fi\ncat {event}',
    )
    flow = "steps: [{id: a, type: prompt, integration: claude, prompt: hi, retry: {attempts: 3, delay: 0.01, on: [rate-limit]}}]"
    assert (await project.start(flow)).status == "completed"
    step = project.state()["steps"]["a"]
    assert (step["attempts"], step["output"]["text"], len(step["retries"])) == (2, "at last", 1)
    assert "429" in step["retries"][0]


async def test_capture_and_its_limit(project: Project) -> None:
    claude_says(project, "päckchen" * 3000)
    await project.start(
        """
steps:
  - {id: none, type: prompt, integration: claude, prompt: hi, capture: false}
  - {id: some, type: prompt, integration: claude, prompt: hi, capture_max_bytes: 2}
  - {id: all, type: prompt, integration: claude, prompt: hi}
  - {id: n, type: shell, run: "echo {{ steps.all.output.text | length }}"}
"""
    )
    steps = project.state()["steps"]
    assert steps["none"]["output"]["text"] == ""
    assert (steps["some"]["output"]["text"], steps["some"]["output"]["text_truncated"]) == ("p", True)
    assert "bytes left out" in steps["all"]["output"]["text"]
    assert Path(steps["all"]["output"]["text_file"]).read_text() == "päckchen" * 3000
    assert steps["n"]["output"]["stdout"] == "24000\n"


async def test_calls_are_announced_and_a_budget_of_calls_holds(project: Project) -> None:
    claude_says(project, "ok")
    flow = """
budget: {calls: 3}
steps:
  - {id: f, type: fan-out, items: [1, 2, 3, 4, 5], max_concurrency: 2, step: {id: it, type: prompt, integration: claude, prompt: "{{ item }}"}}
"""
    ending = await project.start(flow)
    assert ending.status == "budget_spent"
    assert "1 calls asked for, 0 of 3 left" in (ending.error or "")
    said = [event.text for event in project.events if isinstance(event, Warned)]
    assert "at most 5 agent calls; budget: 3 calls" in said
    statuses = [step["status"] for step in project.state()["steps"].values() if step["type"] == "prompt"]
    assert statuses == ["completed"] * 3
    assert project.state()["usage"]["calls"] == 3
    # Kept across resume: nothing more is paid.
    assert (await project.resume()).status == "budget_spent"
    assert project.state()["usage"]["calls"] == 3
    assert (await project.resume(edit=flow.replace("calls: 3", "calls: 5"))).status == "completed"
    assert project.state()["usage"]["calls"] == 5


async def test_a_money_budget_needs_a_known_price_and_a_ceiling_per_call(project: Project) -> None:
    claude_says(project, "ok", usd=0.4)
    flow = "budget: {usd: 1}\nsteps: [{id: a, type: prompt, integration: AGENT, prompt: hi}, {id: b, type: prompt, integration: AGENT, prompt: hi}]"
    ending = await project.start(flow.replace("AGENT", "codex"))
    assert "codex does not report what it costs" in (ending.error or "")
    project.store.open("r").delete()
    assert "set `max_usd`" in ((await project.start(flow.replace("AGENT", "claude"))).error or "")
    project.store.open("r").delete()
    settings(project, "max_usd = 0.7\n")
    ending = await project.start(flow.replace("AGENT", "claude"))
    # The second call could cost more than is left, so it is not made.
    assert ending.status == "budget_spent"
    assert project.state()["usage"]["usd"] == pytest.approx(0.4)
    arguments = (project.folder / "args").read_text().split("\n")
    assert "--max-budget-usd=0.7" in arguments


async def test_a_call_without_a_bill_counts_as_reserved(project: Project) -> None:
    claude_says(project, "ok", usd=None)
    settings(project, "max_usd = 0.7\n")
    ending = await project.start(
        "budget: {usd: 1}\nsteps: [{id: a, type: prompt, integration: claude, prompt: hi}, {id: b, type: prompt, integration: claude, prompt: hi}]"
    )
    assert ending.status == "budget_spent"
    assert project.state()["usage"]["usd"] == pytest.approx(0.7)


async def test_an_agent_of_the_users_own(project: Project) -> None:
    install(project, "mytool", 'echo "asked: $2"')
    settings(project, '[agents.mine]\nargv = ["mytool", "--ask", "{prompt}"]\n')
    assert (await project.start("steps: [{id: a, type: prompt, integration: mine, prompt: why}]")).status == "completed"
    step = project.state()["steps"]["a"]
    assert (step["output"]["text"].strip(), step["facts"]["evidence"]) == ("asked: why", "exit-status")


async def test_text_of_an_agent_does_not_reach_a_shell_unquoted(project: Project) -> None:
    flow = 'steps: [{id: a, type: prompt, integration: claude, prompt: hi}, {id: b, type: shell, run: "echo {{ steps.a.output.text }}"}]'
    with pytest.raises(Exception, match=r"\| sh") as refused:
        await project.start(flow)
    assert "argv" in str(refused.value)
    assert "env" in str(refused.value)
    assert not (project.folder / ".bakeoff").exists()
    claude_says(project, "fine")
    assert (await project.start(flow, allow_unquoted=True)).status == "completed"
    assert project.state()["steps"]["b"]["output"]["stdout"] == "fine\n"


async def test_a_budget_of_tokens_fails_safe(project: Project) -> None:
    claude_says(project, "ok")
    flow = """
budget: {tokens: 84}
steps:
  - {id: a, type: prompt, integration: claude, prompt: hi}
  - {id: b, type: prompt, integration: claude, prompt: hi}
  - {id: c, type: prompt, integration: claude, prompt: hi}
"""
    # 42 tokens a call: after two nothing is left, and the third is not made.
    assert (await project.start(flow)).status == "budget_spent"
    assert [project.state()["steps"].get(name, {}).get("status") for name in "abc"] == ["completed", "completed", None]
    assert project.state()["usage"]["tokens"] == 84
    project.store.open("r").delete()
    event = project.folder / "event.json"
    told = json.loads(event.read_text())
    del told["usage"]
    event.write_text(json.dumps(told))
    assert (await project.start(flow)).status == "budget_spent"
    assert project.state()["steps"].keys() == {"a"}
    assert any("were not reported" in event.text for event in project.events if isinstance(event, Warned))
    project.store.open("r").delete()
    install(project, "mine", "echo done")
    settings(project, '[agents.mine]\nargv = ["mine", "{prompt}"]\n')
    ending = await project.start(flow.replace("claude", "mine"))
    assert "mine does not report how many it used" in (ending.error or "")


async def test_a_call_that_was_open_when_the_run_was_killed_is_paid_for(project: Project) -> None:
    from bakeoff.engine.journal import SqliteJournal

    claude_says(project, "ok")
    flow = """
budget: {calls: 2, seconds: 100}
steps: [{id: a, type: prompt, integration: claude, prompt: hi}, {id: b, type: prompt, integration: claude, prompt: hi}]
"""
    assert (await project.start(flow.replace("calls: 2", "calls: 1"))).status == "budget_spent"
    # As a killed session leaves it: running, with a call that was begun, 60 seconds in.
    journal = SqliteJournal(project.store.open("r").journal)
    journal.append("run", "", '{"status": "running", "at": 1000}')
    journal.append("start", "b", '[1, 1060, 0, {"calls": 1.0, "tokens": 1.0}]')
    journal.close()
    assert (await project.resume(edit=flow)).status == "budget_spent"
    assert project.state()["usage"]["calls"] == 2
    assert project.store.open("r").history().active_seconds >= 60


async def test_the_nearest_that_names_a_model_names_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step, the workflow, the agent's own settings, then the setting for all."""
    claude_says(project, "x")
    install(project, "codex", f'echo "$@" >> {project.folder}/codex-args\nexit 1')
    flow = """workflow: {id: a, name: A, version: "1.0.0"HEAD}
steps:
  - {id: step, type: prompt, integration: claude, model: of-step, prompt: p}
  - {id: none, type: prompt, integration: claude, prompt: p}
  - {id: other, type: prompt, integration: codex, prompt: p, continue_on_error: true}
"""
    settings(project, 'model = "of-all"\n[agents.claude]\nmodel = "of-agent"\n')
    await project.start(flow.replace("HEAD", ""))

    def models() -> list[str]:
        return [step["output"]["model"] for step in project.state()["steps"].values()]

    assert models() == ["of-step", "of-agent", "of-all"]
    args = (project.folder / "args").read_text()
    assert "of-step" in args
    assert "of-agent" in args
    assert "of-all" not in args
    assert "of-all" in (project.folder / "codex-args").read_text()
    await project.resume(edit=flow.replace("HEAD", ", model: of-workflow"))
    assert models() == ["of-step", "of-workflow", "of-workflow"]
    (project.folder / "bakeoff.toml").unlink()
    monkeypatch.setenv("BAKEOFF_MODEL", "of-variable")
    await project.resume(edit=flow.replace("HEAD", ""))
    assert models() == ["of-step", "of-variable", "of-variable"]


async def test_calls_are_announced_again_only_before_one_is_made(project: Project) -> None:
    claude_says(project, "x")
    flow = """
steps:
  - {id: a, type: prompt, integration: claude, prompt: p}
  - {id: s, type: shell, run: "test -e ok"}
  - {id: c, type: workflow, workflow: "sub.yml"}
"""
    sub = """
steps:
  - {id: t, type: shell, run: "test -e ok2"}
  - {id: b, type: prompt, integration: claude, prompt: p}
  - {id: u, type: shell, run: "test -e ok3"}
"""
    project.write(sub, "sub.yml")

    def said() -> list[str]:
        found = [event.text for event in project.events if isinstance(event, Warned)]
        project.events.clear()
        return found

    await project.start(flow)
    assert said() == ["at most 2 agent calls; no budget is set"]
    (project.folder / "ok").touch()
    await project.resume()
    assert said() == []
    (project.folder / "ok2").touch()
    await project.resume()
    assert said() == ["at most 2 agent calls (1 made already); no budget is set"]
    (project.folder / "ok3").touch()
    assert (await project.resume()).status == "completed"
    assert said() == []
