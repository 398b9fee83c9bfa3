from __future__ import annotations

import json
import logging
import random
import shutil
import socket
import ssl
import subprocess
import time
import traceback

import anyio
import pytest

from bakeoff.engine.retry import ONCE, Retry
from bakeoff.model.client import Deadlines
from bakeoff.model.connections import FULL, Connections
from bakeoff.model.protocol import Message, ModelError, Request
from bakeoff.model.rate.gate import Gate
from bakeoff.model.retrying import retried
from bakeoff.sampling.errors import refused
from model.conftest import ASK, GO_ON, KEY, ask_for, open_model
from scripted_model import Cut, Garbage, Raw, Say, ScriptedModel, Stall, Status, in_order

pytestmark = pytest.mark.anyio

APIS = ("chat", "completions", "responses", "messages")
CONVERSATION = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"))
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # for what takes seconds and depends on no loop
FAST = Retry(attempts=4, delay=0.001)


def serve(*replies, **more):
    return ScriptedModel(in_order(*replies), tools=False, **more)


def sse(*events, end="[DONE]"):
    parts = [f"data: {json.dumps(event)}\n\n" for event in events]
    return Raw((*(part.encode() for part in parts), *([f"data: {end}\n\n".encode()] if end else [])))


def chunk(text, reason=None, **more):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}], **more}


async def fails(server, api="chat", *, request=None, **more) -> ModelError:
    async with open_model(server, api, **more) as model:
        with pytest.raises(ModelError) as caught:
            await model.generate(request or ask_for(api))
    return caught.value


@pytest.mark.parametrize("api", APIS)
async def test_each_format_gives_text_usage_and_names(api):
    with serve(Say("def it(): pass", 120, 30)) as server:
        async with open_model(server, api, price=(1.0, 10.0)) as model:
            reply = await model.generate(ask_for(api))
    assert reply.text == "def it(): pass"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (120, 30)
    assert reply.usage.usd == pytest.approx(420e-6)
    assert (reply.finish_reason, reply.model) == ("stop", "scripted")
    assert reply.request_id in ("c1", "p1", "resp_1", "msg_1")
    assert 0 < reply.seconds < 30
    seen = server.seen[0]
    assert seen.wire == api
    assert seen.body["stream"] is True
    assert KEY in (seen.headers.get("authorization", "") + seen.headers.get("x-api-key", ""))


@pytest.mark.parametrize("api", APIS)
async def test_each_format_says_what_was_asked(api):
    request = Request(
        messages=() if api == "completions" else CONVERSATION,
        prompt="p" if api == "completions" else None,
        model="other", max_tokens=9, temperature=0.5, top_p=0.9, seed=7, stop=("\n\n",),
        json_schema={"type": "object"}, extra={"user": "me"},
    )  # fmt: skip
    with serve(Say("x")) as server:
        async with open_model(server, api) as model:
            await model.generate(request)
    body = server.seen[0].body
    assert (body["model"], body["temperature"], body["top_p"], body["user"]) == ("other", 0.5, 0.9, "me")
    assert 9 in (body.get("max_tokens"), body.get("max_output_tokens"))
    assert {"type": "object"} in (
        body.get("response_format", {}).get("json_schema", {}).get("schema"),
        body.get("text", {}).get("format", {}).get("schema"),
        body.get("output_config", {}).get("format", {}).get("schema"),
    )
    if api in ("chat", "completions"):
        assert (body["seed"], body["stop"], body["stream_options"]) == (7, ["\n\n"], {"include_usage": True})
    if api == "completions":
        assert body["prompt"] == "p"
    if api == "messages":
        assert (body["system"], body["stop_sequences"]) == ("s", ["\n\n"])
        assert [message["role"] for message in body["messages"]] == ["user", "assistant"]
        assert server.seen[0].headers["anthropic-version"] == "2023-06-01"
    if api == "responses":
        assert body["store"] is False


