"""What all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no fault of what is tested. Chance is for `make soak`: what `make test` says must be repeatable.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("soak", parent=settings.get_profile("test"), derandomize=False)
settings.load_profile("soak" if os.environ.get("BAKEOFF_SOAK") else "test")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep slots, results and rates out of the user's folders."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))
