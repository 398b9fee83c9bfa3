"""A command in a sandbox, from a ready slot; the part of it that is starting a Python cannot be had for less."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.sandbox.plan import PYTHON
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import sandbox
from bakeoff.workspace.workspace import open_workspace
from benchmarks.measure import Bench, Measure, in_turns, ms
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
        commands = {
            "sandbox": box.command(["true"]).argv,
            "slot": slot.command(["true"]).argv,
            "python": [PYTHON, "-I", "-S", "-c", "pass"],
        }
        runs = {
            name: partial(timed, partial(subprocess.run, argv, cwd="/", check=True)) for name, argv in commands.items()
        }
        taken = in_turns(runs, times)
    return Measure(
        "sandbox-spawn",
        "the program `true` runs in a full sandbox, from a ready slot, until nothing of it is left",
        taken.middle("sandbox") * 1e3,
        "ms",
        10,
        taken.middle("sandbox") / taken.middle("python"),
        "`python -I -S -c pass`",
        0.3,
        (
            f"median; least {ms(taken.least('sandbox'))}; in the slot without a sandbox {ms(taken.middle('slot'))}, "
            f"the yardstick {ms(taken.middle('python'))}",
        ),
    )
