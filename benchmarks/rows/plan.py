"""What a plan's scheduling and recording costs: many subplans of no work, durable. Run as a program."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Bench, Measure, ms, spend

BOUND = 10


def measure(bench: Bench) -> Iterator[Measure]:
    count, times = (300, 2) if bench.quick else (1000, 5)
    argv = [sys.executable, "-m", "benchmarks.rows.plan", str(count), str(times), str(bench.folder)]
    found = json.loads(spend(argv, Path(__file__).parents[2]).output)
    plan, plain = min(found["plan"]), min(found["fan_out"])
    yield Measure(
        "plan-subplan",
        "a subplan of no work, durable: scheduled, its try and its end recorded",
        plan / count * 1e3,
        "ms",
        1.0,
        plan / plain,
        "an item of a durable fan-out at the same bound",
        tolerance=0.5,
        notes=(
            f"{count} subplans, {BOUND} at once, each waits for up to two and declares what it writes; "
            f"least of {times}; an item of a durable fan-out: {ms(plain / count)}",
        ),
    )


async def _plan(count: int, project: Path, name: str) -> float:
    from bakeoff.api.durable import DurableRun, durable
    from bakeoff.engine.record import Outcome, Status
    from bakeoff.plan.schedule.driver import carry_out
    from bakeoff.plan.schedule.graph import Task, graph_of
    from bakeoff.plan.schedule.scheduler import Scheduler

    dice = random.Random(1)
    tasks = []
    for number in range(count):
        needs = tuple({f"s{dice.randrange(number)}" for _ in range(dice.randrange(3))}) if number > BOUND else ()
        tasks.append(Task(f"s{number}", needs, (f"src/p{number}/**", f"docs/{number}.md")))

    async def main(handle: DurableRun) -> float:
        run = handle.run

        async def nothing(_: int) -> Outcome:
            return Outcome(output={"commit": "0" * 40, "wrote": []})

        async def work(subplan: str) -> Status:
            path = f"subplan:{subplan}:0123456789"

            async def tries(_: int) -> Outcome:
                record = await run.leaf(f"{path}/try:1", "try", nothing, lanes=None, continue_on_error=True)
                return Outcome(record.status, record.output)

            return (await run.leaf(path, "subplan", tries, lanes=None, continue_on_error=True)).status

        since = time.perf_counter()
        scheduler = Scheduler(graph_of(tasks), max_parallel=BOUND)
        await carry_out(scheduler, work)
        took = time.perf_counter() - since
        assert set(scheduler.status.values()) == {Status.COMPLETED}
        return took

    return await durable(main, run=name, project=project)


async def _fan_out(count: int, project: Path, name: str) -> float:
    import bakeoff

    async def nothing(item: int) -> int:
        return item

    since = time.perf_counter()
    await bakeoff.fan_out(nothing, range(count), run=name, project=project, max_concurrency=BOUND)
    return time.perf_counter() - since


def _program(count: int, times: int, project: Path) -> None:
    found: dict[str, Any] = {"plan": [], "fan_out": []}
    asyncio.run(_plan(50, project, "warm-plan"))
    asyncio.run(_fan_out(50, project, "warm-fan"))
    for turn in range(times):
        found["plan"].append(asyncio.run(_plan(count, project, f"plan{turn}")))
        found["fan_out"].append(asyncio.run(_fan_out(count, project, f"fan{turn}")))
    print(json.dumps(found))


if __name__ == "__main__":
    _program(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
