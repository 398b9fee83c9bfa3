from __future__ import annotations

import fcntl
import math
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from bakeoff.model.rate import controller, gate, owners, shared
from bakeoff.model.rate.controller import Limits, Presence
from bakeoff.model.rate.gate import Gate, gate_for
from bakeoff.model.rate.shared import SharedState, cache_folder

pytestmark = pytest.mark.anyio
URL = "http://example.invalid/v1"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state"


def change(store, **values):
    with store as state:
        for name, value in values.items():
            setattr(state, name, value)


def read(store):
    with store as state:
        return state


def test_what_one_writes_all_read(file):
    one, other = SharedState(file), SharedState(file)
    change(one, rate=7.5, owners={(1, 2.0, 3): Presence(4, 5.0)}, last=controller.Episode(1, 2, 3, 4, 1))
    seen = read(other)
    assert (seen.rate, seen.owners, seen.last.admitted) == (7.5, {(1, 2.0, 3): Presence(4, 5.0)}, 3)
    change(other, rate=2.0)
    assert read(one).rate == 2.0
    assert read(one) is read(one)
    one.close()
    one.close()
    assert read(one).rate == 2.0
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    one.close()
    other.close()


@pytest.mark.parametrize("damage", ["body", "version", "magic", "length", "empty", "garbage"])
def test_a_damaged_file_is_begun_anew(file, damage):
    store = SharedState(file)
    change(store, rate=7.5)
    store.close()
    raw = bytearray(file.read_bytes())
    match damage:
        case "body":
            raw[shared._HEADER.size + 3] ^= 1
        case "version":
            raw[8] = 99
        case "magic":
            raw[0] = 0
        case "length":
            raw[36:40] = b"\xff\xff\xff\xff"
        case "empty":
            raw = bytearray()
        case "garbage":
            raw = bytearray(os.urandom(len(raw)))
    file.write_bytes(raw)
    other = SharedState(file)
    assert read(other).rate == math.inf
    change(other, rate=3.0)
    other.close()
    assert read(SharedState(file)).rate == 3.0


def test_another_boot_begins_anew(file, monkeypatch):
    store = SharedState(file)
    change(store, rate=7.5)
    monkeypatch.setattr(shared, "_boot", lambda: b"another boot    ")
    assert read(SharedState(file)).rate == math.inf
    # Where nothing names the boot, a time to come shows it.
    change(store, rate=7.5, touched=time.monotonic() + 9999)
    monkeypatch.undo()
    assert read(SharedState(file)).rate == math.inf


