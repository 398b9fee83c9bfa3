from __future__ import annotations

import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bakeoff.engine.history import History, encode
from bakeoff.engine.journal import Entry
from bakeoff.engine.record import RunStatus, Status, Stored
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.jobs.job import OpenRun
from bakeoff.report import steps_table, timeline
from bakeoff.report.outline import name_of, outline, parent_of, walk
from bakeoff.report.overview import overview, overviews
from bakeoff.report.page import MOST_ERRORS, report_page
from bakeoff.report.state import run_state
from bakeoff.report.timeline import Scale
from bakeoff.workflow.job import WorkflowJob
from report.journals import META, end, folder_of, run, start

EVIL = "</script></pre><script>alert(1)</script>\"' onload=x \x1b[2J\u202e"


def history(*entries: tuple[str, str, object]) -> History:
    rows = [Entry(number, kind, path, body if isinstance(body, str) else encode(body))
            for number, (kind, path, body) in enumerate(entries, 1)]  # fmt: skip
    return History(Path()).read(rows)


def page_of(root: Path, *entries) -> str:
    return "".join(report_page(folder_of(root, *entries)))


@pytest.mark.parametrize(
    ("path", "parent", "name"),
    [
        ("a", None, "a"), ("fan:it:3", "fan", "it:3"), ("fan:it:3/x", "fan:it:3", "x"), ("call/x", "call", "x"),
        ("loop:fan:1:it:4", "loop:fan:1", "it:4"), ("c/loop:s:2", "c/loop", "s:2"),
    ],
)  # fmt: skip
def test_places_in_the_tree(path: str, parent: str | None, name: str) -> None:
    assert parent_of(path) == parent
    assert name_of(path) == name


def test_an_outline_is_in_order_of_beginning_and_stands_in_for_what_has_not_ended() -> None:
    found = history(
        META, run("running"), start("b", 11), start("fan:it:1", 13), end("b", begun=11), start("fan:it:0", 12),
        end("fan:it:0", begun=12),
    )  # fmt: skip
    tops = outline(found, RunStatus.RUNNING)
    assert [(depth, node.path, node.status) for depth, node in walk(tops)] == [
        (0, "b", "completed"), (0, "fan", "running"), (1, "fan:it:0", "completed"), (1, "fan:it:1", "running"),
    ]  # fmt: skip
    tops = outline(found, RunStatus.PAUSED)
    assert [(node.status, node.error) for _, node in walk(tops)][1:] == [
        ("pending", None), ("completed", None), ("pending", "interrupted before it ended"),
    ]  # fmt: skip


def test_a_node_that_runs_again_is_running() -> None:
    found = history(META, run("running"), start("a"), end("a", Status.FAILED, error="x"), run("failed"),
                    run("running"), start("a", 20, attempt=2))  # fmt: skip
    (node,) = outline(found, RunStatus.RUNNING)
    assert (node.status, node.error, node.attempts, node.record) == ("running", None, 2, None)


def test_what_an_item_halted_is_shown_so_until_it_runs_again() -> None:
    facts = {"template": "it", "collected": 2}
    halting = (
        META, run("running"), start("f:it:0", 10), end("f:it:0", begun=10), start("f:it:1", 11),
        end("f:it:1", Status.FAILED, 11, error="x"),
        end("f", begun=10, type_="fan-out", output={"item_count": 2}, facts=facts), run("failed"),
    )  # fmt: skip
    (node,) = outline(history(*halting), RunStatus.FAILED)
    assert node.status == "halted"
    (node,) = outline(history(*halting, run("running"), start("f:it:1", 50)), RunStatus.RUNNING)
    assert (node.status, node.seconds) == ("running", None)


def test_items_are_listed_by_number_and_their_holder_takes_their_time() -> None:
    facts = {"template": "it", "collected": 11, "halted": False}
    entries = [end(f"f:it:{number}", begun=50.0 - number) for number in range(11)]
    found = history(META, *entries, end("f", begun=99.0, seconds=0.0, type_="fan-out", facts=facts))
    (node,) = outline(found, RunStatus.COMPLETED)
    assert [child.name for child in node.children] == [f"it:{number}" for number in range(11)]
    assert (node.status, node.started_at, node.seconds) == ("completed", 40.0, 11.0)


def test_usage_counts_every_try_and_what_was_reserved_by_calls_that_were_cut_off(tmp_path: Path) -> None:
    entries = (
        META, run("running"), start("a"), ("retry", "a", {"error": "x", "at": 11.0, "usage": {"usd": 0.25}}),
        start("a", 12, attempt=2), end("a", begun=12, usage={"usd": 0.5, "input_tokens": 1200, "model": "m"}),
        ("start", "b", [1, 13.0, 0, {"usd": 1.0}]), run("paused", 14.0),
    )  # fmt: skip
    folder = folder_of(tmp_path / "r", *entries)
    assert run_state(folder)["usage"] == {"usd": 1.75, "input_tokens": 1200}
    assert folder.history().spent == {"usd": 1.0}
    assert "1.75 usd, 1,200 input tokens" in "".join(report_page(folder))


class Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name != "src"
            if name == "href":
                self.links.append(value)


def test_everything_in_the_page_is_escaped_and_nothing_is_fetched(tmp_path: Path) -> None:
    facts = {"traceback": EVIL, "gate": {"step_id": EVIL, "message": EVIL, "options": [EVIL]}}
    definition = tmp_path / "r" / "definition"
    definition.mkdir(parents=True)
    (definition / "workflow.yml").write_text(EVIL)
    (definition / "unreadable").mkdir()
    meta = {"run_id": "r", "workflow_id": EVIL, "name": EVIL, "inputs": {EVIL: EVIL, "n": "x" * 5000}, "source": EVIL}
    page = page_of(
        tmp_path / "r",
        ("meta", "", meta),
        run("running", 9.5),
        start(EVIL),
        ("retry", EVIL, {"error": EVIL, "at": 11.0}),
        start(EVIL, 12, 3, 2),
        end(EVIL, Status.FAILED, error=EVIL, output={"stdout": EVIL, "stderr": EVIL}, input={"run": EVIL},
            usage={EVIL: 1}, facts=facts, attempts=2, continued=True, type_=EVIL),
        start("open", 13, 1),
        run("paused", 14.0, error=EVIL, seconds=4.0, outputs={EVIL: EVIL}, **{"gate": facts["gate"]}),
    )  # fmt: skip
    checker = Checker()
    checker.feed(page)
    assert checker.tags.count("script") == checker.tags.count("style") == 1
    assert all(re.fullmatch(r"#n\d+", link) for link in checker.links)
    assert checker.links
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_the_policy_allows_our_own_script_and_style(tmp_path: Path) -> None:
    import base64
    import hashlib

    page = page_of(tmp_path / "r", META)
    assert "Nothing has begun yet" in page
    for tag in ("script", "style"):
        text = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert text is not None
        digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page


def test_long_outputs_show_their_ends(tmp_path: Path) -> None:
    stored = Stored(str(tmp_path / "r" / "x"), 50_000, excerpt="head...tail")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "x").write_text("x" * 50_000)
    page = page_of(
        tmp_path / "r", META, run("running"),
        start("a"), end("a", output={"stdout": "x" * 3000 + "the end"}, input={"argv": ["ls", "-l"]}),
        start("b"), end("b", output={"stdout": stored, "stderr": None}, input={"items": [1]}),
        start("c"), end("c", input={"prompt": "do it"}),
    )  # fmt: skip
    assert "[... 2,007 characters left out ...]" in page
    assert "the end</pre>" in page
    assert "stdout (50 KB; head and tail)" in page
    assert "ls -l" in page
    assert "do it" in page


def test_the_size_of_a_report_is_bounded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(steps_table, "BUDGET", 10)
    entries = [end("a", output={"stdout": "first"}), end("b", output={"stdout": "second"}),
               end("c", Status.FAILED, error="third", output={"stdout": "fourth"})]  # fmt: skip
    page = page_of(tmp_path / "r", META, *entries)
    assert "first" in page
    assert "second" not in page
    assert "fourth" in page


def test_many_errors_are_listed_up_to_a_bound(tmp_path: Path) -> None:
    entries = [end(f"s{number}", Status.FAILED, error="no") for number in range(MOST_ERRORS + 5)]
    page = page_of(tmp_path / "r", META, *entries)
    assert "<li>and 5 more" in page


def drawn(found: History, status: RunStatus = RunStatus.COMPLETED, now: float = 100.0) -> str:
    return "".join(timeline.timeline(found, status, {"a": 0}, now))


def test_the_timeline_has_a_row_a_place_and_a_bar_a_try() -> None:
    found = history(
        META, run("running"), start("a", 10, 0), start("b", 10, 1), ("retry", "a", {"error": "x", "at": 12.0}),
        start("a", 13, 0, 2), end("a", begun=13, seconds=2, attempts=2), end("b", begun=10, seconds=5),
        start("g", 15, 0), end("g", Status.PAUSED, 15, 0, type_="gate"), start("g", 16, 0), start("gone", 16, 5),
        run("paused", 17.0),
    )  # fmt: skip
    svg = drawn(found, RunStatus.PAUSED)
    assert svg.count("<rect") == 6
    assert '<rect class="failed"' in svg
    assert '<rect class="paused"' in svg
    assert '<rect class="cancelled"' in svg
    assert "a, failed, 2.00 s</title>" in svg
    assert "a, completed, 2.00 s, try 2</title>" in svg
    assert '<a href="#n0" tabindex="-1">' in svg
    assert svg.count('class="row"') == 6
    live = history(META, run("running"), start("a", 10, 0))
    assert "a, running, 90.0 s".replace("90.0 s", "1 m 30 s") in drawn(live, RunStatus.RUNNING)


