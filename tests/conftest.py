"""What all tests share."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bakeoff.process.proctable import PR_SET_CHILD_SUBREAPER

# A slow machine is no fault of what is tested. Chance is for `make soak`: what `make test` says must be repeatable.
settings.register_profile(
    "test", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("soak", parent=settings.get_profile("test"), max_examples=1000, derandomize=False)
settings.load_profile("soak" if os.environ.get("BAKEOFF_SOAK") else "test")

# Thousands of interpreters are started below: without bytecode each of them would compile the same files again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whoever starts the tests in the background may have signals ignored, and what the tests start would inherit that.
for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what is imported and collected: it stays, and each search went through it all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `soak(only=True)`, unless `make soak` runs it."""
    if "BAKEOFF_SOAK" in os.environ:
        return
    for item in items:
        if any(mark.kwargs.get("only") for mark in item.iter_markers("soak")):
            item.add_marker(pytest.mark.skip(reason="run by make soak"))


@pytest.fixture(autouse=True, scope="session")
def own_python() -> None:
    """Have tests start this Python, whatever the machine calls `python`, and no pytest that loads plugins of ours.

    Importing hypothesis alone takes twice pytest's own time.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep slots, results and rates out of the user's folders."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


MountTmpfs = Callable[[Path, str], Path]


@pytest.fixture
def mount_tmpfs() -> Iterator[MountTmpfs]:
    """Makes a folder a small file system of its own, of a size as `8m`; skips where this login may not mount one."""
    mounted: list[Path] = []

    def mount(place: Path, size: str) -> Path:
        place.mkdir(exist_ok=True)
        try:
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("this login may not mount a file system")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(autouse=True)
def own_orphans() -> Iterator[None]:
    """Let go of the orphans that a command line run in this process adopts: to later tests they were zombies."""
    yield
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
