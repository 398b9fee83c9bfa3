"""The rate gate over real HTTP, what it costs, and whether an endpoint sees a cancel. Run as a program: a client."""

from __future__ import annotations

import asyncio
import fcntl
import json
import math
import mmap
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks.measure import REPOSITORY, Bench, Measure

RATE, BURST, LATENCY, RETRY_AFTER = 10.0, 10.0, 0.2, 2.0
AT_ONCE = 64
HELD = 8


def measure(bench: Bench) -> Iterator[Measure]:
    requests = 120 if bench.quick else 320
    change = 4.0 if bench.quick else 10.0
    yield from _alone(bench, "", "a burst of 10", requests, BURST, 1.15, 0.10)
    yield from _alone(bench, "-unbursty", "no burst", requests, 1, 1.4, 0.10)
    yield from _alone(bench, "-dropping", "10/s at first, then 3/s", requests, BURST, 1.15, 0.12, (change, 3.0))
    yield from _alone(bench, "-declared", "its limit declared", requests, BURST, 1.1, 0.02, declared=True)
    yield from _two(bench, requests)
    yield from _costs(bench)


def _alone(
    bench: Bench,
    key: str,
    what: str,
    requests: int,
    burst: float,
    longest: float,
    most_refused: float,
    drop: tuple[float, float] | None = None,
    *,
    declared: bool = False,
) -> Iterator[Measure]:
    """One process against one kind of limit: how long it takes, and how much is refused on the way."""
    with _server(burst, *(drop or ())) as url:
        (found,) = _clients(bench, url, "declared" if declared else "one", [requests])
        stats = _stats(url)
    at, later = drop or (math.inf, RATE)
    left = requests - burst
    best = LATENCY + (left / RATE if left <= RATE * at else at + (left - RATE * at) / later)
    refused = stats["rejected"] / (stats["rejected"] + stats["answered"])
    said = f"{requests} requests, {AT_ONCE} at once, to an endpoint of {RATE:g}/s, Retry-After {RETRY_AFTER:g}, {what}"
    yield Measure(
        f"rate-gate{key}",
        said,
        found["end"] / best,
        "x best",
        longest,
        found["end"] / best,
        "an endpoint that never has to say 429",
        notes=(f"{found['end']:.1f} s against {best:.1f} s; CPU {found['cpu'] / requests * 1e3:.1f} ms each",),
    )
    yield Measure(
        f"rate-gate{key}-refused",
        "the same: share answered 429",
        refused,
        "of all",
        most_refused,
        1 + refused,
        "none, counted as 1",
        notes=(_rejections(stats),),
    )


def _two(bench: Bench, requests: int) -> Iterator[Measure]:
    with _server(BURST) as url:
        both = _clients(bench, url, "two", [requests] * 2)
        stats = _stats(url)
    ends = sorted(found["end"] for found in both)
    shared_best = (2 * requests - BURST) / RATE + LATENCY
    yield Measure(
        "rate-gate-two",
        "two processes with as many requests each: the end of the later one against the end of the earlier one",
        ends[1] / ends[0],
        "x",
        1.05,
        ends[1] / ends[0],
        "getting the same",
        notes=(
            f"{ends[0]:.1f} s and {ends[1]:.1f} s, {ends[1] / shared_best:.2f}x best",
            _rejections(stats),
        ),
    )


def _costs(bench: Bench) -> Iterator[Measure]:
    (found,) = _clients(bench, "", "cost", [5000 if bench.quick else 20_000])
    yield Measure(
        "rate-acquire",
        "passing the gate once, shared by processes, none in the way",
        found["admit"] * 1e6,
        "us",
        10,
        found["admit"] / found["bare"],
        "flock and 200 bytes into a mapped file",
        tolerance=0.3,
        notes=(f"minima of {found['times']} turns; with leaving it {found['both'] * 1e6:.1f} us",),
    )
    with _server(BURST) as url:
        (found,) = _clients(bench, url, "cancel", [5 if bench.quick else 20])
    seen = median(found["seen"])
    yield Measure(
        "cancel-seen",
        f"from cancelling {HELD} requests to the last one's end at the endpoint",
        seen * 1e3,
        "ms",
        10,
        seen / 0.001,
        "1 ms",
        tolerance=1.0,
        notes=(
            f"median of {len(found['seen'])}, greatest {max(found['seen']) * 1e3:.1f} ms; "
            f"the client is back after {median(found['back']) * 1e3:.1f} ms; {found['held']} left in flight",
        ),
    )


