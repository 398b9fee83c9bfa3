"""Several fan-outs in one durable run, under one bound, with retries and a failure that does not stop the rest."""

import asyncio
import hashlib
from pathlib import Path

import bakeoff

SOURCES = Path(bakeoff.__file__).parent


async def digest(name):
    await asyncio.sleep(0.01)
    return {"name": name, "sha256": hashlib.sha256((SOURCES / name).read_bytes()).hexdigest()}


def lines(name):
    return len((SOURCES / name).read_text().splitlines())


async def main(run):
    names = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py"))
    digests = await run.fan_out(digest, names, max_concurrency=8, retry=bakeoff.Retry(attempts=3))
    counts = await run.fan_out(lines, [*names, "missing.py"], max_concurrency=4, min_success=len(names))
    failed = [count for count in counts if isinstance(count, bakeoff.ItemError)]
    total = sum(count for count in counts if not isinstance(count, bakeoff.ItemError))
    return f"{len(digests)} files, {total} lines, {len(failed)} that could not be read"


print(asyncio.run(bakeoff.durable(main, run="pipeline", max_parallel=16)))
