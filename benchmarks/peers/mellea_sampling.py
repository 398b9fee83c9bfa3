"""Run by mellea's interpreter: the same measurements as `benchmarks.rows.sampling`, by mellea itself; prints JSON.

PORT of the counting server, and how often each is measured.
"""

import asyncio
import gc
import json
import logging
import os
import signal
import statistics
import sys
import threading
import time
import urllib.request
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from mellea import MelleaSession  # noqa: E402
from mellea.backends.openai import OpenAIBackend  # noqa: E402
from mellea.core import Backend, GenerateLog, ModelOutputThunk, Requirement  # noqa: E402
from mellea.stdlib.components import Instruction  # noqa: E402
from mellea.stdlib.context import SimpleContext  # noqa: E402
from mellea.stdlib.requirements import simple_validate  # noqa: E402
from mellea.stdlib.sampling import RejectionSamplingStrategy  # noqa: E402

PORT, TIMES = int(sys.argv[1]), int(sys.argv[2])


def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}") as reply:
        return json.loads(reply.read())


class Inline(Backend):
    """Awaits its work: the best case for mellea."""

    def __init__(self, seconds, passing=0):
        self.seconds, self.passing, self.calls, self.passed_at = seconds, passing, 0, 0.0

    async def _generate_from_context(self, action, ctx, **options):
        self.calls += 1
        number = self.calls
        await asyncio.sleep(self.seconds)
        made = ModelOutputThunk("pass" if number == self.passing else f"no {number}")
        made._generate_log = GenerateLog()
        if number == self.passing:
            self.passed_at = time.perf_counter()
        return made, ctx.add(action).add(made)

    async def _generate_from_raw(self, *args, **options):
        raise NotImplementedError


def passes():
    return Requirement("says pass", validation_fn=simple_validate(lambda text: text == "pass"))


async def sample(backend, loops, lanes):
    strategy = RejectionSamplingStrategy(loop_budget=loops, concurrency_budget=lanes)
    return await strategy.sample(Instruction("go"), SimpleContext(), backend, [passes()], show_progress=False)


async def over_http(give_up=None):
    backend = OpenAIBackend(model_id="m", base_url=f"http://127.0.0.1:{PORT}/v1", api_key="k")
    try:
        await asyncio.wait_for(sample(backend, 5, 8), give_up)
    except TimeoutError:
        pass
    await asyncio.sleep(0.005)
    return get("/stats")["in_flight"]


def ctrl_c():
    get("/reset/30000/30000")
    backend = OpenAIBackend(model_id="m", base_url=f"http://127.0.0.1:{PORT}/v1", api_key="k")
    session = MelleaSession(backend, SimpleContext())
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        strategy = RejectionSamplingStrategy(loop_budget=5, concurrency_budget=8)
        session.instruct("go", requirements=[passes()], strategy=strategy)
    except KeyboardInterrupt:
        pass
    time.sleep(0.005)
    return get("/stats")["in_flight"]


def cpu():
    gc.collect()
    backend = Inline(0.02)
    since = time.process_time()
    asyncio.run(sample(backend, 5, 64))
    return (time.process_time() - since) / 320


def lag():
    async def once():
        backend = Inline(0.05, 20)
        await sample(backend, 5, 16)
        return time.perf_counter() - backend.passed_at

    return asyncio.run(once())


def thousand():
    async def once():
        since = time.perf_counter()
        await sample(Inline(0.05), 1, 1000)
        return time.perf_counter() - since

    return asyncio.run(once())


signal.signal(signal.SIGINT, signal.default_int_handler)
found = {}
get("/reset/50/2000")
found["early"] = asyncio.run(over_http())
time.sleep(2.2)
get("/reset/2000/2000")
found["cancel"] = asyncio.run(over_http(0.3))
time.sleep(2.2)
lags = sorted(lag() for _ in range(TIMES))
found["lag"], found["lag95"] = statistics.median(lags), lags[int(0.95 * (len(lags) - 1))]
found["cpu"] = min(cpu() for _ in range(5))
found["thousand"] = min(thousand() for _ in range(5))
found["ctrl_c"] = ctrl_c()
print(json.dumps(found), flush=True)
os._exit(0)  # its calls go on for half a minute
