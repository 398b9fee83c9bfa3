"""A journal cut off anywhere or with bytes changed: what is lost is named and done again, what is read is true."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bakeoff.engine.events import Event, NodeEnded, Warned
from bakeoff.engine.history import History, encode_record
from bakeoff.engine.salvage import read_whole, rebuild
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.report.overview import overview
from flows import NOTE, Flow

SOAK = "BAKEOFF_SOAK" in os.environ

TEXT = f"""
steps:
  - {{id: a, type: shell, run: '{NOTE}; echo a'}}
  - id: fan
    type: fan-out
    items: [1, 2, 3, 4, 5, 6, 7, 8]
    max_concurrency: 3
    step: {{id: it, type: shell, run: '{NOTE}; echo {{{{ item }}}}{"x" * 700}'}}
  - {{id: z, type: shell, run: '{NOTE}; echo {{{{ steps.fan.output.results[7].stdout }}}}'}}
  - {{id: end, type: shell, run: '{NOTE}; echo end'}}
"""


@dataclass
class Sample:
    """A run as it lay on disk when its process died, and what it comes to."""

    folder: Path
    whole: History
    report: dict[str, Any]


@pytest.fixture(scope="module", params=["log", "file"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("sample")
    flow = Flow(root)
    died = root / "died"

    def die(event: Event) -> None:
        # Copied while the run is alive: what a crash would leave, its write-ahead log included.
        if isinstance(event, NodeEnded) and event.record.path == "z" and not died.exists():
            shutil.copytree(root / ".bakeoff" / "runs" / "it", died, ignore=shutil.ignore_patterns("control"))

    flow.start(TEXT, run_id="it", hear=die)
    if request.param == "file":
        rebuild(died / "journal.db")
        list(read_whole(died / "journal.db"))
        import sqlite3

        db = sqlite3.connect(died / "journal.db")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
    return Sample(died, RunFolder(died).history(), flow.report)


def damaged(sample: Sample, part: str, how: str, place: float, value: int) -> tempfile.TemporaryDirectory[str] | None:
    """A project with a copy of the run in which one file is cut off or changed; None where there is no such file."""
    if not (sample.folder / part).exists() or not (sample.folder / part).stat().st_size:
        return None
    home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    run = Path(home.name) / ".bakeoff" / "runs" / "it"
    shutil.copytree(sample.folder, run)
    data = bytearray((run / part).read_bytes())
    at = min(int(place * len(data)), len(data) - 1)
    if how == "cut":
        del data[at:]
    else:
        data[at] ^= value
        if how == "smear":
            data[at : at + 900] = bytes([value]) * len(data[at : at + 900])
    (run / part).write_bytes(data)
    return home


DAMAGE = {
    "part": st.sampled_from(["journal.db", "journal.db-wal"]),
    "how": st.sampled_from(["cut", "flip", "smear"]),
    "place": st.floats(0, 1, exclude_max=True),
    "value": st.integers(1, 255),
}
COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


@settings(max_examples=250 if SOAK else 80, derandomize=True, **COMMON)
@given(**DAMAGE)
def test_what_can_be_read_is_true(sample: Sample, part: str, how: str, place: float, value: int) -> None:
    home = damaged(sample, part, how, place, value)
    if home is None:
        return
    with home:
        folder = RunFolder(Path(home.name) / ".bakeoff" / "runs" / "it")
        try:
            history = folder.history()
        except BakeoffError:
            return
        for path, record in history.records.items():
            original = sample.whole.records[path]
            assert encode_record(record, folder.root) == encode_record(original, sample.folder)
        for path, choice in history.decisions.items():
            assert choice == sample.whole.decisions[path]


@settings(max_examples=40 if SOAK else 20, derandomize=True, **COMMON)
@given(**DAMAGE)
def test_a_damaged_run_resumes_to_the_same_report_or_refuses(
    sample: Sample, part: str, how: str, place: float, value: int
) -> None:
    home = damaged(sample, part, how, place, value)
    if home is None:
        return
    with home:
        flow = Flow(Path(home.name))
        flow.folder = RunFolder(Path(home.name) / ".bakeoff" / "runs" / "it")
        try:
            done = {path for path, record in flow.folder.history().records.items() if record.final}
            ending = flow.resume()
        except BakeoffError:
            return  # one clear message; anything else is raised as it is
        assert ending.status == "completed"
        assert not set(flow.trace()) & done
        report = flow.report
        report["inputs"] = sample.report["inputs"]
        assert report == sample.report


def test_damage_is_named(sample: Sample, tmp_path: Path) -> None:
    """Every row in turn gets a byte changed in its text; that row's number is named and its node runs again."""
    whole = {entry.seq: entry for entry in read_whole(sample.folder / "journal.db") if not isinstance(entry, int)}
    if (sample.folder / "journal.db-wal").exists():
        return
    data = (sample.folder / "journal.db").read_bytes()
    named = 0
    for entry in whole.values():
        at = data.find(entry.body.encode())
        if at < 0 or entry.kind != "end":
            continue
        run = tmp_path / str(entry.seq) / ".bakeoff" / "runs" / "it"
        shutil.copytree(sample.folder, run)
        changed = bytearray(data)
        changed[at + 8] ^= 1
        (run / "journal.db").write_bytes(changed)
        flow = Flow(run.parents[2])
        flow.folder = RunFolder(run)
        assert flow.folder.history().damaged == [entry.seq]
        assert flow.resume().status == "completed"
        warnings = [event.text for event in flow.events if isinstance(event, Warned)]
        assert any(str(entry.seq) in text and "cannot be read" in text for text in warnings), warnings
        ran = flow.trace()
        assert entry.path == "fan" or entry.path in ran
        named += 1
    assert named >= 5


