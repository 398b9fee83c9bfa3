"""The journal: order, groups, files before rows, failures, and nothing lost by `kill -9`."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from bakeoff.engine import ballast
from bakeoff.engine import journal as module
from bakeoff.engine.journal import Batch, CommitQueue, Entry, MemoryJournal, SqliteJournal, read_entries
from bakeoff.errors import JournalError

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def told(path: Path) -> list[tuple[str, str, str]]:
    return [(entry.kind, entry.path, entry.body) for entry in read_entries(path) if isinstance(entry, Entry)]


async def test_entries_are_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.append("start", "a", "1").committed()
    batches = [
        journal.append("end", f"p{number}", "é\ud800" if number == 3 else "x") for number in range(5) if number != 3
    ]
    for batch in batches:
        await batch.committed()
        await batch.committed()
    journal.append("run", "", "2")
    journal.close()
    assert not Path(f"{path}-wal").exists()
    assert [kind for kind, _, _ in told(path)] == ["start", *["end"] * 4, "run"]
    assert os.stat(path).st_mode & 0o777 == 0o600


async def test_a_journal_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for number in range(3):
        journal = SqliteJournal(path)
        await journal.append("run", "", str(number)).committed()
        journal.close()
    assert [entry.seq for entry in read_entries(path) if isinstance(entry, Entry)] == [1, 2, 3]


async def test_what_comes_during_a_commit_is_one_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound cannot starve the journal: any number of entries waits for one commit."""
    journal = SqliteJournal(tmp_path / "journal.db")
    inside, go_on = threading.Event(), threading.Event()
    commit, sizes = journal._commit, []

    def slow(batch: module.Batch) -> JournalError | None:
        sizes.append(len(batch.rows))
        inside.set()
        assert go_on.wait(60)
        return commit(batch)

    monkeypatch.setattr(journal, "_commit", slow)
    first = journal.append("end", "a", "x")
    assert await anyio.to_thread.run_sync(inside.wait, 10)
    rest = [journal.append("end", f"n{number}", "x") for number in range(500)]
    go_on.set()
    with anyio.fail_after(60):
        await first.committed()
        await rest[-1].committed()
    assert sizes == [1, 500]
    journal.close()


async def test_files_are_synced_before_their_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.out"
    log.write_text("long")
    order: list[str] = []
    sync = module._sync
    monkeypatch.setattr(module, "_sync", lambda file: (order.append(f"{file}, {len(told(path))} rows"), sync(file)))
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.append("end", "a", "x", [str(log)]).committed()
    journal.close()
    assert order == [f"{log}, 0 rows"]


async def test_a_file_that_cannot_be_synced_fails_the_entry(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    with pytest.raises(JournalError, match="cannot be written"):
        await journal.append("end", "a", "x", [str(tmp_path / "gone")]).committed()
    journal.close()
    assert told(tmp_path / "journal.db") == []


async def test_after_a_failure_it_takes_nothing_more_and_keeps_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.append("end", "kept", "x").committed()
    journal._db.close()
    batch = journal.append("end", "lost", "x")
    with pytest.raises(JournalError, match="What was committed before is safe"):
        await batch.committed()
    with pytest.raises(JournalError):
        journal.append("end", "more", "x")
    journal.close()
    assert [where for _, where, _ in told(path)] == ["kept"]


async def test_a_waiter_that_is_cancelled_does_not_stop_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await journal.append("end", "a", "x").committed()
    journal.close()
    assert len(told(path)) == 1


async def test_a_full_queue_of_commits_waits_for_the_oldest_and_a_drained_one_waited_for_all() -> None:
    queue, batches, passed = CommitQueue(2), [Batch() for _ in range(4)], []

    async def siblings() -> None:
        for number, batch in enumerate(batches):
            await queue.add(batch)
            passed.append(number)
        with pytest.raises(JournalError, match="full"):
            await queue.drained()
        passed.append(4)

    batches[3].error = JournalError("full")
    async with anyio.create_task_group() as group:
        group.start_soon(siblings)
        for written, so_far in ((1, 2), (0, 4), (2, 4), (3, 5)):
            await anyio.wait_all_tasks_blocked()
            batches[written].done.set()
            await anyio.wait_all_tasks_blocked()
            assert passed == list(range(so_far))
    await queue.drained()


async def test_a_place_that_cannot_hold_a_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be opened for writing"):
        SqliteJournal(tmp_path / "nowhere" / "journal.db")


async def test_a_draft_of_a_killed_creation_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "journal.db.new").write_bytes(b"half")
    (tmp_path / "journal.db.new-wal").write_bytes(b"half")
    journal = SqliteJournal(tmp_path / "journal.db")
    await journal.append("end", "a", "x").committed()
    journal.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal.db"]


async def test_memory() -> None:
    journal = MemoryJournal()
    await journal.append("end", "a", "x").committed()
    journal.close()
    assert journal.entries == [Entry(1, "end", "a", "x")]


def test_names_that_look_like_a_query(tmp_path: Path) -> None:
    path = tmp_path / "50%25?mode=rw#x" / "journal.db"
    path.parent.mkdir()
    module.create(path)
    module.create(path)
    assert list(read_entries(path)) == []


def test_the_loop_may_be_gone_before_the_last_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    kept: list[SqliteJournal] = []

    async def main() -> None:
        kept.append(SqliteJournal(path))

    anyio.run(main)
    kept[0].append("end", "a", "x")
    kept[0].close()
    assert len(told(path)) == 1


WRITER = """
import sys, anyio, pathlib
sys.path.insert(0, sys.argv[1])
from bakeoff.engine.journal import SqliteJournal
async def main():
    journal = SqliteJournal(pathlib.Path(sys.argv[2]))
    number = 0
    while True:
        batches = [journal.append("end", str(number + more), "x" * 200) for more in range(7)]
        await batches[-1].committed()
        number += 7
        print(number, flush=True)
anyio.run(main)
"""


@pytest.mark.parametrize("acknowledged", [1, 5, 40])
def test_no_acknowledged_entry_is_lost_by_a_kill(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "journal.db"
    source = str(Path(module.__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", WRITER, source, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(acknowledged):
            count = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
    places = [int(where) for _, where, _ in told(path)]
    assert places == list(range(len(places)))
    assert len(places) >= count


def test_reading_a_live_journal_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    module.create(path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert list(read_entries(path)) == []
    writer.execute("COMMIT")
    writer.close()


async def test_the_last_entries_have_room_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    held = path.with_name("journal.db.room")
    assert held.stat().st_size == held.stat().st_blocks * 512 == module.BALLAST
    insert = journal._insert

    def full(batch: Batch) -> None:
        """As where only the ballast is left."""
        journal._db.execute(f"PRAGMA max_page_count={1 if held.exists() else 1000}")
        insert(batch)

    monkeypatch.setattr(journal, "_insert", full)
    await journal.append("run", "", "x" * 5000).committed()
    assert not held.exists()
    held.mkdir()  # as where there is nothing to give up
    with pytest.raises(JournalError, match="full"):
        await journal.append("run", "", "x" * 5000).committed()
    journal.close()
    assert len(told(path)) == 1
    ballast.take(tmp_path / "no" / "where", 5)
    ballast.take(held, 5)
    assert ballast.drop(held) is ballast.drop(tmp_path / "none") is False
