"""Sets an agent's CLI up for an endpoint of the user's: by variables, arguments, and a folder of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio

from bakeoff.model.connections import is_refused
from bakeoff.model.retrying import REFUSED_TRIES
from bakeoff.settings import EndpointSettings
from bakeoff.workspace.cache import data_root

KEY = "AGENT_ENDPOINT_KEY"
"""The variable that holds an endpoint's key for CLIs which can be told its name."""
BETWEEN = 0.5
"""Seconds between two tries of a connection."""
PATIENCE = 5.0
"""Seconds for one of them; an endpoint that takes longer is left to the CLI."""
NO_KEY = "none"
"""What a CLI that insists on a key is given for an endpoint that wants none."""


@dataclass(frozen=True, slots=True)
class Endpoint(EndpointSettings):
    """Where a CLI is to find its model: what a user says of it, with a name.

    Attributes:
        name: what messages call it.
    """

    name: str = field(kw_only=True)

    @property
    def root(self) -> str:
        """The address without `/v1`, for clients that add a path of their own."""
        return self.url.rstrip("/").removesuffix("/v1")

    def folder(self, agent: str) -> Path:
        """Where the configuration of an agent that is set up for it is, and sessions, where they have to be beside it.

        It lasts, so that sessions can go on in another slot and another day; what is said of the endpoint is in its
        name, so that two that differ do not get into each other's way.
        """
        said = repr(sorted(asdict(self).items()))
        return data_root() / "endpoints" / hashlib.sha256(said.encode()).hexdigest()[:16] / agent

    async def refuses(self) -> str | None:
        """Why no CLI can reach it, in words: nobody listens there. None where that is not known.

        CLIs try for minutes before they say so.
        """
        address = urlsplit(self.url)
        host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
        if address.scheme in getproxies() and not proxy_bypass(host):
            return None
        for number in range(REFUSED_TRIES):
            if number:
                await anyio.sleep(BETWEEN)
            try:
                with anyio.fail_after(PATIENCE):
                    await (await anyio.connect_tcp(host, port)).aclose()
            except (OSError, TimeoutError) as failure:
                if not is_refused(failure):
                    return None
            else:
                return None
        return (
            f"endpoint {self.name} at {self.url}: connection refused: nothing listens there; start the server, or "
            "correct its URL"
        )


@dataclass(frozen=True, slots=True)
class SetUp:
    """What makes a CLI ask an endpoint.

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
"""How one CLI is set up: for an endpoint, its key, and the folder that its files are in."""
