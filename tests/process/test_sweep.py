"""Finding survivors where there is no /proc, from what ps prints."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bakeoff.process import sweep as sweep_module
from bakeoff.process.sweep import Survivor, process_token, survivors, sweep, token_of
from process.family import SOURCE, Fifo

HERE = Path.cwd()
LISTING = f"""
  1     0 /sbin/launchd
 70     1 /bin/sleep 9 HOME=/x BAKEOFF_RUN=dead BAKEOFF_LEAF=1
 71     1 /bin/sh BAKEOFF_RUN=outer x BAKEOFF_RUN=alive
 72     1 /bin/sleep 9
{os.getpid()}  73 python BAKEOFF_RUN=dead
 73     1 /bin/sh -c x BAKEOFF_RUN=dead
"""


def test_survivors_by_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module.sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, stdout=LISTING))
    assert survivors(lambda token: token == "dead", HERE) == [Survivor(70, "dead")]
    assert survivors(lambda token: token == "alive", HERE) == [Survivor(71, "alive")]


def test_a_sweep_gives_up_on_what_will_not_die(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(sweep_module, "_marked", lambda: [(70, "dead")])
    monkeypatch.setattr(
        sweep_module, "kill_trees", lambda pids: sent.extend(pids) or dict(zip(pids, pids, strict=True))
    )
    monkeypatch.setattr(sweep_module, "PATIENCE", 0.02)
    assert sweep(lambda _: True, HERE) == [Survivor(70, "dead")]
    assert set(sent) == {70}


def test_without_ps_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(sweep_module.sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", missing)
    assert survivors(lambda _: True, HERE) == []


REAPER = """
import os, signal, subprocess, sys
from bakeoff.process.proctable import adopt_orphans
adopt_orphans()
subprocess.run(["sh", "-c", 'exec 9>"$FIFO"; (env -i setsid sh -c "echo bare >&9; exec sleep 600" &); echo up >&9'])
if sys.argv[1] == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper")
@pytest.mark.parametrize("how", ["stopped", "alive"])
def test_what_hides_below_a_marked_process_goes_with_it(tmp_path: Path, how: str) -> None:
    """What left its session and emptied its environment is known by descent only, while what it descends from lives."""
    fifo, token = Fifo(tmp_path), f"sweep-{tmp_path}"
    environ = {**os.environ, "PYTHONPATH": SOURCE, "FIFO": fifo.path, "BAKEOFF_RUN": token}
    with subprocess.Popen([sys.executable, "-c", REAPER, how], env=environ) as marked:
        fifo.wait_for(2)
        killed = sweep(lambda candidate: candidate == token, tmp_path)
        fifo.wait_until_gone(0.5)
    assert marked.pid in {survivor.pid for survivor in killed}
    assert len(killed) >= 2
    assert {survivor.token for survivor in killed} == {token}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_what_a_dead_process_started_survives_unless_it_is_a_daemon_that_may_stay(tmp_path: Path) -> None:
    program = "from bakeoff.process.sweep import process_token as t; print(t(), t(daemons=False))"
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    folder = tmp_path / "a b:c"
    folder.mkdir()
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )
    all_of, without_daemons = said.stdout.split()
    other_system = all_of.replace("process:", "process:7", 1)
    other_folder = all_of + "d"
    started = [
        subprocess.Popen(
            ["sleep", "600"], env={"PATH": os.environ["PATH"], "BAKEOFF_RUN": token}, start_new_session=new
        )
        for token in (all_of, without_daemons, other_system, other_folder, "process:::::", process_token())
        for new in (False, True)
    ]
    try:
        mine = {process.pid: place for place, process in enumerate(started)}
        while not all(token_of(pid) for pid in mine):  # it can be read a moment after the program has begun
            time.sleep(0.005)
        found = {mine[survivor.pid] for survivor in survivors(lambda _: False, folder) if survivor.pid in mine}
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert found == {0, 1, 2}
