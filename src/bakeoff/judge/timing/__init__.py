"""How fast code is, measured so that neither noise, nor order, nor the code itself decides what comes out.

`race` measures versions of a function against the original, `commands` whole commands. See docs/timing.md.
"""

from __future__ import annotations
