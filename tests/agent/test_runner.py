from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bakeoff.agent import runner
from bakeoff.agent.registry import agent_names, find_entry
from bakeoff.agent.runner import AgentRequest, check_request, run_agent
from bakeoff.engine.record import Status, Stored
from bakeoff.process.command import SpawnError
from bakeoff.settings import AgentSettings, Settings
from ending import ended

pytestmark = pytest.mark.anyio

GOOD = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s-1"}
GOOD |= {"num_turns": 1, "total_cost_usd": 0.5, "usage": {"input_tokens": 3, "output_tokens": 2}}


def printing(*events, then="exit 0"):
    return "".join(f"cat <<'END'\n{json.dumps(event)}\nEND\n" for event in events) + then


def ask(entry, spawner, tmp_path, prompt="hello", **more):
    request = AgentRequest(prompt, **{name: more.pop(name) for name in list(more) if hasattr(AgentRequest, name)})
    return run_agent(entry, request, spawner, cwd=tmp_path, **more)


async def test_success_and_its_outcome(fake_cli, spawner, tmp_path):
    entry = fake_cli("claude", 'echo "stdin: $(cat)" >&2; echo "$@" > args; ' + printing(GOOD))
    async with spawner:
        result = await ask(entry, spawner, tmp_path, model="m", session="s-0", max_usd=2.5, log=str(tmp_path / "log"))
    assert (result.ok, result.text, result.usd, result.session_id, result.turns) == (True, "done", 0.5, "s-1", 1)
    assert (result.evidence, result.capped, result.dispatched) == ("final-event", True, True)
    assert result.argv[0] == str(tmp_path / "bin" / "claude")
    arguments = (tmp_path / "args").read_text()
    assert "--model=m --resume=s-0 --max-budget-usd=2.5 -- hello" in arguments
    assert result.stderr.value == "stdin: \n"
    assert json.loads((tmp_path / "log.out").read_text()) == GOOD
    outcome = result.outcome({"prompt": "hello"}, {"prompt": "hello"})
    assert outcome.status is Status.COMPLETED
    assert outcome.output["prompt"] == "hello"
    assert outcome.output["stdout"] == outcome.output["text"] == "done"
    assert outcome.output["exit_code"] == 0
    assert outcome.usage == {"input_tokens": 3, "output_tokens": 2, "usd": 0.5}
    assert outcome.facts["evidence"] == "final-event"
    assert outcome.facts["session_id"] == "s-1"


async def test_environment_is_quiet_and_the_callers_goes_last(fake_cli, spawner, tmp_path):
    entry = fake_cli("claude", 'echo "$TERM $A $B $DISABLE_AUTOUPDATER $HOME" > env;' + printing(GOOD), env={"A": "1"})
    async with spawner:
        await ask(entry, spawner, tmp_path, env={"B": "2", "DISABLE_AUTOUPDATER": None})
    assert (tmp_path / "env").read_text() == f"dumb 1 2  {tmp_path}/home\n"


@pytest.mark.parametrize(
    ("body", "kind", "error", "evidence"),
    [
        ("exit 0", "agent", "exited with code 0 but without its final event", "none"),
        ("echo all good", "agent", "without its final event: all good", "none"),
        ("echo 'unknown option' >&2; exit 2", "agent", "exited with code 2: unknown option", "none"),
        (printing({"type": "system", "session_id": "x"}), "cut-stream", "without its final event", "none"),
        (printing(GOOD, then="exit 3"), "agent", "exited with code 3", "final-event"),
        (printing({**GOOD, "result": "  "}), "agent", "ended without saying anything", "final-event"),
        (printing({**GOOD, "is_error": True, "result": "API Error: 529"}), "overload", "API Error: 529", "final-event"),
        (printing({"type": "result"}), "agent", "it says that it failed, and not why", "final-event"),
        ("echo 'Error: 429' >&2; exit 1", "rate-limit", "exited with code 1: Error: 429", "none"),
        ("kill -9 $$", "agent", "exited with code -9", "none"),
    ],
)
async def test_nothing_is_a_success_by_default(fake_cli, spawner, tmp_path, body, kind, error, evidence):
    async with spawner:
        result = await ask(fake_cli("claude", body), spawner, tmp_path)
    assert (result.ok, result.kind, result.evidence, result.dispatched) == (False, kind, evidence, True)
    assert error in result.error
    assert result.outcome().status is Status.FAILED


