"""Run by LangGraph's interpreter: COUNT durable tasks at a bound of BOUND; prints seconds for each."""

import asyncio
import sys
import time

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task


@task
async def work(item: int) -> int:
    return item


async def main(count: int, bound: int) -> None:
    async with AsyncSqliteSaver.from_conn_string("langgraph.db") as saver:

        @entrypoint(checkpointer=saver)
        async def flow(items: list[int]) -> list[int]:
            return await asyncio.gather(*[work(item) for item in items])

        async def go(thread: str, items: list[int]) -> float:
            since = time.perf_counter()
            settings = {"configurable": {"thread_id": thread}, "max_concurrency": bound}
            assert await flow.ainvoke(items, settings) == items
            return time.perf_counter() - since

        await go("warm", list(range(10)))
        print(await go("measured", list(range(count))) / count)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