def _rejections(stats: dict[str, Any]) -> str:
    return f"{stats['rejected']} of {stats['rejected'] + stats['answered']} answered 429"


@contextmanager
def _server(burst: float, *change: float) -> Iterator[str]:
    numbers = (RATE, burst, LATENCY, RETRY_AFTER, *change)
    argv = [sys.executable, "-m", "benchmarks.limited_server", *map(str, numbers)]
    with subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def _stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url) as answer:
        return dict(json.load(answer))


def _clients(bench: Bench, url: str, what: str, amounts: list[int]) -> list[dict[str, Any]]:
    """Start one client for each amount at the same time; what they found."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(bench.folder / what), "PYTHONPATH": str(REPOSITORY / "src")}
    argv = [sys.executable, "-m", "benchmarks.rows.rate_gate", what, url]
    clients = [
        subprocess.Popen([*argv, str(amount)], cwd=REPOSITORY, env=environ, stdout=subprocess.PIPE)
        for amount in amounts
    ]
    outputs = [client.communicate()[0] for client in clients]
    if any(client.returncode for client in clients):
        raise RuntimeError(f"a client ended with {[client.returncode for client in clients]}")
    return [json.loads(output) for output in outputs]


async def _ask(url: str, requests: int, at_once: int, declared: bool) -> dict[str, Any]:
    from bakeoff.model.client import Endpoint, HttpModel
    from bakeoff.model.protocol import Message, Request
    from bakeoff.model.rate.controller import Limits

    request = Request(messages=(Message("user", "hello"),), max_tokens=5)
    left = requests
    answers: list[float] = []
    limits = Limits(requests_per_minute=60 * RATE) if declared else Limits()
    async with HttpModel(Endpoint("limited", url, "limited", use_proxies=False, limits=limits)) as model:

        async def worker() -> None:
            nonlocal left
            while left:
                left -= 1
                assert (await model.generate(request)).text == "ok"
                answers.append(time.perf_counter() - since)

        since = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())
        return {"end": answers[-1], "cpu": time.process_time()}


async def _cancel(url: str, times: int) -> dict[str, Any]:
    from bakeoff.model.client import Endpoint, HttpModel
    from bakeoff.model.protocol import Message, Request

    request = Request(messages=(Message("user", "hello"),))
    seen, back = [], []
    async with HttpModel(Endpoint("hold", url, "hold", use_proxies=False)) as model:
        with model.gate.store as state:
            state.window = HELD
        for turn in range(1, times + 1):
            tasks = [asyncio.create_task(model.generate(request)) for _ in range(HELD)]
            while (await asyncio.to_thread(_stats, url))["held"] < HELD:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            since = time.monotonic()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            back.append(time.monotonic() - since)
            while len(gone := (stats := await asyncio.to_thread(_stats, url))["gone"]) < HELD * turn:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            seen.append(max(gone) - since)
    return {"seen": seen, "back": back, "held": stats["held"]}


async def _cost(times: int) -> dict[str, Any]:
    from bakeoff.model.rate.gate import gate_for

    gate = gate_for("cost", "")
    turns = 5
    bare = min(_bare(times) for _ in range(turns))
    both, admits = [], []
    for _ in range(turns):
        since = time.perf_counter()
        for _ in range(times):
            async with gate.admit():
                pass
        both.append((time.perf_counter() - since) / times)
        with gate.store as state:
            state.window = 1e9
        since = time.perf_counter()
        for _ in range(times):
            await gate.enter(0.0)
        admits.append((time.perf_counter() - since) / times)
        for _ in range(times):
            gate.leave()
    return {"admit": min(admits), "both": min(both), "bare": bare, "times": turns}


def _bare(times: int) -> float:
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(4096)
        mapped = mmap.mmap(file.fileno(), 4096)
        data = bytes(200)
        since = time.perf_counter()
        for _ in range(times):
            fcntl.flock(file, fcntl.LOCK_EX)
            mapped[:200] = data
            fcntl.flock(file, fcntl.LOCK_UN)
        return (time.perf_counter() - since) / times


def _program(what: str, url: str, amount: int) -> dict[str, Any]:
    match what:
        case "cost":
            return asyncio.run(_cost(amount))
        case "cancel":
            return asyncio.run(_cancel(url, amount))
        case _:
            return asyncio.run(_ask(url, amount, AT_ONCE // 2 if what == "two" else AT_ONCE, what == "declared"))


if __name__ == "__main__":
    print(json.dumps(_program(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
