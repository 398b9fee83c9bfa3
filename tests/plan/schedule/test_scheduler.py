"""The scheduler in virtual time: bound, order, write sets, circles, failures; and searched with faults."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Mapping

import anyio
import pytest
import trio
import trio.testing

from bakeoff.engine.record import Status
from bakeoff.plan.errors import ScheduleError
from bakeoff.plan.schedule.driver import carry_out
from bakeoff.plan.schedule.graph import Task, graph_of
from bakeoff.plan.schedule.scheduler import WELL, Scheduler
from bakeoff.plan.schedule.writes import Held, is_literal, meet, outside

SEEDS = int(os.environ.get("BAKEOFF_SEEDS", "300"))


class World:
    """Work that takes virtual time, with what is at work and when."""

    def __init__(self, scheduler: Scheduler, seconds: Mapping[str, float], ends: Mapping[str, Status] | None = None):
        self.scheduler, self.seconds, self.ends = scheduler, seconds, ends or {}
        self.begun: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.order: list[str] = []
        self.now: set[str] = set()
        self.peak = 0
        self.check: Callable[[str], None] = lambda name: None

    async def work(self, name: str) -> Status:
        self.check(name)
        self.order.append(name)
        self.now.add(name)
        self.peak = max(self.peak, len(self.now))
        self.begun[name] = trio.current_time()
        try:
            await anyio.sleep(self.seconds.get(name, 1.0))
        finally:
            self.now.discard(name)
            self.ended[name] = trio.current_time()
        return self.ends.get(name, Status.COMPLETED)

    def run(self) -> float:
        """Seconds that all took."""

        async def main() -> float:
            since = trio.current_time()
            await carry_out(self.scheduler, self.work)
            return trio.current_time() - since

        return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def tasks(count: int, **more: object) -> list[Task]:
    return [Task(f"t{number}") for number in range(count)]


@pytest.mark.parametrize(("bound", "peak"), [(10, 10), (1, 1), (50, 15)])
def test_the_bound_is_reached_and_never_exceeded(bound, peak):
    scheduler = Scheduler(graph_of(tasks(15)), max_parallel=bound)
    world = World(scheduler, {})
    world.run()
    assert world.peak == peak
    assert set(scheduler.status.values()) == {Status.COMPLETED}
    if bound == 1:
        assert world.order == [f"t{number}" for number in range(15)]


DAG = {
    "a": (), "b": (), "c": (), "slow": (),
    "d": ("a",), "e": ("a", "b"), "f": ("c",),
    "g": ("d", "e"), "h": ("f",), "i": ("g",), "j": ("g", "h"), "k": ("i", "j"),
}  # fmt: skip
TOOK = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 1.0, "e": 1.0, "f": 0.5, "g": 1.0, "h": 1.0, "i": 2.0, "j": 1.0, "k": 1.0}


def test_each_starts_when_the_last_that_it_needs_has_ended():
    world = World(
        Scheduler(graph_of([Task(n, needs) for n, needs in DAG.items()]), max_parallel=12), {**TOOK, "slow": 5.0}
    )
    took = world.run()
    for name, needs in DAG.items():
        assert world.begun[name] == max((world.ended[other] for other in needs), default=0.0)
    assert took == 2.0 + 1.0 + 1.0 + 2.0 + 1.0  # b, e, g, i, k, while `slow` goes on


def test_a_circle_is_one_group_and_who_needs_one_of_it_waits_for_all():
    graph = graph_of([Task("a", ("b",)), Task("b", ("c",)), Task("c", ("a",)), Task("d", ("a",))])
    assert graph.groups == (("a", "b", "c"),)
    world = World(Scheduler(graph, max_parallel=4), {"a": 1.0, "b": 2.0, "c": 3.0})
    world.run()
    assert world.begun == {"a": 0.0, "b": 0.0, "c": 0.0, "d": 3.0}


def test_a_circle_waits_as_a_whole_for_what_one_of_it_needs():
    graph = graph_of([Task("a", ("b",)), Task("b", ("a", "x")), Task("x")])
    assert graph.needs == {"x": frozenset(), "a": {"x"}, "b": {"x"}}
    assert list(graph.tasks) == ["x", "a", "b"]
    assert graph.above("a") == {"x"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([Task("a", ("zz",))], "'a' waits for 'zz', and there is no such"),
        ([Task("a", ("a",))], "'a' waits for itself"),
        ([Task("a"), Task("a")], "two subplans called 'a'"),
    ],
)
def test_what_cannot_be_ordered_is_refused_by_name(given, message):
    with pytest.raises(ScheduleError, match=message):
        graph_of(given)


def test_overlapping_write_sets_never_run_together_and_disjoint_ones_do():
    wide = Task("wide", (), ("src/ui/**",))
    inside, apart = Task("inside", (), ("src/ui/mod.rs",)), Task("apart", (), ("src/core/**",))
    scheduler = Scheduler(graph_of([wide, inside, apart]), max_parallel=3)
    assert scheduler.start() == ["wide", "apart"]
    assert scheduler.waits_for("inside") == ["wide"]
    scheduler.end("wide", Status.COMPLETED)
    assert scheduler.start() == ["inside"]


def test_what_needs_a_failed_one_is_blocked_and_others_run():
    graph = graph_of([Task("a"), Task("b", ("a",)), Task("c", ("b",)), Task("d")])
    scheduler = Scheduler(graph, max_parallel=1)
    World(scheduler, {}, {"a": Status.FAILED}).run()
    assert {name: status.value for name, status in scheduler.status.items()} == {
        "a": "failed", "b": "blocked", "c": "blocked", "d": "completed",
    }  # fmt: skip
    assert scheduler.blocked_by == {"b": "a", "c": "a"}
    assert scheduler.waits_for("c") == ["b"]


def test_with_fail_fast_all_is_over_at_once():
    """Twenty of which the third fails after 0.1 s."""
    scheduler = Scheduler(graph_of(tasks(20)), max_parallel=4, fail_fast=True)
    world = World(scheduler, {"t2": 0.1}, {"t2": Status.FAILED})
    assert world.run() == pytest.approx(0.1)
    assert scheduler.status["t2"] is Status.FAILED
    assert {status for name, status in scheduler.status.items() if name != "t2"} == {Status.CANCELLED}
    assert len(world.begun) == 4
    assert scheduler.done


def test_what_an_earlier_session_ended_does_not_start():
    graph = graph_of([Task("a"), Task("b", ("a",)), Task("c")])
    scheduler = Scheduler(graph, ended={"a": Status.SKIPPED, "c": Status.CANCELLED})
    assert scheduler.start() == ["b"]


def test_what_could_not_end_lets_nothing_start_any_more():
    scheduler = Scheduler(graph_of(tasks(3)), max_parallel=2)
    assert scheduler.start() == ["t0", "t1"]
    scheduler.end("t0", Status.PENDING)
    assert scheduler.start() == []
    assert not scheduler.done
    scheduler.end("t1", Status.COMPLETED)
    assert scheduler.done
    assert [scheduler.status[f"t{n}"].value for n in range(3)] == ["pending", "completed", "pending"]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("a.py", "a.py", True), ("a.py", "/a.py", True), ("a.py", "b/a.py", False),
        ("src/**", "src/ui/mod.rs", True), ("src/", "src/ui/mod.rs", True), ("src/", "srcs/mod.rs", False),
        ("src/*.py", "src/ui/mod.py", False), ("src/*.py", "src/*_test.py", True), ("src/*.py", "src/*.rs", False),
        ("**/tests/**", "src/*/tests/x.py", True), ("**/*.md", "docs/**", True), ("a/*/c", "a/b*/?", True),
        ("a/*/c", "*/b/d", False), ("a[0-9].py", "a?.py", True), ("a/b", "a/b/**", False), ("**", "x/", True),
        ("x*y", "x", False), ("*x", "y*", True), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/y", False),
    ],
)  # fmt: skip
def test_whether_two_globs_can_meet(first, second, together):
    assert meet(first, second) is together
    assert meet(second, first) is together
    held = Held()
    held.take("one", [first])
    assert held.in_the_way([second]) == ("one" if together else None)
    held.drop("one", [first])
    assert held.in_the_way([second]) is None


def test_globs_that_both_cover_a_path_meet():
    """Against all paths over a small alphabet: no overlap is missed."""
    draw = random.Random(1)
    paths = ["/".join(parts) for n in (1, 2, 3) for parts in _tuples(["a", "b", "ab"], n)]
    for _ in range(400):
        globs = [
            "/".join(draw.choice(["a", "b", "*", "**", "a*", "*b", "?", "[ab]"]) for _ in range(draw.randint(1, 3)))
            for _ in "12"
        ]
        both = [path for path in paths if not outside([globs[0]], [path]) and not outside([globs[1]], [path])]
        if both:
            assert meet(*globs), (globs, both)


def _tuples(letters: list[str], count: int) -> list[tuple[str, ...]]:
    return [()] if count == 0 else [(one, *rest) for one in letters for rest in _tuples(letters, count - 1)]


def test_what_lies_outside_of_what_was_declared():
    assert outside(["src/a.py", "docs/"], ["src/a.py", "docs/x/y.md", "src/b.py", "src/a.py/c"]) == (
        "src/b.py",
        "src/a.py/c",
    )
    assert outside([], ["anything"]) == ()
    assert is_literal("a.py")
    assert not is_literal("a/")


# Searched: random graphs, times and faults.


def _random_tasks(draw: random.Random) -> list[Task]:
    count = draw.randint(1, 14)
    found = []
    for number in range(count):
        needs = tuple(f"t{draw.randrange(count)}" for _ in range(draw.choice([0, 0, 1, 2])))
        writes = tuple(draw.choice(["a/**", "a/x", "b/y", "b/*", "c"]) for _ in range(draw.choice([0, 1, 2])))
        found.append(Task(f"t{number}", tuple(set(needs) - {f"t{number}"}), writes))
    return found


def _search(seed: int) -> None:
    draw = random.Random(seed)
    graph = graph_of(_random_tasks(draw))
    bound, fail_fast = draw.randint(1, 5), draw.random() < 0.3
    scheduler = Scheduler(graph, max_parallel=bound, fail_fast=fail_fast)
    ends = {
        name: draw.choices([Status.COMPLETED, Status.FAILED, Status.PENDING], [8, 1.5, 0.3])[0] for name in graph.tasks
    }
    world = World(scheduler, {name: draw.choice([0.0, 0.5, 1.0, 3.0]) for name in graph.tasks}, ends)

    def check(name: str) -> None:
        assert all(scheduler.status[other] in WELL for other in graph.needs[name])
        assert all(
            not any(meet(mine, theirs) for mine in graph.tasks[name].writes for theirs in graph.tasks[other].writes)
            for other in world.now
        )

    def idle() -> None:
        """No place is free while somebody could start: the scheduler would have started it."""
        if not scheduler.halted and scheduler.working < bound:
            for name, status in scheduler.status.items():
                if status is Status.PENDING:
                    assert scheduler.waits_for(name), name

    world.check = check
    kill = draw.random() < 0.3
    stop_after = draw.choice([0.25, 0.75, 1.5])

    async def main() -> None:
        with trio.move_on_after(stop_after if kill else 1e9):
            async with trio.open_nursery() as nursery:

                async def watched() -> None:
                    await carry_out(scheduler, world.work)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(watched)
                while True:
                    await trio.sleep(0.25)
                    idle()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert world.peak <= bound
    assert not world.now
    if kill and any(status is Status.RUNNING for status in scheduler.status.values()):
        return  # it was cancelled in the middle: whoever was at work has ended, and that is all
    assert scheduler.done
    left = {name: status for name, status in scheduler.status.items() if status is Status.PENDING}
    assert not left or scheduler.halted or kill
    for name, status in scheduler.status.items():
        if status is Status.BLOCKED:
            assert scheduler.status[scheduler.blocked_by[name]] in (Status.FAILED, Status.CANCELLED)
        if status is Status.FAILED and fail_fast:
            assert scheduler.doomed
    if not scheduler.doomed and not left:
        assert set(scheduler.status.values()) <= {Status.COMPLETED, Status.FAILED, Status.BLOCKED}


def test_searched_with_faults():
    for seed in range(SEEDS):
        try:
            _search(seed)
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise


def test_a_work_that_raises_ends_all():
    scheduler = Scheduler(graph_of(tasks(4)), max_parallel=4)
    world = World(scheduler, {f"t{n}": 5.0 for n in range(4)})

    async def work(name: str) -> Status:
        if name == "t1":
            await anyio.sleep(1)
            raise ValueError("broken")
        return await world.work(name)

    async def main() -> None:
        with pytest.raises(ValueError, match="broken"):
            await carry_out(scheduler, work)
        assert trio.current_time() - since[0] == pytest.approx(1.0)
        assert not world.now

    since: list[float] = []

    async def timed(body: Callable[[], Awaitable[None]]) -> None:
        since.append(trio.current_time())
        await body()

    trio.run(timed, main, clock=trio.testing.MockClock(autojump_threshold=0))
