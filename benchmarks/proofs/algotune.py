"""AlgoTune: solvers that models wrote, with the speed-ups that were published of them, raced again.

Of each task the solver with the highest published speed-up is taken that needs nothing but packages with wheels that
are quickly there. It has to answer fresh problems rightly, as the task itself judges, and is raced against the task's
reference; so is the reference against itself. Problems are of the published size, made with seeds of our own.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio

from bakeoff.engine.mask import Masker
from bakeoff.judge.codec import encode
from bakeoff.judge.timing.functions import race
from bakeoff.judge.timing.parent import HASH_SEED, READS, Code, TimingError, place
from bakeoff.judge.timing.plan import Input
from bakeoff.judge.timing.race import Options
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, Speed
from bakeoff.process.spawner import Spawner
from bakeoff.settings import load_settings
from bakeoff.workspace.sandbox.folder import Folder
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import Sandbox, sandbox
from benchmarks.proofs.interval import share
from benchmarks.proofs.page import Section
from benchmarks.proofs.pulls import clone_in
from benchmarks.proofs.splitting import by_hash

NEEDS = ("numpy", "scipy", "networkx", "scikit-learn", "cryptography", "sympy", "mpmath", "pandas")
LIGHT = {"AlgoTuneTasks", "numpy", "scipy", "networkx", "sklearn", "cryptography", "sympy", "mpmath", "pandas"}
OUTSIDE = {"subprocess", "ctypes", "multiprocessing"}
"""Parts of the standard library by which a solver would bring a compiler, or more processors than one."""
PARTS = ("AlgoTuneTasks", "results", "reports/generation.json", "reports/agent_summary.json")
CHILD = Path(__file__).with_name("algotune_child.py")
PROBLEMS = 4
RACE_SECONDS, ITSELF_SECONDS = 10.0, 4.0
MOST_SECONDS = 300.0
SINGLE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
ERROR, WRONG, UNTRIED = "fails", "wrong answers", "not tried"
BASE = """\
TASKS = {}


def register_task(name):
    def register(task):
        TASKS[name] = task
        return task

    return register


class Task:
    def __init__(self, **_):
        pass
"""
"""In the place of the set's base class, which brings a whole harness."""
REFERENCE = """\
import importlib

from AlgoTuneTasks.base import TASKS

importlib.import_module("AlgoTuneTasks.{0}.{0}")


class Solver:
    def __init__(self):
        self._task = TASKS["{0}"]()

    def solve(self, problem):
        return self._task.solve(problem)
"""
TIMED = """\
import os
import pickle

from solver import Solver

with open(os.path.join(os.path.dirname(__file__), "problems.pickle"), "rb") as file:
    PROBLEMS = pickle.load(file)
SOLVER = Solver()


def timed(number):
    SOLVER.solve(PROBLEMS[number])
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A task with the solver to race.

    Attributes:
        size: of its problems, as published.
        model: who wrote the solver.
        published: its speed-up.
    """

    task: str
    size: int
    model: str
    published: float
    solver: Path


