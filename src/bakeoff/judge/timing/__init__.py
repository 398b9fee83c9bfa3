"""Benchmarks that neither noise, nor order, nor the measured code itself decides.

`functions.race` measures versions of a function against the original, `commands.race_commands` whole commands. See
docs/timing.md.
"""

from __future__ import annotations
