"""Runs the tests with pytest under a profiler. In the interpreter of the user's project: standard library and pytest.

`python inside.py JOB` prints one JSON object on standard output: pytest's exit status, how many tests it ran, why one
file could not be collected, and for each code of the project [file, first line, name, calls, seconds of its own].
"""

from __future__ import annotations

import cProfile
import importlib.util
import json
import os
import sys

LONGEST = 500  # characters of a message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Counter:
    """A plugin of pytest that counts tests, notes in a file which one runs, and why one file could not be collected.

    The profiler is on from the first test to the last: what only imports call is no function that tests reach.
    """

    def __init__(self, progress: str, profiler: cProfile.Profile) -> None:
        self.profiler = profiler
        self.tests = 0
        self.uncollected = ""
        self.progress = progress

    def pytest_collectreport(self, report: Any) -> None:
        """A file was collected, or could not be."""
        if report.failed and not self.uncollected:
            last = report.longreprtext.strip().rpartition("\n")[2]
            self.uncollected = f"{report.nodeid} cannot be collected: {last.removeprefix('E').strip()}"[:LONGEST]

    def pytest_collection_finish(self, session: Any) -> None:
        """All files are imported."""
        self.profiler.enable()

    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        """The last test is over."""
        self.profiler.disable()

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        with open(self.progress, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{self.tests} {nodeid}\n")

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        self.tests += 1


def _options(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("_bakeoff_addopts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def profile(job: dict[str, Any]) -> dict[str, Any]:
    """Profile as `job` says: `root`, `below`, `sources`, `arguments` of pytest, the files `options` and `progress`."""
    import pytest

    root = os.path.realpath(job["root"])
    options = _options(job["options"])
    folder = options.home(root, job["below"])
    os.chdir(folder)
    sys.path[:1] = job["sources"]
    # What a built-in takes is its caller's own time: whoever calls it slowly is to be found.
    profiler = cProfile.Profile(builtins=False)
    counter = Counter(job["progress"], profiler)
    words = [*options.flags(root, folder), *options.arguments(root, folder, job["arguments"])]
    code = pytest.main(words, plugins=[counter])
    rows = []
    for entry in profiler.getstats():
        if isinstance(entry.code, str):
            continue
        path = os.path.realpath(entry.code.co_filename)
        if path.startswith(root + os.sep):
            rows.append([path[len(root) + 1 :], entry.code.co_firstlineno, entry.code.co_name,
                         entry.callcount, entry.inlinetime])  # fmt: skip
    return {"code": int(code), "tests": counter.tests, "uncollected": counter.uncollected, "rows": rows}


def main(path: str) -> None:
    """Print what was asked for, past whatever the tests print."""
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with open(path) as file:
        job = json.load(file)
    answer: dict[str, Any]
    try:
        answer = profile(job)
    except BaseException as failure:
        answer = {"error": f"{type(failure).__name__}: {failure}"}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(out, data) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
