"""The frame around all commands."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import click
import pytest

from bakeoff.cli import main
from bakeoff.cli.command_line import COMMANDS, cli
from bakeoff.engine.store import RunStore
from cli.conftest import ARGV, Command, environment


def test_help_lists_every_command_and_imports_none(command: Command) -> None:
    code = (
        "import sys\nsys.argv = ['bakeoff', '--help']\nfrom bakeoff.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('rich', 'pydantic', 'yaml', 'anyio', 'asyncio')])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    for name in COMMANDS:
        assert f"\n  {name} " in done.stdout
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(command: Command, name: str) -> None:
    result = command(name, "--help")
    assert result.status == 0
    assert result.out.startswith(f"Usage: bakeoff {name}")
    if name not in ("schema", "completion"):
        assert "--json" in result.out


def test_a_ctrl_c_when_all_is_done_leaves_no_traceback(tmp_path) -> None:
    code = (
        "import atexit, os, signal, sys, time\nsys.argv = ['bakeoff', '--version']\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "atexit.register(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60)))\n"
        "from bakeoff.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.startswith("bakeoff, version")


def test_commands_that_look_need_neither_pydantic_nor_rich(tmp_path) -> None:
    code = (
        "import sys\nsys.argv = ['bakeoff', 'runs']\nfrom bakeoff.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'rich', 'pydantic', 'yaml', 'asyncio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), cwd=tmp_path, check=True)


def test_a_command_line_that_is_not_understood(command: Command) -> None:
    for args in (("nope",), ("run",), ("show", "a", "b", "c"), ("run", "x.yml", "--max-parallel", "0")):
        result = command(*args)
        assert (result.status, result.out) == (2, "")
        assert "Usage: " in result.err
    assert "No such command 'rnu' (did you mean run?)" in command("rnu").err
    assert "stands last, behind `--`" in command("attempt", "-make it work").err
    assert "behind `--`" not in command("attempt", "--taks=make it work").err


def test_a_run_that_is_not_named_is_asked_for(command: Command, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert "There are no runs here yet" in command("resume").err
    for number in range(7):
        RunStore(tmp_path).create(f"r{number}").journal.touch()
    for name in ("resume", "apply", "diff", "cancel"):
        said = command(name).err
        assert "Missing argument 'RUN'. The runs here, the newest first: " in said
        assert "and older ones: see `bakeoff runs`" in said


def test_what_the_machine_refuses_is_no_fault_of_ours(command: Command, monkeypatch, tmp_path) -> None:
    def full(self):
        raise ExceptionGroup("one", [OSError(28, "No space left on device", "/x/logs")])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bakeoff.engine.store.RunStore.all", full)
    result = command("runs")
    assert (result.status, result.out) == (1, "")
    assert result.err == "error: /x/logs: No space left on device\n"


def test_a_full_disk_that_is_not_named_is_looked_for_in_all_places(command: Command, monkeypatch, tmp_path) -> None:
    def full(self):
        raise ExceptionGroup("one", [OSError(28, "No space left on device")])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bakeoff.engine.store.RunStore.all", full)
    result = command("runs")
    assert (result.status, result.out) == (1, "")
    assert "no space is left on the disk; make room where the project, " in result.err


def test_a_fault_of_our_own_is_told_without_a_traceback(command: Command, monkeypatch, tmp_path) -> None:
    def broken(self):
        raise ExceptionGroup("two", [ValueError("odd \x1b[2J thing")])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bakeoff.engine.store.RunStore.all", broken)
    result = command("runs")
    assert (result.status, result.out) == (1, "")
    assert "a fault in bakeoff" in result.err
    assert "ValueError: odd \\x1b[2J thing" in result.err
    assert "Traceback" not in result.err
    assert "report it" in result.err
    monkeypatch.setenv("BAKEOFF_DEBUG", "1")
    assert "Traceback" in command("runs").err


def test_interrupts_and_readers_that_leave(command: Command, monkeypatch) -> None:
    def interrupted(*args, **options):
        raise click.Abort

    monkeypatch.setattr(cli, "main", interrupted)
    assert command().status == 130
    gone = []
    monkeypatch.setattr("bakeoff.cli.output.stdout_is_gone", lambda: gone.append(True))

    def hung_up(*args, **options):
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(cli, "main", hung_up)
    result = command()
    assert (result.status, result.err, gone) == (1, "", [True])


def test_windows_is_refused_in_one_sentence(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err == "error: bakeoff does not run on Windows; use it inside WSL 2\n"


def test_standard_error_that_is_closed_does_not_end_a_run(tmp_path) -> None:
    (tmp_path / "q.yml").write_text(
        'schema_version: "1.0"\nworkflow: {id: q, name: Q, version: "1.0.0"}\n'
        "steps:\n  - {id: a, type: shell, run: 'true'}\n"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*ARGV, "run", "q.yml"], cwd=tmp_path, env=environment(), stderr=write, stdout=subprocess.PIPE
    )
    os.close(write)
    assert done.returncode == 0
    assert b"completed" in done.stdout
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*ARGV, "run", "q.yml"], cwd=tmp_path, env=environment(), stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("variable", "digits"), [("0", 4300), ("1000", 1000), (None, 4300)])
def test_numbers_of_any_length_are_never_read(variable: str | None, digits: int) -> None:
    code = (
        "import sys\nsys.argv = ['bakeoff', '--version']\nfrom bakeoff.cli import main\n"
        "try: main()\nexcept SystemExit: print(sys.get_int_max_str_digits())"
    )
    set_to = {} if variable is None else {"PYTHONINTMAXSTRDIGITS": variable}
    done = subprocess.run([sys.executable, "-c", code], env=environment() | set_to, capture_output=True, text=True)
    assert done.stdout.endswith(f"\n{digits}\n"), done.stderr
