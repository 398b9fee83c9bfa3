"""Splitting projects: 80,000 files, one file more, and how many imports a split cuts on five packages."""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import sub
from pathlib import Path
from statistics import fmean

from bakeoff.plan.decompose.decompose import decompose
from bakeoff.plan.decompose.graph.import_graph import import_graph, language_of
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.decompose.sources import imports_of, project_files
from bakeoff.settings import PlanSettings
from bakeoff.workspace.snapshot.project import find_project
from benchmarks.measure import REPOSITORY, Bench, Measure, in_turns, ms
from benchmarks.packages import wheel

PACKAGES = (
    ("sympy", "1.13.3"),
    ("Django", "5.1.4"),
    ("transformers", "5.24.0"),
    ("networkx", "3.6.1"),
    ("ansible-core", "2.19.14"),
)
"""With 500 to 4,000 files each."""

DRAWS = 100
"""Of a file that is added."""


def measure(bench: Bench) -> Iterator[Measure]:
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)  # as the command line does
    try:
        yield from _cut()
        yield _stability()
        yield from _split(3 if bench.quick else 7)
    finally:
        gc.set_threshold(*before)
    yield from _project(bench)


def _paths(count: int) -> list[str]:
    """So many files, 100 in each of ten folders of a package."""
    return [f"pkg{n // 1000:02}/part{n // 100 % 10}/mod{n % 100:02}.py" for n in range(count)]


def timed(work: Callable[[], object]) -> float:
    since = time.perf_counter()
    work()
    return time.perf_counter() - since


def busy(work: Callable[[], object]) -> float:
    """Seconds of the processor."""
    since = time.process_time()
    work()
    return time.process_time() - since


def _split(times: int) -> Iterator[Measure]:
    large = [SourceFile(path, 1500) for path in _paths(80_000)]
    small = large[:8000]
    names = [file.path for file in random.Random(1).sample(large, len(large))]
    taken = in_turns(
        {
            "large": partial(timed, partial(decompose, large)),
            "large, busy": partial(busy, partial(decompose, large)),
            "small, busy": partial(busy, partial(decompose, small)),
            "sorted": partial(timed, lambda: [sorted(names) for _ in range(10)]),
        },
        times,
    )
    yield Measure(
        "decompose-split",
        "80,000 files split by directories alone",
        taken.middle("large"),
        "s",
        3,
        taken.middle("large") / taken.middle("sorted"),
        "sorting their paths ten times",
        0.3,
        (f"median; least {ms(taken.least('large'))}",),
    )
    growth = taken.least("large, busy") / taken.least("small, busy")
    yield Measure(
        "decompose-growth",
        "the split of 80,000 files in times of that of 8,000",
        growth,
        "x",
        12,
        growth,
        "the split of 8,000 files",
        0.3,
        ("of minima of processor time",),
    )


def _project(bench: Bench) -> Iterator[Measure]:
    """Files from git, imports read out of them and the split, in a process of its own, cold and warm."""
    count = 8000 if bench.quick else 80_000
    root = _written(bench.folder / "project", count)
    cold, *warm = [_spent(root, bench.folder / "cache") for _ in range(4)]
    spent = {"cold": cold, "warm": min(warm, key=lambda spend: spend["imports"] + spend["split"])}
    status = timed(lambda: subprocess.run(["git", "status"], cwd=root, check=True, stdout=subprocess.DEVNULL))
    read = timed(lambda: [path.read_bytes() for path in root.rglob("*.py")])
    for name, goal, yardstick, unit in (
        ("cold", 20, "reading all files", read),
        ("warm", 2, "`git status` in the same tree", status),
    ):
        spend = spent[name]
        whole = spend["imports"] + spend["split"]
        parts = ", ".join(f"{part} {ms(spend[part])}" for part in ("imports", "split"))
        least = "least of 3: " if name == "warm" else ""
        yield Measure(
            f"decompose-{name}",
            f"{count:,} files split with their imports, {'read' if name == 'cold' else 'known from before'}",
            whole,
            "s",
            goal,
            whole / unit,
            yardstick,
            0.5,
            (
                f"{least}{parts}; processor time of both {ms(spend['busy'])}",
                f"before that, asking git for the files {ms(spend['files'])}",
                f"{yardstick}: {ms(unit)}",
            ),
        )
    rss = max(spent["cold"]["rss"], spent["warm"]["rss"])
    yield Measure("decompose-memory", "the most memory of these", rss, "MB", 600, rss / 600, "600 MB", 0.2)


CODE = """
import gc, json, sys
from pathlib import Path
gc.set_threshold(50_000, 20, 20)  # as the command line does
from benchmarks.rows.decompose import spend_here
print(json.dumps(spend_here(Path(sys.argv[1]), Path(sys.argv[2]))))
"""


