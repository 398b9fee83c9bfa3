"""What the displays make of events, without a run."""

from __future__ import annotations

import io
import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import anyio
import pytest
from rich.console import Console

from bakeoff.cli.asking import TerminalAsker, chosen, excerpt, somebody_is_there
from bakeoff.cli.display import Display
from bakeoff.engine.events import (
    Events,
    FanOpened,
    GateOpened,
    NodeEnded,
    NodeHeard,
    NodeRetried,
    NodeStarted,
    RunChanged,
    Warned,
)
from bakeoff.engine.record import Record, RunStatus, Status, Stored
from bakeoff.jobs import steps
from bakeoff.jobs.board import MOST_LINES, Board
from bakeoff.jobs.steps import StepsProgress


def shown(console: Console | None = None, mask: Callable[[str], str] = str) -> Display:
    """A display of steps; it is called with events."""
    display = Display(Events(), StepsProgress(), console)
    display.mask = display.progress.mask = mask
    return display


def board_of(display: Display) -> Board:
    assert isinstance(display.progress, StepsProgress)
    return display.progress.board


def drawn(display: Display, room: int = 30) -> str:
    return "\n".join("".join(text for text, _ in row) for row in display.progress.now(room))


def started(path: str, type_: str = "shell") -> NodeStarted:
    return NodeStarted(0.0, path, type_)


def ended(
    path: str, status: Status = Status.COMPLETED, *, reused: bool = False, type_: str = "shell", **more
) -> NodeEnded:
    more = {"started_at": 1.0, "ended_at": 2.0, **more}
    return NodeEnded(2.0, Record(path, type_, status, **more), reused)


def fan(path: str, total: int) -> FanOpened:
    return FanOpened(0.0, path, total, 4, 4)


def test_a_fan_out_is_counted_by_item() -> None:
    board = Board()
    for event in (
        started("fan", "fan-out"), fan("fan", 8),
        ended("fan:it:0", reused=True),
        started("fan:it:1"), ended("fan:it:1"),
        started("fan:it:2"), NodeRetried(0.0, "fan:it:2", 1, 0.1, "x"), started("fan:it:2"),
        ended("fan:it:2", Status.FAILED),
        ended("fan:it:3", Status.SKIPPED),
        started("fan:it:4"), ended("fan:it:4", Status.PAUSED),
        started("fan:it:5"), started("fan:it:5/inner"), ended("fan:it:5/inner"),
        fan("fan:it:5", 3), started("fan:it:5:deep:0"),
    ):  # fmt: skip
        board(event)
    counted = board.lines["fan"].fan
    assert counted is not None
    assert (counted.total, counted.done, counted.failed, counted.paused, counted.running, counted.left) == (
        8,
        3,
        1,
        1,
        1,
        2,
    )
    assert counted.reused == 1
    board(started("fan:it:4"))
    board(ended("fan:it:4"))
    assert (counted.paused, counted.done) == (0, 4)
    assert list(board.lines) == ["fan"]


def test_the_numbers_of_a_fan_out_of_attempts_fit_together() -> None:
    """What is counted are its items, not the calls of agents and the checks below them."""
    board = Board()
    board(started("fan", "fan-out"))
    board(fan("fan", 2))
    counted = board.lines["fan"].fan
    assert counted is not None
    calls = [f"fan:solve:{item}/attempt:{number}/generate" for item, number in ((0, 1), (0, 2), (1, 1))]
    for path in calls:
        board(started(path, "generate"))
    assert steps.progress(counted) == "0 of 2 done, 2 running"
    for path in calls[:2]:
        board(ended(path, type_="generate"))
    board(started("fan:solve:0/attempt:1/check:0", "check"))
    assert steps.progress(counted) == "0 of 2 done, 2 running"
    board(ended("fan:solve:0/attempt:1/check:0", type_="check"))
    board(ended("fan:solve:0", type_="attempt"))
    assert steps.progress(counted) == "1 of 2 done, 1 running"


