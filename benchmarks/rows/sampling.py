"""Sampling: what goes on after the caller has left, what a sample costs, how soon a passing answer is returned.

Run as a program it measures in a fresh process: `python -m benchmarks.rows.sampling PORT TIMES FOLDER`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import REPOSITORY, Bench, Measure, in_turns, spend
from benchmarks.peers import PeerMissingError, peer

LOOPS, LANES = 5, 64
SAMPLES = LOOPS * LANES


def measure(bench: Bench) -> Iterator[Measure]:
    times = 20 if bench.quick else 60
    argv = [sys.executable, "-m", "benchmarks.model_server"]
    with subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        try:
            program = [sys.executable, "-m", "benchmarks.rows.sampling", port, str(times), str(bench.folder)]
            found = json.loads(spend(program, REPOSITORY).output)
            theirs, title = _mellea(bench, port, times)
        finally:
            server.terminate()
    yield from _left_over(found, theirs, title)
    yield from _costs(found, theirs, title)
    yield _import(bench)


def _mellea(bench: Bench, port: str, times: int) -> tuple[dict[str, float], str]:
    try:
        found = peer("mellea")
    except PeerMissingError as missing:
        return {}, f"mellea cannot be had: {missing}"
    output = found.script("mellea_sampling.py", port, str(times), cwd=bench.folder).output
    return json.loads(output.splitlines()[-1]), found.title


def _left_over(found: dict[str, Any], theirs: dict[str, float], title: str) -> Iterator[Measure]:
    for key, what in (
        ("early", "an early success"),
        ("cancel", "the caller's cancellation"),
        ("ctrl_c", "Ctrl-C in the sync call"),
    ):
        said = f"{title}: {theirs[key]}" if theirs else title
        yield Measure(
            f"sampling-left-{key.replace('_', '-')}",
            f"requests in flight at the server 5 ms after {what}, 8 at once",
            found[key],
            "requests",
            0,
            1 + found[key],
            "none, counted as 1",
            tolerance=0.01,
            notes=(said,),
        )


def _costs(found: dict[str, Any], theirs: dict[str, float], title: str) -> Iterator[Measure]:
    def peers(key: str, each: float) -> str:
        return f"{title}: {theirs[key] * 1e3:.3g} ms, {theirs[key] / each:.1f}x" if theirs else title

    raw, cpu, kept = (min(found[name]) for name in ("raw", "cpu", "kept"))
    yield Measure(
        "sampling-cpu",
        f"CPU of a sample over the raw call, L={LOOPS} C={LANES}, fastest",
        (cpu - raw) * 1e3,
        "ms",
        0.05,
        cpu / raw,
        "the raw calls",
        0.3,
        (
            f"minima in turns: raw {raw * 1e3:.4f} ms, sampled {cpu * 1e3:.4f} ms (median "
            f"{median(found['cpu']) * 1e3:.4f}); with a plain function in a thread {min(found['thread']) * 1e3:.3f} ms",
            peers("cpu", cpu),
        ),
    )
    yield Measure(
        "sampling-cpu-durable",
        f"the same, in an open durable run: generation and check on disk, L={LOOPS} C={LANES}",
        (kept - raw) * 1e3,
        "ms",
        0.1,
        kept / raw,
        "the raw calls",
        0.3,
        (
            f"minima in turns: {kept * 1e3:.4f} ms (median {median(found['kept']) * 1e3:.4f}); with run='name', "
            f"which opens and closes the run, too: {min(found['named']) * 1e3:.4f} ms",
        ),
    )
    lags, slow = sorted(found["lag"]), sorted(found["kept_lag"])
    commit = median(found["commit"])
    for name, share, goal in (("lag", 0.5, 1.0), ("lag95", 0.95, 2.0)):
        value = lags[int(share * (len(lags) - 1))]
        yield Measure(
            f"sampling-{name}",
            f"from a passing answer to the return, C=16, {share:.0%} of {len(lags)}",
            value * 1e3,
            "ms",
            goal,
            value / raw,
            "CPU of a raw call",
            0.5,
            (peers(name, value),),
        )
    value = median(slow)
    yield Measure(
        "sampling-lag-durable",
        "the same, in an open durable run, median",
        value * 1e3,
        "ms",
        2.0 + commit * 1e3,
        value / commit,
        "one commit",
        0.5,
        (
            f"one commit {commit * 1e3:.2f} ms; 95 %: {slow[int(0.95 * (len(slow) - 1))] * 1e3:.2f} ms",
            f"with run='name', which closes the run, too: median {median(found['named_lag']) * 1e3:.2f} ms",
        ),
    )
    whole, bare = min(found["thousand"]), min(found["thousand_raw"])
    yield Measure(
        "sampling-thousand",
        "1000 calls of 50 ms at once",
        whole * 1e3,
        "ms",
        150,
        whole / bare,
        "the raw calls",
        0.25,
        (f"raw {bare * 1e3:.0f} ms", peers("thousand", whole)),
    )


def _import(bench: Bench) -> Measure:
    def wall(program: str) -> Callable[[], float]:
        return lambda: spend([sys.executable, "-c", program], bench.folder).wall

    samples = in_turns({"bare": wall("pass"), "ours": wall("from bakeoff import sample")}, 5 if bench.quick else 15)
    bare, ours = samples.least("bare"), samples.least("ours")
    notes = [f"bare interpreter {bare * 1e3:.0f} ms"]
    try:
        python = peer("mellea")
        wall_of_theirs = python.spend("python", "-c", "import mellea", cwd=bench.folder).wall
        notes.append(f"{python.title}: {(wall_of_theirs - bare) * 1e3:.0f} ms")
    except PeerMissingError:
        pass
    over = (ours - bare) * 1e3
    return Measure(
        "sampling-import",
        "`from bakeoff import sample`, over the bare interpreter",
        over,
        "ms",
        100,
        ours / bare,
        "python -c pass",
        0.2,
        tuple(notes),
    )


# What follows runs in a process of its own.


def _get(port: int, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as reply:
        found: dict[str, Any] = json.loads(reply.read())
        return found


class _Over:
    """A model behind HTTP, by a client that closes its connection when it is cancelled."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def generate(self, request: Any) -> Any:
        from bakeoff.model.protocol import Reply

        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = int(head.split("content-length: ")[1].split("\r\n")[0])
            data = json.loads(await reader.readexactly(size))
            return Reply(data["choices"][0]["message"]["content"])
        finally:
            writer.close()


