"""Real coding-agent CLIs against the scripted model: no key, no network, an empty home."""

from __future__ import annotations

import os

import anyio
import anyio.to_thread
import pytest

from agent.real import Real, set_up
from scripted_model import Cut, Garbage, Say, ScriptedModel, Shell, Stall, Status, by_turn, in_order

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

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
    """Each of them; or those that a test names, as some take seconds of CPU to say the same as the others."""
    return set_up(request.param, tmp_path, required)


SLOW = pytest.mark.soak(only=True)
"""What takes a slow CLI seconds of CPU to say, and what codex says, too."""


def only(*names: object) -> pytest.MarkDecorator:
    """For the CLIs of these names alone."""
    return pytest.mark.parametrize("real", names, indirect=True)


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


@only("codex", "gemini", "claude")
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


LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."
LIMITED, OVERLOADED = (Status(429, retry_after=0.1), "rate-limit"), (Status(529), "overload")
REFUSED, TOO_LONG = (Status(401, message="invalid api key"), "auth"), (Status(400, message=LONG), "context-length")
CUT, GARBAGE = (Cut(), "cut-stream"), (Garbage(), "cut-stream")


@pytest.mark.parametrize(
    ("real", "failure"),
    [
        *((name, failure) for name in ("codex", "claude") for failure in (LIMITED, OVERLOADED, REFUSED, CUT, GARBAGE)),
        *((name, TOO_LONG) for name in ("codex", "claude")),
        ("gemini", LIMITED),
        ("qwen", REFUSED),
        *(pytest.param("gemini", failure, marks=SLOW) for failure in (CUT, TOO_LONG)),
        *(pytest.param("qwen", failure, marks=SLOW) for failure in (OVERLOADED, GARBAGE, TOO_LONG)),
    ],
    indirect=["real"],
    ids=lambda value: value if isinstance(value, str) else value[1],
)
async def test_failure_is_named(real, failure):
    reply, kind = failure
    # qwen tries again for minutes, silently, and has no setting to stop it.
    patient = real.name == "qwen" and kind == "overload"
    with ScriptedModel(reply) as model:
        async with real.spawner() as processes:
            result = await real.ask(processes, model.url, "create calc.py", timeout=4 if patient else 90, grace=1)
    expected = ("timeout", "none") if patient else (kind, "final-event")
    assert (result.ok, result.kind, result.evidence) == (False, *expected)
    assert result.usage is None or model.asides  # qwen tries to shorten what is too long
    assert result.usd is None
    assert result.error.startswith(real.name)
    assert model.seen or patient  # on a busy machine it may not even have begun


@pytest.mark.parametrize("headers_first", [False, True])
@only("codex", pytest.param("gemini", marks=SLOW), "claude")
async def test_stalled_model_is_cancelled(real, headers_first):
    with ScriptedModel(Stall(headers_first=headers_first)) as model:
        async with real.spawner() as processes:
            async with anyio.create_task_group() as group:
                group.start_soon(real.ask, processes, model.url, "create calc.py")
                assert await anyio.to_thread.run_sync(model.wait, lambda seen: len(seen) == 1)
                assert real.processes_left()
                group.cancel_scope.cancel()
            assert real.processes_left() == []
            assert model.seen[0].left.wait(60)


@only("codex", "claude")
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