async def test_what_is_not_said_is_not_sent():
    with serve(Say("x")) as server:
        async with open_model(server, key="", max_tokens=5) as model:
            await model.generate(Request(messages=(Message("user", "u"),)))
    assert set(server.seen[0].body) == {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert server.seen[0].body["max_tokens"] == 5
    assert "authorization" not in server.seen[0].headers


async def test_a_prompt_goes_to_raw_completion_beside_chat():
    with serve(Say("x")) as server:
        async with open_model(server) as model:
            await model.generate(GO_ON)
            await model.generate(ASK)
    assert [seen.wire for seen in server.seen] == ["completions", "chat"]


@pytest.mark.parametrize(
    ("api", "request_"), [("responses", GO_ON), ("messages", GO_ON), ("completions", ASK), ("chat", Request())]
)
async def test_requests_that_a_format_does_not_have_are_refused(api, request_):
    with serve(Say("x")) as server:
        failure = await fails(server, api, request=request_)
        assert server.seen == []
    assert failure.kind == "bad_request"


async def test_a_model_that_is_not_open_says_so():
    model = open_model("http://127.0.0.1:9")
    with pytest.raises(RuntimeError, match="async with"):
        await model.generate(ASK)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
async def test_a_cut_stream_is_a_cut_and_is_tried_again(api, share):
    with serve(Cut(share=share), Say("whole")) as server:
        failure = await fails(server, api)
        assert (failure.kind, failure.transient) == ("cut", True)
    with serve(Cut(share=share), Say("whole")) as server:
        async with open_model(server, api, retry=FAST) as model:
            assert (await model.generate(ask_for(api))).text == "whole"
        assert len(server.seen) == 2


async def test_a_stream_that_ends_before_its_end_is_a_cut():
    with serve(sse(chunk("half"), end=None)) as server:
        assert (await fails(server)).kind == "cut"


async def test_a_text_that_is_whole_counts_though_the_rest_is_missing():
    with serve(sse(chunk("all"), chunk("", "length"), end=None)) as server:
        async with open_model(server) as model:
            reply = await model.generate(ASK)
    assert (reply.text, reply.finish_reason) == ("all", "length")
    assert reply.usage.tokens is reply.usage.usd is None
    cut = Raw(
        (f"data: {json.dumps(chunk('all', 'stop'))}\n\n".encode(), b"data: {"), headers=(("Content-Length", "999"),)
    )
    with serve(cut) as server:
        async with open_model(server) as model:
            assert (await model.generate(ASK)).text == "all"


async def test_usage_that_never_comes_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr("bakeoff.model.client.USAGE_TIME", 0.05)
    with serve(Raw(sse(chunk("all", "stop"), end=None).chunks, stall=True)) as server:
        async with open_model(server) as model:
            assert (await model.generate(ASK)).text == "all"


async def test_what_a_request_may_use_at_most():
    model = open_model("http://h", price=(1.0, 10.0), max_tokens=1000)
    most = model.at_most(Request(prompt="x" * 3000))
    assert (most.input_tokens, most.output_tokens, most.usd) == (1000, 1000, pytest.approx(0.011))
    assert model.at_most(Request(prompt="x", max_tokens=10)).output_tokens == 10
    unbounded = open_model("http://h", price=(1.0, 10.0)).at_most(Request(prompt="x"))
    assert unbounded.output_tokens is unbounded.usd is None
    assert open_model("http://h", max_tokens=5).at_most(Request(prompt="x")).usd is None


async def test_what_comes_after_the_end_is_not_waited_for():
    reply = sse(chunk("all", "stop"))
    with serve(Raw(reply.chunks, stall=True)) as server:
        async with open_model(server) as model:
            with anyio.fail_after(300):
                assert (await model.generate(ASK)).text == "all"


@pytest.mark.parametrize("api", APIS)
async def test_an_endpoint_that_does_not_stream_is_understood(api):
    from importlib import import_module

    wire = import_module(f"scripted_model.wires.{api}")
    for indent in (None, 2):
        whole = json.dumps(wire.whole(Say("it is whole"), None), indent=indent).encode()
        with serve(Raw((whole,), headers=(("Content-Type", "application/json"),))) as server:
            async with open_model(server, api) as model:
                reply = await model.generate(ask_for(api))
        assert (reply.text, reply.usage.input_tokens, reply.finish_reason) == ("it is whole", 11, "stop")


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_refusals_are_not_tried_again_and_keep_their_usage(api):
    with serve(Say("I will not", refusal=True)) as server:
        failure = await fails(server, api, retry=FAST)
        assert len(server.seen) == 1
    assert (failure.kind, failure.transient, failure.usage.input_tokens) == ("refusal", False, 11)
    assert "I will not" in str(failure)
    assert failure.request_id


MIDDLE = {
    "chat": ({"error": {"message": "too fast", "type": "rate_limit_error"}}, "rate_limit"),
    "messages": ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overload"),
    "responses": (
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}},
        "server",
    ),
    "completions": ({"error": "it broke"}, "server"),
}