@pytest.mark.parametrize(
    ("body", "hinted"),
    [
        ("echo 'sh: cannot create /tmp/x: Read-only file system' >&2; exit 2", True),
        ("echo \"Error: EROFS: read-only file system, open '/tmp/x'\"; exit 1", True),
        (printing({**GOOD, "is_error": True, "result": "[Errno 30] Read-only file system: '/tmp/x'"}), True),
        ("echo 'sh: cannot create x: No space left' >&2; exit 2", False),
    ],
)
async def test_an_agent_that_was_refused_a_write_is_told_where_it_may(fake_cli, spawner, tmp_path, body, hinted):
    async with spawner:
        result = await ask(fake_cli("claude", body), spawner, tmp_path)
    assert result.kind == "agent"
    assert ("name what else it needs in `writes` (docs/sandbox.md)" in result.error) == hinted


async def test_the_pause_that_a_limited_model_asks_for_is_told(fake_cli, spawner, tmp_path):
    said = "Error: 429, please try again in 7 seconds"
    async with spawner:
        result = await ask(fake_cli("claude", f"echo '{said}' >&2; exit 1"), spawner, tmp_path)
    assert (result.kind, result.retry_after) == ("rate-limit", 7)
    assert result.outcome().facts["retry_after"] == 7


@pytest.mark.parametrize(
    ("body", "ok", "kind"),
    [
        ('echo \'{"type": "result"} is json\'', True, None),
        ("true", False, "agent"),
        ("echo half; exit 1", False, "agent"),
        ("echo 'Error: rate limit'; exit 1", False, "rate-limit"),
    ],
)
async def test_generic_agent_is_judged_by_its_exit_status(program, spawner, tmp_path, body, ok, kind):
    argv = (str(program("tool", 'printf "%s|" "$@" > args;' + body)), ("--model", "{model}"), "{prompt}")
    entry = find_entry("tool", Settings(agents={"tool": AgentSettings(argv=argv)}))
    async with spawner:
        result = await ask(entry, spawner, tmp_path, prompt="two words", max_usd=1.0)
    assert (result.ok, result.kind, result.evidence, result.capped) == (ok, kind, "exit-status", False)
    assert ("let its program print what it did" in (result.error or "")) == (body == "true")
    assert (tmp_path / "args").read_text() == "two words|"
    assert result.usage is None


async def test_long_plain_answer_stays_in_its_file(program, spawner, tmp_path):
    argv = (str(program("tool", "yes line | head -20000")), "{prompt}")
    entry = find_entry("tool", Settings(agents={"tool": AgentSettings(argv=argv)}))
    async with spawner:
        result = await ask(entry, spawner, tmp_path, log=str(tmp_path / "log"))
    assert result.ok
    assert isinstance(result.text, Stored)
    assert result.text.size == 100_000


async def test_aider_is_no_success_after_an_error_it_exits_0_from(fake_cli, spawner, tmp_path):
    async with spawner:
        result = await ask(fake_cli("aider", "echo 'litellm.RateLimitError: slow down'"), spawner, tmp_path)
        good = await ask(fake_cli("aider", "echo 'Tokens: 2k sent, 5 received.'"), spawner, tmp_path)
    assert (result.ok, result.kind, result.evidence) == (False, "rate-limit", "exit-status")
    assert (good.ok, good.usage) == (True, {"input_tokens": 2000, "output_tokens": 5})


async def test_mini_is_judged_by_its_trajectory(fake_cli, spawner, tmp_path):
    trajectory = json.dumps({"info": {"exit_status": "Submitted", "submission": "did it", "model_stats": {}}})
    write = 'for a; do case $a in --output=*) out=${a#--output=};; esac; done; echo "$out" > where; echo noise\n'
    entry = fake_cli("mini", write + f"echo '{trajectory}' > \"$out\"")
    async with spawner:
        result = await ask(entry, spawner, tmp_path)
        nothing = await ask(fake_cli("mini", "echo Submitted"), spawner, tmp_path)
    assert (result.ok, result.text, result.evidence) == (True, "did it", "final-event")
    assert not tmp_path.joinpath((tmp_path / "where").read_text().strip()).parent.exists()
    assert (nothing.ok, nothing.evidence) == (False, "none")


