"""Unix sockets of the user's other programs (ssh-agent, docker, D-Bus): whoever can connect acts in the user's name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bakeoff.workspace.sandbox.places import below

BOUND = "/proc/net/unix"
NAMING = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST")
"""Variables that name a socket, by its path, as a URL or as an address of D-Bus."""
USUAL = (
    "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
    "/run/dbus/system_bus_socket", "/run/libvirt/libvirt-sock", "/run/snapd.socket",
)  # fmt: skip
DEPTH = 3
"""Depth to which the user's runtime folder is looked through."""


def hidden_sockets(environ: Mapping[str, str], given: Sequence[str], open_to: Sequence[str]) -> list[str]:
    """Real paths of the sockets that a command which sees all files must not reach.

    They are those that programs of this network namespace have bound, and those in the usual places, where a daemon of
    another namespace may listen.

    Args:
        environ: the user's variables.
        given: sockets, or folders of them, that the command may connect to; `~` and `$NAME` mean what they mean in a
            shell.
        open_to: folders that are the command's own.
    """
    free = [os.path.realpath(os.path.expandvars(os.path.expanduser(path))) for path in given]
    free += [os.path.realpath(path) for path in open_to]
    found = {os.path.realpath(path) for path in (*_bound(), *_named(environ), *USUAL)}
    return sorted(path for path in found if not below(path, free) and _is_socket(path))


def _bound() -> Iterator[str]:
    """Socket bound to a path, and not to an abstract name."""
    try:
        with open(BOUND, encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                path = line.rstrip("\n").split(maxsplit=7)[7:]
                if path and path[0].startswith("/"):
                    yield path[0]
    except OSError:  # no /proc, or no Linux
        return


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    for name in NAMING:
        for address in environ.get(name, "").split(";"):
            path = address.removeprefix("unix:path=").removeprefix("unix://").split(",")[0]
            if path.startswith("/"):
                yield path
    folder = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    yield from _inside([folder], DEPTH)


def _inside(folders: Iterable[str], depth: int) -> Iterator[str]:
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        yield from (entry.path for entry in entries if not entry.is_dir(follow_symlinks=False))
        if depth > 1:
            yield from _inside((entry.path for entry in entries if entry.is_dir(follow_symlinks=False)), depth - 1)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
