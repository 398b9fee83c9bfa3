"""Runs the project's tests with pytest, by its public hooks, and tells what it reports on a socket as it comes."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from . import frames
from .addopts import arguments, flags, home
from .importing import ProjectFinder
from .proxy import Proxy

MESSAGE = 3000
LOADING = 60.0
"""Seconds that importing the candidate may take at least: on a busy machine that is long, and says nothing of it."""


class Reporter:
    """A plugin of pytest.

    Args:
        report: where it tells.
        proxy: is told which test runs.
        wanted: names of tests to run; None for all.
        timeout: seconds of a test that `timeouts` does not name.
        timeouts: seconds of each test.
        doctests: run doctests, and nothing else.
        configured: called when pytest has set itself up.
    """

    def __init__(
        self,
        report: socket.socket,
        proxy: Proxy,
        wanted: list[str] | None,
        timeout: float,
        timeouts: dict[str, float],
        doctests: bool,
        configured: Callable[[], None],
    ) -> None:
        self.report = report
        self.proxy = proxy
        self.wanted = None if wanted is None else set(wanted)
        self.timeout = timeout
        self.timeouts = timeouts
        self.doctests = doctests
        self.configured = configured
        self.sys_path: list[str] = []

    def pytest_configure(self, config: Any) -> None:
        """Its settings are read, and its import hook is in place."""
        self.configured()

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Keep those that are wanted."""
        self.sys_path = list(sys.path)  # pytest takes away again what its configuration adds
        keep = [item for item in items if self._is_wanted(item)]
        gone = [item for item in items if not self._is_wanted(item)]
        items[:] = keep
        if gone:
            config.hook.pytest_deselected(items=gone)

    def _is_wanted(self, item: Any) -> bool:
        if self.doctests and type(item).__name__ != "DoctestItem":
            return False
        return self.wanted is None or item.nodeid in self.wanted

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected."""
        if report.failed:
            self._say({"say": "uncollected", "test": report.nodeid, "message": report.longreprtext[-MESSAGE:]})

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._say({"say": "begin", "test": nodeid})
        self.proxy.begin(nodeid, time.monotonic() + self.timeouts.get(nodeid, self.timeout))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        self.proxy.begin("", None)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test is over."""
        told = {
            "say": "phase",
            "test": report.nodeid,
            "phase": report.when,
            "outcome": "xfailed" if hasattr(report, "wasxfail") and report.outcome == "skipped" else report.outcome,
            "seconds": report.duration,
        }
        if report.failed:
            told["message"] = report.longreprtext[-MESSAGE:]
        if report.when == "call" and self.proxy.mode != "proxy":
            told["printed"] = [report.capstdout[-MESSAGE:], report.capstderr[-MESSAGE:]]
        self._say(told)

    def refused(self, words: list[str]) -> None:
        """Tell why pytest began no session: mostly a conftest.py that cannot be imported."""
        import pytest

        said = io.StringIO()
        with contextlib.redirect_stderr(said):  # it fails at once, as before
            pytest.main(words)
        self._say({"say": "uncollected", "test": "pytest", "message": said.getvalue()[-MESSAGE:]})

    def _say(self, header: dict[str, Any]) -> None:
        frames.send(self.report, header)


def run_tests(report: socket.socket, link: socket.socket | None, job: dict[str, Any], codec: Any) -> dict[str, Any]:
    """Run them; what there is to say at the end.

    Args:
        report: where it is told.
        link: the candidate's process, where there is one.
        codec: the module.
        job: `root`, `target` (path, qualname), `mode`, `fit`, `wanted`, `arguments`, `overrides`, `timeout`,
            `timeouts`, `doctests`, `unseen`, `inner`, `result_limit`, `items_limit`, `noted_limit`.
    """
    import pytest

    known = frozenset(sys.modules)
    place = os.path.realpath(os.path.join(job["root"], job["target"][0]))
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    taken = any(isinstance(path, str) and os.path.realpath(path) == place for path in files)
    if link is not None:
        _wait_for_candidate(report, link, max(LOADING, job["timeout"]))
    root = job["root"]
    proxy = Proxy(report, link, codec, job)
    target = os.path.join(root, job["target"][0]), job["target"][1]
    finder = ProjectFinder(root, job["overrides"], target, proxy.decorator, inner=job["inner"])
    finder.after = proxy.loaded
    sys.meta_path.insert(0, finder)
    sys.path[:0] = [path for path in job["sources"] if path not in sys.path]
    folder = home(root, job["target"][0])
    os.chdir(folder)
    sys_path = list(sys.path)
    for doctests in (False, True) if job["doctests"] else (False,):
        wanted = job["wanted"]
        given = [job["target"][0]] if doctests else job["arguments"]
        if wanted is not None and not given:
            continue  # there is nothing but doctests
        words = [*flags(root, folder), *arguments(root, folder, given), *(["--doctest-modules"] if doctests else [])]
        reporter = Reporter(report, proxy, wanted, job["timeout"], job["timeouts"], doctests, finder.first)
        if pytest.main(words, plugins=[reporter]) == pytest.ExitCode.USAGE_ERROR:
            reporter.refused(words)
        sys_path = list(dict.fromkeys([*reporter.sys_path, *sys_path]))
    return {
        "say": "end",
        "modules": finder.loaded,
        "sys_path": [path for path in sys_path if path],
        "preload": _libraries(finder, known),
        "taken": taken,
        "line": proxy.lines[-1] if proxy.lines else 0,
    }


def _wait_for_candidate(report: socket.socket, link: socket.socket, timeout: float) -> None:
    """Until it is loaded; without it nothing can be found out in this process."""
    try:
        found = frames.receive(link, time.monotonic() + timeout)
        header = {"kind": "ended"} if found is None else found[0]
    except frames.LateFrame:
        header = {"kind": "timeout"}
    except (frames.BrokenFrame, OSError):
        header = {"kind": "forged"}
    if header.get("kind") != "ready":
        frames.send(report, {"say": "unready", "why": header.get("kind"), "message": str(header.get("message", ""))})
        os._exit(0)
    frames.send(report, {"say": "ready"})


def _libraries(finder: ProjectFinder, known: frozenset[str]) -> list[str]:
    """Modules of others that the tests imported, in their order; not those that were `known`."""
    found = []
    for name, module in list(sys.modules.items()):
        if name in known:
            continue
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and not name.startswith("_bakeoff") and not finder.is_ours(path):
            spec = getattr(module, "__spec__", None)
            if spec is not None and spec.name == name and name != "__main__":
                found.append(name)
    return found