@dataclass(frozen=True, slots=True)
class Found:
    """Verdict on a solver.

    Attributes:
        reason: a verdict on speed, or why there is none.
        speedup: estimate and bounds.
        itself: verdict on the reference raced against itself, with no least speed-up.
    """

    task: str
    model: str
    published: float
    reason: str
    detail: str = ""
    speedup: list[float] = field(default_factory=list)
    itself: str = ""
    load: float = 0.0


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section, where there is a clone of oripress/AlgoTune."""
    if (source := clone_in(place, "oripress/AlgoTune")) is None:
        return
    clone = work / "algotune"
    if not clone.exists():
        archive = ["git", "-C", source, "archive", "HEAD", *PARTS]
        files = subprocess.run(archive, stdout=subprocess.PIPE, check=True).stdout
        clone.mkdir()
        subprocess.run(["tar", "-x", "-C", clone], input=files, check=True)
    listed = {entry.task: entry for entry in entries(clone)}
    kept = work / "algotune.jsonl"
    found = {one.task: one for one in map(_read, kept.read_text().splitlines())} if kept.exists() else {}
    for task in by_hash(list(listed))[: options.problems]:
        if task not in found and not options.kept:
            found[task] = anyio.run(_tried, listed[task], clone, _environment(work), work / "algotune-try")
            with kept.open("a") as file:
                file.write(f"{json.dumps(asdict(found[task]))}\n")
            print(found[task], flush=True)
    if found := {task: one for task, one in found.items() if task in listed}:
        yield _section(list(found.values()), len(listed))


def entries(clone: Path) -> Iterator[Entry]:
    """The tasks of a clone that have a solver which can be raced here."""
    sizes = json.loads((clone / "reports" / "generation.json").read_text())
    published = json.loads((clone / "reports" / "agent_summary.json").read_text())
    folders = {_plain(folder.name): folder for folder in (clone / "results").iterdir()}
    for task, told in published.items():
        source = clone / "AlgoTuneTasks" / task / f"{task}.py"
        if not source.exists() or task not in sizes or not _needs(source) <= LIGHT:
            continue
        solvers = []
        for model, one in told.items():
            folder = folders.get(_plain(model))
            solver = folder / task / "solver.py" if folder else None
            speedup = _number(one["final_speedup"])
            if solver and speedup and speedup > 1 and _is_light(solver):
                solvers.append(Entry(task, sizes[task]["n"], model, speedup, solver))
        if solvers:
            yield max(solvers, key=lambda entry: entry.published)


def _plain(model: str) -> str:
    """A model's name as it is in both places: small, letters and digits alone, without the date of its release."""
    kept = "".join(letter for letter in model.lower() if letter.isalnum())
    return kept[:-8] if kept[-8:].isdigit() else kept


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_light(solver: Path) -> bool:
    """Whether it is one file that needs nothing else."""
    return solver.exists() and len(list(solver.parent.iterdir())) == 1 and _needs(solver) <= LIGHT


def _needs(source: Path) -> set[str]:
    """What a file imports besides the standard library."""
    try:
        tree = ast.parse(source.read_text())
    except SyntaxError:
        return {"?"}
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    return names - (set(sys.stdlib_module_names) - OUTSIDE)


def _environment(work: Path) -> Path:
    """The interpreter of an environment with the packages that tasks need."""
    folder = work / "algotune-env"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *NEEDS], check=True)
        (folder / ".ready").touch()
    return python


def _read(line: str) -> Found:
    return Found(**json.loads(line))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A task's folder, in a sandbox with an interpreter."""

    entry: Entry
    folder: Path
    python: Path
    box: Sandbox[Folder]
    spawner: Spawner

    async def child(self, verb: str, *words: str) -> dict[str, Any]:
        """What a verb of `algotune_child.py` prints.

        Raises:
            _FailedError: it fails, or takes too long.
        """
        argv = [str(self.python), CHILD.name, verb, self.entry.task, *words]
        done = await self.spawner.run(self.box.command(argv, env=SINGLE_THREAD, timeout=MOST_SECONDS))
        if done.exit_code:
            said = str(done.stderr.value).strip().splitlines()
            raise _FailedError((said or [done.ended_by or "?"])[-1][:200])
        told: dict[str, Any] = json.loads(str(done.stdout.value).splitlines()[-1])
        return told

    async def race(self, contender: bytes, seconds: float, least: float) -> Speed:
        """Verdict on the speed of a solver."""
        where = place(self.box.command([str(self.python)], env={**SINGLE_THREAD, HASH_SEED: "0"}, reads=READS))
        inputs = [Input(encode(((number,), {})), fresh=number % 2 == 1) for number in range(PROBLEMS)]
        reference = {"solver.py": REFERENCE.format(self.entry.task).encode()}
        options = Options(min_speedup=least, seconds=seconds)
        code = Code("timed", "timed", str(self.folder))
        raced = await race(where, code, reference, {"it": {"solver.py": contender}}, inputs, options)
        return raced.speeds["it"]


class _FailedError(Exception):
    pass


