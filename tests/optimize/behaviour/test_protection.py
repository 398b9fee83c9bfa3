from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from bakeoff.optimize.behaviour import server_pool
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.server_pool import find_interpreter
from bakeoff.optimize.behaviour.warm_server import Channel, WarmServer
from bakeoff.optimize.errors import BehaviourError, TargetError
from bakeoff.workspace.sandbox.machine import look
from bakeoff.workspace.sandbox.sandbox import SandboxError, sandbox

from .attacks import BAD, GOOD, ORIGINAL, TESTS
from .conftest import judging

pytestmark = pytest.mark.anyio

FILES = {"pkg/__init__.py": "", "pkg/mod.py": ORIGINAL, "tests/test_mod.py": TESTS}
CHOSEN = ("wrong", "leaves the session", "leaves a daemon", "unlinks outside", "passing reports, then exit", "segfault")
RIGHT = GOOD["comprehension"]


@pytest.mark.parametrize("level", ["none", "weak"])
async def test_with_less_protection_the_verdicts_are_the_same(
    tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[], list[str]]
) -> None:
    async def without(slot, policy):
        machine = replace(look(), namespaces="a test took them away", proc="a test took them away")
        return await sandbox(slot, policy, machine=machine if policy.level != "none" else None)

    monkeypatch.setattr(server_pool, "sandbox", without)
    options = {"kind": "repository", "level": level, "python": sys.executable, "slots": 1}
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", **options) as judge:
        found = {name: (await judge(BAD[name][0])).reason for name in CHOSEN}
        right = await judge(RIGHT)
    assert {name: reason for name, reason in found.items() if reason not in BAD[name][1]} == {}
    assert right.same, right.detail
    assert right.receipt["protection"]["missing"]
    assert leftovers() == []


async def test_where_no_layer_can_be_mounted_the_tree_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leftovers: Callable[[], list[str]]
) -> None:
    async def without(slot, policy):
        return await sandbox(slot, policy, machine=replace(look(), layer="a test took it away"))

    monkeypatch.setattr(server_pool, "sandbox", without)
    writes = RIGHT.replace("    return", "    open('written', 'w').close()\n    return", 1)
    assert writes != RIGHT
    options = {"python": sys.executable, "slots": 1}
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", **options) as judge:
        right, wrote = await judge(RIGHT), await judge(writes)
        found = {name: (await judge(BAD[name][0])).reason for name in CHOSEN}
    assert right.same, right.detail
    assert "written" in str(wrote.detail)
    assert {name: reason for name, reason in found.items() if reason not in BAD[name][1]} == {}
    assert leftovers() == []


@pytest.mark.parametrize("kind", ["repository", "overlay"])
async def test_without_protection_candidates_are_judged_side_by_side(tmp_path: Path, kind: str) -> None:
    # Each sees the project in a slot of its own then, and not where the original saw it.
    options = {"kind": kind, "level": "none", "python": sys.executable, "slots": 2}
    reasons: list[str | None] = []
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", **options) as judge:

        async def one() -> None:
            judged = await judge(RIGHT)
            reasons.append(judged.reason and f"{judged.reason}: {judged.detail}")

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(one)
    assert reasons == [None] * 4


async def test_full_protection_that_cannot_be_had_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def without(slot, policy):
        return await sandbox(slot, policy, machine=replace(look(), namespaces="a test took them away"))

    monkeypatch.setattr(server_pool, "sandbox", without)
    with pytest.raises(SandboxError, match="BAKEOFF_SANDBOX=weak"):
        async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", python=sys.executable):
            pass


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_cancelled_nothing_is_left(tmp_path: Path, leftovers: Callable[[], list[str]]) -> None:
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", python=sys.executable) as judge:
        assert (await judge(RIGHT)).same
        with anyio.move_on_after(0.5) as scope:
            await judge("while True: pass\n")
        assert scope.cancelled_caught
        assert (await judge(RIGHT)).same
        servers = leftovers()
        # The servers are there still, the process that was busy is not.
        with anyio.fail_after(60):
            while any(_children(server) for server in servers):
                await anyio.sleep(0.01)
    assert leftovers() == []


def _children(pid: str) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


async def test_a_server_that_died_is_started_again(tmp_path: Path, leftovers: Callable[[], list[str]]) -> None:
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", python=sys.executable) as judge:
        for pid in leftovers():
            os.kill(int(pid), signal.SIGKILL)
        with anyio.fail_after(60):
            while any(server.alive for server in judge.behaviour._servers._servers.values()):
                await anyio.sleep(0.01)
        assert (await judge(RIGHT)).same


