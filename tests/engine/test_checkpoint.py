"""What paid work came to, on record before its end is: it counts once, and is gone on from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.journal import NoJournal
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Outcome, Record, RunStatus, Status
from bakeoff.engine.retry import Retry
from bakeoff.engine.run import Run, Work
from bakeoff.engine.session import Ending, SessionConfig, run_session
from bakeoff.engine.store import RunFolder, RunStore

pytestmark = pytest.mark.anyio

META = {"run_id": "r", "job": "test", "created_at": 1.0}
USAGE = {"calls": 1, "usd": 0.3, "input_tokens": 10}
RESERVED = {"calls": 1.0, "usd": 0.5}


class StoppedClock(SystemClock):
    """Monotonic time goes on only where it is told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Caller:
    """A leaf that pays, says so, and is cut off as often as it is told to."""

    def __init__(self, folder: RunFolder, ceiling: float = 0.5) -> None:
        self.folder, self.ceiling = folder, ceiling
        self.paid = 0
        self.lost = False
        self.cut = True
        self.silent = False
        self.outcome: dict[str, Any] = {}
        self.warned: list[str] = []
        self.masker = Masker()
        self.attempts: list[int] = []
        self.clock = StoppedClock()

    async def session(self, path: str = "a", key: str = "k", edit: bool = False) -> Record | None:
        found: list[Record] = []

        async def job(run: Run) -> Ending:
            async def rest(facts: Mapping[str, Any], attempt: int) -> Outcome:
                self.attempts.append(attempt)
                self.clock.now += 2.0
                if self.cut:
                    await cut_off()
                return Outcome(**{"output": {"made": facts["made"]}, "usage": USAGE, **self.outcome})

            async def work(attempt: int) -> Outcome:
                self.paid += 1
                self.clock.now += 30.0
                facts = {"made": f"secret-{self.paid}"}
                if not self.silent:
                    await run.checkpoint(path, key, USAGE, facts)
                return await rest(facts, attempt)

            async def resume_from(facts: Mapping[str, Any]) -> Work | None:
                if self.lost:
                    return None

                async def go_on(attempt: int) -> Outcome:
                    return await rest(facts, attempt)

                return go_on

            with anyio.CancelScope() as scope:

                async def cut_off() -> None:
                    scope.cancel()
                    await anyio.sleep_forever()

                retry = Retry(attempts=2, delay=0.0, on=("limited",))
                found.append(
                    await run.leaf(path, "t", work, key=key, reserve=RESERVED, retry=retry, resume_from=resume_from)
                )
            return Ending(RunStatus.PAUSED)

        async def prepare(run: Run) -> None:
            if edit:
                await run.start_over()

        events = Events()
        events.subscribe(lambda event: self.warned.append(event.text) if isinstance(event, Warned) else None)
        config = SessionConfig(
            Lanes({"leaves": 1}),
            {"usd": self.ceiling},
            events=events,
            masker=self.masker,
            clock=self.clock,
            catch_signals=False,
        )
        begun = self.folder.journal.exists()
        await run_session(self.folder, job, config, meta=None if begun else META, prepare=prepare)
        return found[0] if found else None

    @property
    def counted(self) -> tuple[float, float, float, float]:
        history = self.folder.history()
        return history.spent["usd"], history.usage["usd"], history.usage["input_tokens"], history.usage["calls"]


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    return Caller(RunStore(tmp_path).create("r"))


ONCE, TWICE = (0.3, 0.3, 10, 1), (0.6, 0.6, 20, 2)


async def test_its_time_counts_the_paid_call(caller: Caller) -> None:
    await caller.session()
    caller.clock.now += 1000.0  # between the sessions
    caller.cut = False
    record = await caller.session()
    assert record is not None
    assert record.ended_at - record.started_at == pytest.approx(32.0)
    assert caller.folder.history().records["a"].ended_at - record.started_at == pytest.approx(32.0, abs=1e-3)


async def test_it_is_gone_on_from_and_counts_once(caller: Caller) -> None:
    assert await caller.session() is None
    assert caller.counted == pytest.approx(ONCE)
    assert await caller.session() is None  # cut off again
    assert caller.counted == pytest.approx(ONCE)
    caller.cut = False
    record = await caller.session()  # 0.2 are left of the ceiling, and 0.5 would be reserved for a call
    assert record is not None
    assert (record.output, record.attempts) == ({"made": "secret-1"}, 1)
    assert (caller.paid, caller.attempts) == (1, [1, 1, 1])
    assert caller.counted == pytest.approx(ONCE)
    history = caller.folder.history()
    assert history.checkpoints == {}
    assert history.open == {}
    again = await caller.session()
    assert again is not None
    assert (again.output, caller.paid) == (record.output, 1)


async def test_what_is_lost_is_made_again(caller: Caller) -> None:
    caller.ceiling = 1.0
    await caller.session()
    caller.lost, caller.cut = True, False
    record = await caller.session()
    assert record is not None
    assert (record.output, record.attempts) == ({"made": "secret-2"}, 2)
    assert caller.counted == pytest.approx(TWICE)
    assert caller.warned == ["its call had ended when an earlier session was cut off, but what it made is lost: it is "
                             "made again"]  # fmt: skip