@pytest.mark.parametrize("template", ["if", "gate", "while", "parallel"])
def test_items_that_wait_at_gates_are_not_done(template: str) -> None:
    board = Board()
    board(started("fan", "fan-out"))
    board(fan("fan", 3))
    counted = board.lines["fan"].fan
    assert counted is not None
    gates = []
    for item in ("fan:it:0", "fan:it:1", "fan:it:2"):
        gates.append(item if template == "gate" else f"{item}/ask")
        if template != "gate":
            board(started(item, template))
        if template == "if":
            board(ended(item, type_="if"))
        board(started(gates[-1], "gate"))
        board(GateOpened(0.0, gates[-1], "sure?", ("yes", "no")))
    assert steps.progress(counted) == "0 of 3 done, 3 waiting"
    board(ended(gates[0], type_="gate"))
    if template in ("while", "parallel"):
        board(ended("fan:it:0", type_=template))
    assert steps.progress(counted) == "1 of 3 done, 2 waiting"
    board(ended(gates[1], Status.PAUSED, type_="gate"))
    board(ended(gates[2], Status.FAILED, type_="gate"))
    assert steps.progress(counted) == "1 of 3 done, 1 failed, 1 waiting"


def test_a_fan_out_that_was_halted_is_shown_so(capsys: pytest.CaptureFixture[str]) -> None:
    display = shown()
    short = {"type_": "fan-out", "output": {"item_count": 3}}
    branches = {"type_": "parallel", "output": {"branches": {"a": "completed", "b": "halted"}}}
    for event in (
        started("f", "fan-out"), fan("f", 3), ended("f:it:0"),
        ended("f", facts={"template": "it", "collected": 1}, **short), ended("p", **branches),
        ended("g", facts={"template": "it", "collected": 3, "halted": True}, **short),
        ended("h", facts={"template": "it", "collected": 3, "halted": False}, **short),
    ):  # fmt: skip
        display(event)
    assert capsys.readouterr().err.splitlines()[1:] == [
        "‖ f (fan-out) halted: 1.00 s", "‖ p (parallel) halted: 1.00 s", "‖ g (fan-out) halted: 1.00 s",
        "✓ h (fan-out): 1.00 s",
    ]  # fmt: skip
    assert board_of(display).lines["f"].halted
    console = Console(file=io.StringIO(), width=100)
    live = shown(console)
    live.progress = display.progress
    live._finish(console)
    assert "‖ f" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_fan_out_whose_items_were_all_kept_was_kept(capsys: pytest.CaptureFixture[str]) -> None:
    display = shown()
    for event in (started("f", "fan-out"), fan("f", 1), ended("f:it:0", reused=True), ended("f", type_="fan-out")):
        display(event)
    assert "✓ f: kept from before" in capsys.readouterr().err


def test_gates_have_no_tries() -> None:
    record = Record("g", "gate", Status.FAILED, error="rejected", attempts=4)
    assert steps.failure(record) == "✗ g failed: rejected"


def test_passes_of_a_loop_share_a_line_and_its_fan_outs_start_anew() -> None:
    board = Board()
    board(started("loop", "while"))
    for number in range(3):
        board(started(f"loop:fan:{number}", "fan-out"))
        board(fan(f"loop:fan:{number}", 2))
        board(ended(f"loop:fan:{number}:it:0"))
        board(ended(f"loop:fan:{number}", type_="fan-out"))
    assert list(board.lines) == ["loop", "loop:fan"]
    line = board.lines["loop:fan"]
    assert (line.path, line.name, line.depth) == ("loop:fan:2", "fan:2", 1)
    assert line.fan is not None
    assert line.fan.done == 1


def test_branches_are_steps_and_no_items() -> None:
    board = Board()
    board(started("both", "parallel"))
    board(fan("both", 2))
    assert board.lines["both"].fan is None


def test_old_lines_are_only_counted() -> None:
    board = Board()
    board(started("first"))
    for number in range(MOST_LINES + 50):
        board(ended(f"s{number}"))
    assert len(board.lines) == MOST_LINES
    assert board.dropped == 51
    assert "first" in board.lines


