"""Sandbox policy: the protection that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.settings import Settings

LEVELS = ("none", "weak", "full")
"""`full`: what is missing here is refused. `weak`: what can be had, whatever that is. `none`: no sandbox at all."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a command; None for no limit.

    Attributes:
        memory: bytes that all its processes may have resident together, and each may have of its own data.
        processes: how many at once, threads included where the kernel counts them so.
        cpu: seconds of processor time, of each process.
        file: bytes of each file that it writes.
        shared: bytes of shared memory (/dev/shm).
        seconds: of wall time, where the command has no timeout of its own.
    """

    memory: int | None = 4 << 30
    processes: int | None = 1024
    cpu: int | None = 600
    file: int | None = 1 << 30
    shared: int = 256 << 20
    seconds: float | None = 600.0


NO_LIMITS = Limits(memory=None, processes=None, cpu=None, file=None, seconds=None)


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Permissions of a command in a slot.

    Attributes:
        level: one of `LEVELS`.
        network: reach the network; without it there is an own loopback device at most.
        loopback: have that device, for tests with servers; it needs namespaces.
        read_everything: see all files; else the slot, interpreters, dependencies and system libraries only.
        reads: further places to see.
        writes: further places to write.
        environment: names of further variables to pass on; `*` for all of them.
        sockets: Unix sockets, or folders of them, that it may connect to where it sees all files; no others outside.
        limits: what it may use up.
    """

    level: str = "full"
    network: bool = False
    loopback: bool = True
    read_everything: bool = False
    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    environment: Sequence[str] = ()
    sockets: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {self.level!r}")


def check_policy(level: str, settings: Settings) -> SandboxPolicy:
    """For commands that judge what an attempt made; how long they may take is the caller's affair."""
    return SandboxPolicy(
        level,
        network=settings.sandbox_network,
        reads=tuple(map(str, settings.sandbox_reads)),
        environment=settings.sandbox_environment,
        limits=Limits(cpu=None, seconds=3600.0),
    )


def agent_policy(own: Sequence[str], level: str = "weak", sockets: Sequence[str] = ()) -> SandboxPolicy:
    """For a coding agent: it has the network and all variables, sees all files, writes to its slot and `own` only.

    Args:
        own: files and folders of its login and configuration.
        level: `weak` runs it with what the machine can enforce; `full` refuses where that is not all.
        sockets: of the user's other programs, those that it may connect to.
    """
    return SandboxPolicy(
        level,
        network=True,
        read_everything=True,
        writes=tuple(own),
        environment=("*",),
        sockets=tuple(sockets),
        limits=NO_LIMITS,
    )


XDG = {
    "~/.config/": "XDG_CONFIG_HOME",
    "~/.cache/": "XDG_CACHE_HOME",
    "~/.local/share/": "XDG_DATA_HOME",
    "~/.local/state/": "XDG_STATE_HOME",
}
"""Folders of the home folder, and the variables that move them."""


def user_paths(text: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Candidate locations of a path below `~`, likeliest first: programs move their folders by XDG_..., or do not."""
    if not text.startswith("~"):
        return [text]
    found = [home + text[1:]]
    for folder, variable in XDG.items():
        if text.startswith(folder) and environ.get(variable):
            found.insert(0, f"{environ[variable]}/{text.removeprefix(folder)}")
    return list(dict.fromkeys(found))


def agent_places(
    login_files: Sequence[str], own: Sequence[str], home_variable: str | None, environ: Mapping[str, str]
) -> list[str]:
    """Folders of an agent's login and state: those of its login files, its own, and what its own variable names.

    A login file right in the home folder is taken alone: the home folder is not the agent's.
    """
    home = environ.get("HOME", "/nonexistent")
    found = []
    for path in (path for text in login_files for path in user_paths(text, home, environ)):
        folder = path.rstrip("/").rpartition("/")[0]
        found.append(path if folder.rstrip("/") in (home.rstrip("/"), "") else folder)
    if named := environ.get(home_variable or ""):
        found.append(named)
    found += [path for text in own for path in user_paths(text, home, environ)]
    return list(dict.fromkeys(found))
