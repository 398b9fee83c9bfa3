from __future__ import annotations

import json
import pickle
import time
from email.utils import formatdate

import pytest

from bakeoff.model.answer import Answer, EventDecoder
from bakeoff.model.failures import error_of, from_response, retry_after
from bakeoff.model.protocol import KINDS, TRANSIENT, ModelError, Usage
from bakeoff.model.wires import chat


def kind(status, body, **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return from_response(status, headers, raw, "m").kind


NOTHING = b""
CASES = [
    (400, NOTHING, "bad_request"),
    (401, NOTHING, "auth"),
    (402, NOTHING, "auth"),
    (403, b"<!doctype html><title>Forbidden</title>", "auth"),
    (404, NOTHING, "not_found"),
    (405, NOTHING, "not_found"),
    (408, NOTHING, "timeout"),
    (409, NOTHING, "server"),
    (413, NOTHING, "context_length"),
    (418, NOTHING, "bad_request"),
    (422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, "bad_request"),
    (429, NOTHING, "rate_limit"),
    (429, b"<html>slow down</html>", "rate_limit"),
    (500, NOTHING, "server"),
    (502, b"<html><h1>502 Bad Gateway</h1></html>", "server"),
    (503, NOTHING, "overload"),
    (504, NOTHING, "timeout"),
    (524, NOTHING, "timeout"),
    (529, NOTHING, "overload"),
    (400, {"error": {"message": "x", "code": "context_length_exceeded", "type": "invalid_request"}}, "context_length"),
    (400, {"error": {"message": "prompt is too long: 9 > 8", "type": "invalid_request_error"}}, "context_length"),
    (400, {"error": {"message": "x", "type": "exceed_context_size_error", "code": 400}}, "context_length"),
    (400, b"This model's maximum context length is 8", "context_length"),
    (400, {"error": {"code": "content_filter", "message": "x"}}, "refusal"),
    (400, {"error": {"code": "bad", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "refusal"),
    (400, {"error": {"message": "x", "type": "api_error"}}, "bad_request"),
    (401, {"error": {"message": "the context length of this key", "type": "x"}}, "auth"),
    (400, {"error": {"code": "invalid_api_key", "message": "x"}}, "auth"),
    (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}, "not_found"),
    (500, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "overload"),
    (429, [{"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}], "rate_limit"),
    (429, {"error": {"code": "insufficient_quota", "message": "x"}}, "rate_limit"),
    (500, {"error": "plain"}, "server"),
    (400, {"object": "error", "message": "x", "type": "BadRequestError", "code": 400}, "bad_request"),
    (400, {"message": "x"}, "bad_request"),
    (200, {"error": {"message": "x", "code": 503}}, "overload"),
    (200, {"error": {"message": "x", "code": "429"}}, "rate_limit"),
    (200, {"error": {"message": "x"}}, "server"),
    (200, b"hello", "server"),
    (302, NOTHING, "not_found"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "expected"), CASES)
def test_status_and_body_name_the_kind(status, body, expected):
    assert kind(status, body) == expected


def test_every_kind_is_said_to_be_transient_or_not():
    assert set(KINDS) - TRANSIENT == {"auth", "bad_request", "not_found", "refusal", "context_length"}
    assert ModelError("x", "cut").transient
    assert not ModelError("x", "cut", transient=False).transient


def test_failures_travel_between_processes():
    sent = ModelError(
        "x", "rate_limit", retry_after=2.0, transient=False, status=429, request_id="r", usage=Usage(1, 2)
    )
    got = pickle.loads(pickle.dumps(sent))
    assert (str(got), got.kind, got.retry_after, got.transient, got.status) == ("x", "rate_limit", 2.0, False, 429)
    assert (got.request_id, got.usage) == ("r", Usage(1, 2))


def test_an_account_without_money_is_not_asked_again():
    body = b'{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}'
    assert not from_response(429, {}, body, "m").transient


def test_messages_are_one_line_and_short():
    page = b"<html><head><title>Bad\n gateway</title><style>b{}</style></head><body><p>It   is\n down</p></body></html>"
    text = str(from_response(502, {}, page, "m at x"))
    assert text == "m at x: the endpoint failed (HTTP 502): an HTML page titled 'Bad gateway': It is down"
    assert len(str(from_response(500, {}, b"x" * 9999, "m"))) < 600


def test_retry_after_in_all_its_forms():
    assert retry_after({}) is None
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after": "2", "retry-after-ms": "150"}) == 0.15
    assert retry_after({"retry-after": "0"}) == 0
    for nonsense in ("soon", "-3", "nan", "inf", ""):
        assert retry_after({"retry-after": nonsense}) is None
    date = formatdate(time.time() + 30, usegmt=True)
    assert 28 < retry_after({"retry-after": date}) < 31
    assert retry_after({"retry-after": formatdate(0, usegmt=True)}) == 0
    # The server's clock is an hour behind: what counts is the difference by its own clock.
    behind = time.time() - 3600
    headers = {"retry-after": formatdate(behind + 20, usegmt=True), "date": formatdate(behind, usegmt=True)}
    assert retry_after(headers) == 20


def test_headers_are_kept():
    failure = from_response(429, {"retry-after": "7", "x-request-id": "r1"}, b"", "m")
    assert (failure.retry_after, failure.request_id, failure.status) == (7, "r1", 429)


@pytest.mark.parametrize(
    "body", [None, 3, "x", [], {}, {"error": None}, {"error": {}}, {"choices": [], "message": "x"}]
)
def test_what_is_no_error_is_none(body):
    assert error_of(body) is None


STREAM = 'event: x\r\ndata: {"a": "ä"}\r\n\r\n: a comment\nid: 3\n\ndata:one\ndata: two\n\nretry: 5\rdata: three\r\r'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_found_wherever_the_stream_is_cut(size):
    raw = STREAM.encode()
    decoder = EventDecoder()
    found = [data for at in range(0, len(raw), size) for data in decoder.feed(raw[at : at + size])]
    assert [*found, *decoder.end()] == ['{"a": "ä"}', "one\ntwo", "three"]


def test_a_long_line_in_many_parts_takes_time_that_grows_with_it(monkeypatch):
    decoder, part = EventDecoder(), b"x" * 1000
    assert list(decoder.feed(b"data: ")) == []
    joined = [list(decoder.feed(part)) for _ in range(1000)]
    assert not any(joined)
    assert decoder.pending == len("data: ") + 1_000_000
    assert decoder._line_parts[1:] == [part] * 1000, "nothing is joined before the line ends"
    (data,) = decoder.feed(b"\n\n")
    assert data == "x" * 1_000_000
    assert decoder.pending == 0


HUGE = "9" * 4000


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("data: " + "[" * 100_000 + "\n\n", "an event that is not JSON"),
        ("[" * 100_000, "is none that can be read"),
        ("data: " + "<title>" * 700_000, "an event that is larger than 4194304 bytes"),
        (" " * 5_000_000, "an event that is larger than 4194304 bytes"),
        ('data: {"choices": 3}\n\n', "has another form than it should"),
        (f'data: {{"usage": {{"prompt_tokens": {HUGE}, "completion_tokens": 1e400}}}}\n\n', "before its end"),
    ],
)
def test_an_answer_that_no_endpoint_means_is_a_failure(body, said):
    answer = Answer(chat, "m at there")
    answer.start(200, {})
    raw = body.encode()
    for at in range(0, len(raw), 65536):
        answer.feed(raw[at : at + 65536])
    with pytest.raises(ModelError) as failure:
        answer.finish()
    assert said in str(failure.value)
    assert len(str(failure.value)) < 1000
    assert answer.reading.usage.tokens is None


def test_a_last_event_without_its_blank_line():
    decoder = EventDecoder()
    assert list(decoder.feed(b"data: x")) == []
    assert list(decoder.end()) == ["x"]
    assert list(decoder.end()) == []
