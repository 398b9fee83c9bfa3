"""Attempts by the real codex CLI over a scripted model on loopback, beside the same calls of the bare CLI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import BAKEOFF, REPOSITORY, Bench, Measure, in_turns, spend

TOOLS = REPOSITORY / ".tools"
PROVIDER = (
    'model_providers.scripted={{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",wire_api="responses",'
    "request_max_retries=0,stream_max_retries=0}}"
)
TASK = "make the file"
FILE = "made.txt"


def measure(bench: Bench) -> Iterator[Measure]:
    if not (TOOLS / ".ready").exists():
        raise RuntimeError("codex is not installed: run `make agents-cli`")
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from scripted_model import Say, ScriptedModel, Shell, by_turn

    count = 6 if bench.quick else 24
    os.environ["PATH"] = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["SCRIPTED_KEY"] = "scripted-key-value"
    # Codex runs login shells: what a user's profile does there is no part of this.
    os.environ["HOME"] = str(bench.folder / "home")
    (bench.folder / "home").mkdir()
    wrong: list[int] = []
    with ScriptedModel(by_turn(Shell(f"echo done > {FILE}"), Say("I made it"))) as model:
        extra = ["--ignore-user-config", "-c", "model_provider=scripted", "-c", PROVIDER.format(url=model.url)]
        project = _project(bench.folder, extra, count)
        taken = in_turns(
            {
                "bare": lambda: _bare(bench.folder, project, extra, count),
                "bakeoff": lambda: _attempts(project, count, wrong),
            },
            1 if bench.quick else 3,
        )
    ratio = taken.least("bakeoff") / taken.least("bare")
    yield Measure(
        "codex-attempts",
        f"{count} codex attempts at once, each in a slot and checked by `test -f`, against {count} bare calls at once",
        ratio,
        "x",
        1.4,
        ratio,
        "the bare CLI in copies that were made before",
        notes=(f"minima of {len(taken.taken['bare'])} in turns: "
               f"{taken.least('bakeoff'):.2f} s, bare {taken.least('bare'):.2f} s",),
    )  # fmt: skip
    yield Measure(
        "codex-attempts-wrong",
        "of these attempts not passed",
        max(wrong),
        "attempts",
        0,
        1 + max(wrong),
        "none, counted as 1",
        tolerance=0.01,
    )


def _project(folder: Path, extra: list[str], count: int) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (project / ".gitignore").write_text(".bakeoff/\nbakeoff.toml\n")
    (project / "bakeoff.toml").write_text(
        f'[lanes]\nagents = {count}\n[agents.codex]\nmodel = "scripted"\nargs = {json.dumps(extra)}\n'
        f'env = {{SCRIPTED_KEY = "{os.environ["SCRIPTED_KEY"]}"}}\n'
    )
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], cwd=project, check=True)
    return project


def _bare(folder: Path, project: Path, extra: list[str], count: int) -> float:
    """Seconds for as many bare calls with the arguments that bakeoff gives."""
    from bakeoff.agent.registry import find_entry
    from bakeoff.settings import Settings

    entry = find_entry("codex", Settings())
    argv = [entry.name, *entry.arguments({"prompt": TASK, "model": "scripted"}, tuple(extra))]
    copies = [folder / "copies" / str(number) for number in range(count)]
    for copy in copies:
        shutil.copytree(project, copy)
    since = time.perf_counter()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    calls = [subprocess.Popen(argv, cwd=copy, **quiet) for copy in copies]
    for call in calls:
        call.wait()
    seconds = time.perf_counter() - since
    missing = [copy.name for copy in copies if not (copy / FILE).exists()]
    shutil.rmtree(folder / "copies")
    if missing:
        raise RuntimeError(f"{len(missing)} of {count} bare calls did nothing")
    return seconds


def _attempts(project: Path, count: int, wrong: list[int]) -> float:
    """Seconds for the whole command; a score makes it judge all attempts."""
    argv = [BAKEOFF, "attempt", TASK, "--agent", "codex", "--attempts", str(count)]
    spent = spend([*argv, "--check", f"test -f {FILE}", "--score", "echo 1", "--json"], project)
    attempts = json.loads(spent.output)["attempts"]
    wrong.append(count - sum(attempt["status"] == "passed" for attempt in attempts))
    return spent.wall
