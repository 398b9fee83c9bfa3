"""Plans whose coordinator is killed, and taken up again: the same tree, and nothing finished is redone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bakeoff.engine.record import RunStatus
from crash.laboratory import Zygote
from plan.run.conftest import states

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"
MOMENTS, PLAIN = (50, 9) if SOAK else (1, 3)
BOUND = 3

CHECK = "test ! -e def-f -o ! -e def-g"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


def session(plans, zygote, **crash: Any) -> int:
    """Begin the run, or go on with it; the exit status, -9 when it was killed."""
    lab = plans.lab
    begun = lab.run.journal.exists() and bool(lab.run.history().meta)
    if not begun and lab.run.root.exists():
        assert lab("clean", "r").status == 0
    first = ["plan", "run", str(lab.place / "plan.yml"), "--run-id", "r", "--json"]
    return zygote.call(
        {
            "cwd": str(lab.root),
            "argv": ["resume", "r", "--json"] if begun else first,
            "env": dict(os.environ),
            "stdout": str(lab.place / "stdout"),
            "stderr": str(lab.place / "stderr"),
            "crash": crash,
        }
    )


def said(plans) -> str:
    return (plans.lab.place / "stderr").read_text()


def until(true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


def finished(plans) -> Counter[str]:
    """How often each subplan has a committed end."""
    if not plans.lab.run.journal.exists():
        return Counter()
    records = plans.lab.run.history().records
    return Counter(path.split(":")[1] for path, record in records.items() if path.startswith("subplan:")
                   and "/" not in path and record.final)  # fmt: skip


def tree(plans) -> str:
    """The id of the tree of what landed."""
    (repository,) = plans.lab.place.glob("data/bakeoff/projects/*/repository.git")
    argv = ["git", "--git-dir", str(repository), "rev-parse", f"{plans.lab.refs()['r/result']}^{{tree}}"]
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout


@pytest.fixture
def life(plans):
    """Fifteen subplans, or nine: some wait, one conflicts, one breaks another; both are mended later."""
    again = "case \"$1\" in *'not mer'?ed*) {} ;; *) {} ;; esac"
    parts = [plans.part(f"p{n}", f"echo {n} > p{n}.txt") for n in range(PLAIN)]
    parts += [
        plans.part("on-p0", "cat p0.txt > on-p0.txt", after=["p0"]),
        plans.part("on-on-p0", "cat on-p0.txt p1.txt > more.txt", after=["on-p0", "p1"]),
        plans.part("one", "sed -i 's/line 3$/line three/' hub.txt; echo > def-f"),
        plans.part("two", again.format("echo two >> hub.txt", "sed -i 's/line 3$/LINE 3/' hub.txt")),
        plans.part("three", again.format("echo > three.txt", "echo > def-g")),
        plans.part("bad", "exit 1"),
    ]
    plans.checks = CHECK
    plans.write(parts, {"max_parallel": BOUND, "max_reopened": 1})
    return plans


def test_killed_at_moments_of_its_whole_life(life, zygote):
    lab, before = life.lab, life.lab.digest()
    assert session(life, zygote) == 3, said(life)
    whole, shown = tree(life), lab("show", "r", "--json").json
    assert states(shown).pop("bad") == "failed"
    assert len(shown["landed"]) == PLAIN + 5
    assert [one["ref"] for one in shown["conflicts"]] == ["two"]
    assert [(one["ref"], one["with"]) for one in shown["culprits"]] == [("three", "one")]
    content = lab.content(lab.refs()["r/result"], "more.txt")
    calls, entries = len(life.parts), _entries(life)
    draw = random.Random(7)
    moments = sorted(draw.sample(range(2, entries), MOMENTS))
    for number in moments:
        lab("clean", "r")
        (lab.place / "parts").unlink(missing_ok=True)
        at, kills = number, 0
        while True:
            done, ran = finished(life), Counter(life.parts)
            status = session(life, zygote, at=at, when=draw.choice(["before", "after"]))
            now = Counter(life.parts)
            for name, count in done.items():  # what was finished is not run again, but for a round of its own
                most = 2 - count if name in ("two", "three") else 0
                assert now[name] - ran[name] <= most, (number, name)
            if status != -signal.SIGKILL:
                break
            kills += 1
            until(lambda: lab.left() == [])
            at = draw.randrange(2, 40)  # and once more, further on
            if kills == (3 if SOAK else 1):
                at = 10**6
        found = lab("show", "r", "--json").json
        assert status == 3, said(life)
        assert found["status"] == RunStatus.COMPLETED
        assert tree(life) == whole
        assert lab.content(lab.refs()["r/result"], "more.txt") == content
        assert states(found) == states(shown)
        assert len(life.parts) <= calls + BOUND * kills, number
        until(lambda: lab.left() == [])
        assert lab.slots() == []
        assert lab.digest() == before


def _entries(plans) -> int:
    """How many entries the journal of a whole life has."""
    import sqlite3

    with sqlite3.connect(plans.lab.run.journal) as db:
        (count,) = db.execute("select count(*) from entry").fetchone()
    db.close()
    return int(count)


def test_killed_in_the_middle_of_its_work_nothing_is_lost(plans, zygote):
    """An agent has written files when the coordinator dies: they are salvaged, and the subplan is made again."""
    first = "echo precious > work.txt; : > $PLACE/writing; [ -e $PLACE/go ] || sleep 30"
    plans.write([plans.part("a", first), plans.part("b", "echo > b.txt")], {"max_parallel": 1})
    process = plans.lab.spawn("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    until(lambda: (plans.lab.place / "writing").exists())
    busy = plans.lab("plan", "skip", "r", "a")
    assert busy.status == 1
    assert "run" in busy.err
    process.kill()
    process.communicate()
    (plans.lab.place / "go").touch()
    until(lambda: plans.lab.left() == [])
    said = plans.again("resume", "r")
    assert said.status == 0, said
    assert plans.parts == ["a", "a", "b"]
    salvaged = [commit for ref, commit in plans.lab.refs().items() if "salvage" in ref]
    assert any(plans.lab.content(commit, "work.txt") == "precious\n" for commit in salvaged)
    assert plans.lab.slots() == []


def test_killed_after_the_end_of_an_agent_its_work_is_taken_over(plans, zygote):
    plans.write([plans.part("a", "echo > a.txt"), plans.part("b", "echo > b.txt", after=["a"])], {"max_parallel": 1})
    before = plans.lab.digest()
    crash = {"in": "bakeoff.engine.run:Run.checkpoint", "when": "after"}
    assert session(plans, zygote, **crash, nth=1) == -signal.SIGKILL, said(plans)
    until(lambda: plans.lab.left() == [])
    assert session(plans, zygote) == 0, said(plans)
    assert plans.parts == ["a", "b"]
    shown = plans.lab("show", "r", "--json").json
    assert (shown["usage"]["calls"], sorted(shown["landed"])) == (2, ["a", "b"])
    assert [ref for ref in plans.lab.refs() if "salvage" in ref] == []
    assert plans.lab.slots() == []
    assert plans.lab.digest() == before
