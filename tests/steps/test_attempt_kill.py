"""Attempts in workflows whose coordinator is killed, cancelled or interrupted, and taken up again or edited."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from attempt.conftest import ADD, FIX, FIXED
from attempt.test_resume import until
from bakeoff.engine.record import RunStatus
from crash.laboratory import Zygote

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"

FLOW = f"""
steps:
  - id: fan
    type: fan-out
    items: [a, b]
    max_concurrency: 2
    step: {{id: solve, type: attempt, agent: fake, task: "{{{{ item }}}}", repair: 1, check: {FIXED}}}
  - {{id: land, type: attempt, agent: fake, task: land, check: {FIXED}, apply: landed}}
"""

SCRIPT = f"""echo "$1.$BAKEOFF_ATTEMPT" | head -1 | cut -c1-9 >> LAB/said
echo "# $BAKEOFF_ATTEMPT" >> calc.py
case "$1" in b*|land) {FIX};; *) [ $BAKEOFF_ATTEMPT != 2 ] || {FIX};; esac"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


def session(lab, flow, zygote: Zygote, **crash: Any) -> int:
    begun = lab.run.journal.exists() and bool(lab.run.history().meta)
    if not begun and lab.run.root.exists():
        assert lab("clean", "r").status == 0
    argv = ["resume", "r"] if begun else ["run", str(flow.file), "--run-id", "r"]
    streams = {name: str(lab.place / name) for name in ("stdout", "stderr")}
    return zygote.call({"cwd": str(lab.root), "argv": argv, "env": dict(os.environ), **streams, "crash": crash})


def finished(lab) -> dict[str, int]:
    """How often each attempt whose generation is on record was started."""
    if not lab.run.journal.exists():
        return {}
    history = lab.run.history()
    made = [path for path, record in history.records.items() if record.final and path.endswith("/generate")]
    return {path: sum(start.path == path for start in history.spans) for path in made}


def check_end(lab) -> None:
    history = lab.run.history()
    assert history.status is RunStatus.COMPLETED
    assert history.records["fan:solve:0"].output["winner"] == 2
    assert history.records["fan:solve:1"].output["winner"] == 1
    assert "a + b" in lab.git("show", "landed:calc.py")
    until(lambda: lab.left() == [])
    assert lab.slots() == []
    assert (lab.root / "calc.py").read_text() == ADD


def test_killed_at_journal_writes_nothing_is_paid_twice(lab, flow, zygote):
    lab.agent(SCRIPT.replace("LAB", str(lab.place)))
    flow.write(FLOW)
    before = lab.digest
    assert callable(before)
    for number in itertools.count(3, 1 if SOAK else 13):
        lab("clean", "r")
        if lab.git("branch", "--list", "landed"):
            lab.git("branch", "-D", "landed")
        status = session(lab, flow, zygote, at=number, when=("before", "after")[number % 2])
        if status == 0:
            assert number > 20
            check_end(lab)
            return
        assert status == -signal.SIGKILL, (lab.place / "stderr").read_text()
        until(lambda: lab.left() == [])
        done = finished(lab)
        if lab.run.journal.exists() and lab.run.history().status is not RunStatus.COMPLETED:
            assert session(lab, flow, zygote) == 0, (number, (lab.place / "stderr").read_text())
        elif not lab.run.journal.exists():
            continue
        after = finished(lab)
        assert all(after[path] == count for path, count in done.items()), (number, done, after)
        check_end(lab)


@pytest.mark.parametrize("edit", [False, True])
def test_killed_after_the_end_of_an_agent_it_goes_on_from_what_that_made(lab, flow, zygote, edit):
    lab.agent(f'{FIX}; echo "$1" > made.txt', more="")
    text = f"""
        steps:
          - id: fan
            type: fan-out
            items: [a, b]
            max_concurrency: 1
            step: {{id: solve, type: attempt, agent: fake, task: "{{{{ item }}}}", check: {FIXED}, max_calls: 1}}
        """
    flow.write(text)
    crash = {"in": "bakeoff.engine.run:Run.checkpoint", "when": "after", "nth": 2}
    assert session(lab, flow, zygote, **crash) == -signal.SIGKILL, (lab.place / "stderr").read_text()
    until(lambda: lab.left() == [])
    said = flow.edit(text + "  - {id: after, type: shell, run: echo}\n") if edit else flow.resume()
    assert said.status == 0, said
    assert lab.calls == ["1", "1"]
    assert lab.content(flow.output("fan:solve:1")["commit"], "made.txt") == "b\n"
    assert flow.history.usage["calls"] == 2
    assert flow.history.checkpoints == {}
    assert lab.slots() == []


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT", "cancel"])
def test_stopped_with_work_in_the_slots(lab, flow, how):
    lab.agent(f'echo "half $1" > half.txt; touch "{lab.place}/at-$1"; [ -e {lab.place}/go ] || sleep 60; {FIX}')
    path = flow.write(
        f"""
        steps:
          - id: fan
            type: fan-out
            items: [a, b]
            max_concurrency: 2
            step: {{id: solve, type: attempt, agent: fake, task: "{{{{ item }}}}", check: {FIXED}}}
        """
    )
    before = lab.digest()
    process = lab.spawn("run", str(path), "--run-id", "r", stdin=subprocess.DEVNULL)
    until(lambda: all((lab.place / f"at-{item}").exists() for item in "ab"))
    shown = lab("show", "r").out
    assert "▶ attempt:1 running" in shown
    if how == "cancel":
        assert lab("cancel", "r").status == 0
    else:
        process.send_signal(getattr(signal, how))
    process.communicate(timeout=60)
    until(lambda: lab.left() == [])
    if how != "SIGKILL":
        assert lab.slots() == []
    (lab.place / "go").touch()
    lab.write("calc.py", "# changed meanwhile\n" + ADD)
    assert flow.resume().status == 0
    saved = [oid for name, oid in lab.refs().items() if name.startswith("salvage/r/")]
    assert sorted(lab.content(oid, "half.txt") for oid in saved) == ["half a\n", "half b\n"]
    assert lab.slots() == []
    # It goes on from the snapshot that it had begun with.
    assert "meanwhile" not in lab.content(flow.output("fan:solve:0")["commit"], "calc.py")
    lab.write("calc.py", ADD)
    assert lab.digest() == before
    assert lab("clean", "r").status == 0
    assert not [name for name in lab.refs() if name.startswith("r/")]


