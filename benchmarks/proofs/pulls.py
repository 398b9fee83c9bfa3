"""Real pull requests that made a function faster: `optimize` is shown the function as it was and as it became.

Each is tried in a clone of its project at the commit before, with the file as the pull request left it for the one
candidate, and the tests as they were. Whether the function does the same was read by eye, and stands in `pulls.toml`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import BAKEOFF
from benchmarks.proofs.interval import share
from benchmarks.proofs.page import Section

LISTED = Path(__file__).with_name("pulls.toml")
UNTIMED = "untimed"
SAME = ("faster", "not-faster", "mixed", "undecided", "duplicate", UNTIMED)
"""Reasons of a candidate that behaves as the original does."""
SILENT = ("incomparable", "flaky", "not tried")
"""Reasons that say nothing of it."""
UNTESTED = "untested"
"""It differs where no test goes, so that either verdict is right."""
RACE_SECONDS = 60
MOST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request. See `pulls.toml`."""

    repository: str
    commit: str
    file: str
    function: str
    tests: tuple[str, ...] = ()
    same: str = ""
    why: str = ""

    @property
    def key(self) -> str:
        """What its result is kept by."""
        return f"{self.repository}@{self.commit[:10]}:{self.function}"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one: `optimize`'s reason for the candidate and its words, speed-up with interval, seconds."""

    key: str
    reason: str
    detail: str
    speedup: list[float]
    seconds: float
    load: float

    def right(self, pull: Pull) -> bool | None:
        """Whether the verdict is the right one; None where nothing was said of it."""
        if self.reason in SILENT:
            return None
        return pull.same == UNTESTED or (self.reason in SAME) is (pull.same == "yes")


def listed() -> tuple[list[Pull], dict[str, list[str]]]:
    """The pull requests, and what the tests of their projects need."""
    told = tomllib.loads(LISTED.read_text())
    pulls = [Pull(**{**one, "tests": tuple(one.get("tests", ()))}) for one in told["pull"]]
    return pulls, told["needs"]


def clone_in(place: Path, repository: str) -> Path | None:
    """The clone of a repository below `place`, as `owner+name/repo`, `owner+name` or `name`; None without one."""
    owned = repository.replace("/", "+")
    for path in (place / owned / "repo", place / owned, place / repository.partition("/")[2]):
        if (path / "HEAD").exists() or (path / ".git").exists():
            return path
    return None


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section with every pull request whose project is there."""
    found = list(tries(place, work, options.pull or (), kept_only=options.kept))
    if found:
        yield _section(found)


def _section(found: list[tuple[Pull, Tried]]) -> Section:
    listed_too = len(listed()[0]) - len(found)
    right = [tried.right(pull) for pull, tried in found]
    said = [tried for _, tried in found if tried.reason not in SILENT]
    same = [tried for tried in said if tried.reason in SAME]
    undecided = [tried for tried in same if tried.reason in ("undecided", UNTIMED)]
    busy = sorted(tried.load for _, tried in found)[len(found) // 2]
    rows = [_row(pull, tried) for pull, tried in sorted(found, key=lambda one: one[0].repository)]
    notes = [
        f"{len(found)} pull requests of {len({pull.repository for pull, _ in found})} projects; {listed_too} more are "
        "listed and were not reached.",
        f"Right verdicts, of those that were given: {share(right.count(True), len(said))}.",
        f"Nothing was said of {len(found) - len(said)} (incomparable, flaky, or their tests cannot be run here).",
        f"Decided, of those that behave the same: {share(len(same) - len(undecided), len(same))}, "
        f"at a median load of {busy:.0f} on {os.cpu_count()} cores and at most {RACE_SECONDS} s of measuring each.",
        "`untested`: it differs where no test of then goes, so that neither verdict is wrong.",
    ]
    what = (
        "Functions that real pull requests made faster, each at the commit before, with the file as the pull request "
        "left it for a candidate, `--trust` and the tests as they were. Whether it does the same was read by eye."
    )
    return Section(
        "Real pull requests", what, ("pull request", "does the same", "verdict", "speed-up", ""), rows, notes
    )


def _row(pull: Pull, tried: Tried) -> tuple[str, ...]:
    verdict = {True: tried.reason, False: f"**wrong**: {tried.reason}", None: f"none: {tried.reason}"}[
        tried.right(pull)
    ]
    known = tried.reason in SAME and tried.speedup
    speedup = "-"
    if known:
        speedup = f"{tried.speedup[0]:.2f}x" + (
            " [{:.2f}, {:.2f}]".format(*tried.speedup[1:]) if tried.speedup[2:] else ""
        )
    return f"{pull.repository} `{pull.commit[:7]}` `{pull.function}`", pull.same, verdict, speedup, pull.why


def tries(place: Path, work: Path, again: Sequence[str] = (), kept_only: bool = False) -> Iterator[tuple[Pull, Tried]]:
    """Each pull request whose project is below `place`, with its result, made now or kept from before in `work`.

    Args:
        place: where the clones are.
        work: where results are kept.
        again: those whose key has one of these texts are tried again, and no others are tried.
        kept_only: try none.
    """
    pulls, needs = listed()
    kept = work / "pulls.jsonl"
    known = read(kept)
    for pull in pulls:
        wanted = any(text in pull.key for text in again) if again else pull.key not in known
        if not wanted and pull.key not in known:
            continue
        if wanted:
            if kept_only or (source := clone_in(place, pull.repository)) is None:
                continue
            tried = _tried(pull, source, work / "clones", needs.get(pull.repository, []))
            known[pull.key] = tried
            with kept.open("a") as file:
                file.write(f"{json.dumps(dataclasses.asdict(tried))}\n")
        yield pull, known[pull.key]


def read(kept: Path) -> dict[str, Tried]:
    """The results in a file; of two for one pull request the later."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {tried.key: tried for tried in (Tried(**json.loads(line)) for line in lines)}


