"""What all tests share."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from bakeoff.engine.proctable import PR_SET_CHILD_SUBREAPER

# A slow machine is no fault of what is tested. Chance is for `make soak`: what `make test` says must be repeatable.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("soak", parent=settings.get_profile("test"), derandomize=False)
settings.load_profile("soak" if os.environ.get("BAKEOFF_SOAK") else "test")

# Whoever starts the tests in the background may have signals ignored, and what the tests start would inherit that.
for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep slots, results and rates out of the user's folders."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def own_orphans() -> Iterator[None]:
    """Let go of the orphans that a command line run in this process adopts: to later tests they were zombies."""
    yield
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
