"""Reachability of an endpoint, asked before a CLI is started: CLIs try for minutes before they say so."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio

from bakeoff.agent.endpoint import Endpoint
from bakeoff.model.connections import is_refused
from bakeoff.model.retrying import REFUSED_TRIES

BETWEEN = 0.5
"""Seconds between two tries of a connection."""
PATIENCE = 5.0
"""Seconds for one of them; an endpoint that takes longer is left to the CLI."""


async def why_refused(endpoint: Endpoint) -> str | None:
    """Connection refused: nobody listens at `endpoint`, in words. None where that is not known, as behind a proxy."""
    address = urlsplit(endpoint.url)
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
        f"endpoint {endpoint.name} at {endpoint.url}: connection refused: nothing listens there; start the server, or "
        "correct its URL"
    )
