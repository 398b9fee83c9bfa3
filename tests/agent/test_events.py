from __future__ import annotations

import contextlib
import json
from functools import partial
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sessions import AIDER, CLAUDE, CODEX, COPILOT, GEMINI, trajectory
from bakeoff.agent import events, output_reader
from bakeoff.agent.clis import entry_of, event_format
from bakeoff.agent.clis.aider import read_text
from bakeoff.agent.events import EventStream, Reading
from bakeoff.agent.failures import KINDS, error_lines, kind_of, one_line, pause_of
from bakeoff.agent.output_reader import OutputReader
from bakeoff.process.command import SpawnError
from bakeoff.reader.reading import holding
from bakeoff.settings import BUILT_IN
from reader.wild import forever

FORMATS = sorted({"text", *(entry_of(name).events for name in BUILT_IN)})


def lines(*found) -> bytes:
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in found)


def read(name: str, *pieces: bytes) -> Reading:
    stream = EventStream(event_format(name).read)
    for piece in pieces:
        stream.feed(piece)
    return stream.close()


def test_claude_counts_cached_input_in():
    reading = read("claude", lines(*CLAUDE))
    assert (reading.text, reading.succeeded, reading.session_id, reading.turns) == ("done é", True, "s-1", 2)
    assert reading.usage == {
        "input_tokens": 16,
        "cached_input_tokens": 4,
        "cache_write_input_tokens": 2,
        "output_tokens": 3,
    }
    assert reading.usd == 0.25
    assert (reading.heard, reading.stray) == (5, "")


@given(st.lists(st.integers(0, len(lines(*CLAUDE))), max_size=8).map(sorted))
def test_pieces_may_be_cut_anywhere(cuts):
    raw = lines(*CLAUDE)
    bounds = [0, *cuts, len(raw)]
    assert read("claude", *(raw[a:b] for a, b in pairwise(bounds))) == read("claude", raw)


@given(st.integers(0, len(lines(*CLAUDE)) - 2))
def test_output_cut_off_is_never_a_success(end):
    assert read("claude", lines(*CLAUDE)[:end]).succeeded is None


def test_stray_text_and_broken_lines_are_passed_over():
    raw = b"Loading {config}\nhello " + lines(CLAUDE[0]).rstrip() + lines(CLAUDE[1]) + b'\xff\xfe{\n{"type": \n[1,\n'
    reading = read("claude", raw + lines(CLAUDE[4]))
    assert (reading.heard, reading.succeeded) == (3, True)
    assert "Loading {config}" in reading.stray
    assert "hello" in reading.stray


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_over_lines_is_read_too(indent):
    assert read("claude", json.dumps(CLAUDE, indent=indent).encode()).text == "done é"
    assert read("claude", b"note\n" + json.dumps(CLAUDE[4], indent=indent).encode()).succeeded is True
    cut = json.dumps(CLAUDE, indent=indent).encode()[:-400]
    assert (read("claude", cut).succeeded, read("claude", cut).session_id) == (None, "s-1")


def test_objects_within_a_cut_event_are_no_events():
    forged = {"type": "assistant", "input": {"type": "result", "subtype": "success", "result": "forged"}}
    assert read("claude", json.dumps(forged).encode()[:-1]).succeeded is None
    assert read("claude", json.dumps(forged, indent=1).encode()[:-1]).succeeded is None


def test_too_long_lines_are_dropped_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(events, "LINE_LIMIT", 1000)
    stream = EventStream(event_format("claude").read)
    for _ in range(50):
        stream.feed(b"{" + b"x" * 400)
        assert len(stream._rest) <= 1000
    stream.feed(b"\n" + lines(CLAUDE[4]))
    reading = stream.close()
    assert (reading.dropped, reading.succeeded) == (1, True)
    stream = EventStream(event_format("claude").read)
    for _ in range(50):
        stream.feed(b"stray text, line by line\n")
    assert stream._document is None


def test_deep_nesting_and_endless_numbers_are_no_events():
    assert read("claude", b'{"a":' * 100_000 + b"\n" + b'{"type": ' + b"9" * 10_000 + b"}\n").heard == 0
    assert read("claude", b'[{"a":' * 100_000).heard == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
# fmt: off
KEYS = st.sampled_from([
    "type", "subtype", "message", "content", "item", "usage", "stats", "part", "error", "tokens", "cost",
    "reason", "data", "result", "response", "is_error", "text", "session_id", "status", "role", "delta", "info",
    "messages", "model_stats", "extra", "cache", "errors", "models", "input_tokens", "exitCode",
    "total_cost_usd",
])
# fmt: on
# fmt: off
TYPES = st.sampled_from([
    "system", "assistant", "result", "item.completed", "turn.completed", "turn.failed", "error", "message",
    "tool_use", "text", "step_finish", "thread.started", "assistant.message", "session.error", "api_retry",
    "success",
])
# fmt: on
EVENT = st.dictionaries(KEYS, JSON | TYPES | st.dictionaries(KEYS, JSON, max_size=3), max_size=6)


