"""Connections to one endpoint, as many as there are requests at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    import ssl

    import httpx

FULL = 8
"""Requests at once of one client. What its pool does for each request grows with the square of what it holds: a
thousand kept connections in one pool cost 13 ms of processor time a request, in pools of eight 1.2 ms."""
IDLE_TIME = 30.0
"""Seconds that a connection is kept for a next request."""


class Connections:
    """HTTP clients of few connections each, made as they are needed. Close them at the end."""

    def __init__(self, base_url: str, *, connect: float, keep_alive: bool, use_proxies: bool) -> None:
        """Prepare; nothing is connected.

        Args:
            base_url: the endpoint.
            connect: seconds for a connection.
            keep_alive: whether a connection is used again.
            use_proxies: whether proxies that the environment names are used.
        """
        self._base_url = base_url.rstrip("/")
        self._connect = connect
        self._keep_alive = keep_alive
        self._use_proxies = use_proxies
        self._trust = _trust(base_url)
        self._clients: list[httpx.AsyncClient] = []
        self._busy: list[int] = []

    @asynccontextmanager
    async def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """Send a request; the answer, to be read as it comes. Left early, its connection is closed.

        Passes on httpx.HTTPError and httpx.InvalidURL.
        """
        number = next((number for number, busy in enumerate(self._busy) if busy < FULL), len(self._busy))
        if number == len(self._busy):
            self._clients.append(self._client())
            self._busy.append(0)
        self._busy[number] += 1
        try:
            url = self._base_url + path
            async with self._clients[number].stream("POST", url, content=content, headers=headers) as response:
                yield response
        finally:
            self._busy[number] -= 1

    async def close(self) -> None:
        """Close all connections, also when this is cancelled."""
        with anyio.CancelScope(shield=True):
            for client in self._clients:
                await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(
            http1=True,
            http2=False,  # over HTTP/2 a cancelled request runs to its end at the server
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=FULL if self._keep_alive else 0,
                keepalive_expiry=IDLE_TIME,
            ),
            # Silence is bounded where it is known what is waited for.
            timeout=httpx.Timeout(None, connect=self._connect),
            verify=self._trust,
            trust_env=self._use_proxies,
        )


def _trust(base_url: str) -> ssl.SSLContext | bool:
    """Certificates that all clients trust: reading them takes 20 ms, and plain HTTP does without."""
    import httpx

    return httpx.create_ssl_context() if base_url.startswith("https:") else False


def is_refused(failure: BaseException | None) -> bool:
    """Whether nobody listens where a connection was to go."""
    while failure is not None and not isinstance(failure, ConnectionRefusedError):
        group = failure.exceptions if isinstance(failure, BaseExceptionGroup) else ()
        if group and all(map(is_refused, group)):
            return True
        failure = failure.__cause__ or failure.__context__
    return failure is not None
