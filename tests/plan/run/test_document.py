"""`plan.yml`: what is written is read, and what is wrong is named with line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.document import PlanFileError, read_file, read_plan, write_text
from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.plan.run.plan import Group, Plan, Subplan
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings.plan import PlanSettings

OPTIONS = AttemptOptions(
    "do", agent="codex", checks=("pytest -q", "ruff check"), repair=1, max_cost=2.5, may_edit=("t/*",)
)


def test_what_is_written_is_read_back():
    plan = Plan(
        "do",
        (
            Subplan("a", files=("a.py", "ü b.py"), writes=("a*",), uses=("c.py",), parent="inner"),
            Subplan("b", goal="more", prompt="line\nline: two", after=("a", "outer"), parent=None),
            Subplan("c", files=("c.py",), parent="outer"),
        ),
        OPTIONS,
        SubplanConfig("sequential", 7, True, 2, 9.5, "leave_out", 3),
        (Group("outer", "all"), Group("inner", "", "outer")),
    )
    again = read_plan(write_text(plan), "plan.yml")
    # A group stands where its first subplan does.
    assert [subplan.name for subplan in again.subplans] == ["a", "c", "b"]
    assert {subplan.name: subplan for subplan in again.subplans} == {subplan.name: subplan for subplan in plan.subplans}
    assert (again.attempt, again.config, again.groups) == (plan.attempt, plan.config, plan.groups)
    assert Plan.from_json(plan.to_json()) == plan
    assert read_plan(write_text(again), "plan.yml") == again


def test_a_split_becomes_a_plan_with_its_hierarchy():
    files = [SourceFile(f"{a}/{b}/f{n}.py", 10) for a in "xy" for b in "pq" for n in range(4)]
    imports = {"x/p/f0.py": ["y/q/f1.py"], "x/p/f1.py": ["y/q/f1.py", "y/q/f2.py"]}
    made = decompose(files, PlanSettings(max_files_per_subplan=4), imports=imports)
    plan = plan_of_hierarchy(made, "do", OPTIONS, SubplanConfig(), imports)
    assert sorted(path for subplan in plan.subplans for path in subplan.files) == sorted(file.path for file in files)
    assert [name for _, name, leaf in plan.tree() if leaf] == [subplan.name for subplan in plan.subplans]
    users = [subplan for subplan in plan.subplans if subplan.uses]
    assert users
    for user in users:
        used = [other for other in plan.subplans if not set(other.files).isdisjoint(user.uses)]
        assert user.after == tuple(other.name for other in used)
        assert all(plan.subplans.index(other) < plan.subplans.index(user) for other in used)
    free = plan_of_hierarchy(made, "do", OPTIONS, SubplanConfig("parallel"), imports)
    assert not any(subplan.after for subplan in free.subplans)
    assert read_plan(write_text(plan), "p").graph().needs == plan.graph().needs
    with pytest.raises(PlanError, match="no files"):
        plan_of_hierarchy(decompose([]), "do", OPTIONS, SubplanConfig(), {})


def test_names_that_would_be_equal_are_told_apart():
    files = [SourceFile(path, 10) for path in ("a b/x.py", "a-b/x.py", "a_b/x.py")]
    made = decompose(files, PlanSettings(max_files_per_subplan=1))
    plan = plan_of_hierarchy(made, "do", OPTIONS, SubplanConfig(), {})
    assert sorted(subplan.name for subplan in plan.subplans) == ["a-b-x.py", "a-b-x.py-2", "a_b-x.py"]


GOAL, REST = "goal: x\n", "\nchecks: a\nsubplans: [{name: a}]"
HEAD = "goal: x\nchecks: a\nsubplans:\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "plan.yml is empty"),
        ("goal: [", "plan.yml, line 1: this is no YAML"),
        ("goal: \x01", "this is no YAML"),
        ("- a", "line 1: a plan must be a mapping"),
        ("goal: x\nsubplan: []", "line 2: a plan has no `subplan`; did you mean `subplans`?"),
        ("goal: x\ngoal: y", "line 2: `goal` is there twice"),
        ("goal: x\nchecks: [a]", "line 1: `subplans` is missing"),
        ("goal:\nsubplans: []", "line 1: `goal` must be a text"),
        ("goal: x\nchecks: [a]\nsubplans: []", "line 3: `subplans` must be a list with at least one"),
        ("goal: x\nchecks: {a: b}\nsubplans: [{name: a}]", "line 2: `checks` must be a text or a list of texts"),
        (GOAL + "repair: many" + REST, "line 2: `repair` must be a whole number, not 'many'"),
        (GOAL + "max_cost: -1" + REST, "line 2: `max_cost` must be a number from 0"),
        (GOAL + "max_cost: 0" + REST, "line 2: `max_cost` must be more than 0"),
        (GOAL + "max_calls: 0" + REST, "line 2: `max_calls` must be more than 0"),
        (GOAL + "sandbox: some" + REST, "line 2: `sandbox` must be one of full, weak, none"),
        (GOAL + "config: {fail_fast: 3}" + REST, "line 2: `fail_fast` must be true or false"),
        (GOAL + "config: {on_conflict: no}" + REST, "line 2: `on_conflict` must be one of"),
        (GOAL + "config: {max_parallel: 0}" + REST, "line 2: max_parallel must be at least 1, not 0"),
        (GOAL + "config:\n  timeout_per_subplan: 0" + REST, "line 3: `timeout_per_subplan` must be more than 0"),
        (GOAL + "attempts: 0" + REST, "plan.yml: `attempts` must be at least 1, not 0"),
        (GOAL + "config: {max_parallel: [1]}" + REST, "`max_parallel` must be a single value"),
        ("goal: x\nsubplans: [{name: a}]", "plan.yml: there is nothing to judge by: give `checks`"),
        (HEAD + "  - files: [a]", "line 4: a subplan without `name`"),
        (HEAD + "  - name: a/b", "line 4: `name`: take letters"),
        (HEAD + "  - name: a\n  - name: a", "line 5: there are two subplans called 'a'; the other"),
        (HEAD + "  - name: a\n  - name: b\n    after: [zz]", "line 5: subplan 'b' waits for 'zz'"),
        (HEAD + "  - name: a\n    filse: [x]", "line 5: a subplan has no `filse`; did you mean `files`?"),
        (HEAD + "  - name: a\n    files: [../b]", "line 5: `files`: '../b' must be a path from the top of the project"),
        (HEAD + "  - name: a\n    files: [/etc/passwd]", "line 5: `files`: '/etc/passwd' must be a path from the top"),
        (HEAD + "  - name: a\n    writes: [a/../../b]", "line 5: `writes`: 'a/../../b' must be a path"),
        (HEAD + "  - name: a\n    colour: red", "it may have: name, goal, prompt"),
        (HEAD + "  - {name: a, files: [x], subplans: [{name: b}]}", "`files` is of no use here: 'a' is a group"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(text, message):
    with pytest.raises(PlanFileError) as failure:
        read_plan(text, "plan.yml")
    assert message in str(failure.value)


def test_names_are_checked_in_every_mode():
    text = "goal: x\nchecks: a\nconfig: {execution_mode: parallel}\nsubplans:\n  - {name: a, after: [zz]}\n"
    with pytest.raises(PlanFileError, match="line 5: subplan 'a' waits for 'zz'"):
        read_plan(text, "plan.yml")
    plan = read_plan(text.replace("[zz]", "[b]") + "  - {name: b}\n", "plan.yml")
    assert plan.graph().needs == {"a": frozenset(), "b": frozenset()}
    assert list(plan.graph().tasks) == ["a", "b"]


def test_what_is_null_counts_as_left_out():
    text = (
        "goal: x\nmodel: null\nchecks: a\nconfig: {timeout_per_subplan: null}\nsubplans: [{name: a, goal: ~, files: ~}]"
    )
    plan = read_plan(text, "p")
    assert (plan.attempt.model, plan.config.timeout_per_subplan, plan.subplans[0].goal) == (None, None, "")


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path):
    with pytest.raises(PlanFileError, match="cannot be read"):
        read_file(tmp_path / "missing.yml")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: SubplanConfig(execution_mode="odd"), "execution_mode must be one of"),
        (lambda: SubplanConfig(max_retries=-1), "max_retries must be at least 0"),
        (lambda: SubplanConfig(timeout_per_subplan=float("nan")), "timeout_per_subplan must be a number"),
        (lambda: Plan("x", (Subplan("a/b"),), OPTIONS), "cannot be the name"),
        (lambda: Plan("x", (Subplan("a"), Subplan("a")), OPTIONS), "two subplans called 'a'"),
    ],
)
def test_what_no_plan_may_be(made, message):
    with pytest.raises(PlanError, match=message):
        made()
