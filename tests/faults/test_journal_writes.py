"""The journal cannot be written, from any of its writes on: one clear message, nothing committed lost, resume works."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bakeoff.engine import journal
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError, JournalError
from bakeoff.process import spawner
from flows import NOTE, Flow

TEXT = f"""
steps:
  - {{id: a, type: shell, run: {NOTE}}}
  - id: fan
    type: fan-out
    items: [1, 2, 3, 4]
    max_concurrency: 2
    step: {{id: it, type: shell, run: '{NOTE}; echo {{{{ item }}}}'}}
  - {{id: big, type: shell, run: '{NOTE}; head -c 40000 /dev/zero | tr "\\\\0" x'}}
  - {{id: z, type: shell, run: {NOTE}}}
"""


class Failing:
    """A connection whose commits fail from number `fails` on."""

    def __init__(self, db: sqlite3.Connection, fails: int, failure: Exception) -> None:
        self.db, self.fails, self.failure, self.count = db, fails, failure, 0

    def execute(self, text: str) -> Any:
        if text == "COMMIT":
            self.count += 1
            if self.count >= self.fails:
                raise self.failure
        return self.db.execute(text)

    def executemany(self, *arguments: Any) -> Any:
        return self.db.executemany(*arguments)

    def close(self) -> None:
        self.db.close()


@pytest.fixture
def fail_from(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    connect = journal._connect

    def set_failing(number: int, failure: Exception | None) -> None:
        def failing(path: Path) -> Any:
            db = connect(path)
            return db if failure is None or path.suffix == ".new" else Failing(db, number, failure)

        monkeypatch.setattr(journal, "_connect", failing)

    return set_failing


FAILURES = [
    sqlite3.OperationalError("database or disk is full"),
    sqlite3.OperationalError("attempt to write a readonly database"),
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    flow = Flow(tmp_path_factory.mktemp("whole"))
    flow.start(TEXT)
    return flow.report


@pytest.mark.parametrize("failure", FAILURES, ids=["full", "read-only"])
def test_at_any_write(
    tmp_path: Path, fail_from: Callable[..., None], failure: Exception, expected: dict[str, Any]
) -> None:
    number, stopped = 1, 0
    while True:
        root = tmp_path / str(number)
        root.mkdir()
        flow = Flow(root)
        fail_from(number, failure)
        with suppress(JournalError):
            flow.start(TEXT, run_id="it")
            break
        stopped += 1
        fail_from(0, None)
        flow.folder = flow.store.runs and RunFolder(root / ".bakeoff" / "runs" / "it")
        history = flow.folder.history()
        done = {path for path, record in history.records.items() if record.final}
        flow.trace()
        if history.meta:  # else its very first entry was lost, and there is nothing to resume
            assert flow.resume().status == "completed"
            assert not set(flow.trace()) & done
            assert flow.report == expected
        number += 1
    assert stopped > 10


def test_the_message_says_what_is_wrong_and_what_is_safe(tmp_path: Path, fail_from: Callable[..., None]) -> None:
    fail_from(3, FAILURES[0])
    with pytest.raises(
        JournalError, match=r"disk is full\. What was committed before is safe; mend the cause, then resume"
    ):
        Flow(tmp_path).start(TEXT)


def test_output_that_cannot_be_kept_fails_its_step_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spawner, "_sync", broken)
    flow = Flow(tmp_path)
    ending = flow.start(TEXT)
    assert ending.status == "failed"
    assert "step big" in str(ending.error)
    assert "No space left on device" in str(ending.error)
    monkeypatch.undo()
    assert flow.trace()
    assert flow.resume().status == "completed"
    assert flow.trace() == ["big", "z"]


def test_a_project_that_cannot_hold_runs_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".bakeoff").write_text("a file where the folder should be")
    with pytest.raises(BakeoffError, match="cannot be made"):
        Flow(tmp_path).start(TEXT)
