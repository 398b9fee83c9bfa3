"""Step types written in Python: one shared instance, called from many items at once, plain or async."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import Project

from bakeoff.errors import BakeoffError

pytestmark = pytest.mark.anyio

TYPES = """
import threading
from typing import Annotated

import anyio

from bakeoff import Outcome, Status, StepContext, StepModel
from bakeoff.workflow.models import Interpolated, Text

BARRIER = threading.Barrier(3, timeout=60)
SEEN = []


class Fields(StepModel):
    word: Text
    words: Annotated[list[str], Interpolated()] = []
    table: Annotated[dict[str, str], Interpolated()] = {}
    what: str = "echo"


class Async:
    name = "async"
    model = Fields

    async def run(self, step, context):
        SEEN.append(self)
        await anyio.sleep(0)
        if step.what == "process":
            done = await context.process("sh", "-c", "printf %s \\"$BAKEOFF_NODE:$EXTRA:$(basename $PWD)\\"", timeout=10)
            return {"printed": done.stdout.value, "code": done.exit_code}
        if step.what == "none":
            return None
        if step.what == "nonsense":
            return 5
        if step.what == "fail":
            return Outcome(Status.FAILED, {"n": context.attempt}, "did not work", "network")
        if step.what == "raise":
            raise LookupError(context.values["word"])
        if step.what == "sleep":
            await anyio.sleep(60)
        return {**context.values, "one": len(set(map(id, SEEN))), "item": context.lookup("item"), "run": context.run_id}


class Plain:
    name = "plain"
    model = Fields

    def run(self, step, context):
        BARRIER.wait()  # three items have to be here at once
        return {"word": context.values["word"], "path": context.path}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "bakeoff.toml").write_text('step_types = "types.py"\n')
    (tmp_path / "types.py").write_text(TYPES)
    return Project(tmp_path)


async def test_values_are_evaluated_and_one_instance_serves_all(project: Project) -> None:
    ending = await project.start(
        """
steps:
  - id: fan
    type: fan-out
    items: [a, b]
    max_concurrency: 2
    step: {id: it, type: async, word: "{{ item }}", words: ["{{ index }}", x], table: {k: "{{ item }}{{ item }}"}}
"""
    )
    assert ending.status == "completed", ending.error
    output = project.state()["steps"]["fan"]["output"]["results"][1]
    assert output == {"word": "b", "words": [1, "x"], "table": {"k": "bb"}, "one": 1, "item": "b", "run": "r"}


async def test_plain_ones_are_called_from_many_items_at_once(project: Project) -> None:
    ending = await project.start(
        'steps: [{id: f, type: fan-out, items: [1, 2, 3], max_concurrency: 3, step: {id: i, type: plain, word: "{{ item }}"}}]'
    )
    assert ending.status == "completed", ending.error
    results = project.state()["steps"]["f"]["output"]["results"]
    assert [(result["word"], result["path"]) for result in results] == [(1, "f:i:0"), (2, "f:i:1"), (3, "f:i:2")]


async def test_what_they_return_and_raise(project: Project) -> None:
    (project.folder / "sub").mkdir()
    ending = await project.start(
        """
steps:
  - {id: p, type: async, word: w, what: process, env: {EXTRA: e}, cwd: sub}
  - {id: n, type: async, word: w, what: none}
  - {id: x, type: async, word: w, what: nonsense, continue_on_error: true}
  - {id: f, type: async, word: w, what: fail, continue_on_error: true, retry: {attempts: 2, delay: 0.001, on: [network]}}
  - {id: r, type: async, word: gone, what: raise, continue_on_error: true}
  - {id: t, type: async, word: w, what: sleep, timeout: 0.05, continue_on_error: true}
"""
    )
    assert ending.status == "completed", ending.error
    steps = project.state()["steps"]
    assert steps["p"]["output"] == {"printed": "p:e:sub", "code": 0}
    assert steps["n"]["output"] == {}
    assert "a step returns an Outcome, a mapping or None, not int" in steps["x"]["error"]
    assert (steps["f"]["kind"], steps["f"]["attempts"], steps["f"]["output"]) == ("network", 2, {"n": 2})
    assert (steps["r"]["error"], steps["r"]["kind"]) == ("LookupError: gone", "error")
    assert "in run" in steps["r"]["facts"]["traceback"]
    assert (steps["t"]["kind"], steps["t"]["error"]) == ("timeout", "timed out after 0.05 s")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "it defines no class with `name`, `model` and `run`"),
        ("import nowhere_at_all\n", "ModuleNotFoundError"),
        ("raise SystemExit(0)\n", "types: SystemExit|SystemExit: 0"),
        (TYPES.replace('name = "plain"', 'name = "shell"'), "there is a step type `shell` already"),
    ],
)
async def test_a_file_of_types_that_is_wrong_is_named(project: Project, text: str, words: str) -> None:
    (project.folder / "bakeoff.toml").write_text(f'step_types = "types{len(words)}.py"\n')
    (project.folder / f"types{len(words)}.py").write_text(text)
    with pytest.raises(BakeoffError, match=words):
        await project.start('steps: [{id: a, type: shell, run: "true"}]')


async def test_the_step_type_of_the_documentation_runs(project: Project) -> None:
    page = (Path(__file__).parents[2] / "docs/python.md").read_text()
    (project.folder / "bakeoff.toml").write_text('step_types = "ping.py"\n')
    (project.folder / "ping.py").write_text(page.partition("## Step types")[2].split("```python\n")[1].split("```")[0])
    (project.folder / "curl").write_text('#!/bin/sh\n[ "$2" = http://there ] && echo hello\n')
    (project.folder / "curl").chmod(0o755)
    ending = await project.start(
        f"""
env: {{PATH: "{project.folder}:/usr/bin:/bin"}}
steps:
  - {{id: a, type: ping, url: "http://{{{{ 'there' }}}}"}}
  - {{id: b, type: ping, url: nowhere, continue_on_error: true}}
"""
    )
    assert ending.status == "completed", ending.error
    steps = project.state()["steps"]
    assert steps["a"]["output"] == {"body": "hello\n"}
    assert (steps["b"]["error"], steps["b"]["kind"]) == ("nowhere does not answer", "network")


async def test_a_model_may_give_a_common_field_another_default(project: Project) -> None:
    changed = TYPES.replace("    word: Text\n", "    word: Text\n    timeout: float | None = 0.05\n")
    (project.folder / "bakeoff.toml").write_text('step_types = "brief.py"\n')
    (project.folder / "brief.py").write_text(changed)
    ending = await project.start("steps: [{id: t, type: async, word: w, what: sleep, continue_on_error: true}]")
    assert ending.status == "completed", ending.error
    assert project.state()["steps"]["t"]["error"] == "timed out after 0.05 s"