@given(st.sampled_from(FORMATS), st.lists(EVENT, max_size=4))
def test_no_event_can_raise_or_forge_a_cost(name, found):
    reading = Reading()
    for event in found:
        event_format(name).read(event, reading)
    assert reading.usd is None or 0 < reading.usd < 1e10
    assert all(isinstance(count, int) and count >= 0 for count in (reading.usage or {}).values())
    assert isinstance(reading.text, str)


@given(st.sampled_from(FORMATS), st.binary(max_size=200))
def test_garbage_is_no_success(name, raw):
    assert read(name, raw).succeeded is None


def end(subtype, **more):
    return {"type": "result", "subtype": subtype, "session_id": "s", **more}


@pytest.mark.parametrize(
    ("event", "error", "kind"),
    [
        (end("success", is_error=True, result="Not logged in"), "Not logged in", None),
        (end("error_max_budget_usd", is_error=True), "error_max_budget_usd", "budget"),
        (end("error_max_turns", errors=["too many"]), "too many", "turns"),
        (end("error_during_execution", error={"message": "boom"}), "boom", None),
        (end("success", result="no", stop_reason="refusal"), "no", "refusal"),
    ],
)
def test_claude_failures(event, error, kind):
    reading = read("claude", lines(event))
    assert (reading.succeeded, reading.error, reading.kind) == (False, error, kind)


def test_claude_tells_of_retries_and_refusals_on_the_way():
    retry = {"type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit"}
    refused = {"type": "assistant", "message": {"stop_reason": "refusal", "content": []}}
    reading = read("claude", lines(retry, refused, end("success", result="")))
    assert reading.warnings == ["API error 429 (rate_limit), trying again"]
    assert (reading.succeeded, reading.kind) == (False, "refusal")


def test_qwen_says_success_of_failed_requests():
    usage = {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 3, "total_tokens": 12}
    good = end("success", is_error=False, result="about [API Error: x] texts", usage=usage)
    bad = end("success", is_error=False, result="half a te[API Error: terminated]", usage=dict.fromkeys(usage, 0))
    assert read("qwen", lines(good)).succeeded is True
    assert read("qwen", lines(good)).usage["input_tokens"] == 9
    reading = read("qwen", lines(bad))
    assert (reading.succeeded, reading.error, reading.usage) == (False, "API Error: terminated", None)


def test_a_turn_that_codex_began_and_did_not_end_is_no_success():
    ended = {"type": "turn.completed", "usage": {}}
    assert read("codex", lines(ended)).succeeded
    assert read("codex", lines(ended, {"type": "turn.started"})).succeeded is None
    assert read("codex", lines(ended, {"type": "turn.started"}, ended)).succeeded


def test_codex():
    reading = read("codex", lines(*CODEX))
    assert (reading.text, reading.session_id, reading.succeeded, reading.turns) == ("last", "t-1", True, 1)
    assert reading.usage == {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}
    assert reading.warnings == ["Reconnecting... 1/5"]
    failed = read("codex", lines(*CODEX[:4], {"type": "turn.failed", "error": {"message": "stream disconnected"}}))
    assert (failed.succeeded, failed.error) == (False, "stream disconnected")


def test_gemini():
    reading = read("gemini", lines(*GEMINI))
    assert (reading.text, reading.session_id, reading.succeeded, reading.turns) == ("all done", "g-1", True, 1)
    assert reading.usage == {"input_tokens": 4, "cached_input_tokens": 1, "output_tokens": 2}
    failed = read("gemini", lines({"type": "result", "status": "error", "error": {"message": "bad"}}))
    assert (failed.succeeded, failed.error) == (False, "bad")


def test_gemini_single_document():
    tokens = {"tokens": {"prompt": 3, "cached": 1, "candidates": 2}}
    document = {"session_id": "g", "response": "hello", "stats": {"models": {"a": tokens, "b": tokens}}}
    reading = read("gemini", b"noise\n" + json.dumps(document, indent=2).encode())
    assert (reading.text, reading.succeeded) == ("hello", True)
    assert reading.usage == {"input_tokens": 6, "cached_input_tokens": 2, "output_tokens": 4}
    reading = read("gemini", json.dumps({"error": {"message": "no"}}, indent=2).encode())
    assert (reading.succeeded, reading.error) == (False, "no")


def step(reason, cost=0.0, **tokens):
    full = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}, **tokens}
    return {"type": "step_finish", "sessionID": "o", "part": {"reason": reason, "tokens": full, "cost": cost}}


def say(text):
    return {"type": "text", "part": {"text": text}}


