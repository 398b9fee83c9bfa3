"""Real coding-agent CLIs against the scripted model: no key, no network, an empty home."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from agent.real import MODELS, Real, set_up
from bakeoff.agent.cost import tells_cost
from scripted_model import Cut, Garbage, Say, ScriptedModel, Shell, Stall, Status, by_turn, in_order

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

WRITES = by_turn(Shell("printf 'x = 1\\n' > calc.py"), Say("I wrote calc.py"))
NAMES = ("codex", "gemini", "qwen", "claude")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def required(request) -> bool:
    """Whether these tests were asked for, so that a missing CLI is a failure."""
    return "agents" in (request.config.option.markexpr or "") or bool(os.environ.get("CI"))


@pytest.fixture(params=NAMES)
def real(request, tmp_path, required) -> Real:
    return set_up(request.param, tmp_path, required)


async def test_shell_turn_writes_a_file(real, tmp_path):
    with ScriptedModel(WRITES) as model:
        async with real.spawner() as processes:
            result = await real.ask(processes, model.url, "create -- calc.py\nof 'one' line", log=str(tmp_path / "log"))
    assert result.error is None
    assert (result.ok, result.exit_code, result.text, result.evidence) == (True, 0, "I wrote calc.py", "final-event")
    assert (real.repo / "calc.py").read_text() == "x = 1\n"
    assert (result.usage["input_tokens"], result.usage["output_tokens"]) == (22, 14)
    assert result.session_id
    assert (result.usd is not None) == tells_cost(real.entry, MODELS.get(real.name, "scripted"))
    assert [len(seen.tool_results) for seen in model.seen] == [0, 1]
    assert model.seen[0].says("create -- calc.py\nof 'one' line")
    assert Path(f"{tmp_path}/log.out").read_text().count("\n") > 1
    assert real.processes_left() == []


async def test_session_goes_on(real):
    with ScriptedModel(in_order(Say("the word is heron"), Say("I still know it"))) as model:
        async with real.spawner() as processes:
            first = await real.ask(processes, model.url, "remember heron")
            second = await real.ask(processes, model.url, "-which word was it?", session=first.session_id)
    assert second.error is None
    assert second.text == "I still know it"
    assert second.session_id == first.session_id
    assert model.seen[1].says("remember heron")
    assert model.seen[1].says("the word is heron")


async def test_one_429_is_waited_out_by_the_cli(real):
    if real.name == "gemini":
        (real.home / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    limited = in_order(Status(429, retry_after=0.1), Shell("printf hi > calc.py"), Say("done"))
    with ScriptedModel(limited) as model:
        async with real.spawner() as processes:
            result = await real.ask(processes, model.url, "create calc.py", retries=3)
    if real.name == "codex":  # it tries again after 5xx only
        assert (result.ok, result.kind) == (False, "rate-limit")
    else:
        assert (result.error, result.text) == (None, "done")
        assert (real.repo / "calc.py").read_text() == "hi"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Status(429, retry_after=0.1), "rate-limit"),
        (Status(529), "overload"),
        (Status(401, message="invalid api key"), "auth"),
        (Cut(), "cut-stream"),
        (Garbage(), "cut-stream"),
    ],
    ids=["429", "529", "401", "cut", "garbage"],
)
async def test_failure_is_named(real, reply, kind):
    # qwen tries again for minutes, silently, and has no setting to stop it.
    patient = real.name == "qwen" and kind in ("rate-limit", "overload")
    with ScriptedModel(reply) as model:
        async with real.spawner() as processes:
            result = await real.ask(processes, model.url, "create calc.py", timeout=4 if patient else 90, grace=1)
    expected = ("timeout", "none") if patient else (kind, "final-event")
    assert (result.ok, result.kind, result.evidence) == (False, *expected)
    assert result.usage is None
    assert result.usd is None
    assert result.error.startswith(real.name)
    assert model.seen or patient  # on a busy machine it may not even have begun


@pytest.mark.parametrize("headers_first", [False, True])
async def test_stalled_model_is_cancelled(real, headers_first):
    with ScriptedModel(Stall(headers_first=headers_first)) as model:
        async with real.spawner() as processes:
            async with anyio.create_task_group() as group:
                group.start_soon(real.ask, processes, model.url, "create calc.py")
                assert await anyio.to_thread.run_sync(model.wait, lambda seen: len(seen) == 1)
                assert real.processes_left()
                group.cancel_scope.cancel()
            assert real.processes_left() == []
            assert model.seen[0].left.wait(10)


async def test_stalled_model_times_out(real):
    with ScriptedModel(Stall()) as model:
        async with real.spawner() as processes:
            result = await real.ask(processes, model.url, "create calc.py", timeout=3, grace=1)
        assert (result.ok, result.kind, result.ended_by) == (False, "timeout", "timeout")
        assert real.processes_left() == []


async def test_many_at_once(tmp_path, required):
    reals = [set_up("codex", tmp_path / str(number), required) for number in range(6)]
    results = {}

    async def one(number: int) -> None:
        results[number] = await reals[number].ask(processes, model.url, f"task {number}")

    with ScriptedModel(by_turn(Shell("pwd > where"), Say("done"))) as model:
        async with reals[0].spawner() as processes, anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(one, number)
    assert all(result.ok for result in results.values())
    assert {(real.repo / "where").read_text().strip() for real in reals} == {str(real.repo) for real in reals}
    assert len({result.session_id for result in results.values()}) == 6