class _Inline:
    """A model in this process."""

    def __init__(self, seconds: float, passing: int = 0) -> None:
        self.seconds, self.passing, self.calls, self.passed_at = seconds, passing, 0, 0.0

    async def generate(self, request: Any) -> Any:
        from bakeoff.model.protocol import Reply

        self.calls += 1
        number = self.calls
        await asyncio.sleep(self.seconds)
        if number == self.passing:
            self.passed_at = time.perf_counter()
        return Reply("pass" if number == self.passing else f"no {number}")


async def _passes(text: str) -> bool:
    return text == "pass"


def _passes_plainly(text: str) -> bool:
    return text == "pass"


async def _sample(model: Any, loops: int, lanes: int, check: Any = _passes, mode: str = "fastest", **more: Any) -> None:
    import bakeoff

    strategy = bakeoff.RejectionSamplingStrategy(loop_budget=loops, concurrency_budget=lanes, mode=mode)  # type: ignore[arg-type]
    await bakeoff.sample("go", [check], strategy=strategy, model=model, **more)


def _left_after(port: int, give_up: float | None) -> int:
    async def main() -> int:
        try:
            await asyncio.wait_for(_sample(_Over(port), 5, 8), give_up)
        except TimeoutError:
            pass
        await asyncio.sleep(0.005)
        return int((await asyncio.to_thread(_get, port, "/stats"))["in_flight"])

    return asyncio.run(main())