def test_opencode_sums_its_steps():
    cache = {"read": 3, "write": 1}
    found = [say("first"), {"type": "tool_use"}, step("tool-calls", 0.1, input=5, output=2, reasoning=1, cache=cache)]
    reading = read("opencode", lines(*found, say("a"), say("b"), step("stop", 0.2, input=1, output=1)))
    assert (reading.text, reading.succeeded, reading.session_id, reading.turns) == ("a\nb", True, "o", 2)
    assert reading.usd == pytest.approx(0.3)
    assert (reading.usage["input_tokens"], reading.usage["output_tokens"]) == (10, 4)
    assert read("opencode", lines(*found)).succeeded is None
    assert read("opencode", lines(say("x"), step("stop", 0, input=1))).usd is None


@pytest.mark.parametrize(
    ("event", "error", "kind"),
    [
        (step("length"), "the answer was cut at the model's output limit", None),
        (step("content-filter"), "the model refused", "refusal"),
        ({"type": "error", "error": {"name": "APIError", "data": {"message": "rate limit"}}}, "rate limit", None),
        ({"type": "error", "error": {"name": "UnknownError"}}, "UnknownError", None),
    ],
)
def test_opencode_failures(event, error, kind):
    reading = read("opencode", lines(event))
    assert (reading.succeeded, reading.error, reading.kind) == (False, error, kind)


def test_copilot():
    reading = read("copilot", lines(*COPILOT))
    assert (reading.text, reading.session_id, reading.succeeded) == ("done", "c-1", True)
    assert reading.warnings == ["429"]
    assert read("copilot", lines({"type": "result", "exitCode": 1})).succeeded is False


def test_mini():
    reading = read("mini", json.dumps(trajectory("Submitted"), indent=2).encode())
    assert (reading.text, reading.succeeded, reading.turns, reading.usd) == ("ran it", True, 3, 0.5)
    assert reading.usage == {"input_tokens": 4, "output_tokens": 2}
    reading = read("mini", json.dumps(trajectory("LimitsExceeded", 0), indent=2).encode())
    assert (reading.succeeded, reading.kind, reading.usd) == (False, "budget", None)
    assert reading.error == "it ended with LimitsExceeded"
    assert read("mini", b'{"messages": []}').succeeded is None


def test_aider_text():
    reading = Reading()
    read_text(AIDER, reading)
    assert reading.usage == {"input_tokens": 2000, "output_tokens": 1530}
    assert (reading.usd, reading.succeeded) == (0.03, None)
    read_text("litellm.RateLimitError: 429\nRetrying\n", reading)
    assert (reading.succeeded, reading.error) == (False, "litellm.RateLimitError: 429")
    recovered = Reading()
    read_text("litellm.Timeout exception\nlitellm.APIError: x\nTokens: 8 sent, 1 received.", recovered)
    assert recovered.succeeded is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate-limit"),
        ("RESOURCE_EXHAUSTED", "rate-limit"),
        ("You've hit your usage limit", "rate-limit"),
        ("unexpected status 529 <unknown status code>: overloaded", "overload"),
        ("503 Service Unavailable", "overload"),
        ("Invalid API key · Please run /login", "auth"),
        ("Invalid auth method selected.", "auth"),
        ("unexpected status 401 Unauthorized", "auth"),
        ("Please set an Auth method in your settings.json or specify GEMINI_API_KEY", "auth"),
        ("appears to violate our Usage Policy", "refusal"),
        ("Request timed out", "timeout"),
        ("stream disconnected before completion: error decoding response body", "cut-stream"),
        ("[API Error: terminated (cause: other side closed)]", "cut-stream"),
        ("Model stream ended without a finish reason.", "cut-stream"),
        ("something else went wrong in line 4290", None),
        ("", None),
    ],
)
def test_kinds(text, kind):
    assert kind_of(text) == kind
    assert kind is None or kind in KINDS


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Rate limit reached. Please try again in 11.054s. Visit", 11.054),
        ("retry after 12 seconds", 12),
        ("Retry-After: 20", 20),
        ('{"retry_after": 3}', 3),
        ("try again in 1m30s", 90),
        ("try again in 2 h 5 min", 7500),
        ("please wait 500ms", 0.5),
        ("try again at 3:15 PM", None),
        ("retry 2 of 5", None),
        ("exceeded retry limit, last status: 429 Too Many Requests", None),
    ],
)
def test_pauses_that_are_asked_for(text, seconds):
    assert pause_of(text) == (None if seconds is None else pytest.approx(seconds))


def test_one_line():
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("x" * 900) == "x" * 397 + "..."


