"""What a person at a terminal sees and types."""

from __future__ import annotations

import os
import signal

import pytest

from cli.conftest import FAILING, QUICK, Project

GATED = r"""
steps:
  - {id: first, type: shell, run: "echo one"}
  - {id: ask, type: gate, message: "Go\x1b[2J on?", options: [approve, reject], show_file: notes.txt}
  - {id: after, type: shell, run: "echo after"}
"""
TWO = """
steps:
  - id: fan
    type: fan-out
    items: "{{ ['a', 'b'] }}"
    max_concurrency: 2
    step: {id: ask, type: gate, message: "{{ item }}?", options: ["1", approve, reject]}
"""
FAN = """
steps:
  - id: fan
    type: fan-out
    items: "{{ [0, 1, 2, 3, 4, 5, 6, 7] }}"
    max_concurrency: 4
    step: {id: it, type: shell, run: "cat fifo; test {{ item }} != 5", continue_on_error: true}
"""


@pytest.fixture
def terminal(project: Project):
    opened = []

    def start(*args: str, **env: str):
        opened.append(project.terminal(*args, **env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_gate_is_asked_and_answered(project: Project, terminal) -> None:
    (project.folder / "notes.txt").write_text("line \x1b[31mone\x07\n" + "more\n" * 300)
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--run-id", "g")
    screen.wait_for("your choice: ")
    assert "? ask: Go\\x1b[2J on?" in screen.text
    assert "  | line one\\x07" in screen.text
    assert screen.text.count("  | more") == 199
    assert "is not shown)" in screen.text
    screen.type("perhaps\n")
    screen.wait_for("type a number from 1 to 2, or one of approve, reject")
    screen.wait_for("your choice: ", count=2)
    screen.type("1\n")
    assert screen.wait() == 0
    assert "✓ after shell" in screen.text
    assert "run g completed" in screen.text
    assert project("show", "g", "--json").out.count('"choice": "approve"') == 1


def test_names_go_before_numbers_and_one_question_at_a_time(project: Project, terminal) -> None:
    project.write("two", TWO)
    screen = terminal("run", "two.yml", "--run-id", "t")
    screen.wait_for("your choice: ")
    assert screen.text.count("your choice") == 1
    assert "? fan:ask:0: a?" in screen.text
    screen.type("1\n")
    screen.wait_for("? fan:ask:1: b?")
    screen.wait_for("your choice: ", count=2)
    screen.type("REJECT\n")
    screen.wait()
    found = project("show", "t", "--json").out
    assert '"choice": "1"' in found
    assert '"choice": "reject"' in found


def test_the_end_of_input_pauses(project: Project, terminal) -> None:
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--run-id", "g")
    screen.wait_for("your choice: ")
    assert "notes.txt cannot be shown: No such file" in screen.text
    screen.type("\x04")
    assert screen.wait() == 0
    assert "no answer: the run pauses here" in screen.text
    assert "decide:     bakeoff answer g ask approve" in screen.text


def test_ctrl_c_at_a_question_leaves_the_run_paused(project: Project, terminal) -> None:
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--run-id", "g")
    screen.wait_for("your choice: ")
    screen.type("\x03")
    assert screen.wait() == 130
    assert "interrupted by SIGINT" in screen.text
    assert "bakeoff resume g" in screen.text
    screen = terminal("resume", "g")
    screen.wait_for("your choice: ")
    screen.type("approve\n")
    assert screen.wait() == 0


def test_an_answer_from_elsewhere_ends_the_question(project: Project, terminal) -> None:
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--run-id", "g")
    screen.wait_for("your choice: ")
    assert project("answer", "g", "ask", "approve").status == 0
    assert screen.wait() == 0
    assert "run g completed" in screen.text


def test_nobody_is_asked_for_json(project: Project, terminal) -> None:
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--json")
    assert screen.wait() == 0
    assert "your choice" not in screen.text
    assert '"status": "paused"' in screen.text


def test_a_fan_out_is_counted_in_place(project: Project, terminal) -> None:
    project.write("fan", FAN)
    os.mkfifo(project.folder / "fifo")
    screen = terminal("run", "fan.yml", "--run-id", "f")
    screen.wait_for("0 of 8 done, 4 running, 4 left")
    writer = os.open(project.folder / "fifo", os.O_WRONLY)
    os.close(writer)
    while not screen.ended:
        # Items that open the pipe later need a writer too.
        try:
            os.close(os.open(project.folder / "fifo", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass
        screen._read(0.01)
    assert screen.wait() == 0
    assert "7 of 8 done, 1 failed" in screen.text
    assert "✗ fan:it:5 failed: the command exited with status 1; the run goes on" in screen.text
    assert "\x1b[3" in screen.raw


def test_no_color(project: Project, terminal) -> None:
    project.write("failing", FAILING)
    screen = terminal("run", "failing.yml", NO_COLOR="1")
    assert screen.wait() == 1
    assert "✗ second shell" in screen.text
    assert "\x1b[3" not in screen.raw


def test_a_dumb_terminal_gets_plain_lines(project: Project, terminal) -> None:
    project.write("quick", QUICK)
    screen = terminal("run", "quick.yml", TERM="dumb")
    assert screen.wait() == 0
    assert "✓ one (shell)" in screen.text
    assert "\x1b" not in screen.raw


def test_watch_shows_the_same_tree_and_names_open_gates(project: Project, terminal) -> None:
    project.write("two", TWO)
    screen = terminal("run", "two.yml", "--run-id", "t")
    screen.wait_for("your choice: ")
    other = terminal("watch", "t")
    other.wait_for("? fan:ask:1")
    other.wait_for("bakeoff answer t fan:ask:0 CHOICE")
    other.type("\x03")
    assert other.wait() == 130
    assert screen.process.poll() is None
    screen.process.send_signal(signal.SIGTERM)
    assert screen.wait() == 143


def test_clean_asks_at_a_terminal(project: Project, terminal) -> None:
    project.write("quick", QUICK)
    project("run", "quick.yml", "--run-id", "q")
    screen = terminal("clean")
    screen.wait_for("Remove 1 run")
    screen.type("n\n")
    assert screen.wait() == 130
    screen = terminal("clean", "--all")
    screen.wait_for("Remove 1 run")
    assert "q  completed" in screen.text
    screen.type("y\n")
    assert screen.wait() == 0
    assert "removed q" in screen.text


def test_a_terminal_that_goes_away_pauses_the_run(project: Project, terminal) -> None:
    project.write("gated", GATED)
    screen = terminal("run", "gated.yml", "--run-id", "g")
    screen.wait_for("your choice: ")
    fd, screen.fd = screen.fd, os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    assert screen.process.wait(60) in (0, 128 + signal.SIGHUP)
    assert "paused" in project("show", "g").out
