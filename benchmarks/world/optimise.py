"""Functions that a real project's tests reach: a candidate that is the same, one that is not, and whole folders."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.world.language import Unusable
from benchmarks.world.project import Project
from benchmarks.world.python import PYTHON, collected
from benchmarks.world.row import Row

FUNCTIONS = 3
MOST_TRIED = 7  # until so many are judged
MOST_TESTS = 3000
RACE_SECONDS = 5
# A candidate that does the same may be any of these; that it behaves otherwise is a wrong verdict.
SAME = {"faster", "not-faster", "undecided", "mixed", "duplicate"}
# Nothing can be said of it: no verdict, never accepted, and no row that is right.
SILENT = {"flaky", "incomparable", "invalid"}
# Why a function cannot be judged or timed by itself, as bakeoff says it.
UNJUDGED = ("pytest itself uses the module", "cannot be timed by itself")


def rows(project: Project) -> Iterator[Row]:
    """The ranking of a folder, three of its functions, and the folder with a limit; elsewhere a file by its suite."""
    if project.language is not PYTHON:
        yield _by_commands(project)
        return
    folder = _product_folder(project)
    chosen, which = _chosen_tests(project)
    suite = project.run([*project.language.suite.split(), *chosen[1::2]]).seconds
    ranked = project.bakeoff("optimize", "--all", folder, *chosen, "--dry-run", "--json", "--quiet", seconds=330)
    if ranked.status:
        yield Row("optimize: ranking", False, ranked.seconds, note=f"status {ranked.status}: {ranked.err[-250:]}")
        return
    functions = [one["target"] for one in ranked.json()["functions"]]
    note = f"{len(functions)} functions below {folder}{which}"
    ratio = ranked.seconds / suite
    yield Row("optimize: ranking", bool(functions), ranked.seconds, ratio, f"{note}; to one run of the tests")
    by_hand = 3 * suite + RACE_SECONDS  # the original's tests and those of two candidates, and a race
    judged = 0
    for target in functions[:MOST_TRIED]:
        if judged == FUNCTIONS:
            break
        yield (row := _function(project, target, chosen, by_hand))
        judged += row.right is not None
    words = ["optimize", "--all", folder, *chosen, "--top", "2", "--seconds", str(RACE_SECONDS), "--run-id", "all"]
    done = project.bakeoff(*words, "--json", "--quiet")
    yield Row("optimize: --all", done.status in (0, 3), done.seconds, note=done.err[-250:] if done.status else "")


def _chosen_tests(project: Project) -> tuple[list[str], str]:
    """Options that choose files with few tests where the suite is too large for a try, and what is left, in words."""
    tests = collected(project)
    if project.tests:
        return [word for path in project.tests for word in ("--tests", path)], f", by {', '.join(project.tests)} alone"
    if tests.total() <= MOST_TESTS:
        return [], ""
    chosen: Counter[str] = Counter()
    for path, count in sorted(tests.items(), key=lambda item: item[1]):
        if chosen.total() + count <= MOST_TESTS:
            chosen[path] = count
    words = [word for path in chosen for word in ("--tests", path)]
    return words, f", by {chosen.total()} of {tests.total()} tests"


def _product_folder(project: Project) -> str:
    """The folder at the top, or in `src`, that has most Python in it and is no tests."""
    sizes: dict[str, int] = {}
    for path in project.git("ls-files", "*.py").splitlines():
        parts = Path(path).parts
        depth = 2 if parts[0] in ("src", "packages", "lib") else 1
        if len(parts) > depth and not any(word in parts[depth - 1] for word in ("test", "doc", "example", "bench")):
            name = "/".join(parts[:depth])
            sizes[name] = sizes.get(name, 0) + (project.top / path).stat().st_size
    if not sizes:
        raise Unusable("no folder with Python that is not tests")
    return max(sizes, key=lambda name: sizes[name])


def _function(project: Project, target: str, chosen: list[str], by_hand: float) -> Row:
    """The original in other words, and one that raises, as candidates for a function."""
    path, _, name = target.partition(":")
    same, wrong = project.scratch / "same.py", project.scratch / "wrong.py"
    source = (project.top / path).read_text()
    same.write_text(_with_first(source, name, "_in_other_words = ()"))
    wrong.write_text(_with_first(source, name, "raise ZeroDivisionError('not the same')"))
    words = ["optimize", target, "--candidate", str(same), "--candidate", str(wrong), "--no-rules", *chosen]
    words += ["--seconds", str(RACE_SECONDS), "--json", "--quiet"]
    done, trusted = project.bakeoff(*words), ""
    if "which needs --trust" in done.out:
        done, trusted = project.bakeoff(*words, "--trust"), " with --trust"
    label = f"optimize: {name}"[:22]
    for reason in UNJUDGED:
        if reason in done.err:
            return Row(label, None, done.seconds, note=f"{target}: {reason}{trusted}")
    if done.status not in (0, 3):
        return Row(label, False, done.seconds, note=f"status {done.status}{trusted}: {done.err[-250:]}")
    said: list[dict[str, Any]] = done.json()["candidates"]
    reasons = [str(one["reason"]) for one in said[:2]]
    ratio = done.seconds / by_hand
    if reasons[0] in SILENT and reasons[1] in SILENT:
        return Row(label, None, done.seconds, ratio, f"{target}: {reasons[0]}{trusted}: {said[0]['detail']}")
    right = reasons[0] in SAME and reasons[1] not in SAME and said[1]["verdict"] != "ACCEPT"
    note = f"{target}: the same is {reasons[0]}, raising is {reasons[1]}{trusted}"
    return Row(label, right, done.seconds, ratio, f"{note}; to three runs of the tests and a race")


def _with_first(source: str, name: str, statement: str) -> str:
    """The file with a statement in front of the function's own, after its docstring."""
    node: Any = ast.parse(source)
    for part in name.split("."):
        node = next(one for one in ast.walk(node) if getattr(one, "name", None) == part)
    body = node.body
    has_doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if has_doc and len(body) > 1 else body[0]
    if first.lineno == node.lineno or (has_doc and len(body) == 1):
        raise Unusable(f"{name} stands on one line")
    lines = source.splitlines(keepends=True)
    start = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    lines.insert(start - 1, f"{' ' * first.col_offset}{statement}\n")
    return "".join(lines)