def _spent(root: Path, cache: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"}
    done = subprocess.run([sys.executable, "-c", CODE, root, cache], env=environment, check=True, capture_output=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def spend_here(root: Path, cache: Path) -> dict[str, float]:
    """Seconds of each part, processor seconds of imports and split, and the process's memory in MB."""
    project = find_project(root)
    moments = [time.perf_counter()]
    found = project_files(project)
    moments.append(time.perf_counter())
    busy = time.process_time()
    imports = imports_of(project, found, cache)
    moments.append(time.perf_counter())
    made = decompose(found.files, imports=imports)
    moments.append(time.perf_counter())
    busy = time.process_time() - busy
    if not made.metrics["edges"]:
        raise RuntimeError("no imports were found")
    parts = dict(zip(("files", "imports", "split"), map(sub, moments[1:], moments), strict=True))
    # What getrusage tells is that of the parent, where that was larger.
    (peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return {**parts, "busy": busy, "rss": int(peak.split()[1]) / 1000}


def _written(root: Path, count: int) -> Path:
    """A repository with so many files of 5 KB; each imports two of its folder, some others farther away."""
    chance = random.Random(1)
    paths = _paths(count)
    filler = b"def function(argument):\n    return argument + 1  # what such a line may say\n\n\n" * 60
    stream = [b"commit refs/heads/main\ncommitter b <b@localhost> 1 +0000\ndata 1\nc\n"]
    for number, path in enumerate(paths):
        part, package = number // 100 * 100, number // 1000 * 1000
        others = [paths[part + chance.randrange(100)], paths[part + chance.randrange(100)]]
        others += [paths[package + chance.randrange(1000)]] * (number % 2) + [chance.choice(paths)] * (number % 10 == 0)
        lines = b"".join(b"import %s\n" % other[:-3].replace("/", ".").encode() for other in others)
        text = b"# %d\n" % number + lines + filler
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))
    root.mkdir()
    for args, data in ((("init", "-q", "-b", "main"), b""), (("fast-import", "--quiet"), b"".join(stream))):
        subprocess.run(["git", *args], cwd=root, input=data, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=root, check=True)
    time.sleep(1.1)  # younger than all files, or git would read them all again and again
    subprocess.run(["git", "update-index", "-q", "--refresh", "--force-write-index"], cwd=root, check=False)
    return root


def _stability() -> Measure:
    """6 x 6 x 6 folders with 12 files each, and one file more in one of them."""
    config = PlanSettings(max_files_per_subplan=25, max_tokens_per_subplan=50_000)
    given = [
        SourceFile(f"a{a}/b{b}/c{c}/f{f:02}.py", 1000)
        for a in range(6)
        for b in range(6)
        for c in range(6)
        for f in range(12)
    ]
    made = decompose(given, config)
    chance = random.Random(1)
    lost = []
    for draw in range(DRAWS):
        folder = chance.choice(given).path.rpartition("/")[0]
        more = decompose([*given, SourceFile(f"{folder}/{chance.choice('aez')}{draw}.py", 1000)], config)
        lost.append(100 * len(set(made.order) - set(more.order)) / len(made.order))
    return Measure(
        "decompose-stability",
        "leaf ids that one more file among 2,592 changes, without a warm start",
        fmean(lost),
        "%",
        2,
        fmean(lost) / 2,
        "2 %",
        0.1,
        (f"mean of {DRAWS} draws; most {max(lost):.2f} %",),
    )


def _cut() -> Iterator[Measure]:
    for name, version in PACKAGES:
        files, imports = _read(wheel(name, version))
        made = decompose(files, imports=imports)
        hubs = {path for leaf in made.leaves if leaf.hub for path in leaf.files}
        edges = [(a, b) for a, others in imports.items() for b in others if a not in hubs and b not in hubs]
        ours = _share(edges, made.leaf_of)
        theirs = _share(edges, _first_two(files, PlanSettings()))
        yield Measure(
            f"decompose-cut-{name.lower()}",
            f"imports between leaves on {name} {version}, {len(files):,} files, hubs apart",
            ours / theirs,
            "x",
            0.8,
            ours / theirs,
            "grouping by the first two directories under the same limits",
            0.05,
            (f"{ours:.1%} against {theirs:.1%} of {len(edges):,} imports", f"torn folders: {made.metrics['torn']:.1%}"),
        )


def _read(root: Path) -> tuple[list[SourceFile], Mapping[str, list[str]]]:
    """What `bakeoff plan decompose` would take of a package, were it in a repository."""
    project = _repository(root)
    found = project_files(project, untracked=True, exclude=["*.dist-info/"])
    texts = {file.path: (root / file.path).read_bytes() for file in found.files if language_of(file.path)}
    specs = {path: language_of(path).scan(text) for path, text in texts.items()}  # type: ignore[union-attr]
    return list(found.files), import_graph(specs, [file.path for file in found.files], lambda path: None)


def _repository(root: Path):  # type: ignore[no-untyped-def]
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return find_project(root)


def _first_two(files: list[SourceFile], config: PlanSettings) -> dict[str, int]:
    """The number of each file's leaf when files go by their first two directories, in path order, within the limits."""
    groups: dict[tuple[str, ...], list[SourceFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        groups.setdefault(tuple(file.path.split("/")[:-1][:2]), []).append(file)
    found: dict[str, int] = {}
    leaf = 0
    for group in groups.values():
        leaf += 1
        count = tokens = 0
        for file in group:
            full = count == config.max_files_per_subplan or tokens + file.tokens > config.max_tokens_per_subplan
            if count and full:
                leaf, count, tokens = leaf + 1, 0, 0
            found[file.path] = leaf
            count, tokens = count + 1, tokens + file.tokens
    return found


def _share(edges: list[tuple[str, str]], leaf_of: Mapping[str, object]) -> float:
    return sum(leaf_of[a] != leaf_of[b] for a, b in edges) / len(edges)