def _ctrl_c(port: int) -> int:
    import bakeoff

    _get(port, "/reset/30000/30000")
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    strategy = bakeoff.RejectionSamplingStrategy(loop_budget=5, concurrency_budget=8)
    try:
        bakeoff.sample_sync("go", [_passes], strategy=strategy, model=_Over(port))
    except KeyboardInterrupt:
        time.sleep(0.005)
        return int(_get(port, "/stats")["in_flight"])
    raise RuntimeError("Ctrl-C did not come through")


def _cpu(main: Callable[[], Any], samples: int) -> float:
    gc.collect()
    since = time.process_time()
    asyncio.run(main())
    return (time.process_time() - since) / samples


async def _raw(loops: int, lanes: int, seconds: float) -> float:
    model = _Inline(seconds)

    async def lane() -> None:
        for _ in range(loops):
            await model.generate(None)

    since = time.perf_counter()
    await asyncio.gather(*[lane() for _ in range(lanes)])
    return time.perf_counter() - since


def _lag(**more: Any) -> float:
    async def main() -> float:
        model = _Inline(0.05, 20)
        await _sample(model, 5, 16, **more)
        return time.perf_counter() - model.passed_at

    return asyncio.run(main())


def _open_cpu(folder: Path, run: str) -> float:
    """CPU of a sample in a run that is open already."""
    import bakeoff

    async def inside(handle: Any) -> float:
        gc.collect()
        since = time.process_time()
        await _sample(_Inline(0.02), LOOPS, LANES, run=handle)
        return (time.process_time() - since) / SAMPLES

    return asyncio.run(bakeoff.durable(inside, run=run, project=folder))


def _open_lag(folder: Path, run: str) -> tuple[float, float]:
    """The lag in a run that is open already, and one commit there."""
    import bakeoff

    async def inside(handle: Any) -> tuple[float, float]:
        model = _Inline(0.05, 20)
        await _sample(model, 5, 16, run=handle)
        lag = time.perf_counter() - model.passed_at
        since = time.perf_counter()
        await handle.run.decide("measured", lambda: 1)
        return lag, time.perf_counter() - since

    return asyncio.run(bakeoff.durable(inside, run=run, project=folder))


def _thousand() -> float:
    async def main() -> float:
        since = time.perf_counter()
        await _sample(_Inline(0.05), 1, 1000)
        return time.perf_counter() - since

    return asyncio.run(main())


def _program(port: int, times: int, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
    found: dict[str, Any] = {}
    _get(port, "/reset/50/2000")
    found["early"] = max(_left_after(port, None) for _ in range(3) if not _get(port, "/reset/50/2000"))
    _get(port, "/reset/2000/2000")
    found["cancel"] = max(_left_after(port, 0.3) for _ in range(3))
    found["ctrl_c"] = _ctrl_c(port)
    many = {
        "raw": lambda turn: _cpu(lambda: _raw(LOOPS, LANES, 0.02), SAMPLES),
        "cpu": lambda turn: _cpu(lambda: _sample(_Inline(0.02), LOOPS, LANES), SAMPLES),
        "thread": lambda turn: _cpu(lambda: _sample(_Inline(0.02), LOOPS, LANES, _passes_plainly), SAMPLES),
        "named": lambda turn: _cpu(
            lambda: _sample(_Inline(0.02), LOOPS, LANES, run=f"cpu{turn}", project=folder), SAMPLES
        ),
        "kept": lambda turn: _open_cpu(folder, f"kept{turn}"),
    }
    for turn in range(max(5, times // 6)):
        for name, thing in many.items():
            found.setdefault(name, []).append(thing(turn))
    for turn in range(times):
        found.setdefault("lag", []).append(_lag())
        found.setdefault("named_lag", []).append(_lag(run=f"lag{turn}", project=folder))
        for name, value in zip(("kept_lag", "commit"), _open_lag(folder, f"open{turn}"), strict=True):
            found.setdefault(name, []).append(value)
    for _ in range(5):
        found.setdefault("thousand", []).append(_thousand())
        found.setdefault("thousand_raw", []).append(asyncio.run(_raw(1, 1000, 0.05)))
    print(json.dumps(found))


if __name__ == "__main__":
    _program(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
