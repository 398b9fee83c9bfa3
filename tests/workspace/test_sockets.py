"""Unix sockets of the user's other programs, as an agent in its sandbox meets them."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.engine.mask import Masker
from bakeoff.process.command import Finished
from bakeoff.process.spawner import Spawner
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy
from bakeoff.workspace.sandbox.sandbox import sandbox
from bakeoff.workspace.sandbox.sockets import hidden_sockets
from bakeoff.workspace.workspace import open_workspace

from .conftest import Checkout, settings

CONNECT = """
import json, socket, sys
found = []
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as sock:
        try: sock.connect(path); found.append("connected")
        except OSError as error: found.append(type(error).__name__)
print(json.dumps(found))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path: that of a socket has room for some hundred bytes."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def closed(place: Path) -> Iterator[str]:
    """A socket of another user, in a folder that nobody else may enter."""
    folder = place / "closed"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/sock")
        server.listen()
        if os.geteuid() == 0:
            os.chown(f"{folder}/sock", 65534, 65534)
            os.chown(folder, 65534, 65534)
        yield f"{folder}/sock"


@pytest.fixture
def listening(place: Path) -> Iterator[list[str]]:
    """Two sockets, one of them in a folder that a link leads to."""
    (place / "run").mkdir()
    (place / "link").symlink_to("run")
    paths = [f"{place}/agent.sock", f"{place}/link/docker.sock"]
    servers = [socket.socket(socket.AF_UNIX) for _ in paths]
    for path, server in zip(paths, servers, strict=True):
        server.bind(path)
        server.listen()
    yield paths
    for server in servers:
        server.close()


@pytest.mark.anyio
async def test_an_agent_connects_to_what_it_was_given_alone(
    project: Checkout, place: Path, listening: list[str], closed: str
) -> None:
    if (await this_machine()).namespaces is not None:
        pytest.skip("needs namespaces")

    async def asked(given: tuple[str, ...], writes: tuple[str, ...] = ()) -> Finished:
        async with open_workspace(project.root, settings(), "run", slots=1) as workspace, workspace.lease() as slot:
            box = await sandbox(slot, agent_policy(writes, sockets=given))
            command = box.command(["python3", "-c", CONNECT, *listening, closed], timeout=60)
            async with Spawner(token="test", base_env=dict(os.environ), masker=Masker()) as processes:
                return await processes.run(command)

    for given, writes, seen in (
        ((), (), ["ConnectionRefusedError", "ConnectionRefusedError"]),
        ((listening[0],), (), ["connected", "ConnectionRefusedError"]),
        ((str(place / "run"),), (), ["ConnectionRefusedError", "connected"]),
        ((), (str(place / "run"),), ["ConnectionRefusedError", "connected"]),
    ):
        done = await asked(given, writes)
        *found, other = json.loads(str(done.stdout.value))
        assert found == seen, done.stderr.value
        assert other in ("PermissionError", "ConnectionRefusedError")


def test_which_sockets_are_hidden(place: Path, listening: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = [listening[0], f"{place}/run/docker.sock"]
    found = hidden_sockets({}, (), ())
    assert set(real) <= set(found)
    monkeypatch.setenv("SSH_AUTH_SOCK", listening[0])
    assert set(real) & set(hidden_sockets({}, ("$SSH_AUTH_SOCK",), ())) == {real[1]}
    # What is bound in another namespace is known by its name.
    monkeypatch.setattr("bakeoff.workspace.sandbox.sockets.BOUND", f"{place}/none")
    assert not set(real) & set(hidden_sockets({}, (), ()))
    for named in (
        {"DOCKER_HOST": f"unix://{listening[1]}"},
        {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={listening[1]},guid=1"},
        {"XDG_RUNTIME_DIR": f"{place}/run"},
    ):
        assert set(real) & set(hidden_sockets(named, (), ())) == {real[1]}
    assert not set(real) & set(hidden_sockets({"SSH_AUTH_SOCK": f"{place}/run"}, (), ()))
