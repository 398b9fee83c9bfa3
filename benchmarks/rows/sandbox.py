"""A command in a sandbox, from a ready slot, as jobs run it: started by the process that starts all of theirs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import anyio

from bakeoff.engine.mask import Masker
from bakeoff.process.spawner import Spawner
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.sandbox.plan import PYTHON
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import sandbox
from bakeoff.workspace.workspace import open_workspace
from benchmarks.measure import Bench, Measure, ms
from benchmarks.rows.slots import timed


def measure(bench: Bench) -> Iterator[Measure]:
    if sys.platform.startswith("linux"):
        yield anyio.run(partial(_spawn, bench.folder, 10 if bench.quick else 60))


async def _spawn(folder: Path, times: int) -> Measure:
    root = folder / "project"
    root.mkdir()
    (root / "file").write_text("text\n")
    identity = ("-c", "user.name=b", "-c", "user.email=b@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)
    settings = Settings(slots=SlotSettings(kind="overlay"))
    async with (
        open_workspace(root, settings, "bench", cache=folder / "cache", slots=1) as workspace,
        workspace.lease() as slot,
    ):
        box = await sandbox(slot, SandboxPolicy())
        async with Spawner(token="bench", base_env=dict(os.environ), masker=Masker()) as processes:
            sandboxed, plain = box.command(["true"]), slot.command(["true"])
            await processes.run(sandboxed)  # what starts all others has started
            taken: dict[str, list[float]] = {"sandbox": [], "slot": [], "python": []}
            for _ in range(times):
                for name, command in (("sandbox", sandboxed), ("slot", plain)):
                    start = time.perf_counter()
                    finished = await processes.run(command)
                    taken[name].append(time.perf_counter() - start)
                    if finished.exit_code:
                        raise RuntimeError(f"{name}: {finished.stderr.value}")
                yardstick = [PYTHON, "-I", "-S", "-c", "pass"]
                taken["python"].append(timed(partial(subprocess.run, yardstick, cwd="/", check=True)))
    middle = {name: median(seconds) for name, seconds in taken.items()}
    return Measure(
        "sandbox-spawn",
        "the program `true` runs in a full sandbox, from a ready slot, until nothing of it is left",
        middle["sandbox"] * 1e3,
        "ms",
        10,
        middle["sandbox"] / middle["python"],
        "`python -I -S -c pass`",
        0.3,
        (
            f"median; least {ms(min(taken['sandbox']))}; in the slot without a sandbox {ms(middle['slot'])}, "
            f"the yardstick {ms(middle['python'])}",
        ),
    )