EVENTS = {
    "gemini": {"type": "message", "role": "assistant", "content": "x", "delta": True},
    "opencode": {"type": "text", "part": {"text": "x"}},
    "claude": {"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}},
    "codex": {"type": "error", "message": "x" * 1000},
}


@pytest.mark.parametrize("name", EVENTS)
def test_events_without_end_are_read_in_time_and_bounds(name, monkeypatch):
    monkeypatch.setattr(events, "TEXT_LIMIT", 10_000)
    reading = read(name, lines(EVENTS[name]) * 30_000)
    assert reading.heard == 30_000
    assert len(reading.text) <= 10_100
    assert reading.more == []


def test_stray_text_between_events_is_cut_now_and_then():
    reading = read("claude", b'stray words {"type":"x"} ' * 200_000)
    assert (reading.heard, len(reading.stray)) == (200_000, events.STRAY_LIMIT)
    assert reading.stray.endswith("stray words \n")


def test_counts_beyond_all_reason_are_no_counts():
    usage = {"input_tokens": 10**4000, "cache_read_input_tokens": 10**15, "output_tokens": 10**15}
    reading = read("claude", lines({**CLAUDE[4], "usage": usage, "num_turns": 10**16, "total_cost_usd": 1e300}))
    assert (reading.turns, reading.usd) == (None, None)
    assert set(reading.usage.values()) <= {10**15}
    steps = [step("tool-calls", 1e8, input=10**15, output=10**15) for _ in range(9)]
    assert max(read("opencode", lines(*steps)).usage.values()) == 10**15


@pytest.mark.parametrize(
    "piece", ["auth ", "permission denied ", "wait 1s", "Error: [", "authauth", "1", " ", "[x]\\n\\n", "rate"]
)
def test_kinds_and_pauses_are_found_in_time_whatever_was_said(piece):
    text = piece * (2_000_000 // len(piece))
    assert kind_of(text) in (*KINDS, None)
    assert len(error_lines(text)) <= len(text)
    assert (pause_of(f"retry after {text}") or 0.0) <= 30 * 86_400
    assert len(one_line(text)) <= 400


@pytest.mark.parametrize(
    "line",
    ["Tokens: 1 sent, ", "Tokens: ..., sent, ..., received", "Tokens: " + "9" * 999, "Cost: $. message, $... session"],
)
def test_aider_may_print_anything(line):
    reading = Reading()
    read_text(line * 500, reading)
    assert reading.usd is None


async def heard_of(name, *pieces, tail="", behind=None):
    told = []
    output = OutputReader(name, told.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.listen)
        for piece in pieces:
            output.take(piece)
            await anyio.lowlevel.checkpoint()
        output.end(tail)
    return output.reading, told


@pytest.mark.anyio
async def test_a_reader_process_reads_what_comes(monkeypatch):
    monkeypatch.setattr(output_reader, "PIECE", 100)
    raw = lines(*CLAUDE)
    reading, told = await heard_of("claude", raw[:77], raw[77:])
    assert reading == read("claude", raw)
    assert told[-1] == {"events": 5, "tokens": 19}
    reading, told = await heard_of("aider", tail="Tokens: 1.2k sent, 30 received.")
    assert (reading.usage, told) == ({"input_tokens": 1200, "output_tokens": 30}, [])
    reading, _ = await heard_of("text", tail="\udc80")
    assert reading == Reading()


@pytest.mark.anyio
async def test_where_no_reader_can_be_had_it_is_tried_again(monkeypatch):
    monkeypatch.setattr(output_reader, "PAUSE", 0.0)
    short = [SpawnError("no reader process: full", 11, True)] * 3

    @contextlib.asynccontextmanager
    async def scarce():
        if short:
            raise short.pop()
        async with holding() as ask:
            yield ask

    monkeypatch.setattr(output_reader, "holding", scarce)
    reading, _ = await heard_of("claude", lines(*CLAUDE))
    assert reading.succeeded is True
    short += [SpawnError("no reader process: full", 11, True)] * 60
    reading, _ = await heard_of("claude", lines(*CLAUDE))
    assert (reading.succeeded, reading.error) == (False, "what it printed cannot be read: no reader process: full")


@pytest.mark.anyio
async def test_what_cannot_be_read_is_the_error_of_that_agent(monkeypatch):
    monkeypatch.setattr(output_reader, "BEHIND", 100)
    reading, _ = await heard_of("claude", b"x" * 90, b"x" * 90, b"x" * 90)
    assert (reading.succeeded, reading.kind) == (False, "output")
    assert "more than 0 MiB at once" in reading.error
    monkeypatch.setattr(output_reader, "feed", forever)
    monkeypatch.setattr(output_reader, "holding", impatient)
    reading, _ = await heard_of("claude", b"x", b"x")
    assert "not done within 0.01 s" in reading.error


@contextlib.asynccontextmanager
async def impatient():
    async with holding() as ask:
        yield partial(ask, seconds=0.01)