async def test_what_is_lost_is_not_made_again_beyond_the_ceiling(caller: Caller) -> None:
    await caller.session()
    caller.lost = True
    await caller.session()
    assert caller.paid == 1
    assert caller.folder.history().status is RunStatus.BUDGET_SPENT
    assert caller.counted == pytest.approx(ONCE)


async def test_it_is_another_node_s_where_the_key_is_another(caller: Caller) -> None:
    caller.ceiling = 1.0
    await caller.session()
    caller.cut = False
    await caller.session(key="other")
    assert caller.paid == 2
    assert caller.counted == pytest.approx(TWICE)


async def test_a_call_that_is_cut_off_counts_whatever_stood_there_before(caller: Caller) -> None:
    caller.ceiling = 5.0
    await caller.session()
    caller.silent = True
    await caller.session(key="other")
    assert caller.paid == 2
    assert caller.counted == pytest.approx((0.8, 0.8, 10, 2))  # of the second nobody knows more than was reserved


async def test_it_is_found_by_key_after_an_edit(caller: Caller) -> None:
    await caller.session()
    assert await caller.session("b", edit=True) is None
    assert await caller.session("b") is None
    caller.cut = False
    record = await caller.session("c", edit=True)
    assert record is not None
    assert (record.output, record.attempts, caller.paid) == ({"made": "secret-1"}, 1, 1)
    assert caller.counted == pytest.approx(ONCE)


async def test_a_call_that_is_turned_away_is_made_again(caller: Caller) -> None:
    caller.ceiling = 5.0
    await caller.session()
    caller.cut, caller.outcome = False, {"status": Status.FAILED, "error": "later", "kind": "limited"}
    record = await caller.session()
    assert record is not None
    assert (record.attempts, caller.paid, caller.attempts) == (2, 2, [1, 1, 2])
    assert caller.counted == pytest.approx(TWICE)


async def test_a_failure_of_the_machinery_leaves_it(caller: Caller) -> None:
    caller.cut = False
    caller.outcome = {"status": Status.FAILED, "output": {"aborted": True, "replied": True}, "usage": {"calls": 1}}
    await caller.session()
    assert caller.counted == pytest.approx(ONCE)
    assert [span.ended_at is None for span in caller.folder.history().spans] == [False]
    await caller.session()
    assert caller.counted == pytest.approx(ONCE)
    caller.outcome = {}
    record = await caller.session()
    assert record is not None
    assert (record.output, caller.paid) == ({"made": "secret-1"}, 1)
    assert caller.counted == pytest.approx(ONCE)


async def test_a_failure_of_the_machinery_leaves_it_to_the_same_session() -> None:
    """A gate that is answered, or a loop, may come by again before the run ends."""
    run, paid = Run(), []

    async def work(attempt: int) -> Outcome:
        paid.append(attempt)
        await run.checkpoint("a", "k", USAGE, {"made": 1})
        return Outcome(Status.FAILED, {"aborted": True, "replied": True}, "no room")

    async def resume_from(facts: Mapping[str, Any]) -> Work | None:
        async def go_on(attempt: int) -> Outcome:
            return Outcome(output=facts)

        return go_on

    for status in (Status.FAILED, Status.COMPLETED):
        record = await run.leaf("a", "t", work, key="k", resume_from=resume_from)
        assert (record.status, record.attempts) == (status, 1)
    assert (record.output, paid) == ({"made": 1}, [1])
    assert run.history.checkpoints == {}


async def test_a_failure_is_tried_again_by_a_resumed_run_unless_it_was_to_go_on() -> None:
    async def work(attempt: int) -> Outcome:
        return Outcome(Status.FAILED, error="no")

    run = Run()
    for path, more in (("a", {}), ("b", {"continue_on_error": True})):
        record = await run.leaf(path, "t", work, **more)
        assert (record.continued, run.find(path) is not None) == (bool(more), bool(more))


async def test_secrets_are_not_kept(caller: Caller) -> None:
    caller.masker = Masker({"NAME": "secret-1"})
    await caller.session()
    assert b"secret-1" not in b"".join(path.read_bytes() for path in caller.folder.root.glob("journal.db*"))
    caller.cut = False
    record = await caller.session()
    assert record is not None
    assert record.output == {"made": "***"}


async def test_nothing_is_kept_of_runs_that_keep_nothing() -> None:
    run = Run(journal=NoJournal())
    await run.checkpoint("a", "", USAGE, {})
    assert run.history.checkpoints == {}


async def test_what_nobody_reported_counts_as_assumed_and_is_not_shown(caller: Caller) -> None:
    caller.cut = False
    caller.outcome = {"usage": {"calls": 1, "assumed": {"usd": 0.5}}}
    await caller.session()
    history = caller.folder.history()
    assert history.spent == {"calls": 1, "usd": 0.5}
    assert history.usage == {"calls": 1}
    assert history.unreported == {"usd"}


async def test_signs_of_life_are_told_once_a_second() -> None:
    told: list[Any] = []
    clock = StoppedClock()
    run = Run(clock=clock)
    heard = run.hearing("a")
    heard({})  # nobody listens
    run.events.subscribe(told.append)
    for moment in (1.0, 1.5, 1.9, 2.0, 7.0):
        clock.now = moment
        heard({"tokens": moment})
    assert [(event.path, event.facts["tokens"]) for event in told] == [("a", 1.0), ("a", 2.0), ("a", 7.0)]
