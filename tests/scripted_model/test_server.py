from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from scripted_model import Cut, Garbage, Say, ScriptedModel, Shell, Stall, Status, by_turn, in_order

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "quiet": {"type": "boolean"}}}
SCHEMA |= {"required": ["command", "quiet"]}
FUNCTION = {"name": "bash", "parameters": SCHEMA}
WIRES = {
    "chat": ("/v1/chat/completions", {"tools": [{"type": "function", "function": FUNCTION}]}),
    "responses": ("/v1/responses", {"tools": [{"type": "function", **FUNCTION}]}),
    "messages": ("/v1/messages", {"tools": [{"name": "bash", "input_schema": SCHEMA}]}),
    "gemini": ("/v1beta/models/m:generateContent", {"tools": [{"functionDeclarations": [FUNCTION]}]}),
}
RESULTS = {
    "chat": {"messages": [{"role": "tool", "content": "r"}]},
    "responses": {"input": [{"type": "function_call_output", "output": "r"}]},
    "messages": {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "r"}]}]},
    "gemini": {"contents": [{"parts": [{"functionResponse": {"name": "bash"}}]}]},
}


def post(url: str, body: dict) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def ask(model: ScriptedModel, wire: str, *, stream: bool = False, **more) -> bytes:
    path, body = WIRES[wire]
    if stream and wire == "gemini":
        path = path.replace(":generate", ":streamGenerate") + "?alt=sse"
    return post(model.url + path, {"model": "m", "stream": stream, **body, **more})


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [False, True])
def test_each_wire_calls_the_tool_then_speaks(wire, stream):
    with ScriptedModel(by_turn(Shell("make 'it'"), Say("all done"), Say("no", refusal=True))) as model:
        call = ask(model, wire, stream=stream).decode()
        said = ask(model, wire, stream=stream, **RESULTS[wire]).decode()
    if not stream:
        assert "make 'it'" in call
        assert "quiet" in call
        assert "all done" in said
        json.loads(said)
    else:
        events = [line[6:] for line in said.splitlines() if line.startswith("data: {")]
        assert len([json.loads(event) for event in events]) > 1
        assert "all done" in said or ('"all "' in said and '"done"' in said)
    assert [seen.wire for seen in model.seen] == [wire, wire]
    assert model.seen[0].model == "m"
    assert len(model.seen[1].tool_results) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_refusals_and_small_talk(wire):
    with ScriptedModel(in_order(Say("no", refusal=True))) as model:
        assert b"no" in ask(model, wire)
        assert b"no" in ask(model, wire, stream=True).replace(b'"n"', b"no")
        assert b"ok" in ask(model, wire, tools=[])
        assert (len(model.seen), len(model.asides)) == (2, 1)


@pytest.mark.parametrize("code", [429, 503, 529])
def test_statuses(code):
    with ScriptedModel(Status(code, retry_after=1.5)) as model:
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(model, "chat")
        with caught.value as answer:
            assert (answer.code, answer.headers["Retry-After"]) == (code, "1.5")
            assert json.load(answer)["error"]["code"] == code


@pytest.mark.parametrize("stream", [False, True])
def test_cut_stream_is_seen_as_cut(stream):
    with ScriptedModel(Cut()) as model, pytest.raises(http.client.IncompleteRead):
        ask(model, "messages", stream=stream)


def test_garbage_and_what_is_not_spoken():
    with ScriptedModel(Garbage(b"junk"), tools=False) as model:
        assert ask(model, "chat", tools=None) == b"junk"
        assert post(f"{model.url}/v1/messages/count_tokens", {}) == b'{"input_tokens": 1, "totalTokens": 1}'
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(f"{model.url}/elsewhere", {})
        caught.value.close()
        with urllib.request.urlopen(f"{model.url}/v1/models") as answer:
            assert json.load(answer)["data"]
        head = urllib.request.Request(model.url, method="HEAD")
        with urllib.request.urlopen(head) as answer:
            assert answer.status == 200


def test_stall_is_released():
    answers = []
    with ScriptedModel(Stall(Say("at last"))) as model:
        client = threading.Thread(target=lambda: answers.append(ask(model, "chat")))
        client.start()
        assert model.wait(lambda seen: len(seen) == 1)
        assert not answers
        model.release.set()
        client.join(10)
    assert b"at last" in answers[0]


def test_client_that_leaves_a_stall_is_noticed():
    with ScriptedModel(Stall(headers_first=True)) as model:
        connection = http.client.HTTPConnection(model.url.removeprefix("http://"))
        connection.request("POST", WIRES["chat"][0], json.dumps(WIRES["chat"][1]))
        answer = connection.getresponse()
        assert model.wait(lambda seen: len(seen) == 1)
        answer.close()
        connection.close()
        assert model.seen[0].left.wait(60)
    assert model.seen[0].says("bash")


def test_program_serves_a_script_file(tmp_path):
    script = [{"shell": "make"}, {"stall": {"say": "x"}}, {"cut": {"say": "y"}, "share": 0.1}, {"garbage": True}]
    script += [{"garbage": "z"}, {"cut": True}, {"status": 429, "retry_after": 1}]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "scripted_model", str(path), "--by-turn"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            path, body = WIRES["chat"]
            assert b"make" in post(server.stdout.readline().strip() + path, body)
        finally:
            server.terminate()