@pytest.mark.parametrize("api", APIS)
async def test_an_error_in_the_middle_of_a_stream_keeps_its_name(api):
    event, kind = MIDDLE[api]
    with serve(sse(event, end=None)) as server:
        failure = await fails(server, api)
    assert (failure.kind, failure.transient) == (kind, True)


async def test_other_ends_of_responses():
    def response(**fields):
        return sse(
            {"type": "response.incomplete", "response": {"status": "incomplete", "output": [], **fields}}, end=None
        )

    with serve(response(incomplete_details={"reason": "max_output_tokens"})) as server:
        async with open_model(server, "responses") as model:
            assert (await model.generate(ASK)).finish_reason == "length"
    with serve(response(incomplete_details={"reason": "content_filter"})) as server:
        assert (await fails(server, "responses")).kind == "refusal"
    with serve(sse({"type": "response.cancelled", "response": {"status": "cancelled"}}, end=None)) as server:
        assert (await fails(server, "responses")).kind == "server"
    with serve(
        sse({"type": "response.refusal.delta", "delta": "no"}, {"type": "error", "message": "x"}, end=None)
    ) as server:
        assert (await fails(server, "responses")).kind == "server"


async def test_a_refusal_in_the_chat_format_has_a_place_of_its_own():
    refusal = {"choices": [{"index": 0, "delta": {"refusal": "I must not"}, "finish_reason": "stop"}]}
    with serve(sse(refusal)) as server:
        failure = await fails(server)
    assert failure.kind == "refusal"
    assert "I must not" in str(failure)


async def test_an_error_whose_blank_line_is_missing_is_still_one():
    with serve(Raw((b'data: {"error": {"message": "x", "type": "overloaded_error"}}',))) as server:
        assert (await fails(server)).kind == "overload"


