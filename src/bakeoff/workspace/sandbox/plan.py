"""Sandbox plan: the JSON that the program inside is told, and the command line that starts it."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[3])
START = "import sys; sys.path.append(sys.argv.pop(1)); from bakeoff.workspace.sandbox.inside.run import main; main()"
FORK = ("bakeoff.workspace.sandbox.inside.run:forked", 6)
"""The same in a fork of a Python that runs already; see `Command`."""
OWN_NETWORK = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from bakeoff.workspace.sandbox.inside.own_network import main; main()"
)
PYTHON = os.path.realpath(sys.executable)
"""The real interpreter: one of an environment reads its configuration first, which takes a millisecond."""


def with_own_network(command: Sequence[str]) -> list[str]:
    """The argv that runs `command` with a loopback device of its own and no other network."""
    return [PYTHON, "-I", "-S", "-c", OWN_NETWORK, ROOT, *command]


@dataclass(frozen=True, slots=True)
class SandboxPlan:
    """The way a sandbox is built, as its program is told.

    Attributes:
        namespaces: of user, mounts, processes, IPC and, without `network`, network.
        holder: a process whose user and mount namespaces are entered first; 0 for none.
        network: keep the network.
        proc: mount a /proc of its own.
        reads: places to show; None for all.
        writes: places that can be written.
        hidden: sockets to hide, where all is shown.
        temp: the place that is /tmp.
        folder: where the command starts.
        shared: bytes of /dev/shm.
        memory, count: bytes and processes that all may have together; 0 for no limit.
        limits: of each process, by their names in `inside/run.py`.
        landlock, seccomp: whether to use them.
        landlock_reads, landlock_writes: what landlock allows; None for reading everything.
        scopes: what landlock keeps to the sandbox.
        families: address families of sockets.
        keep_modes: refuse changes of modes, owners and times of files.
        variables: names of those that the command gets.
        own: changes that end with it, as for `view.build`.
    """

    folder: str
    temp: str
    writes: Sequence[str]
    reads: Sequence[str] | None
    variables: Sequence[str]
    namespaces: bool = True
    holder: int = 0
    network: bool = False
    proc: bool = True
    hidden: Sequence[str] = ()
    shared: int = 1 << 20
    memory: int = 0
    count: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    landlock: bool = True
    landlock_reads: Sequence[str] | None = None
    landlock_writes: Sequence[str] = ()
    scopes: int = 0
    seccomp: bool = True
    families: Sequence[int] = (1,)
    keep_modes: bool = False
    own: Mapping[str, Any] | None = None

    def told(self) -> dict[str, Any]:
        """The same in plain values."""
        return {
            name: list(value) if isinstance(value, tuple | list) else dict(value) if name == "limits" else value
            for name, value in asdict(self).items()
        }

    def argv(self, command: Sequence[str]) -> list[str]:
        """The argv that runs `command` in the sandbox."""
        return [PYTHON, "-I", "-S", "-c", START, ROOT, marshal.dumps(self.told()).hex(), *command]
