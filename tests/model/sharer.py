"""Another process at a gate: `sharer.py hold BASE_URL` takes a place and waits to be killed."""

from __future__ import annotations

import sys

import anyio

from bakeoff.model.rate.gate import gate_for


async def hold(base_url: str) -> None:
    gate = gate_for(base_url, "k")
    async with gate.admit():
        print("in flight", flush=True)
        await anyio.sleep_forever()


anyio.run(hold, sys.argv[2])
