"""What a journal says, sound or damaged; records through their text and back."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bakeoff.engine.history import History, decode_record, encode, encode_record, used
from bakeoff.engine.journal import PAGE_SIZE, Entry, checksum, create, intact, read_entries
from bakeoff.engine.record import Record, RunStatus, Status, Stored
from bakeoff.engine.salvage import lost_tail, read_whole, rebuild
from bakeoff.errors import JournalError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.builds(
    Record,
    path=st.text(min_size=1),
    type=st.text(min_size=1),
    status=st.sampled_from(Status),
    output=st.dictionaries(st.text(), JSON, max_size=3),
    error=st.none() | st.text(min_size=1),
    kind=st.none() | st.text(min_size=1),
    input=st.dictionaries(st.text(), JSON, max_size=2),
    usage=st.none() | st.dictionaries(st.text(min_size=1), JSON, min_size=1, max_size=2),
    facts=st.none() | st.dictionaries(st.text(min_size=1), JSON, min_size=1, max_size=2),
    key=st.text(),
    started_at=st.integers(0, 2**31).map(float),
    attempts=st.integers(1, 50),
    continued=st.booleans(),
)


@given(RECORDS)
def test_records_come_back_as_they_were(record: Record) -> None:
    record.ended_at = record.started_at + 1.5
    text, files = encode_record(record, Path("/run"))
    assert files == []
    assert decode_record(record.path, json.loads(text), Path("/run")) == record


def test_large_output_stands_in_its_file_and_the_run_may_move(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for root in (old, new):
        (root / "logs").mkdir(parents=True)
        (root / "logs" / "a.out").write_text("[1, 2]")
    stored = Stored(str(old / "logs" / "a.out"), 6, "json", "[1")
    outside = Stored("/elsewhere", 3)
    record = Record("a", "shell", Status.COMPLETED, {"stdout": stored, "code": 0, "more": outside})
    text, files = encode_record(record, old)
    assert files == [stored.path, "/elsewhere"]
    assert str(tmp_path) not in text
    back = decode_record("a", json.loads(text), new)
    assert back.output["stdout"] == Stored(str(new / "logs" / "a.out"), 6, "json", "[1")
    assert back.output["stdout"].load() == [1, 2]
    assert str(back.output["stdout"]) == "[1, 2]"
    assert back.output["more"] == outside
    assert back.output["code"] == 0


@given(JSON)
@example(float("nan"))
@example({2: "a", None: "b", True: "c", 1.5: "d"})
@example("\ud800")
def test_encoding_is_that_of_the_standard_library(value: Any) -> None:
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert encode(value) == (plain if "\ud800" not in plain else json.dumps(value, separators=(",", ":")))


def test_a_value_that_holds_itself_is_refused_by_name() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="Circular"):
        encode(value)


def test_what_is_no_json_is_encoded_as_plain_data(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("deep")

    class Odd:
        def __str__(self) -> str:
            return "odd"

    value = {"a": Stored(str(tmp_path / "f"), 4), "b": {3}, "c": Odd(), "d": iter((1, 2))}
    assert encode(value) == '{"a":"deep","b":[3],"c":"odd","d":[1,2]}'


def entries(*lines: tuple[str, str, Any]) -> list[Entry | int]:
    return [Entry(number, kind, path, encode(body)) for number, (kind, path, body) in enumerate(lines, 1)]


def end(status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"t": "shell", "s": status, "o": {}, "b": 10.0, "d": 1.0, **more}


def test_a_journal_is_read_into_its_parts() -> None:
    history = History(Path("/run")).read(
        [
            *entries(
                ("meta", "", {"run_id": "r", "created_at": 1.0, "inputs": {"x": 1}}),
                ("run", "", {"status": "running", "at": 2.0}),
                ("start", "a", [1, 3.0, 0, {"usd": 2.0, "calls": 1.0}]),
                ("retry", "a", {"error": "no", "kind": "exit", "usage": {"usd": 0.5}, "at": 4.0}),
                ("start", "a", [2, 5.0, 0, {"usd": 2.0, "calls": 1.0}]),
                ("end", "a", end(u={"usd": 1.0})),
                ("start", "b", [1, 6.0, 1, {"usd": 2.0}]),
                ("decide", "loop#0", True),
                ("answer", "g", "approve"),
                ("answer", "h", "reject"),
                ("answer", "h", None),
                ("inputs", "", {"x": 2}),
                ("run", "", {"status": "paused", "error": "why", "at": 20.0, "seconds": 7.0}),
            ),
            14,
        ]
    )
    assert (history.status, history.error, history.updated_at) == (RunStatus.PAUSED, "why", 20.0)
    assert history.inputs == {"x": 2}
    assert history.retries == {"a": ["no"]}
    assert history.starts["a"].attempt == 2
    assert [span.ended_at for span in history.spans] == [4.0, 11.0, None]
    assert history.open == {}
    assert history.decisions == {"loop#0": True}
    assert history.answers == {"g": "approve"}
    assert history.active_seconds == 7.0
    assert history.damaged == [14]
    # a: 0.5 for the failed try, 1.0 for the good one; b was interrupted and counts as reserved.
    assert history.spent == {"usd": 3.5, "calls": 2.0}


def test_what_stands_in_for_running_a_node() -> None:
    history = History(Path("/run")).read(
        entries(
            ("end", "a", end(k="ka")),
            ("end", "b", end("failed", e="x")),
            ("end", "c", end("failed", a=True)),
            ("end", "s", end("skipped")),
            ("end", "f:it:0", end("failed", k="kf")),
        )
    )
    assert {path for path in history.records if history.find(path, "")} == {"a", "c", "s"}
    history.settled = ("f:",)
    assert history.find("f:it:0", "") is not None
    assert history.find("zz", "ka") is None, "keys count only after an edit"
    history.edited()
    found = history.find("zz", "ka")
    assert found is not None
    assert (found[0].path, found[1]) == ("zz", True)
    assert history.find("yy", "ka") is None, "each record is taken over once"
    assert history.find("zz", "kf") is None, "a failure is tried again"


def test_an_edit_in_the_journal_and_what_was_taken_over_after_it() -> None:
    lines = entries(
        ("end", "a", end(k="k")),
        ("end", "b", end(k="k")),
        ("decide", "d", 1),
        ("edit", "", None),
        ("end", "c", end(k="k", r=1)),
    )
    history = History(Path("/run")).read(lines)
    assert set(history.records) == {"c"}
    assert history.decisions == {}
    assert history.find("x", "k") is not None
    assert history.find("y", "k") is None


def test_used() -> None:
    assert used("usd", None, 2.0) == 2.0
    assert used("usd", {"usd": None}, 2.0) == 2.0
    assert used("usd", {"usd": 0}, 2.0) == 0.0


def filled(path: Path, count: int = 40) -> list[Entry]:
    create(path)
    rows = [(number, "end", f"n{number}", encode(end(k="x" * 200))) for number in range(1, count + 1)]
    db = sqlite3.connect(path)
    with db:
        db.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", [(*row, checksum(*row[1:])) for row in rows])
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return [Entry(*row) for row in rows]


def test_a_sound_journal_is_left_alone(tmp_path: Path) -> None:
    written = filled(tmp_path / "journal.db")
    assert list(read_whole(tmp_path / "journal.db")) == written
    assert rebuild(tmp_path / "journal.db") is None
    assert not lost_tail(tmp_path / "journal.db")


def test_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal"):
        list(read_whole(tmp_path / "journal.db"))


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "journal.db")
    db = sqlite3.connect(tmp_path / "journal.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(JournalError, match="newer bakeoff"):
        list(read_whole(tmp_path / "journal.db"))


def test_missing_rows_and_changed_rows_are_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path, 6)
    db = sqlite3.connect(path)
    with db:
        db.execute("DELETE FROM entry WHERE seq = 2")
        db.execute("UPDATE entry SET body = 'x' WHERE seq = 4")
        db.execute("UPDATE entry SET path = NULL WHERE seq = 5")
    db.close()
    assert [entry if isinstance(entry, int) else "ok" for entry in read_entries(path)] == ["ok", 2, "ok", 4, 5, "ok"]
    assert not intact("end", None, "x", 0)


@pytest.mark.parametrize("page", [0, 1, 3])
def test_a_destroyed_page_costs_its_own_rows(tmp_path: Path, page: int) -> None:
    path = tmp_path / "journal.db"
    written = filled(path)
    data = bytearray(path.read_bytes())
    assert len(data) > 8 * PAGE_SIZE
    data[page * PAGE_SIZE : (page + 1) * PAGE_SIZE] = b"\xff" * PAGE_SIZE
    path.write_bytes(data)
    try:
        found = list(read_whole(path))
    except JournalError as failure:
        assert page == 1, failure  # noqa: PT017 - the page that finds all others
        return
    kept = [entry for entry in found if isinstance(entry, Entry)]
    assert kept
    assert set(kept) <= set(written)
    copy = rebuild(path)
    assert copy is not None
    assert copy.exists()
    assert [entry for entry in read_entries(path) if isinstance(entry, Entry)] == kept
    assert rebuild(path) is None


def test_nothing_readable_is_said(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    with pytest.raises(JournalError, match="damaged beyond reading"):
        list(read_whole(path))


def logged(tmp_path: Path) -> Path:
    """A journal with everything in its write-ahead log, as a crash leaves it."""
    path, copy = tmp_path / "live.db", tmp_path / "journal.db"
    create(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint=0")
    for number in range(1, 9):
        row = ("end", f"n{number}", encode(end()))
        db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", (number, *row, checksum(*row)))
    for suffix in ("", "-wal"):
        Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    db.close()
    return copy


def test_a_log_that_is_read_whole_has_no_lost_tail(tmp_path: Path) -> None:
    assert not lost_tail(logged(tmp_path))


def test_commits_behind_a_damaged_frame_are_said_to_be_lost(tmp_path: Path) -> None:
    path = logged(tmp_path)
    log = Path(f"{path}-wal")
    data = bytearray(log.read_bytes())
    data[32 + 3 * (24 + PAGE_SIZE) + 200] ^= 1
    log.write_bytes(data)
    assert lost_tail(path)
    assert 0 < len(list(read_entries(path))) < 8


def test_a_log_beside_a_destroyed_file_is_left_to_the_rebuilding(tmp_path: Path) -> None:
    path = logged(tmp_path)
    path.write_bytes(b"\xff" * path.stat().st_size)
    Path(f"{path}-wal").write_bytes(b"")
    assert not lost_tail(path)
