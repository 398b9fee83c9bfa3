"""Commands that act on runs; live ones are real processes, ordered by pipes and not by the clock."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.engine.store import RunStore
from cli.conftest import ARGV, FAILING, MIXED, QUICK, Command, Project, environment, until
from cli.test_cli_reading import checked
from ending import ended

HELD = """
steps:
  - {id: first, type: shell, run: "echo began"}
  - {id: held, type: shell, run: "echo $$ > pid; cat fifo"}
  - {id: after, type: shell, run: "echo after"}
"""
GATED = """
steps:
  - id: both
    type: parallel
    branches:
      asking: [{id: ask, type: gate, message: "Sure?", options: [Approve, reject]}]
      working: [{id: held, type: shell, run: "cat fifo"}]
"""


@pytest.fixture
def held(project: Project):
    """A run that waits until something is written to `fifo`."""
    project.write("held", HELD)
    os.mkfifo(project.folder / "fifo")
    process = project.begin("run", "held.yml", "--run-id", "held")
    until(lambda: (project.folder / "pid").exists() and (project.folder / "pid").read_text().endswith("\n"))
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()
    project("runs")


def let_go(project: Project, text: str = "let go\n") -> None:
    (project.folder / "fifo").write_text(text)


def test_run_says_what_happens_on_standard_error(project: Project) -> None:
    project.write("mixed", MIXED)
    result = project("run", "mixed.yml", "--run-id", "m")
    assert result.status == 0
    assert result.out.splitlines()[0].startswith("run m paused after ")
    assert result.out.splitlines()[1:] == [
        "  gate last: Go\\x1b[2J on?",
        "  choices:    approve, reject",
        "  decide:     bakeoff answer m last approve",
        "  go on with: bakeoff resume m",
    ]
    lines = result.err.splitlines()
    assert lines[0] == "▶ run m"
    assert "▶ fan: 15 items, 4 at once" in lines
    assert any(line.startswith("↻ bad: try 1 failed") for line in lines)
    assert "✗ bad failed after 2 tries: the command exited with status 3; the run goes on" in lines
    assert "    <b>boom</b>" in lines
    assert "- none: skipped" in lines
    assert "? last waits: Go\\x1b[2J on? (approve / reject)" in lines
    assert not any("fan:it" in line for line in lines)
    answered = project("answer", "m", "last", "APPROVE", "--json")
    assert checked("answer", answered.out) == {"run_id": "m", "step_id": "last", "choice": "approve", "live": False}
    assert "gate last is answered: approve" in project("show", "m").out
    resumed = project("resume", "m")
    assert resumed.out.splitlines()[0].startswith("run m completed after ")
    assert "  said: hello\\x1b[2J\ufffd" in resumed.out
    assert "✓ say: kept from before" in resumed.err


def test_json_is_all_there_is_on_standard_output(project: Project) -> None:
    project.write("failing", FAILING)
    project.write("quick", QUICK)
    result = project("run", "failing.yml", "--json", "--run-id", "f")
    found = checked("run", result.out)
    assert (result.status, found["status"], found["current_step_id"]) == (1, "failed", "second")
    assert found["error"] == "step second: the command exited with status 7"
    assert "go on with: bakeoff resume f" in result.err
    quiet = project("run", "quick.yml", "--json", "--quiet")
    assert checked("run", quiet.out)["status"] == "completed"
    assert quiet.err == ""


def test_quiet_says_nothing_but_errors(project: Project) -> None:
    project.write("failing", FAILING)
    project.write("quick", QUICK)
    good, bad = project("run", "quick.yml", "-q"), project("run", "failing.yml", "-q")
    assert (good.out, good.err) == ("", "")
    assert bad.out == ""
    assert "step second: the command exited with status 7" in bad.err


def test_quiet_tells_of_a_gate_that_waits(project: Project) -> None:
    project.write("gated", GATED.replace("cat fifo", "true"))
    result = project("run", "gated.yml", "-q", "--run-id", "g")
    assert result.status == 0
    assert "decide:     bakeoff answer g ask Approve" in result.out


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_change_nothing(project: Project, closed: str) -> None:
    project.write("q", "\nsteps:\n  - {id: a, type: shell, run: 'echo said'}\n")
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *ARGV, "run", "q.yml", "--run-id", "q"],
        cwd=project.folder, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "fault" in done.stderr) == (0, False)
    assert project("logs", "q").out.endswith("said\n")


def test_cleaning_and_listing_end_what_a_dead_run_left(project: Project) -> None:
    for command in (["clean", "gone", "--yes"], ["runs"], ["validate", "q.yml"]):
        project.write("q", QUICK)
        gone = project.folder / ".bakeoff" / "runs" / "gone"
        gone.mkdir(parents=True, exist_ok=True)
        left = subprocess.Popen(["sleep", "600"], env=environment(BAKEOFF_RUN=str(gone)))
        result = project(*command)
        assert "ended 1 process(es) that run gone had left behind" in result.err, command
        assert left.wait(60) == -signal.SIGKILL


def test_a_report_is_written_into_a_pipe_and_through_a_link(project: Project) -> None:
    project.write("q", QUICK)
    project("run", "q.yml", "--run-id", "q")
    os.mkfifo(project.folder / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=project.folder, stdout=subprocess.PIPE, text=True)
    assert project("report", "q", "-o", "pipe").status == 0
    assert reader.communicate(timeout=60)[0].startswith("<!doctype html>")
    assert (project.folder / "pipe").is_fifo()
    (project.folder / "link").symlink_to("there.html")
    assert project("report", "q", "-o", "link").status == 0
    assert (project.folder / "link").is_symlink()
    assert (project.folder / "there.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    "args",
    [
        ("run", "nope.yml"),
        ("run", "bad.yml"),
        ("run", "quick.yml", "-i", "novalue"),
        ("run", "quick.yml", "-i", "@nope.json"),
        ("run", "quick.yml", "-i", "@list.json"),
        ("run", "quick.yml", "--run-id", "../x"),
    ],
)
def test_what_cannot_start_prints_nothing_and_leaves_nothing(project: Project, args: tuple[str, ...]) -> None:
    project.write("quick", QUICK)
    project.write("bad", "\nsteps: []\nworld: 1\n")
    (project.folder / "list.json").write_text("[]")
    result = project(*args, "--json")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert not (project.folder / ".bakeoff" / "runs").exists()


def test_inputs_come_from_files_and_arguments(project: Project) -> None:
    head = "\ninputs: {a: {type: string}, b: {type: number, default: 1}}\n"
    project.write("inputs", head + 'steps:\n  - {id: s, type: shell, run: "echo {{ inputs.a | sh }} {{ inputs.b }}"}\n')
    (project.folder / "in.json").write_text('{"a": "x y", "b": 5}')
    project("run", "inputs.yml", "--run-id", "i", "-i", "@in.json", "-i", "b=7")
    assert json.loads(project("show", "i", "--json").out)["steps"]["s"]["output"]["stdout"] == "x y 7\n"


def test_cancel_ends_a_live_run_and_its_processes(project: Project, held) -> None:
    pid = int((project.folder / "pid").read_text())
    result = project("cancel", "held", "--json")
    assert checked("cancel", result.out) == {"run_id": "held", "status": "cancelled"}
    assert result.status == 0
    assert ended(pid)
    out, err = held.communicate()
    assert held.returncode == 1
    assert out == b""
    assert b"run held cancelled" in err
    again = project("cancel", "held")
    assert (again.status, again.out) == (1, "")
    assert "not live: it is cancelled" in again.err


def test_cancel_says_when_the_run_ended_otherwise(project: Project, command: Command, monkeypatch) -> None:
    project.write("quick", QUICK)
    project("run", "quick.yml", "--run-id", "q")
    monkeypatch.chdir(project.folder)
    living = iter([True, True, False])
    monkeypatch.setattr("bakeoff.engine.store.RunFolder.alive", lambda self: next(living, False))
    monkeypatch.setattr("bakeoff.engine.control.send", lambda *args: None)
    result = command("cancel", "q")
    assert (result.status, result.out, result.err) == (1, "", "run q is completed\n")
    monkeypatch.setattr("bakeoff.engine.store.RunFolder.alive", lambda self: True)
    monkeypatch.setattr("bakeoff.cli.cancel.PATIENCE", 0.0)
    assert "still ends its processes" in command("cancel", "q").err


def test_watch_and_logs_follow_a_live_run(project: Project, held) -> None:
    watch = project.begin("watch", "held")
    lines = project.begin("watch", "held", "--json")
    logs = project.begin("logs", "held", "-f")
    runs = checked("runs", project("runs", "--json").out)
    assert runs["runs"][0] | {"updated_at": 0, "created_at": 0} == {
        "run_id": "held", "workflow_id": "held", "job": "workflow", "name": "Name of held",
        "status": "running", "outcome": None, "error": None, "live": True, "created_at": 0, "updated_at": 0,
    }  # fmt: skip
    assert "▶ held running" in project("show", "held").out
    assert watch.stderr is not None
    assert lines.stdout is not None
    assert logs.stdout is not None
    while "✓ first" not in watch.stderr.readline().decode():
        pass
    while json.loads(lines.stdout.readline()).get("path") != "held":
        pass
    assert [logs.stdout.readline() for _ in "12"] == [b"==> first <==\n", b"began\n"]
    let_go(project)
    assert "✓ after (shell)" in watch.stderr.read().decode()
    assert watch.wait(60) == 0
    assert watch.stdout is not None
    assert watch.stdout.read().decode().startswith("run held completed")
    assert json.loads(lines.stdout.readlines()[-1])["status"] == "completed"
    assert logs.stdout.read().decode() == "\n==> held <==\nlet go\n\n==> after <==\nafter\n"
    assert held.wait(60) == 0
    for process in (watch, lines, logs):
        process.communicate()


def test_logs_follow_output_as_it_grows(project: Project) -> None:
    project.write(
        "grow", "\nsteps:\n  - {id: grow, type: shell, run: \"head -c 30000 /dev/zero | tr '\\\\0' x; cat fifo\"}\n"
    )
    os.mkfifo(project.folder / "fifo")
    process = project.begin("run", "grow.yml", "--run-id", "g", "-q")
    until((project.folder / ".bakeoff/runs/g/logs/grow.out").exists)
    logs = project.begin("logs", "g", "-f", "--json")
    assert logs.stdout is not None
    seen = ""
    while len(seen) < 30000:
        seen += json.loads(logs.stdout.readline())["text"]
    now = project("logs", "g")
    assert now.out.count("x") == 30000
    let_go(project, "end")
    assert "".join(json.loads(line)["text"] for line in logs.stdout.readlines()) == "end"
    logs.communicate()
    process.communicate(timeout=60)


def test_a_live_gate_is_answered_from_elsewhere(project: Project) -> None:
    project.write("gated", GATED)
    os.mkfifo(project.folder / "fifo")
    process = project.begin("run", "gated.yml", "--run-id", "g")
    try:
        assert process.stderr is not None
        while b"? ask waits: Sure?" not in process.stderr.readline():
            pass
        wrong = project("answer", "g", "ask", "perhaps")
        assert (wrong.status, wrong.out) == (1, "")
        assert "Approve, reject" in wrong.err
        assert "no gate waits at 'nope'" in project("answer", "g", "nope", "approve").err
        assert project("answer", "g", "ask", "approve").out == "gate ask: approve; the run goes on\n"
        let_go(project)
        out, _ = process.communicate(timeout=60)
        assert b"run g completed" in out
    finally:
        process.kill()


def test_answers_to_a_run_that_is_not_live_are_checked(project: Project) -> None:
    project.write("gated", GATED.replace("cat fifo", "true"))
    project("run", "gated.yml", "--run-id", "g")
    wrong = project("answer", "g", "ask", "perhaps")
    assert (wrong.status, wrong.out) == (1, "")
    assert "the choices are Approve, reject" in wrong.err
    nowhere = project("answer", "g", "held", "approve")
    assert "no gate waits at 'held'; gates that wait: ask" in nowhere.err
    assert "go on with: bakeoff resume g" in project("answer", "g", "ask", "APPROVE").out


def test_a_torn_journal_is_gone_on_with_only_when_told_so(project: Project) -> None:
    project.write("mixed", MIXED)
    project("run", "mixed.yml", "--run-id", "m")
    journal = project.folder / ".bakeoff/runs/m/journal.db"
    journal.write_bytes(journal.read_bytes()[:8192])
    before = journal.read_bytes()
    for args in ("resume m", "answer m last approve"):
        refused = project(*args.split())
        assert (refused.status, refused.out) == (1, "")
        assert "what was written last may be missing" in refused.err
        assert journal.read_bytes() == before
    assert project("resume", "m", "--despite-damage").status == 0
    assert project("answer", "m", "last", "approve").status == 0
    assert project("resume", "m").status == 0


def test_answer_says_what_the_log_lost(project: Project, command: Command, monkeypatch) -> None:
    project.write("gated", GATED.replace("cat fifo", "true"))
    project("run", "gated.yml", "--run-id", "g")
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr("bakeoff.engine.salvage.lost_tail", lambda path: True)
    monkeypatch.setattr("bakeoff.engine.salvage.rebuild", lambda path: Path("old"))
    result = command("answer", "g", "ask", "approve")
    assert result.status == 0
    assert "counts as not done" in result.err
    assert "the old one is old" in result.err


def test_interrupted_runs_pause_with_the_signals_status(project: Project, held) -> None:
    held.send_signal(signal.SIGTERM)
    out, _ = held.communicate(timeout=60)
    assert held.returncode == 143
    assert out.decode().startswith("run held paused")
    assert "interrupted by SIGTERM" in out.decode()
    assert "  go on with: bakeoff resume held (what has ended is kept)" in out.decode()


def test_a_killed_run_is_swept_and_shown_as_interrupted(project: Project, held) -> None:
    held.kill()
    held.communicate()
    out = project("show", "held").out
    assert "interrupted: the process that ran it is gone" in out
    assert "· held pending" in out
    assert "interrupted before it ended" in out
    found = checked("show", project("show", "held", "--json").out)
    assert found["steps"]["held"]["status"] == "pending"
    assert "began" in project("logs", "held").out


def test_clean_keeps_what_can_be_resumed(project: Project) -> None:
    project.write("failing", FAILING)
    project.write("quick", QUICK)
    for name in ("a", "b"):
        project("run", "quick.yml", "--run-id", name)
    project("run", "failing.yml", "--run-id", "f")
    (project.folder / ".bakeoff/runs/broken").mkdir()
    store = RunStore(project.folder)

    asked = project("clean")
    assert (asked.status, asked.out) == (1, "")
    assert "--yes" in asked.err
    found = checked("clean", project("clean", "--dry-run", "--json").out)
    assert {run["run_id"] for run in found["removed"]} == {"a", "b"}
    assert found["dry_run"]
    assert {run["run_id"] for run in found["kept"]} == {"f", "broken"}
    assert len(list(store.all())) == 4
    young = project("clean", "--older-than", "1h")
    assert young.out == "freed 0 B of 0 runs\n"
    failed = project("clean", "--status", "failed")
    assert failed.out == "nothing was removed: 1 run kept\n"
    assert "kept f: it is failed and can be resumed" in failed.err
    named = project("clean", "a")
    assert named.out.startswith("removed a (completed, ")
    assert "of 1 run" in named.out
    assert project("clean", "nope", "b").status == 1
    assert project("clean", "b", "--all").status == 2
    assert project("clean", "--older-than", "soon").status == 2
    everything = project("clean", "--all", "--yes")
    assert everything.status == 0
    assert "kept broken" in everything.err
    assert project("clean", "broken").status == 0
    assert [folder.id for folder in store.all()] == []


def test_clean_never_takes_a_live_run(project: Project, held) -> None:
    assert "kept held: it is being run by process" in project("clean", "--all", "--yes").err
    named = project("clean", "held")
    assert named.status == 1
    assert "kept held" in named.err
    assert held.poll() is None
    let_go(project)
    assert held.wait(60) == 0


def test_clean_names_what_it_cannot_remove(project: Project, command: Command, monkeypatch) -> None:
    from bakeoff.errors import RunBusyError

    project.write("quick", QUICK)
    project("run", "quick.yml", "--run-id", "a")
    monkeypatch.chdir(project.folder)

    def busy(self):
        raise RunBusyError("it was taken up")

    with monkeypatch.context() as patch:
        patch.setattr("bakeoff.engine.store.RunFolder.lock", busy)
        assert "kept a: it was taken up" in command("clean", "a").err

    def stuck(self):
        raise PermissionError(13, "Permission denied", "some/file")

    monkeypatch.setattr("bakeoff.engine.store.RunFolder.delete", stuck)
    assert "kept a: some/file: Permission denied" in command("clean", "a").err


def test_a_reader_that_leaves_gets_no_traceback(project: Project) -> None:
    project.write("mixed", MIXED)
    project("run", "mixed.yml", "--run-id", "m")
    for args in ("logs m", "show m --json", "report m -o -", "schema"):
        done = subprocess.run(
            f"{' '.join(ARGV)} {args} | head -c 10 > /dev/null", shell=True, cwd=project.folder,
            env=environment(), capture_output=True,
        )  # fmt: skip
        assert done.stderr == b""


def test_damaged_entries_are_named(project: Project) -> None:
    project.write("mixed", MIXED)
    project("run", "mixed.yml", "--run-id", "m")
    journal = project.folder / ".bakeoff/runs/m/journal.db"
    with sqlite3.connect(journal) as db:
        db.execute("UPDATE entry SET body = body || ' ' WHERE seq IN (4, 6)")
    db.close()
    assert "journal entries that cannot be read and count as not done: 4, 6" in project("show", "m").out
    assert checked("show", project("show", "m", "--json").out)["damaged"] == [4, 6]
    for args in ("resume m", "answer m last approve"):
        refused = project(*args.split())
        assert (refused.status, refused.out) == (1, "")
        assert "2 entries of its journal, or the files that they name, cannot be read" in refused.err
        assert "go on with --despite-damage" in refused.err
    assert project("answer", "m", "last", "approve", "--despite-damage").status == 0
    project("report", "m", "-o", "r.html")
    assert "journal entries that cannot be read" in (project.folder / "r.html").read_text()


def test_what_was_gone_on_without_is_not_asked_about_again(project: Project) -> None:
    def damage(*numbers: int) -> None:
        with closing(sqlite3.connect(project.folder / ".bakeoff/runs/m/journal.db")) as db, db:
            db.executemany("UPDATE entry SET body = body || ' ' WHERE seq = ?", [(number,) for number in numbers])

    project.write("mixed", MIXED)
    project("run", "mixed.yml", "--run-id", "m")
    damage(4, 6)
    assert project("resume", "m").status == 1
    assert project("resume", "m", "--despite-damage").status == 0
    damage(8)
    assert "1 entry of its journal" in project("resume", "m").err
    assert project("resume", "m", "--despite-damage").status == 0
    assert project("answer", "m", "last", "approve").status == 0
    assert project("resume", "m").status == 0
    assert checked("show", project("show", "m", "--json").out)["damaged"] == [4, 6, 8]


def test_an_unreadable_journal_is_said_everywhere(project: Project) -> None:
    broken = project.folder / ".bakeoff/runs/x"
    broken.mkdir(parents=True)
    (broken / "journal.db").write_bytes(b"no journal" * 1000)
    assert "unreadable" in project("runs").out
    for args in (("show", "x"), ("logs", "x"), ("report", "x"), ("watch", "x"), ("logs", "x", "-f")):
        result = project(*args)
        assert (result.status, result.out) == (1, "")
        assert "x" in result.err
        assert "Traceback" not in result.err
    assert project("clean", "--status", "unreadable").out == "nothing was removed: 1 run kept\n"
    assert "removed x (unreadable" in project("clean", "--all", "-y").out


def test_secrets_are_masked_in_what_is_shown(project: Project) -> None:
    head = "\nsecrets: [TOKEN]\nsteps:\n"
    project.write("secret", head + '  - {id: s, type: shell, run: "echo sesame-open-1 >&2; exit 4"}\n')
    gate = '  - {id: g, type: gate, message: "use sesame-open-1?", options: [accept, reject]}\n'
    project.write("asks", head + gate)
    for name in ("secret", "asks"):
        for args in (("--json",), ()):
            result = project("run", f"{name}.yml", *args, TOKEN="sesame-open-1")
            assert "sesame" not in result.out + result.err
            assert "***" in result.out + result.err


def test_python_is_found_by_the_module_name_too() -> None:
    done = subprocess.run([sys.executable, "-m", "bakeoff", "--version"], env=environment(), capture_output=True)
    assert done.stdout.startswith(b"bakeoff, version ")
