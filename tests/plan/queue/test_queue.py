"""The queue from Python, as a plan uses it: results in plan order come in, findings come out."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import LANE
from bakeoff.judge.verdict import ValidationResult
from bakeoff.plan.merge.chain import Change, Merger
from bakeoff.plan.merge.hunks import Hunk
from bakeoff.plan.merge.trees import Clash
from bakeoff.plan.queue.feedback import reopenings
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.queue import MergeQueue, _Batch
from bakeoff.plan.queue.verification import Verification
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.snapshot.snapshot import Entries
from plan.merge.forge import Forge

LINES = "".join(f"line {number}\n" for number in range(12))


class Bench:
    """A queue whose checks are told by a function of the names of a tree's files; git is real."""

    def __init__(self, forge: Forge, base: str, judge, merger: Merger | None = None):
        self.forge, self.run, self.seen = forge, Run(lanes=Lanes({LANE: 2, LEAVES: 8})), []
        self.merger = merger or Merger(forge.git)
        self.tip = self.merger.point(base)
        self.judge, self.said, self.atonce, self.most = judge, [], 0, 0
        self.delay = lambda: 0.01

    def queue(self, tip=None, prefix="", checks=("check",), width=1):
        project = SimpleNamespace(root=Path("/nowhere"))
        base = SimpleNamespace(given_below=lambda path: None, project=project, entries=Entries())
        runner = cast(CheckRunner, SimpleNamespace(workspace=SimpleNamespace(base=base)))
        at = tip or self.tip
        verification = Verification(self.run, runner, at.tree, checks, prefix=prefix)
        return MergeQueue(self.merger, verification, runner, at, width, self.said.append)

    async def check(self, requirement, subject):
        self.atonce += 1
        self.most = max(self.most, self.atonce)
        await anyio.sleep(self.delay())
        self.atonce -= 1
        files = self.forge.git.run("ls-tree", "-r", "--name-only", subject.output["tree"]).decode().split()
        self.seen.append(files)
        failing = self.judge(requirement.command, files)
        if isinstance(failing, ValidationResult):
            return failing
        tests = {"failing": failing, "failed": len(failing)}
        return ValidationResult(not failing, "failing" if failing else "", receipt={"tests": tests})


@pytest.fixture
def bench(tmp_path, monkeypatch):
    from bakeoff.judge.checks.command import CommandRequirement

    def make(base_files, judge, **more):
        forge = Forge.at(tmp_path)
        found = Bench(forge, forge.commit(base_files), judge, **more)
        monkeypatch.setattr(CommandRequirement, "check", lambda self, subject: found.check(self, subject))
        return found

    return make


def unused(command, files):
    return [f"calls {name}" for path in files if path.startswith("calls-") and f"def-{(name := path[6:])}" not in files]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_batch_then_another_on_its_tip(bench, backend):
    found = bench({"def-f": "f\n", "hub": LINES}, unused)
    base = found.tip.commit
    one = found.forge.commit({"def-f": None, "def-g": "f\n"}, base)
    two = found.forge.commit({"hub": LINES.replace("line 3", "two")}, base)
    three = found.forge.commit({"calls-f": "x"}, base)
    four = found.forge.commit({"hub": LINES.replace("line 3", "four")}, base)
    changes = [Change(name, commit) for name, commit in (("one", one), ("two", two), ("three", three), ("four", four))]

    async def both():
        first = await found.queue().land(changes[:2])
        at = found.merger.point(first.tip)
        return first, await found.queue(at, "batch:2/").land(changes[2:])

    first, second = anyio.run(both, backend=backend)
    assert first.landed == ["one", "two"]
    assert (second.landed, second.base, second.tip) == ([], first.tip, first.tip)
    # On the new tip it fails by itself, and conflicts with what landed there.
    assert [(one.ref, one.other, one.test) for one in second.culprits] == [("three", None, "calls f")]
    assert [(one.ref, one.other) for one in second.conflicts] == [("four", "the base")]
    assert Findings.from_json(second.to_json()) == second
    assert found.most == 2


def test_the_owner_is_told_what_went_wrong_with_both_diffs(bench):
    found = bench({"def-f": "f\n", "hub": LINES}, unused)
    root = found.tip.commit
    later = LINES.replace("line 9", "nine")
    found.tip = found.merger.point(found.forge.commit({"hub": later}, root))
    base, forge = found.tip.commit, found.forge
    changes = [
        Change("mover", forge.commit({"def-f": None, "hub": later.replace("line 3", "mover")}, base)),
        Change("caller", forge.commit({"calls-f": "x\n"}, base)),
        Change("editor", forge.commit({"hub": later.replace("line 3", "editor")}, base)),
        Change("old", forge.commit({"hub": LINES.replace("line 9", "old")}, root)),
        Change("fine", forge.commit({"new": "x"}, base)),
    ]
    findings = anyio.run(found.queue().land, changes)
    assert findings.landed == ["mover", "fine"]
    told = {one.change.name: one for one in reopenings(Repository(forge.path), findings, changes)}
    assert list(told) == ["caller", "editor", "old"]
    assert {one.tip for one in told.values()} == {findings.tip}
    assert "together with other work (mover) it fails calls f" in told["caller"].prompt
    assert "+mover" in told["editor"].prompt
    assert "+editor" in told["editor"].prompt
    assert "conflicts with other work that is, in hub" in told["editor"].prompt
    assert "+nine" in told["old"].prompt
    assert "+old" in told["old"].prompt