def test_ten_thousand_items_cost_no_memory_and_little_time() -> None:
    display = shown(Console(file=io.StringIO(), force_terminal=True, width=100, height=30))
    display(started("fan", "fan-out"))
    display(fan("fan", 10_000))
    events = [(started(f"fan:it:{number}"), ended(f"fan:it:{number}")) for number in range(10_000)]
    tracemalloc.start()
    since = time.process_time()
    for one, other in events:
        display(one)
        display(other)
    spent = time.process_time() - since
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000
    assert spent < 20


def test_gates_are_shown_until_they_are_decided() -> None:
    out = io.StringIO()
    display = shown(Console(file=out, force_terminal=True, width=100), lambda text: text.replace("sesame", "***"))
    display(RunChanged(0.0, "r", RunStatus.RUNNING))
    display(GateOpened(0.0, "ask", "open sesame\x1b[2J?", ("a", "b")))
    display._frame(display.console)
    assert "ask: open ***\\x1b[2J?" in out.getvalue()
    assert "bakeoff answer r ask CHOICE" in out.getvalue()
    display(ended("ask", type_="gate"))
    assert not board_of(display).gates


def test_what_should_stay_is_printed_above_and_bounded() -> None:
    out = io.StringIO()
    display = shown(Console(file=out, width=200))
    display(Warned(0.0, "careful", "there"))
    for number in range(30):
        display(ended(f"s{number}", Status.FAILED, error="no", output={"stderr": "a\nb\x07\n"}))
        display(NodeRetried(0.0, "s", 1, 0.5, "again"))
    assert "! there: careful" in out.getvalue()
    assert out.getvalue().count("✗") == out.getvalue().count("↻") == 10
    assert "    b\\x07" in out.getvalue()


@pytest.mark.anyio
async def test_drawing_survives_a_terminal_that_is_gone() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "gone")

    display = shown(Console(file=Gone(), force_terminal=True))
    display(started("a"))
    with anyio.fail_after(60):
        await display._draw(display.console)


@pytest.mark.anyio
async def test_the_tree_is_cut_to_the_terminals_height_and_rests_while_away() -> None:
    out = io.StringIO()
    display = shown(Console(file=out, force_terminal=True, width=80, height=10))
    for number in range(40):
        display(ended(f"s{number}"))
    display(started("now"))
    with display.away():
        assert display._frame(display.console) == 0.0
        assert out.getvalue() == ""
    display._frame(display.console)
    assert "… 34 steps before these" in out.getvalue()
    assert "now" in out.getvalue()
    assert "s3 " not in out.getvalue()
    with anyio.move_on_after(0.01):
        await display._draw(display.console)
    assert "s3 " in out.getvalue().replace("\x1b[0m", " ").replace("\x1b[90m", " ")


def test_plain_lines_are_bounded_in_rate_and_number(monkeypatch, capsys) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = shown()
    display(fan("fan", 1000))
    for number in range(400):
        now += 0.1
        display(started(f"fan:it:{number}"))
        display(ended(f"fan:it:{number}", Status.FAILED if number % 2 else Status.COMPLETED, error="no"))
    lines = capsys.readouterr().err.splitlines()
    periodic = [line for line in lines if "of 1,000 done" in line]
    assert len(periodic) == 7
    done = [int(line.split()[1]) for line in periodic]
    assert all(before < after for before, after in pairwise(done))
    assert sum(line.startswith("✗") for line in lines) == steps.MOST_FAILURES
    assert sum("are counted, not listed" in line for line in lines) == 1


