"""Nothing of a run outlives it, whoever is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from bakeoff.process.proctable import process_table
from bakeoff.process.sweep import survivors, sweep, token_of
from process.family import SCRIPT, SOURCE, Fifo

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper and pidfds")

COORDINATOR = """
import os, signal, sys, anyio
from bakeoff.engine.mask import Masker
from bakeoff.process.command import Command, SpawnError
from bakeoff.process.spawner import Spawner

async def main():
    env, adopt = dict(os.environ), sys.argv[2] == "adopt"
    async with Spawner(token=sys.argv[1], base_env=env, masker=Masker(), adopt=adopt) as spawner:
        async def work():
            try:
                await spawner.run(Command(["/bin/sh", "-c", SCRIPT], "/"))
            except SpawnError as failure:
                print(failure.transient, failure, flush=True)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(work)
        print((await spawner.run(Command(["/bin/echo", "on"], "/"))).stdout.value, flush=True)
        try:
            print(os.waitpid(-1, os.WNOHANG)[0] or "no zombie", flush=True)
        except ChildProcessError:
            print("no child", flush=True)

anyio.run(main, backend=sys.argv[3])
"""


def start(
    tmp_path: Path, fifo: Fifo, mode: str, backend: str = "asyncio", script: str = SCRIPT
) -> tuple[subprocess.Popen[str], str]:
    token = f"orphans-{os.getpid()}-{tmp_path.name}"
    program = COORDINATOR.replace("SCRIPT", repr(script))
    coordinator = subprocess.Popen(
        [sys.executable, "-c", program, token, mode, backend],
        env={**os.environ, "PYTHONPATH": SOURCE, "FIFO": fifo.path},
        stdout=subprocess.PIPE,
        text=True,
    )
    return coordinator, token


def supervisor_of(coordinator: subprocess.Popen[str], token: str) -> int:
    children = [pid for pid, (parent, _) in process_table().items() if parent == coordinator.pid]
    (supervisor,) = [pid for pid in children if token_of(pid) == token]
    return supervisor


def end(coordinator: subprocess.Popen[str]) -> None:
    if coordinator.poll() is None:
        coordinator.kill()
        coordinator.communicate()


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_coordinator_leaves_nothing(tmp_path: Path, seed: int) -> None:
    moment = random.Random(seed).randint(1, 6)
    fifo = Fifo(tmp_path)
    coordinator, _ = start(tmp_path, fifo, "plain", random.Random(seed).choice(["asyncio", "trio"]))
    fifo.wait_for(moment)
    end(coordinator)
    fifo.wait_until_gone(2.0)


@pytest.mark.soak
@pytest.mark.skipif("BAKEOFF_SOAK" not in os.environ, reason="run by make soak")
@pytest.mark.parametrize("seed", range(60))
def test_a_coordinator_killed_at_any_moment_leaves_nothing(tmp_path: Path, seed: int) -> None:
    fifo = Fifo(tmp_path)
    coordinator, token = start(tmp_path, fifo, "plain")
    time.sleep(random.Random(seed).uniform(0.05, 0.35))
    end(coordinator)
    deadline = time.monotonic() + 60
    while survivors(lambda candidate: candidate == token, Path.cwd()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


FORKING = """
import os, sys
from bakeoff.process import spawner
start = spawner._start_supervisor
def start_and_fork(token):
    started = start(token)
    if os.fork() == 0:
        os.close(1)
        os.read(0, 1)  # holds the socket open until the test lets go
        os._exit(0)
    return started
spawner._start_supervisor = start_and_fork
"""


def test_a_forked_child_that_holds_the_socket_hides_no_death(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    program = FORKING + COORDINATOR.replace("SCRIPT", repr(SCRIPT))
    reader, writer = os.pipe()
    coordinator = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, f"fork-{os.getpid()}", "plain", "asyncio"],
        env={**os.environ, "PYTHONPATH": SOURCE, "FIFO": fifo.path},
        stdin=reader,
    )
    try:
        fifo.wait_for(6)
        coordinator.kill()
        coordinator.wait()
        fifo.wait_until_gone(2.0)
    finally:
        os.close(reader)
        os.close(writer)


CLOSED = """
import os, sys, anyio
from bakeoff.engine.mask import Masker
from bakeoff.process.command import Command
from bakeoff.process.spawner import Spawner

async def main():
    async with Spawner(token="closed", base_env=dict(os.environ), masker=Masker()) as spawner:
        return await spawner.run(Command(["/bin/sh", "-c", "cat; echo out"], "/", inherit_stdin=True))

for fd in (0, 1, 2):
    os.close(fd)
done = anyio.run(main)
sys.exit(0 if done.stdout.value == "out\\n" else 9)
"""


def test_a_coordinator_without_standard_streams() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSED], env={**os.environ, "PYTHONPATH": SOURCE}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_killed_supervisor_leaves_nothing_where_its_orphans_are_adopted(tmp_path: Path, backend: str) -> None:
    fifo = Fifo(tmp_path)
    coordinator, token = start(tmp_path, fifo, "adopt", backend)
    fifo.wait_for(6)
    os.kill(supervisor_of(coordinator, token), signal.SIGKILL)
    fifo.wait_until_gone(2.0)
    out, _ = coordinator.communicate(timeout=60)
    lines = out.splitlines()
    assert lines[0] == lines[1]
    assert lines[0].startswith("True the supervisor of processes died (killed by signal 9)")
    assert lines[2:] == ["on", "", "no zombie"]
    assert coordinator.returncode == 0


def test_what_both_leave_behind_is_swept_and_no_other_run(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    dead, alive = Fifo(tmp_path / "a"), Fifo(tmp_path / "b")
    script = SCRIPT.replace("env -i ", "")
    first, token = start(tmp_path / "a", dead, "plain", script=script)
    second, other = start(tmp_path / "b", alive, "plain", script=script)
    try:
        dead.wait_for(6)
        alive.wait_for(6)
        os.kill(supervisor_of(first, token), signal.SIGKILL)
        end(first)
        asked: list[str] = []

        def is_dead(candidate: str) -> bool:
            asked.append(candidate)
            return candidate == token

        left = survivors(is_dead, Path.cwd())
        assert len(left) >= 10
        assert {survivor.token for survivor in left} == {token}
        assert asked.count(token) == asked.count(other) == 1
        swept = {survivor.pid for survivor in sweep(is_dead, Path.cwd())}
        assert len(swept) >= 8  # one or another ends by itself meanwhile: its parent is gone
        assert swept <= {survivor.pid for survivor in left}
        dead.wait_until_gone(0.5)
        assert sweep(is_dead, Path.cwd()) == []
        assert len(survivors(lambda candidate: candidate == other, Path.cwd())) >= 10
    finally:
        end(first)
        end(second)
    alive.wait_until_gone(2.0)


def test_a_sweep_spares_itself_and_those_it_came_from() -> None:
    program = textwrap.dedent(
        """
        import sys
        from bakeoff.process.sweep import sweep; from pathlib import Path
        sys.exit(len(sweep(lambda token: token == "mine", Path.cwd())))
        """
    )
    shell = f"{sys.executable} -c '{program}'; exit $?"
    done = subprocess.run(
        ["/bin/sh", "-c", shell.replace("'" + program + "'", '"$PROGRAM"')],
        env={**os.environ, "PYTHONPATH": SOURCE, "BAKEOFF_RUN": "mine", "PROGRAM": program},
        check=False,
    )
    assert done.returncode == 0
