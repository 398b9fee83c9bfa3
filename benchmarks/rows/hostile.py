"""What attempts that mean harm cost the coordinator: how long its loop stands still, and memory, beside honest ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import REPOSITORY, Bench, Measure

AGENT = """\
import os, sys
kind = KINDS[int(os.environ["BAKEOFF_ATTEMPT"]) - 1]
open("kind", "w").write(kind)
if kind == "deep folders":
    for _ in range(2000):
        os.mkdir("d"); os.chdir("d")
elif kind == "sparse object":
    folder = ".git/objects/ab"
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/{'c' * 38}", "wb").truncate(200 << 30)
elif kind == "deep configuration":
    open("pyproject.toml", "w").write("a = " + "[" * 20_000 + "]" * 20_000)
    open("package.json", "w").write("[" * 200_000 + "]" * 200_000)
elif kind == "many files":
    for number in range(5_000):
        open(f"n{number}", "w").close()
elif kind == "large files":
    for number in range(5):
        open(f"large{number}", "wb").write(os.urandom(10_000_000))
elif kind == "deep event":
    print("{" + '"a":[' * 200_000, flush=True)
elif kind == "long event":
    print('{"type":"result","result":"' + "x" * 60_000_000 + '"}', flush=True)
elif kind == "many events":
    for _ in range(200_000):
        print('{"type":"assistant","message":{"usage":{"input_tokens":1e400}}}')
print('{"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1,'
      '"usage":{"input_tokens":1,"output_tokens":1}}')
"""
CHECK = """\
import os, sys
if not os.path.exists("kind"):
    sys.exit("nothing is done yet")
kind = open("kind").read()
if kind == "digits":
    print("7" * 3_000_000, "passed")
elif kind == "line ends":
    print("\\n" * 2_000_000)
elif kind == "failures":
    for number in range(300_000):
        print(f"FAILED tests/test_{number}.py::test_{number} - assert False")
elif kind == "flood":
    for _ in range(200):
        print("\\x1b[31m" + "x" * 1_000_000)
elif kind == "deep report":
    open("r.xml", "w").write("<testsuite>" * 5_000_000)
elif kind == "large report":
    open("r.xml", "w").write("<testsuite>" + '<testcase name="a" classname="b"/>' * 2_000_000 + "</testsuite>")
"""
SCORE = 'import sys; print("9" * 400_000 if open("kind").read() == "score" else 1)\n'
KINDS = [
    "deep folders", "sparse object", "deep configuration", "many files", "large files", "deep event", "long event",
    "many events", "digits", "line ends", "failures", "flood", "deep report", "large report", "score",
]  # fmt: skip


def measure(bench: Bench) -> Iterator[Measure]:
    if not sys.platform.startswith("linux"):
        return
    commands = [_command(bench.folder / name, name) for name in ("warm", "honest", "hostile")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.stalls"],
        input=json.dumps(commands),
        cwd=REPOSITORY,
        env={**os.environ, "XDG_CACHE_HOME": str(bench.folder / "cache"), "XDG_DATA_HOME": str(bench.folder / "data")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    _, honest, hostile = json.loads(done.stdout)
    judged = json.loads(hostile["said"])["attempts"]
    if len(judged) != len(KINDS):
        raise RuntimeError(f"{len(judged)} of {len(KINDS)} hostile attempts were judged")
    yield Measure(
        "hostile-stall",
        f"the loop's longest stall under {len(KINDS)} kinds of hostile attempts",
        hostile["stall"] * 1e3,
        "ms",
        50,
        hostile["cpu"] / honest["cpu"],
        "as many honest attempts, by processor time",
        tolerance=1,
        notes=(f"honest {honest['stall'] * 1e3:.1f} ms; processor {hostile['cpu'] * 1e3:.1f}, "
               f"{honest['cpu'] * 1e3:.1f} ms",),
    )  # fmt: skip
    grown = hostile["memory"] - honest["memory"]
    yield Measure(
        "hostile-memory",
        "what the coordinator's peak of memory grows by under them",
        grown / 1e6,
        "MB",
        50,
        hostile["memory"] / honest["memory"],
        "as many honest attempts",
        notes=(f"{hostile['memory'] / 1e6:.0f} MB, honest {honest['memory'] / 1e6:.0f} MB",),
    )


def _command(root: Path, name: str) -> tuple[str, list[str]]:
    """A project, and the words of an `attempt` there that judges all."""
    root.mkdir()
    kinds = KINDS if name == "hostile" else ["honest"] * len(KINDS)
    (root / "agent.py").write_text(AGENT.replace("KINDS", repr(kinds)))
    (root / "check.py").write_text(CHECK)
    (root / "score.py").write_text(SCORE)
    argv = json.dumps([sys.executable, "agent.py", "{prompt}"])
    (root / "bakeoff.toml").write_text(f'[agents.me]\nargv = {argv}\nevents = "claude"\n')
    (root / ".gitignore").write_text(".bakeoff/\n")
    identity = ("-c", "user.name=b", "-c", "user.email=b@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)
    asked = ["attempt", "do harm", "--agent", "me", "--attempts", str(len(KINDS))]
    python = sys.executable
    check = ["--check", f"{python} check.py --junitxml=r.xml", "--score", f"{python} score.py"]
    return str(root), [*asked, *check, "--json", "--quiet"]