def test_a_step_that_failed_begins_again_with_the_files_as_they_are(lab, flow):
    lab.agent(f"[ ! -e key.txt ] || {FIX}; echo x >> made.txt")
    text = f"steps:\n  - {{id: solve, type: attempt, agent: fake, task: t, attempts: 2, check: {FIXED}}}\n"
    assert flow(text).status == 1
    assert sorted(lab.calls) == ["1", "2"]
    # As long as nothing has changed, nothing is made again.
    assert flow.resume().status == 1
    assert sorted(lab.calls) == ["1", "2"]
    assert flow.step("solve")["attempts"] == 2
    lab.write("key.txt", "now")
    assert flow.resume().status == 0
    assert sorted(lab.calls) == ["1", "1", "2", "2"]
    assert flow.output("solve")["winner"] == 1
    paths = [path for path in flow.history.records if path.endswith("generate")]
    assert "solve/again:3/attempt:1/generate" in paths
    assert "+now" not in lab("diff", "r", "solve").out
    assert "a + b" in lab("diff", "r").out


def test_more_attempts_keep_those_that_were_made(lab, flow):
    lab.agent(f'[ "$BAKEOFF_ATTEMPT" != 3 ] || {FIX}; echo x >> made.txt')
    text = f"steps:\n  - {{id: solve, type: attempt, agent: fake, task: t, attempts: 2, check: {FIXED}}}\n"
    assert flow(text).status == 1
    more = text.replace("attempts: 2", "attempts: 3").replace("id: solve", "id: better")
    assert flow.edit(more).status == 0
    assert sorted(lab.calls) == ["1", "2", "3"]
    assert flow.output("better")["winner"] == 3
    assert "a + b" in lab("diff", "r", "better").out
    after = more + "  - {id: after, type: shell, run: 'echo {{ steps.better.output.winner }}'}\n"
    said = lab("resume", "r", "--edit", str(flow.write(after)), "--explain", "--json")
    assert said.status == 0, said
    plan = said.json["steps"]
    assert [(row["path"], row["action"]) for row in plan] == [("better", "reuse"), ("after", "run")]
    assert flow.edit(after).status == 0
    assert sorted(lab.calls) == ["1", "2", "3"]
    assert flow.stdout("after") == "3\n"
    lab.write("calc.py", ADD + "# other\n")
    third = after + "  - {id: third, type: shell, run: echo 3}\n"
    plan = json.loads(lab("resume", "r", "--edit", str(flow.write(third)), "--explain", "--json").out)["steps"]
    assert plan[0]["action"] == "run"


def test_a_branch_that_was_made_is_not_made_twice(lab, flow, monkeypatch):
    """The session dies between making the branch and saying so."""
    from bakeoff.jobs import landing

    lab.agent(FIX)
    text = f"steps:\n  - {{id: solve, type: attempt, agent: fake, task: t, check: {FIXED}, apply: landed}}\n"
    made = landing.branch

    def dies(*args: Any) -> str:
        made(*args)
        raise landing.GitError("died")

    monkeypatch.setattr(landing, "branch", dies)
    assert flow(text).status == 1
    monkeypatch.setattr(landing, "branch", made)
    commit = lab.git("rev-parse", "landed")
    assert flow.resume().status == 0
    assert lab.git("rev-parse", "landed") == commit
    assert flow.output("solve")["applied"]["made"] == commit


def test_a_spent_time_keeps_what_had_ended(lab, flow):
    lab.agent(
        f"[ $BAKEOFF_ATTEMPT = 1 ] || [ -e {lab.place}/go ] || sleep 60; [ $BAKEOFF_ATTEMPT = 1 ] || {FIX}; echo >> made.txt"
    )
    text = f"steps:\n  - {{id: solve, type: attempt, agent: fake, task: t, repair: 1, check: {FIXED}, timeout: 8}}\n"
    assert flow(text).status == 1
    assert flow.step("solve")["kind"] == "timeout"
    (lab.place / "go").touch()
    assert flow.resume().status == 0
    assert lab.calls == ["1", "2", "2"]