def test_plain_lines(capsys) -> None:
    display = shown(mask=lambda text: text.replace("sesame", "***"))
    for event in (
        Warned(0.0, "mind sesame"), RunChanged(0.0, "r", RunStatus.RUNNING), RunChanged(0.0, "r", RunStatus.PAUSED),
        fan("bare", 1), FanOpened(0.0, "other", 2, 0, 0), started("both", "parallel"), fan("both", 2),
        ended("kept", reused=True), ended("off", Status.SKIPPED), ended("a/b"), ended("w", Status.PAUSED),
        ended("f", Status.FAILED, error="sesame", output={"stderr": Stored("x", 9, excerpt="1\n2")}),
    ):  # fmt: skip
        display(event)
    assert capsys.readouterr().err.splitlines() == [
        "! mind ***", "▶ run r", "▶ bare: 1 item, 4 at once", "▶ other: 2 items", "▶ both: 2 branches, 4 at once",
        "✓ kept: kept from before", "- off: skipped", "✗ f failed: ***", "    1", "    2",
    ]  # fmt: skip


def test_when_an_agent_was_heard_of_is_shown() -> None:
    display = shown(Console(width=120, file=io.StringIO()))
    for event in (started("ask", "prompt"), started("fan", "fan-out"), fan("fan", 2), started("fan:it:0", "prompt")):
        display(event)
    display(NodeHeard(time.time() - 5, "ask", {"tokens": 1234}))
    display(NodeHeard(time.time() - 5, "fan:it:0", {}))  # has no line of its own
    assert "heard of 5." in (line := next(line for line in drawn(display).splitlines() if "ask" in line)), line
    assert "ago, 1,234 tokens" in line
    display(ended("ask", type_="prompt"))
    assert "heard of" not in drawn(display)


def test_progress_in_words() -> None:
    board = Board()
    board(fan("fan", 20))
    counted = board.lines["fan"].fan
    assert counted is not None
    counted.ended = {Status.COMPLETED: 3, Status.FAILED: 2}
    counted.stopped = {"fan:it:9": Status.PAUSED}
    counted.open = dict.fromkeys(("fan:it:5", "fan:it:6", "fan:it:7", "fan:it:8"), 1)
    text = steps.progress(counted)
    assert text == "3 of 20 done, 4 running, 2 failed, 1 waiting, 10 left"


@pytest.mark.parametrize(
    ("typed", "option"),
    [("1", "2"), ("2", "2"), (" APPROVE \n", "approve"), ("3", "3"), ("0", None), ("4", None), ("", None), ("²", None)],
)
def test_names_go_before_numbers(typed: str, option: str | None) -> None:
    assert chosen(typed, ["2", "approve", "3"]) == option


def test_excerpts_of_files_are_safe(tmp_path) -> None:
    import os

    long = tmp_path / "long"
    long.write_bytes(b"a\x1b[31mb\x9b\xff\n" * 500)
    lines = excerpt(long).splitlines()
    assert lines[0] == "  | ab\ufffd\ufffd"
    assert len(lines) == 201
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in excerpt(tmp_path / "pipe")
    assert "cannot be shown: Is a directory" in excerpt(tmp_path) or "no regular file" in excerpt(tmp_path)
    assert "cannot be shown" in excerpt(tmp_path / "nul\0")


def test_nobody_is_there_without_a_terminal(monkeypatch) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: True)

    def no(fd):
        raise OSError

    monkeypatch.setattr("os.tcgetpgrp", no)
    assert not somebody_is_there()


@pytest.mark.anyio
async def test_questions_work_without_a_display(monkeypatch, tmp_path, capsys) -> None:
    import os
    import pty

    ours, theirs = pty.openpty()
    kept = os.dup(0)
    os.dup2(theirs, 0)
    try:
        asker = TerminalAsker(tmp_path, str)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:

                class Screen(io.StringIO):
                    def write(self, text: str) -> int:
                        if "your choice" in text:
                            group.start_soon(type_)
                        return super().write(text)

                async def type_() -> None:
                    os.write(ours, b"b\n")

                monkeypatch.setattr(sys, "stderr", Screen())
                assert await asker.ask("g", "?", ["a", "b"], None) == "b"
        os.close(ours)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with anyio.fail_after(60):
            assert await asker.ask("g", "?", ["a", "b"], None) is None
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(theirs)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