def test_a_pause_of_days_is_cut_short() -> None:
    day = 86400.0
    scale = Scale([(0, 10), (day, day + 10)])
    assert list(scale.cuts()) == [(10.5 / 20.5, day - 10)]
    assert scale(0) == 0.0
    assert scale(day + 10) == pytest.approx(1.0)
    assert scale(day / 2) == pytest.approx(10 / 20.5)
    assert not list(Scale([(0, 1), (1.2, 2)]).cuts())
    found = history(
        META, start("a", 0.0), end("a", begun=0, seconds=10), start("b", day), end("b", begun=day, seconds=10)
    )
    assert "nothing ran for 23 h 59 m" in drawn(found)


def test_many_tries_are_drawn_as_shapes(monkeypatch) -> None:
    monkeypatch.setattr(timeline, "MOST_DETAILED", 3)
    entries = [
        one for number in range(200) for one in (start(f"s{number}", number, number), end(f"s{number}", begun=number))
    ]
    svg = drawn(history(META, *entries))
    assert svg.count("<path") == 1
    assert "<rect" not in svg
    assert svg.count('class="row"') < 80


@pytest.mark.parametrize(("least", "step"), [(0.0004, 0.001), (0.011, 0.02), (3, 5), (31, 60), (100, 120), (1e6, 1e6)])
def test_ticks_are_round_numbers(least: float, step: float) -> None:
    assert timeline._step(least) == pytest.approx(step)


def test_overviews_tell_the_time_of_the_last_entry(tmp_path: Path) -> None:
    for number, (entry, at) in enumerate(
        [(start("a", 21.0), 21.0), (end("a", begun=20.0, seconds=3.0), 23.0),
         (("retry", "a", {"error": "x", "at": 25.0}), 25.0),
         (("start", "a", "[1"), 9.5), (("end", "a", "{}"), 9.5)]
    ):  # fmt: skip
        found = overview(folder_of(tmp_path / str(number), META, run("running", 9.5), entry))
        assert (found.status, found.updated_at) == (RunStatus.PAUSED, at)
        assert found.resumable
        assert json.dumps(found.shown(None))


def test_a_run_of_the_future_is_not_listed_first_for_ever(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    for name, created_at in (("old", 1e9), ("of_2100", 4.1e9), ("new", 1.1e9)):
        folder_of(store.runs / name, ("meta", "", {"created_at": created_at}))
    assert [run.folder.id for run in overviews(store)] == ["new", "old", "of_2100"]


def test_overviews_of_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "cut short" in str(overview(RunFolder(tmp_path / "empty")).error)
    newer = folder_of(tmp_path / "newer", META)
    with sqlite3.connect(newer.journal) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    found = overview(newer)
    assert "newer bakeoff" in str(found.error)
    assert not found.resumable
    damaged = folder_of(tmp_path / "damaged", META, run("running", 9.0), run("failed", 12.0, error="x"))
    data = bytearray(damaged.journal.read_bytes())
    data[0:100] = bytes(100)
    damaged.journal.write_bytes(data)
    assert overview(damaged).status is RunStatus.FAILED


@pytest.mark.parametrize(
    ("ending", "kind", "words"),
    [
        (run("completed", 12.0), "won", "Completed: 1 step done."),
        (run("failed", 12.0, error="a: exit status 1"), "failed", "Failed: a: exit status 1"),
        (run("budget_spent", 12.0), "failed", "Budget spent, before all was done."),
        (run("cancelled", 12.0), "waits", "Cancelled, before all was done."),
        (run("paused", 12.0, gate={"step_id": "ask", "message": "go?", "options": ["yes", "no"]}), "waits",
         "Waits for an answer at ask: go?"),
    ],
)  # fmt: skip
def test_the_verdict_is_the_first_thing_said(tmp_path: Path, ending, kind: str, words: str) -> None:
    folder = folder_of(tmp_path / "r", META, run("running"), start("a"), end("a"), ending)
    page = "".join(WorkflowJob().page(OpenRun(folder)))
    verdict = re.search(r'<section class="verdict (\w+)".*?</section>', page, re.DOTALL)
    assert verdict is not None
    assert verdict[1] == kind
    assert words in verdict[0]
    assert page.index("<section") < page.index("<h2>")
    assert ("bakeoff resume r" in verdict[0]) == (kind != "won")
    assert ("bakeoff answer r ask CHOICE" in verdict[0]) == ("gate" in str(ending))


def test_a_damaged_journal_is_said_beside_the_verdict(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "r", META, run("running"), start("a"), end("a"), run("completed", 12.0))
    with sqlite3.connect(folder.journal) as db:
        db.execute("UPDATE entry SET body = '{}' WHERE kind = 'end'")
    db.close()
    page = "".join(report_page(folder))
    assert "1 entry of the journal cannot be read" in page.partition("</section>")[0]