def test_what_is_known_to_pass_is_not_run_alone(bench):
    found = bench({"def-f": "f\n"}, unused)
    base = found.tip.commit
    changes = [Change(str(number), found.forge.commit({f"m{number}": "x"}, base), tested=True) for number in range(4)]
    assert anyio.run(found.queue().land, changes).runs == len(found.seen) == 1


def test_a_base_that_fails_by_itself_excuses_only_what_it_names(bench):
    def judge(command, files):
        return ["always"] + (["bad"] if "bad" in files else [])

    found = bench({"f": "x"}, judge)
    base = found.tip.commit
    changes = [Change(name, found.forge.commit({name: "x"}, base), tested=True) for name in ("a", "bad", "c")]
    findings = anyio.run(found.queue().land, changes)
    assert (findings.landed, [one.tests for one in findings.culprits]) == (["a", "c"], [("bad",)])
    found.judge = lambda command, files: ValidationResult(False, "exit 1")
    changes = [Change(name, found.forge.commit({name: "y"}, base), tested=True) for name in ("a", "c")]
    with pytest.raises(BakeoffError, match="'check' fails on the base too and names no tests"):
        anyio.run(found.queue(prefix="2/").land, changes)


def test_one_red_run_of_the_base_without_names_is_not_believed(bench):
    reds = iter([True])

    def judge(command, files):
        if set(files) == {"f"}:
            return ValidationResult(not next(reds, False), "chance")
        return ValidationResult("bad" not in files, "exit 1")

    found = bench({"f": "x"}, judge)
    base = found.tip.commit
    changes = [Change(name, found.forge.commit({name: "x"}, base)) for name in ("a", "bad", "c")]
    findings = anyio.run(found.queue().land, changes)
    assert (findings.landed, [one.ref for one in findings.culprits]) == (["a", "c"], ["bad"])


def test_checks_are_run_in_order_up_to_the_first_that_fails(bench):
    calls = []

    def judge(command, files):
        calls.append((command, len(files)))
        return ["late"] if command == "second" and len(files) == 3 else []

    found = bench({"f": "x"}, judge)
    base = found.tip.commit
    changes = [Change(name, found.forge.commit({name: "x"}, base)) for name in ("a", "b")]
    findings = anyio.run(found.queue(checks=("first", "second", "third")).land, changes)
    assert (findings.landed, findings.culprits[0].tests) == (["a"], ("late",))
    assert ("third", 3) not in calls


def test_nothing_comes_in(bench):
    found = bench({"f": "x"}, unused)
    findings = anyio.run(found.queue().land, [])
    assert (findings.landed, findings.tip, findings.runs) == ([], found.tip.commit, 0)


def test_twins_and_what_is_there_already(bench):
    found = bench({"f": LINES}, unused)
    base = found.tip.commit
    one = found.forge.commit({"f": LINES.replace("line 3", "x")}, base)
    same = found.forge.commit({"f": LINES.replace("line 3", "x")}, base)
    changes = [Change("one", one), Change("same", same), Change("base", base)]
    findings = anyio.run(found.queue().land, changes)
    assert findings.landed == ["one", "same", "base"]
    assert (findings.runs, findings.tested) == (0, "already tested as one")  # all together is what each is alone
    assert len(found.seen) == 2


def some(forge, base, count):
    """Of ten results one edits the same lines as one of the next ten."""
    changes = []
    for number in range(1, count + 1):
        files = {f"m{number}": "x\n"} | ({"hub": LINES.replace("line 9", f"by {number}")} if number % 10 == 7 else {})
        changes.append(Change(f"r{number}", forge.commit(files, base)))
    return changes


def test_fifty_of_which_five_edit_the_same_lines(bench):
    """Case C8; its sizes are for the benchmark."""
    found = bench({"hub": LINES}, unused)
    findings = anyio.run(found.queue().land, some(found.forge, found.tip.commit, 50))
    assert len(findings.landed) == 46
    assert [(one.ref, one.other, one.path) for one in findings.conflicts] == [
        (f"r{number}", "r7", "hub") for number in (17, 27, 37, 47)
    ]
    assert findings.conflicts[0].hunks == (Hunk(10, "line 9", "by 7", "by 17"),)
    assert findings.runs == 1
    for path, (_, text) in found.forge.files(findings.tip).items():
        assert b"<<<<<<<" not in text, path


def test_who_finished_first_does_not_matter(bench):
    found = bench({"hub": LINES, "def-f": "f"}, unused)
    base = found.tip.commit
    changes = some(found.forge, base, 3)
    changes[1:1] = [Change("mover", found.forge.commit({"def-f": None}, base))]
    changes += [Change("caller", found.forge.commit({"calls-f": "x", "hub": LINES.replace("line 1\n", "x\n")}, base))]
    told = []
    for seed in range(20):
        order = Random(seed).sample(range(1000), 1000)
        found.delay = lambda order=order: order.pop() / 2e5
        told.append(anyio.run(found.queue(prefix=f"{seed}/", width=3).land, changes))
    assert all(one == told[0] for one in told)
    assert [(one.ref, one.other) for one in told[0].culprits] == [("caller", "mover")]


def test_whom_a_change_meets_where_no_pair_conflicts(bench):
    found = bench({"f": LINES}, unused)
    base = found.tip.commit
    changes = [Change(name, found.forge.commit({name: "x"}, base)) for name in ("a", "b", "c")]
    batch = _Batch(found.queue(), changes)
    anyio.run(batch.look)
    clash = Clash("a", "contents")
    assert [one.other for one in batch._named(2, [clash])] == ["a"]
    assert [one.other for one in batch._named(2, [Clash("z", "contents")])] == ["b"]
    assert [one.other for one in batch._named(0, [clash])] == ["the base"]