def _by_commands(project: Project) -> Row:
    """The largest file, judged and raced by the suite: the same with a remark, and one that is broken."""
    language = project.language
    if not language.suite:
        raise Unusable(language.name)
    tracked = [path for path in project.git("ls-files").splitlines() if path.endswith(language.suffixes)]
    tests = [path for path in tracked if language.is_test(path)]
    product = [path for path in tracked if not any(word in path for word in ("test", "config", "bench", ".d.ts"))]
    target = max(product, key=lambda path: (project.top / path).stat().st_size)
    same, wrong = (project.scratch / f"{name}-{Path(target).name}" for name in ("same", "wrong"))
    source = (project.top / target).read_text()
    same.write_text(f"{source}{language.comment} in other words\n")
    wrong.write_text(f"{source}{language.broken}\n")
    check = language.check_of(tests)
    if (by_hand := project.run(["sh", "-c", check])).status:
        raise Unusable(f"its suite fails by hand, too: {(by_hand.err or by_hand.out)[-200:]}")
    words = ["optimize", target, "--bench", check, "--check", check, "--bench-output", "any"]
    done = project.bakeoff(
        *words, "--candidate", str(same), "--candidate", str(wrong), "--seconds", str(RACE_SECONDS), "--json", "--quiet"
    )
    if done.status not in (0, 3):
        return Row("optimize: --bench", False, done.seconds, note=f"status {done.status}: {done.err[-250:]}")
    reasons = [str(one["reason"]) for one in done.json()["candidates"][:2]]
    right = reasons[0] in SAME and reasons[1] not in SAME
    note = f"{target}: the same is {reasons[0]}, broken is {reasons[1]}"
    return Row("optimize: --bench", right, done.seconds, note=note)
