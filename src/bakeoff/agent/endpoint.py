"""Endpoint of the user's that an agent's CLI is set up for: by variables, arguments, and a folder of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

from bakeoff.settings import EndpointSettings
from bakeoff.workspace.repository.cache import data_root

KEY = "AGENT_ENDPOINT_KEY"
"""The variable that holds an endpoint's key for CLIs which can be told its name."""
NO_KEY = "none"
"""Stand-in for the key, for a CLI that insists on one, of an endpoint that wants none."""


@dataclass(frozen=True, slots=True)
class Endpoint(EndpointSettings):
    """Endpoint at which a CLI is to find its model: the user's settings of it, with a name."""

    name: str = field(kw_only=True)

    @property
    def root(self) -> str:
        """The address without `/v1`, for clients that add a path of their own."""
        return self.url.rstrip("/").removesuffix("/v1")

    def folder(self, agent: str) -> Path:
        """Folder for the configuration of an agent that is set up for it, and for sessions that have to be beside it.

        It lasts, so that sessions can go on in another slot and another day; what is said of the endpoint is in its
        name, so that two that differ do not get into each other's way.
        """
        said = repr(sorted(asdict(self).items()))
        return data_root() / "endpoints" / hashlib.sha256(said.encode()).hexdigest()[:16] / agent


@dataclass(frozen=True, slots=True)
class SetUp:
    """Variables, arguments and files that make a CLI ask an endpoint.

    Attributes:
        env: variables; None removes one that would lead it, or the user's own key, elsewhere.
        arguments: come where the caller's further ones do.
        files: texts by their paths in its folder. A key is in none of them.
    """

    env: Mapping[str, str | None]
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Make the files that are not there as they should be, each at once. Blocks."""
        for name, text in self.files.items():
            path = folder / name
            with suppress(OSError):
                if path.read_text("utf-8") == text:
                    continue
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            fresh = path.with_name(f".{path.name}.{token_hex(6)}")
            fresh.write_text(text, "utf-8")
            fresh.replace(path)


Aim: TypeAlias = Callable[[Endpoint, str, Path], SetUp]
"""Function that sets one CLI up: for an endpoint, its key, and the folder that its files are in."""