async def _tried(entry: Entry, clone: Path, python: Path, folder: Path) -> Found:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(clone / "AlgoTuneTasks" / entry.task, folder / "AlgoTuneTasks" / entry.task)
    (folder / "AlgoTuneTasks" / "base.py").write_text(BASE)
    (folder / "timed.py").write_text(TIMED)
    shutil.copy(CHILD, folder)
    solver, reference = entry.solver.read_bytes(), REFERENCE.format(entry.task).encode()
    policy = SandboxPolicy(load_settings(folder).sandbox, reads=[str(python.parent.parent), *READS])
    box = await sandbox(Folder(os.path.realpath(folder)), policy)
    async with Spawner(token=f"proofs-{os.getpid()}", base_env=os.environ, masker=Masker()) as spawner:
        trial = _Trial(entry, folder, python, box, spawner)

        def found(reason: str, detail: str = "", **more: Any) -> Found:
            return Found(entry.task, entry.model, entry.published, reason, detail, load=os.getloadavg()[0], **more)

        try:
            await trial.child("prepare", str(entry.size), str(PROBLEMS))
        except _FailedError as failure:
            return found(UNTRIED, f"its problems: {failure}")
        (folder / "solver.py").write_bytes(solver)
        try:
            changed = (await trial.child("solve"))["changed"]
            right = (await trial.child("check"))["right"]
        except _FailedError as failure:
            return found(ERROR, str(failure))
        if changed or not all(right):
            return found(WRONG, "it changes its problem" if changed else f"{right.count(False)} of {len(right)}")
        (folder / "solver.py").write_bytes(reference)
        try:
            speed = await trial.race(solver, RACE_SECONDS, 1.05)
            itself = await trial.race(reference + b"\n", ITSELF_SECONDS, 1.0)
        except TimingError as failure:
            return found(UNTRIED, str(failure)[:200])
        ratio = speed.speedup
        figures = [one for one in (ratio.estimate, ratio.low, ratio.high) if one is not None] if ratio else []
        return found(speed.verdict, speed.detail, speedup=figures, itself=itself.verdict)


def _section(found: Sequence[Found], total: int) -> Section:
    raced = [one for one in found if one.speedup]
    faster = [one for one in raced if one.reason == FASTER]
    claimed = [one for one in found if one.published >= 1.05 and one.reason != UNTRIED]
    near = [one for one in faster if 2 / 3 <= one.speedup[0] / one.published <= 3 / 2]
    again = [one for one in found if one.itself]
    rows = [_row(one) for one in sorted(found, key=lambda one: one.task)]
    notes = [
        f"{len(found)} of {total} tasks were tried, in the order of their hashes.",
        f"Published as 1.05x or more and faster here, by the lower bound: "
        f"{share(sum(one.reason == FASTER for one in claimed), len(claimed))}.",
        f"Of those faster here, within a factor of 1.5 of what was published: {share(len(near), len(faster))}.",
        f"Not faster: {sum(one.reason == NOT_FASTER for one in raced)}; wrong answers: "
        f"{sum(one.reason == WRONG for one in found)}; fails here: {sum(one.reason == ERROR for one in found)}.",
        f"The reference raced against itself was called faster in "
        f"{share(sum(one.itself == FASTER for one in again), len(again))}.",
        f"Median load {statistics.median(one.load for one in found):.0f} on {os.cpu_count()} cores.",
        "One thread; answers are checked by the task's own `is_solution` in another process, on four problems.",
    ]
    what = (
        "For each task the published solver with the highest published speed-up that needs no compiler, GPU or heavy "
        f"package, raced against the task's reference on problems of the published size ({RACE_SECONDS:.0f} s)."
    )
    return Section("AlgoTune, published solvers", what, ("task", "by", "published", "here", "verdict"), rows, notes)


def _row(one: Found) -> tuple[str, ...]:
    here = f"{one.speedup[0]:.2f}x" if one.speedup else "-"
    if len(one.speedup) == 3:
        here += f" [{one.speedup[1]:.2f}, {one.speedup[2]:.2f}]"
    verdict = one.reason if one.speedup or not one.detail else f"{one.reason}: {one.detail}"
    return one.task, one.model, f"{one.published:.2f}x", here, verdict
