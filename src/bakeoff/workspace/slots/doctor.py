"""What kinds of slots this machine and login allow, found out by making one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.errors import NoSpaceError, SlotError
from bakeoff.workspace.slots.mounts import Mounts, try_overlay


@dataclass(frozen=True, slots=True)
class Allowed:
    """Why something cannot be had; None where it can.

    Attributes:
        namespaces: user and mount namespaces.
        overlay: overlay slots.
    """

    namespaces: str | None
    overlay: str | None


def look(cache: Path) -> Allowed:
    """Try namespaces, and an overlay with its changes in `cache`, which is made when it is not there."""
    if not sys.platform.startswith("linux"):
        return Allowed("namespaces are for Linux", "overlay mounts are for Linux")
    mounts = Mounts()
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        mounts.stop(mounts.start())
        return Allowed(None, try_overlay(mounts, cache))
    except NoSpaceError as failure:
        return Allowed(None, str(failure))
    except (OSError, SlotError) as failure:
        return Allowed(f"namespaces are not allowed here: {failure}", f"it needs namespaces: {failure}")
    finally:
        mounts.close()