async def test_a_server_imports_more_while_it_runs_and_is_started_again_where_it_dies_of_it(tmp_path: Path) -> None:
    (tmp_path / "kills.py").write_text(
        "import os\nif not os.path.exists(__file__ + '.once'):\n"
        "    open(__file__ + '.once', 'w').close()\n    os._exit(1)\n"
    )
    pool = server_pool.ServerPool(BehaviourOptions())
    pool._python, pool._variables = sys.executable, {"PYTHONPATH": str(tmp_path)}
    try:
        await pool.warm((), (0,))
        first = pool._servers[0]
        await pool.warm(("decimal", "no_such_module"), (0,))
        assert (pool._servers[0] is first, first.alive) == (True, True)
        await pool.warm(("kills",), (0,))
        assert (pool._servers[0] is first, first.alive, pool._servers[0].alive) == (False, False, True)
        assert await pool._servers[0].preload(("kills",))
    finally:
        await pool.close()


async def test_an_interpreter_without_pytest_is_refused(tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "bare", symlinks=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    with pytest.raises(BehaviourError, match="pytest cannot be imported"):
        await WarmServer.start(bare, seed=0, variables={})
    with pytest.raises(BehaviourError, match="cannot be started"):
        await WarmServer.start(str(tmp_path / "nothing"), seed=0, variables={})
    with pytest.raises(BehaviourError, match="without a word"):
        await WarmServer.start("/bin/true", seed=0, variables={})
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".venv").symlink_to(tmp_path / "bare")
    found, server = await find_interpreter(str(tmp_path / "project"), None, {"PATH": os.path.dirname(sys.executable)})
    server.close()
    assert found == os.path.join(os.path.dirname(sys.executable), "python")


async def test_frames_of_any_size_pass_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    one, other = Channel(ours), Channel(theirs)
    found = []
    async with anyio.create_task_group() as tasks:

        async def take() -> None:
            found.append(await other.receive())

        tasks.start_soon(take)
        await one.send({"n": 1}, [b"x" * 3_000_000])
    assert found == [({"n": 1}, [b"x" * 3_000_000])]
    one.close()
    assert await other.receive() is None
    other.close()
    monkeypatch.setattr("bakeoff.optimize.behaviour.warm_server.START_TIME", 0.0)
    with pytest.raises(BehaviourError, match="not ready within"):
        await WarmServer.start(sys.executable, seed=0, variables={})


async def test_where_no_interpreter_will_do_all_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("no program")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BehaviourError, match=r"(?s)no Python can run the tests \(.*python.*; /bin/false"):
        await find_interpreter(str(tmp_path), None, {"PATH": str(tmp_path)})


async def test_what_the_machine_does_not_have_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BehaviourError, match="cannot be run in a sandbox: mount"):
        async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", python=sys.executable, disk=-1):
            pass
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BehaviourError, match="on Linux only"):
        await server_pool.ServerPool(BehaviourOptions()).ready(None)  # type: ignore[arg-type]


async def test_a_function_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="squares"):
        async with judging(tmp_path / "p", FILES, "pkg/mod.py:square"):
            pass
    with pytest.raises(BehaviourError, match="cannot be read"):
        async with judging(tmp_path / "p", FILES, "pkg/no.py:square"):
            pass


async def test_what_pythonpath_names_is_found_and_what_lies_beside_it_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The folder above holds the project, the home folder and bakeoff's own places: none of it is to be seen.
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "key").write_text("secret")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "tool.py").write_text("ONE = 1\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", f"lib:{tmp_path}:{tmp_path}/tools")
    tests = f"""
import os, tool
from mod import double

def test_double():
    assert double(2) == 4 and tool.ONE == 1
    assert not os.path.exists({str(tmp_path / "home" / ".ssh" / "key")!r})
"""
    files = {"lib/mod.py": "def double(x):\n    return x + x\n", "tests/test_mod.py": tests}
    (tmp_path / "p").mkdir()
    monkeypatch.chdir(tmp_path / "p")
    async with judging(tmp_path / "p", files, "lib/mod.py:double", python=sys.executable, slots=1) as judge:
        judged = await judge("def double(x):\n    return 2 * x\n")
    assert judged.same, judged.detail