@pytest.mark.parametrize(
    ("name", "events", "called"),
    [
        ("claude", [{**GOOD, "num_turns": 0, "usage": {"input_tokens": 0, "output_tokens": 0}}], False),
        ("claude", [{**GOOD, "num_turns": 1, "usage": {"input_tokens": 0, "output_tokens": 0}}], True),
        ("claude", [{key: value for key, value in GOOD.items() if key not in ("num_turns", "usage")}], True),
        ("qwen", [{**GOOD, "num_turns": 0, "usage": {"input_tokens": 0, "output_tokens": 0}}], False),
        ("gemini", [{"type": "message", "role": "assistant", "content": "hm"},
                    {"type": "result", "status": "success", "stats": {"input_tokens": 0, "output_tokens": 0}}], False),
    ],
)  # fmt: skip
async def test_a_cli_that_called_no_model_has_failed(fake_cli, spawner, tmp_path, name, events, called):
    async with spawner:
        result = await ask(fake_cli(name, printing(*events)), spawner, tmp_path)
    assert result.ok is called
    assert called or "called no model" in result.error


async def test_a_session_that_an_event_names_is_no_option(fake_cli, spawner, tmp_path):
    async with spawner:
        entry = fake_cli("claude", "touch called; " + printing({**GOOD, "session_id": "--dangerous"}))
        told = await ask(entry, spawner, tmp_path)
        tmp_path.joinpath("called").unlink()
        refused = await ask(entry, spawner, tmp_path, session="--dangerous")
    assert (told.ok, told.session_id) == (True, None)
    assert "no session id" in refused.error
    assert not tmp_path.joinpath("called").exists()


@pytest.mark.parametrize("name", agent_names(Settings()))
def test_every_entry_can_be_asked_before_anything_is_spent(fake_cli, tmp_path, name):
    check_request(fake_cli(name, "true"), AgentRequest("hello"), tmp_path)


async def test_what_a_cli_leaves_for_itself_is_removed(fake_cli, spawner, tmp_path):
    (tmp_path / ".aider.input.history").write_text("the user's\n")
    body = "mkdir .aider.tags.cache.v4; touch .aider.tags.cache.v4/x .aider.chat.history.md work .env; echo ok"
    async with spawner:
        result = await ask(fake_cli("aider", f'{body}; echo "$BROWSER" > browser'), spawner, tmp_path)
    assert result.ok
    assert {path.name for path in tmp_path.glob(".*")} == {".aider.input.history", ".env"}
    assert (tmp_path / "work").exists()
    assert (tmp_path / "browser").read_text() == "true\n"


async def test_kinds_of_failure_are_not_read_out_of_what_tools_print(fake_cli, spawner, tmp_path):
    noise = 'echo \'  "timeout": 30,\'; echo "line 429 of the file"; echo "see 503.py" >&2; echo gone >&2; exit 1'
    async with spawner:
        for name in ("claude", "mini", "aider"):
            result = await ask(fake_cli(name, noise), spawner, tmp_path)
            assert (result.ok, result.kind) == (False, "agent"), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [("claude", "-- /speckit-git-commit now"), ("codex", "-- $speckit-git-commit now"), ("opencode", None)],
)
async def test_commands_take_the_clis_own_form(fake_cli, spawner, tmp_path, name, expected):
    entry = fake_cli(name, 'echo "$@" > args')
    request = AgentRequest(command="speckit.git.commit", args="now", extra=("--x",))
    async with spawner:
        await run_agent(entry, request, spawner, cwd=tmp_path)
    arguments = (tmp_path / "args").read_text().strip()
    assert arguments.endswith(expected or "--command=speckit.git.commit --x -- now")


async def test_extra_arguments_of_the_environment_come_first(fake_cli, spawner, tmp_path):
    entry = fake_cli("claude", 'echo "$@" > args')
    env = {"SPECKIT_INTEGRATION_CLAUDE_EXTRA_ARGS": "--one 'a b'"}
    async with spawner:
        await ask(entry, spawner, tmp_path, extra=("--two",), env=env)
    assert "--one a b --two -- hello" in (tmp_path / "args").read_text()