def _tried(pull: Pull, source: Path, clones: Path, needs: list[str]) -> Tried:
    since, load = time.monotonic(), os.getloadavg()[0]
    try:
        top = checked_out(pull, source, clones, needs)
        candidate = top.parent / Path(pull.file).name
        candidate.write_bytes(_git(top, "show", f"{pull.commit}:{pull.file}"))
        tests = [word for path in pull.tests for word in ("--tests", path)]
        words = [BAKEOFF, "optimize", f"{pull.file}:{pull.function}", "--candidate", candidate, "--no-rules", *tests]
        words += ["--seconds", str(RACE_SECONDS), "--json", "--quiet", "--trust"]
        done = subprocess.run(
            words, cwd=top, env=environment(top), capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
        reason, detail, speedup = _outcome(done)
    except subprocess.TimeoutExpired:
        reason, detail, speedup = "not tried", f"not over after {MOST_SECONDS} s", []
    except subprocess.CalledProcessError as failure:
        said = (failure.stderr or b"").decode(errors="replace").strip().splitlines()
        reason, detail, speedup = "not tried", f"{failure.cmd[:4]}: {(said or ['?'])[-1]}", []
    return Tried(pull.key, reason, detail, speedup, round(time.monotonic() - since, 1), round(load, 1))


def _outcome(done: subprocess.CompletedProcess[str]) -> tuple[str, str, list[float]]:
    """Reason, words and speed-up of the one candidate."""
    if done.returncode not in (0, 3):
        said = " ".join((done.stderr or done.stdout).split())
        return UNTIMED if "behaves the same but cannot be timed" in said else "not tried", said[-300:], []
    told = json.loads(done.stdout)
    found: list[dict[str, Any]] = told["candidates"]
    if not found:
        return "not tried", "no candidate", []
    one = found[0]
    speed = one.get("speedup") or {}
    figures = [speed[name] for name in ("estimate", "low", "high") if speed.get(name) is not None]
    return one["reason"], " ".join(str(one.get("detail") or "").split())[:500], figures


def checked_out(pull: Pull, source: Path, clones: Path, needs: list[str]) -> Path:
    """The project's clone at the commit before, with an environment that its tests run in."""
    top = clones / pull.repository.replace("/", "+") / pull.repository.partition("/")[2]
    python = top / ".venv/bin/python"
    if not (top / ".git").exists():
        top.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--shared", source.resolve(), top], check=True, capture_output=True)
        (top / ".git/info/exclude").write_text(".venv/\n.bakeoff/\nbakeoff.toml\n")
    shutil.rmtree(top / ".bakeoff", ignore_errors=True)
    _git(top, "checkout", "--quiet", "--force", "--detach", f"{pull.commit}^")
    _git(top, "clean", "--quiet", "-fd", "-e", ".venv")
    ready, wanted = top / ".venv/.ready", " ".join(needs)
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", top / ".venv"], check=True, capture_output=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "pytest", "setuptools", *needs], check=True, capture_output=True)
        subprocess.run([*pip, "-e", top], check=True, capture_output=True)
        ready.write_text(wanted)
    _give_ignored(top)
    return top


def _give_ignored(top: Path) -> None:
    """Slots have what installing made, such as a file with the version: a setting, as bakeoff says."""
    words = [
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "--",
        "*.py",
        ":(exclude).venv",
        ":(exclude)build",
    ]
    made = _git(top, *words).decode().splitlines()
    (top / "bakeoff.toml").write_text(f"[slots]\ncopy = {json.dumps(made)}\n" if made else "")


def environment(top: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BAKEOFF", "PYTHON", "GIT_"))}
    home = top.parent / "home"
    home.mkdir(exist_ok=True)
    return {
        **kept,
        "HOME": str(home),
        "PATH": os.pathsep.join([str(top / ".venv/bin"), os.environ["PATH"]]),
        "VIRTUAL_ENV": str(top / ".venv"),
        "NO_COLOR": "1",
    }


def _git(top: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=top, check=True, capture_output=True).stdout