def test_without_a_boot_id_there_is_still_a_name(monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", lambda self: (_ for _ in ()).throw(OSError()))
    assert len(shared._boot()) == 16
    assert owners.started_at(os.getpid()) is None


def test_a_holder_that_was_stopped_is_not_waited_for(file):
    store = SharedState(file)
    change(store, rate=7.5)
    with open(file, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        since = time.monotonic()
        assert read(store).rate == 7.5
        assert time.monotonic() - since >= shared.PATIENCE


def test_a_lock_that_is_given_back_soon_is_waited_for(file, monkeypatch):
    store = SharedState(file)
    other = os.open(file, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    monkeypatch.setattr(shared.time, "sleep", lambda seconds: fcntl.flock(other, fcntl.LOCK_UN))
    assert read(store).rate == math.inf
    os.close(other)


def test_more_owners_than_fit_lose_only_the_last(file):
    store = SharedState(file)
    many = {(pid, 0.0, 0): Presence(1) for pid in range(shared.MOST_OWNERS + 5)}
    change(store, owners=many)
    assert len(read(SharedState(file)).owners) == shared.MOST_OWNERS


def test_the_file_is_named_by_a_digest_and_by_nothing_else(tmp_path):
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    one = SharedState.of(URL, "secret-key", environ)
    SharedState.of(URL, "other-key", environ)
    (first, second) = (tmp_path / "bakeoff" / "rates").iterdir()
    assert one is not None
    assert first.name != second.name
    assert "secret" not in f"{first}{second}"
    assert b"secret" not in first.read_bytes() + second.read_bytes()
    assert oct(first.parent.stat().st_mode & 0o777) == "0o700"


def test_where_caches_are(tmp_path, monkeypatch):
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/bakeoff/rates")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "relative"}) == Path("/h/.cache/bakeoff/rates")
    assert cache_folder({}) is None
    assert SharedState.of(URL, "", {}) is None
    (tmp_path / "bakeoff").write_text("no folder")
    assert SharedState.of(URL, "", {"XDG_CACHE_HOME": str(tmp_path)}) is None
    monkeypatch.setattr(shared, "network_file_system", lambda path: "nfs")
    assert SharedState.of(URL, "", {"XDG_CACHE_HOME": str(tmp_path / "other")}) is None
    assert gate_for(URL, "", environ={}).store is gate_for(URL, "", environ={}).store
    assert gate_for(URL, "a", environ={}).store is not gate_for(URL, "b", environ={}).store
    gate_for(URL, "", environ={}).close()


def test_a_file_that_cannot_be_mapped_leaves_nothing_open(file, monkeypatch):
    def fails(*args):
        raise OSError("no")

    monkeypatch.setattr(mmap, "mmap", fails)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="no"):
        SharedState(file)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_disk_is_found_when_the_file_is_made(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert SharedState.of(URL, "", {"XDG_CACHE_HOME": str(tmp_path)}) is None


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_gate_made_before_any_event_loop_works_in_one_after_the_other(backend):
    gate = Gate()

    async def main():
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(one)

    async def one():
        async with gate.admit() as ticket:
            await anyio.lowlevel.checkpoint()
            ticket.succeeded()

    for _ in range(2):
        anyio.run(main, backend=backend)
    assert read(gate.store).owners == {}


async def test_a_killed_owner_frees_what_it_held(anyio_backend, tmp_path):
    environ = {**os.environ, "PYTHONPATH": str(Path(gate.__file__).parents[3])}
    program = [sys.executable, str(Path(__file__).with_name("sharer.py")), "hold", URL]
    other = subprocess.Popen(program, stdout=subprocess.PIPE, env=environ, text=True)
    assert other.stdout.readline() == "in flight\n"
    ours = gate_for(URL, "k", Limits(max_in_flight=1))
    assert controller.in_flight(read(ours.store)) == 1
    with anyio.move_on_after(0.1) as scope:
        async with ours.admit():
            pass
    assert scope.cancelled_caught
    assert [owner[0] for owner in read(ours.store).owners] == [other.pid]
    other.kill()
    other.wait()
    other.stdout.close()
    with anyio.fail_after(60):
        async with ours.admit():
            pass
    assert read(ours.store).owners == {}
    ours.close()


def test_a_pid_that_was_taken_again_is_another_process():
    me = (os.getpid(), owners.started_at(os.getpid()), 0)
    state = controller.State(owners={me: Presence(1), (me[0], me[1] - 1, 0): Presence(1), (1, 0.0, 0): Presence(1)})
    owners.drop_dead(state)
    assert list(state.owners) == [me]


def test_a_process_of_somebody_else_lives(monkeypatch):
    def refuses(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuses)
    state = controller.State(owners={(1, 0.0, 0): Presence(1)})
    owners.drop_dead(state)
    assert state.owners


async def test_waiters_are_served_in_order_and_wake_at_once():
    gate = Gate(limits=Limits(max_in_flight=1))
    order = []
    async with anyio.create_task_group() as group:

        async def one(number):
            async with gate.admit():
                order.append(number)
                await anyio.lowlevel.checkpoint()

        for number in range(5):
            group.start_soon(one, number)
            await anyio.wait_all_tasks_blocked()
    assert sorted(order) == order


async def test_cancelled_waiters_hold_nothing():
    gate = Gate(limits=Limits(max_in_flight=1))
    async with gate.admit():
        for _ in range(3):
            with anyio.move_on_after(0.02):
                async with gate.admit():
                    raise AssertionError("there was no room")
        assert controller.in_flight(read(gate.store)) == 1
        assert all(presence.waiting_at == controller.NEVER for presence in read(gate.store).owners.values())
    assert read(gate.store).owners == {}
