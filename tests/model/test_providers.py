from __future__ import annotations

import pytest

from bakeoff.engine.retry import ONCE, Retry
from bakeoff.model.protocol import Message, ModelError, Request
from bakeoff.model.rate.gate import Gate
from model.conftest import ASK

pydantic_ai = pytest.importorskip("pydantic_ai")

from pydantic_ai import exceptions, messages  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel as Parrot  # noqa: E402
from pydantic_ai.usage import RequestUsage  # noqa: E402

from bakeoff.model.providers import ProviderMissingError, ProviderModel  # noqa: E402

pytestmark = pytest.mark.anyio


def answering(*answers, seen=None, **more):
    left = list(answers)

    def answer(history, info):
        if seen is not None:
            seen.append((history, info))
        now = left.pop(0)
        if isinstance(now, Exception):
            raise now
        return now

    return ProviderModel(FunctionModel(answer), gate=Gate(), **more)


def said(text="hello", **more):
    return messages.ModelResponse(parts=[messages.TextPart(text)], **more)


async def test_it_answers():
    async with ProviderModel(Parrot(custom_output_text="hi"), gate=Gate(), retry=ONCE) as model:
        reply = await model.generate(ASK)
    assert reply.text == "hi"
    assert (reply.model, reply.usage.usd) == ("test", None)


async def test_what_is_asked_arrives():
    seen = []
    conversation = (Message("system", "s"), Message("user", "u"), Message("assistant", "a"), Message("user", "v"))
    request = Request(
        messages=conversation, max_tokens=5, temperature=0.1, top_p=0.2, seed=3, stop=("x",),
        json_schema={"type": "object"}, extra={"a": 1},
    )  # fmt: skip
    await answering(said(), seen=seen).generate(request)
    ((history, info),) = seen
    assert [part.content for turn in history for part in turn.parts] == ["s", "u", "a", "v"]
    assert [turn.kind for turn in history] == ["request", "response", "request"]
    assert info.model_settings == {
        "max_tokens": 5, "temperature": 0.1, "top_p": 0.2, "seed": 3, "stop_sequences": ["x"], "extra_body": {"a": 1},
    }  # fmt: skip
    assert info.model_request_parameters.output_object.json_schema == {"type": "object"}


async def test_usage_and_price():
    answer = said(
        usage=RequestUsage(input_tokens=1000, output_tokens=10), finish_reason="length", provider_response_id="r"
    )
    reply = await answering(answer).generate(ASK)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.finish_reason) == (1000, 10, "length")
    assert reply.usage.usd is None
    assert reply.request_id == "r"


CASES = [
    (exceptions.ModelHTTPError(429, "m", {"error": {"message": "slow"}}), "rate_limit", True),
    (exceptions.ModelHTTPError(529, "m", None), "overload", True),
    (exceptions.ModelHTTPError(401, "m", "no"), "auth", False),
    (exceptions.ModelAPIError("m", "connection reset"), "connection", True),
    (exceptions.UserError("bad"), "bad_request", False),
    (exceptions.ContentFilterError("no"), "refusal", False),
    (KeyError("bug"), "server", False),
]


@pytest.mark.parametrize(("raised", "kind", "transient"), CASES)
async def test_failures_keep_their_names(raised, kind, transient):
    with pytest.raises(ModelError) as caught:
        await answering(raised, retry=ONCE).generate(ASK)
    assert (caught.value.kind, caught.value.transient) == (kind, transient)


async def test_a_filtered_answer_is_a_refusal():
    with pytest.raises(ModelError) as caught:
        await answering(said("", finish_reason="content_filter"), retry=ONCE).generate(ASK)
    assert caught.value.kind == "refusal"


async def test_it_tries_again():
    model = answering(CASES[1][0], said("at last"), retry=Retry(attempts=2, delay=0))
    assert (await model.generate(ASK)).text == "at last"


async def test_there_is_no_raw_completion():
    with pytest.raises(ModelError, match="no prompt"):
        await answering(said()).generate(Request(prompt="x"))


def test_what_cannot_be_used_is_said():
    with pytest.raises(ProviderMissingError, match="cannot be used"):
        ProviderModel("groq:some-model")
