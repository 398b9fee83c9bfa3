"""Protection of the machine from a command, for the receipt."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shield:
    """Protection of one kind.

    Attributes:
        strength: `full`, `weak` (there are known gaps), or None for none at all.
        by: the mechanisms.
        gap: what is missing, and why.
    """

    strength: str | None
    by: tuple[str, ...] = ()
    gap: str | None = None


@dataclass(frozen=True, slots=True)
class Protection:
    """Shields that were active while a command ran.

    Attributes:
        level: what was asked for.
        files: reading and writing outside what is allowed.
        network: reaching others, by whatever socket.
        processes: seeing, ending and outliving others.
        limits: memory, processes, time.
        unseen: what was only contained: refusals that nobody was told of.
    """

    level: str
    files: Shield
    network: Shield
    processes: Shield
    limits: Shield
    unseen: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Why this is less than `full`; limits do not count, they only end what takes too much."""
        kinds = (("file system", self.files), ("network", self.network), ("processes", self.processes))
        return [f"{name}: {shield.gap or 'no protection'}" for name, shield in kinds if shield.strength != "full"]

    def receipt(self) -> dict[str, Any]:
        """For the record; JSON types only."""
        return asdict(self) | {"unseen": list(self.unseen), "missing": self.missing}


def unprotected(why: str) -> Protection:
    """No sandbox at all."""
    none = Shield(None, gap=why)
    return Protection("none", none, none, none, none)