@pytest.mark.parametrize(
    ("request_", "part", "kind"),
    [
        (AgentRequest(" "), "the prompt is empty", "agent"),
        (AgentRequest(None), "the prompt is empty", "agent"),
        (AgentRequest(command=" "), "the command's name is empty", "agent"),
        (AgentRequest("a\0b"), "NUL", "agent"),
        (AgentRequest("x" * 200_000), "more than 131071 bytes", "agent"),
        (AgentRequest("x", session="s"), "takes no session to continue", "agent"),
    ],
)
async def test_what_cannot_be_asked_is_said(fake_cli, tmp_path, request_, part, kind):
    entry = fake_cli("aider", "echo never")
    result = await run_agent(entry, request_, None, cwd=tmp_path)
    assert part in result.error
    assert (result.ok, result.kind, result.evidence) == (False, kind, "none")
    assert (result.dispatched, result.exit_code) == (False, 1)


async def test_missing_cli_says_how_to_get_it(tmp_path):
    result = await run_agent(
        find_entry("codex", Settings()), AgentRequest("x"), None, cwd=tmp_path, env={"PATH": "/nowhere"}
    )
    assert (result.kind, result.dispatched) == ("missing", False)
    assert "npm install -g @openai/codex" in result.error


@pytest.mark.parametrize(("transient", "kind"), [(True, "spawn"), (False, "missing")])
async def test_process_that_cannot_start_is_a_result(fake_cli, tmp_path, transient, kind):
    class Refusing:
        async def run(self, command):
            raise SpawnError("no", errno.EAGAIN, transient)

    result = await ask(fake_cli("claude", ""), Refusing(), tmp_path)
    assert (result.ok, result.kind, result.dispatched) == (False, kind, False)


async def test_an_answer_too_long_to_be_read_is_named(fake_cli, spawner, tmp_path):
    begin = '{"type": "item.completed", "item": {"type": "agent_message", "text": "'
    said = f"printf '{begin}'; head -c 17000000 /dev/zero | tr '\\0' x; printf '\"}}}}\\n'; "
    done = {"type": "turn.completed", "usage": {}}
    async with spawner:
        result = await ask(fake_cli("codex", said + printing(done)), spawner, tmp_path, log=str(tmp_path / "log"))
    assert (result.ok, result.kind) == (False, "output")
    assert "more in one line than" in result.error


async def test_timeout_keeps_what_was_said(fake_cli, spawner, tmp_path):
    retry = {"type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit"}
    said = {"type": "assistant", "session_id": "s-9", "message": {"content": [{"type": "text", "text": "partly"}]}}
    entry = fake_cli("claude", printing(said, retry, then="exec sleep 60"))
    async with spawner:
        result = await ask(entry, spawner, tmp_path, timeout=2, grace=0.5)
    assert (result.ok, result.kind, result.ended_by, result.text) == (False, "timeout", "timeout", "partly")
    assert result.session_id == "s-9"
    assert "was ended after 2 s, its timeout" in result.error
    assert "API error 429" in result.error
    assert result.outcome().output["timed_out"] is True


async def test_endless_output_is_ended(fake_cli, spawner, tmp_path, monkeypatch):
    plain = runner.Command
    monkeypatch.setattr(runner, "Command", lambda *a, **k: plain(*a, **k, output_limit=100_000))
    async with spawner:
        result = await ask(fake_cli("claude", "yes"), spawner, tmp_path)
    assert (result.ok, result.kind) == (False, "output")


async def test_cancelled_it_leaves_no_process(fake_cli, spawner, tmp_path):
    os.mkfifo(tmp_path / "pid")
    entry = fake_cli("claude", "echo $$ > pid; exec sleep 60")
    async with spawner:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, entry, spawner, tmp_path)
            pid = await anyio.to_thread.run_sync((tmp_path / "pid").read_text)
            assert Path("/proc", pid.strip()).exists()
            group.cancel_scope.cancel()
        assert ended(int(pid))


async def test_secrets_in_what_it_says_are_masked(fake_cli, spawner, tmp_path):
    async with spawner:
        result = await ask(fake_cli("claude", printing({**GOOD, "result": "key very-secret-value"})), spawner, tmp_path)
    assert result.text == "key ***"