async def test_cached_tokens_are_part_of_the_input():
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 1}
    events = sse(
        {"type": "message_start", "message": {"id": "m", "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "stop_sequence"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
        end=None,
    )
    with serve(events) as server:
        async with open_model(server, "messages") as model:
            used = (await model.generate(ASK)).usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (105, 90, 3)


BAD = {
    "not an event": (Garbage(), "server"),
    "empty": (Raw(), "cut"),
    "malformed": (Raw((b'data: {"choices": [{"delta"\n\n',)), "server"),
    "wrong shape": (sse({"choices": [7]}), "server"),
    "no object": (sse([1, 2], 3, end=None), "cut"),
    "html": (Raw((b"<html><head><title>Log in</title></head><body>hotel wifi</body></html>",)), "server"),
    "error with 200": (
        Raw((b'{"error": {"message": "no such model", "code": "model_not_found"}}',)),
        "not_found",
    ),
    "compressed badly": (Raw((b"xxx",), headers=(("Content-Encoding", "gzip"),)), "cut"),
    "moved": (Raw(code=301, headers=(("Location", "http://elsewhere/"),)), "not_found"),
}


@pytest.mark.parametrize("case", BAD)
async def test_answers_that_are_none(case, anyio_backend):
    if (case, anyio_backend) == ("compressed badly", "trio"):
        pytest.skip("httpx leaves a generator to the collector there, and trio warns of it")
    reply, kind = BAD[case]
    with serve(reply) as server:
        failure = await fails(server)
    assert failure.kind == kind
    assert str(failure).startswith("m at http://127.0.0.1:")
    if case == "html":
        assert "titled 'Log in': hotel wifi" in str(failure)


async def test_an_endless_answer_is_given_up(monkeypatch):
    monkeypatch.setattr("bakeoff.model.answer.LARGEST", 1000)
    with serve(sse(*[chunk("x" * 100)] * 50)) as server:
        failure = await fails(server, retry=FAST)
        assert len(server.seen) == 1
    assert "larger than" in str(failure)
    with serve(Raw((b"x" * 100_000,) * 5, code=500)) as server:
        assert (await fails(server)).kind == "server"


async def test_transient_failures_are_tried_again_and_others_are_not():
    replies = [Status(503), Status(429, 0.01), Status(529), Say("at last")]
    with serve(*replies) as server:
        async with open_model(server, retry=FAST) as model:
            assert (await model.generate(ASK)).text == "at last"
    for code in (400, 401, 404, 413):
        with serve(Status(code), Say("never asked for")) as server:
            failure = await fails(server, retry=FAST)
            assert (len(server.seen), failure.status, failure.transient) == (1, code, False)


async def test_retries_can_be_switched_off_or_narrowed():
    for retry, tries in ((ONCE, 1), (Retry(attempts=5, delay=0, on=("cut",)), 1), (Retry(attempts=3, delay=0), 3)):
        with serve(Status(500)) as server:
            assert (await fails(server, retry=retry)).kind == "server"
            assert len(server.seen) == tries


async def test_a_time_that_is_too_long_is_not_waited_for():
    with serve(Status(429, 9999)) as server:
        failure = await fails(server, retry=FAST)
        assert (len(server.seen), failure.retry_after) == (1, 9999)


@on_asyncio
async def test_retry_after_is_waited_for_by_that_request_alone():
    answers = {"first": iter([Status(429, 1.6), Say("late")])}

    def script(seen):
        return next(answers["first"]) if seen.says("first") else Say("soon")

    ends = {}
    with ScriptedModel(script, tools=False) as server:
        async with open_model(server, retry=FAST) as model, anyio.create_task_group() as group:

            async def ask(text):
                reply = await model.generate(Request(messages=(Message("user", text),)))
                ends[text] = (time.monotonic() - since, reply.text)

            since = time.monotonic()
            group.start_soon(ask, "first")
            await anyio.to_thread.run_sync(server.wait, lambda seen: len(seen) == 1)
            group.start_soon(ask, "second")
    assert ends["second"][1] == "soon"
    assert ends["first"][0] >= 1.6 > ends["second"][0]


async def test_no_connection_is_a_connection_failure():
    failure = await fails("http://127.0.0.1:9")
    assert (failure.kind, failure.transient) == ("connection", True)
    failure = await fails("ftp://127.0.0.1")
    assert (failure.kind, failure.transient) == ("connection", False)


@pytest.mark.parametrize("headers_first", [False, True])
async def test_silence_has_a_deadline(headers_first):
    with serve(Stall(headers_first=headers_first)) as server:
        failure = await fails(server, deadlines=Deadlines(1.0, 0.2 if headers_first else -0.8, 0.2))
        assert server.seen[0].left.wait(60)
    assert (failure.kind, failure.transient) == ("timeout", True)


async def test_silence_between_two_bytes_has_a_deadline():
    with serve(Raw((b"data: {}\n\n",), stall=True)) as server:
        failure = await fails(server, deadlines=Deadlines(between=0.1))
        assert server.seen[0].left.wait(60)
    assert failure.kind == "timeout"
    assert "0.1 s" in str(failure)


async def test_a_refused_connection_is_tried_twice_and_is_no_call():
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        tries = []

        async def refuse():
            tries.append(1)
            failure = ModelError("connection refused", "connection")
            failure.refused = True
            raise failure

        with pytest.raises(ModelError) as twice:
            await retried(refuse, Retry(attempts=8, delay=0.0), random.Random(0))
        assert (len(tries), twice.value.transient) == (2, False)
        failure = await fails(f"http://127.0.0.1:{closed.getsockname()[1]}/v1")
    assert failure.refused
    assert "nothing listens there" in str(failure)
    outcome = refused(failure)
    assert (outcome.usage["calls"], outcome.usage["tokens"]) == (0, 0)


async def test_a_connection_has_a_deadline(monkeypatch):
    import httpx

    async def late(*args, **more):
        raise httpx.ConnectTimeout("")

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", late)
    assert (await fails("http://127.0.0.1:9")).kind == "timeout"


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("headers_first", [False, True])
async def test_cancelled_requests_are_closed_and_the_server_sees_it(tls, headers_first, tmp_path, monkeypatch):
    context = certificate(tmp_path, monkeypatch) if tls else None
    with serve(Stall(headers_first=headers_first), tls=context) as server:
        gate = Gate()
        with gate.store as state:
            state.window = 100
        async with open_model(server, gate=gate) as model:
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(model.generate, ASK)
                assert await anyio.to_thread.run_sync(server.wait, lambda seen: len(seen) == 8)
                assert server.in_flight == 8
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(server.wait, lambda seen: server.in_flight == 0, 5)
        assert all(seen.left.is_set() for seen in server.seen)
        with gate.store as state:
            assert state.owners == {}


def certificate(folder, monkeypatch) -> ssl.SSLContext:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    pem = folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", folder / "crt.pem",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "crt.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt.pem", pem)
    return context


async def test_a_certificate_that_nobody_knows_is_refused_once(tmp_path, monkeypatch):
    context = certificate(tmp_path, monkeypatch)
    monkeypatch.delenv("SSL_CERT_FILE")
    with serve(Say("x"), tls=context) as server:
        failure = await fails(server, retry=FAST)
    assert (failure.kind, failure.transient) == ("connection", False)
    assert "its certificate is not trusted: self" in str(failure)


async def test_a_key_never_shows(caplog):
    echo = Raw((json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode(),), 401)
    with caplog.at_level(logging.DEBUG), serve(echo) as server:
        async with open_model(server) as model:
            with pytest.raises(ModelError) as caught:
                await model.generate(ASK)
            assert KEY not in repr(model)
    assert KEY in server.seen[0].headers["authorization"]
    assert caught.value.kind == "auth"
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in shown
    assert "***" in shown
    assert KEY not in caplog.text


async def test_connections_are_spread_over_small_pools_and_used_again():
    with serve(Say("x")) as server:
        connections = Connections(server.url + "/v1/", connect=5.0, keep_alive=True, use_proxies=True)
        body = json.dumps({"model": "m", "stream": False}).encode()

        async def all_at_once():
            up, everybody = [], anyio.Event()

            async def ask():
                async with connections.post("/chat/completions", body, {}) as response:
                    up.append(1)
                    if len(up) == 2 * FULL + 1:
                        everybody.set()
                    await everybody.wait()
                    await response.aread()

            async with anyio.create_task_group() as group:
                for _ in range(2 * FULL + 1):
                    group.start_soon(ask)

        for _ in range(2):
            await all_at_once()
            assert connections._busy == [0, 0, 0]
        await connections.close()
    assert len(server.seen) == 2 * (2 * FULL + 1)


async def test_many_requests_at_once():
    with serve(Say("x")) as server:
        gate = Gate()
        with gate.store as state:
            state.window = 1000
        async with open_model(server, gate=gate) as model, anyio.create_task_group() as group:
            for _ in range(200):
                group.start_soon(model.generate, ASK)
        assert len(server.seen) == 200


@on_asyncio
async def test_the_gate_hears_of_rejections():
    gate = Gate()
    with serve(Status(429, 0.0), Status(503), Say("x")) as server:
        async with open_model(server, gate=gate, retry=Retry(attempts=3, delay=0)) as model:
            await model.generate(ASK)
    with gate.store as state:
        assert state.rate < 100
        assert state.window < 4.5
    dry = Raw((b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}',), 429)
    gate = Gate()
    with serve(dry) as server:
        failure = await fails(server, gate=gate, retry=FAST)
        assert len(server.seen) == 1
    assert (failure.kind, failure.transient) == ("rate_limit", False)
    with gate.store as state:
        assert state.rate == float("inf")
