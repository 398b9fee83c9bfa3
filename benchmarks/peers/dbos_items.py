"""Run by DBOS's interpreter: COUNT durable steps of one workflow, BOUND at once; prints seconds for each."""

import asyncio
import sys
import time

from dbos import DBOS

DBOS(
    config={
        "name": "bench",
        "system_database_url": "sqlite:///dbos.sqlite",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
)


@DBOS.step()
async def work(item: int) -> int:
    return item


@DBOS.workflow()
async def flow(count: int, bound: int) -> list[int]:
    found: list[int] = []
    for first in range(0, count, bound):
        found += await asyncio.gather(*[work(item) for item in range(first, min(count, first + bound))])
    return found


async def main(count: int, bound: int) -> None:
    DBOS.launch()
    await flow(10, bound)
    since = time.perf_counter()
    assert await flow(count, bound) == list(range(count))
    print((time.perf_counter() - since) / count)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
DBOS.destroy()
