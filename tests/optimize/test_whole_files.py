"""Models and agents where a command is timed: they are asked for whole files, in any language."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest

from bakeoff.engine.journal import MemoryJournal
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.run import Run
from bakeoff.optimize.behaviour.differences import Difference
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.sources import prompts
from bakeoff.optimize.sources.models import ModelSource
from bakeoff.optimize.sources.replies import files_of
from bakeoff.optimize.sources.source import Context, Failure
from bakeoff.optimize.target import Target
from optimize.test_model_source import FakeModel

FILE = b"int main(void) { return slow(); }\n"
CONTEXT = Context(Target(PurePosixPath("main.c"), ""), FILE, bench="make -s run")


def answer(text: str) -> str:
    return "Look:\n```sh\nmake\n```\n\n```c\nint main(void) { return quick(); } // the whole\n```\n"


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(answer)


@pytest.fixture
def source(model: FakeModel) -> ModelSource:
    run = Run(journal=MemoryJournal(), lanes=Lanes({"leaves": 4, "m": 1}))
    return ModelSource(run, model, "m", 1, ("m",), prefix="function:2/")


async def only(candidates: AsyncIterator[Candidate]) -> Candidate:
    (found,) = [candidate async for candidate in candidates]
    return found


@pytest.mark.anyio
async def test_a_model_rewrites_the_file(source: ModelSource, model: FakeModel) -> None:
    first = await only(source.propose(CONTEXT))
    assert first.files == {"main.c": b"int main(void) { return quick(); } // the whole\n"}
    failure = Failure(first, [Difference("check-failed", "make test", "", "1 test failed")])
    await only(source.repair(CONTEXT, [failure]))
    await only(source.refine(CONTEXT, [first], ()))
    await only(source.adapt(CONTEXT, [first, first]))
    for prompt in model.prompts:
        assert "`make -s run` runs faster" in prompt
        assert "return slow();" in prompt
        assert "def " not in prompt
    assert "whole file" in model.prompts[0]
    assert "1 test failed" in model.prompts[1]
    assert all("// the whole" in prompt for prompt in model.prompts[1:])
    assert all(path.startswith("function:2/source:model/m/") for path in source.run.history.records)


@pytest.mark.anyio
async def test_a_reply_without_a_block_is_invalid(source: ModelSource, model: FakeModel) -> None:
    model.script = lambda text: "I would use a hash table."
    found = await only(source.propose(CONTEXT))
    assert "no fenced block" in found.invalid


def test_numbered_files_of_a_reply_are_taken_and_else_the_longest() -> None:
    reply = "```\n# version 2\nint a;\n```\n```c\n# Version 1 of it\nint b;\nint c;\n```\n```\nmake\n```\n"
    assert [(one.number, one.code) for one in files_of(reply)] == [(2, "int a;\n"), (1, "int b;\nint c;\n")]
    assert [one.code for one in files_of(answer(""))] == ["int main(void) { return quick(); } // the whole\n"]
    assert files_of("nothing") == []


def test_an_agent_is_told_the_command_and_where_to_look() -> None:
    told = prompts.agent_task(CONTEXT)
    assert "Make the command `make -s run` run faster" in told
    assert "Look at `main.c` first" in told
    project = Context(Target(PurePosixPath(), ""), b"", bench="make -s run")
    assert "Look at" not in prompts.agent_task(project)
