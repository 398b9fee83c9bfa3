"""A plan while it runs: what is drawn, what another terminal sees."""

from __future__ import annotations

import time

from bakeoff.cli.display import Display
from bakeoff.engine.events import Events, NodeRetried, NodeStarted, RunChanged
from bakeoff.engine.record import Status
from bakeoff.plan.events import PlanBegun, SubplanChanged
from bakeoff.plan.run.lines import PlanProgress
from plan.run.conftest import lab, plans, states  # noqa: F401  (fixtures)


def rows_of(progress, room):
    return "\n".join("".join(text for text, _ in row) for row in progress.now(room))


def test_the_tree_is_drawn_with_what_each_does_and_waits_for(capsys):
    events = Events()
    lines = PlanProgress()
    Display(events, lines)
    tree = ((0, "group", False), (1, "a", True), (1, "b", True), (0, "c", True), (0, "d", True))
    events.emit(PlanBegun(1.0, tree, {"b": ("a",), "c": ("a", "b")}))
    now = time.time()
    events.emit(RunChanged(now - 90.0, "r", "running"))
    events.emit(SubplanChanged(now - 75.0, "a", Status.RUNNING))
    events.emit(NodeStarted(2.0, "subplan:a:0123456789/try:1/attempt:1/generate", "generate"))
    events.emit(NodeRetried(2.5, "subplan:a:0123456789/try:1/attempt:1/generate", 1, 3.0, "too often"))
    drawn = rows_of(lines, 20).splitlines()
    assert drawn[0].startswith("1 running, 3 pending, 1 m 3")
    assert drawn[1] == "group"
    assert drawn[2].startswith("  ▶ a  generate 1 m 1")
    assert drawn[3] == "  · b  waits for a"
    assert drawn[4] == "· c  waits for a, b"
    assert drawn[5] == "· d  waits for a place"
    # Where there is no room for all, those that go on are shown.
    assert [line.split()[1] for line in rows_of(lines, 2).splitlines()[1:]] == ["a"]
    events.emit(SubplanChanged(now - 72.5, "a", Status.FAILED, "it broke", 2))
    assert "✗ a" in rows_of(lines, 20)
    said = capsys.readouterr().err
    assert "! a: too often; again in 3.00 s" in said
    assert "✗ a failed: it broke (2.50 s" in said


def test_a_live_plan_is_shown_and_followed(plans):  # noqa: F811
    lab = plans.lab  # noqa: F811
    wait = "n=0; while [ ! -e $PLACE/go ] && [ $n -lt 1000 ]; do sleep 0.02; n=$((n+1)); done"
    plans.write(
        [plans.part("a", f": > $PLACE/there; {wait}; echo > a.txt"), plans.part("b", "echo > b.txt", after=["a"])]
    )
    process = lab.spawn("plan", "run", str(lab.place / "plan.yml"), "--run-id", "r", "--json", "-q")
    end = time.monotonic() + 60
    while not (lab.place / "there").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    shown = lab("show", "r", "--json").json
    assert (shown["status"], states(shown)) == ("running", {"a": "running", "b": "pending"})
    begun = next(span.at for span in lab.run.history().spans if span.path.startswith("subplan:a"))
    for _ in range(2):  # it counts on
        before = time.time() - begun
        shown = lab("show", "r", "--json").json
        (seconds,) = [one["seconds"] for one in shown["subplans"] if one["name"] == "a"]
        assert before - 0.01 <= seconds <= time.time() - begun + 0.01
        assert shown["seconds"] == seconds
    assert "running" in lab("show", "r").out
    assert "nothing of it landed" in lab("diff", "r").err
    watching = lab.spawn("watch", "r")
    (lab.place / "go").touch()
    assert process.wait(60) == 0
    _, followed = watching.communicate(timeout=60)
    assert watching.returncode == 0
    said = [line.partition(" (")[0] for line in followed.splitlines()]
    (took,) = [line.partition("(")[2] for line in followed.splitlines() if line.startswith("✓ a completed (")]
    assert took != "0.00 s)"
    assert said[:6] == ["▶ run r", "▶ a", "✓ a completed", "▶ b", "✓ b completed",
                        "· test run 1 of the merge, check 1: passed"]  # fmt: skip
    process.communicate()
    assert lab("runs").out.count("completed") == 1


def test_what_waits_for_two_that_conflict_starts_without_the_later_one(plans):  # noqa: F811
    parts = [
        plans.part("one", "sed -i 's/line 3$/a/' hub.txt"),
        plans.part("two", "sed -i 's/line 3$/b/' hub.txt"),
        plans.part("both", "grep -c '^a$' hub.txt > seen.txt", after=["one", "two"]),
    ]
    plans.write(parts)
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    assert said.status == 3, said
    assert "two is left out of what later subplans start from: it conflicts in hub.txt" in said.err
    assert plans.result("seen.txt") == "1\n"


def test_what_rules_and_strategies_did_is_reported(plans):  # noqa: F811
    lab = plans.lab  # noqa: F811
    lab.settings("[merge]\nunion = ['LOG']\n")
    lab.write("LOG", "start\n")
    lab.commit("log")
    parts = [
        plans.part("one", "echo from one >> LOG; sed -i 's/line 3$/a/' hub.txt"),
        plans.part("two", "echo from two >> LOG; sed -i 's/line 3$/b/' hub.txt; echo x > tests/test_new.py"),
    ]
    shown = plans.run(parts, config={"on_conflict": "ours_first"})
    assert plans.result("LOG") == "start\nfrom one\nfrom two\n"
    assert [one["path"] for one in shown["dropped"]] == ["hub.txt"]
    table = lab("show", "r").out
    assert "two: LOG was merged by the rule union" in table
    assert "two landed without what it has against one" in table
    assert "two changed tests, which is left out: tests/test_new.py" in table
    assert lab("report", "r", "-o", str(lab.place / "page.html")).status == 0
    page = (lab.place / "page.html").read_text()
    assert "merged by the rule" in page
    assert ">union<" in page
    assert ">tested</tr>" in page