def test_other_runs_are_untouched(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    text = "steps:\n  - {id: g, type: gate, message: go}\n"
    for run_id in ("one", "two"):
        flow.start(text, run_id=run_id)
    journal = tmp_path / ".bakeoff" / "runs" / "one" / "journal.db"
    journal.write_bytes(b"\0" * journal.stat().st_size)
    store = RunStore(tmp_path)
    assert store.open("two").history().status == "paused"
    assert {folder.id for folder in store.latest(5)} == {"one", "two"}
    flow.folder = store.open("one")
    with pytest.raises(BakeoffError, match="damaged beyond reading"):
        flow.resume()
    flow.folder = store.open("two")
    assert flow.resume().status == "paused"


BIG = """
    workflow: {id: f, name: F, version: 1.0.0}
    inputs: {v: {type: string}}
    steps:
      - {id: big, type: shell, run: 'echo big >> trace; head -c 40000 /dev/zero | tr "\\0" x'}
      - {id: g, type: gate, message: go, verdict_input: v}
      - {id: use, type: shell, run: 'wc -c', env: {X: "{{ steps.big.output.stdout | length }}"}}
    """


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_output_whose_file_is_lost_is_made_again(tmp_path: Path, how: str) -> None:
    """The row is sound, the file it names is not: never an empty or shorter value."""
    flow = Flow(tmp_path)
    flow.start(BIG)
    assert flow.folder is not None
    file = flow.folder.logs / "big.out"
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    assert flow.resume({"v": "approve"}).status == "completed"
    assert any(isinstance(event, Warned) and "not done" in event.text for event in flow.events)
    assert flow.trace() == ["big", "big"]
    assert flow.state["steps"]["use"]["input"]["env"] == {"X": "40000"}


def test_output_whose_file_is_lost_while_the_run_is_alive_is_one_clear_message(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    text = """
        steps:
          - {id: big, type: shell, run: 'head -c 40000 /dev/zero | tr "\\0" x'}
          - {id: rm, type: shell, run: 'rm .bakeoff/runs/it/logs/*'}
          - {id: use, type: shell, run: 'cat', env: {X: "{{ steps.big.output.stdout }}"}}
        """
    ending = flow.start(text, run_id="it")
    assert ending.status == "failed"
    assert "step use" in str(ending.error)
    assert "logs/big.out" in str(ending.error)
    assert "No such file" in str(ending.error)


FORMAT = 60
"""Where the header says the format; a changed last byte may be a newer bakeoff's."""


@settings(max_examples=100 if SOAK else 40, derandomize=True, **COMMON)
@example(at=18, value=1)
@example(at=20, value=4)
@example(at=31, value=128)
@example(at=36, value=1)
@example(at=52, value=1)
@example(at=61, value=1)
@example(at=933, value=1)
@example(at=940, value=128)
@example(at=965, value=1)
@example(at=967, value=2)
@given(at=st.integers(0, 1023), value=st.integers(1, 255))
def test_a_byte_changed_in_the_first_page_costs_nothing(sample: Sample, at: int, value: int) -> None:
    if at == FORMAT + 3:
        return
    with tempfile.TemporaryDirectory() as home:
        run = Path(home) / ".bakeoff" / "runs" / "it"
        shutil.copytree(sample.folder, run)
        data = bytearray((run / "journal.db").read_bytes())
        data[at] ^= value
        (run / "journal.db").write_bytes(data)
        folder = RunFolder(run)
        assert overview(folder).status == "paused"
        assert folder.history().records.keys() == sample.whole.records.keys()
        assert folder.history().damaged == []
        rebuild(folder.journal)
        assert rebuild(folder.journal) is None
        assert folder.history().records.keys() == sample.whole.records.keys()


@pytest.mark.parametrize("at", [18, 20, 36, 38, 53, 55, 62, 966])
def test_damage_that_shows_only_when_written_is_mended_before_anything_runs(
    sample: Sample, tmp_path: Path, at: int
) -> None:
    run = tmp_path / ".bakeoff" / "runs" / "it"
    shutil.copytree(sample.folder, run)
    data = bytearray((run / "journal.db").read_bytes())
    data[at] ^= 4
    (run / "journal.db").write_bytes(data)
    flow = Flow(tmp_path)
    flow.folder = RunFolder(run)
    assert flow.resume().status == "completed"
    assert flow.trace() == ["end"]
    warnings = [event.text for event in flow.events if isinstance(event, Warned)]
    assert any("rebuilt" in text for text in warnings), warnings


def test_a_number_out_of_all_order_is_not_counted_up_to(tmp_path: Path) -> None:
    import sqlite3

    flow = Flow(tmp_path)
    flow.start("steps:\n  - {id: g, type: gate, message: go}\n")
    assert flow.folder is not None
    with sqlite3.connect(flow.folder.journal) as db:
        db.execute("UPDATE entry SET seq = 4000000000000 WHERE seq = (SELECT max(seq) FROM entry)")
    db.close()
    assert flow.folder.history().meta["run_id"] == flow.folder.id
    assert flow.resume().status == "paused"
