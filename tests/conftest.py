"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A slow machine is no fault of what is tested. Chance is for `make soak`: what `make test` says must be repeatable.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("soak", parent=settings.get_profile("test"), derandomize=False)
settings.load_profile("soak" if os.environ.get("BAKEOFF_SOAK") else "test")
