"""macOS: sandbox-exec holds back files and network, no processes. Written from its manual, never tried."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.protection import Protection, Shield

PROGRAM = "/usr/bin/sandbox-exec"
SYSTEM = ("/System", "/Library", "/private/etc", "/private/var/db", "/dev", "/Applications/Xcode.app")


def missing() -> str | None:
    """Why there is no sandbox-exec; None where there is one."""
    return None if shutil.which(PROGRAM) else f"{PROGRAM} is missing"


def started(argv: Sequence[str], reads: Sequence[str] | None, writes: Sequence[str], network: bool) -> list[str]:
    """The argv that starts `argv` under sandbox-exec."""
    return [PROGRAM, "-p", profile(reads, writes, network), *argv]


def profile(reads: Sequence[str] | None, writes: Sequence[str], network: bool) -> str:
    """The rules, in sandbox-exec's language; the last that fits decides."""
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork process-exec)",
        "(allow signal (target same-sandbox))",
    ]
    lines += ["(allow sysctl-read mach-lookup ipc-posix-shm)", "(allow file-read-metadata)"]
    if reads is None:
        lines.append("(allow file-read*)")
    else:
        lines += [f"(allow file-read* (subpath {_quoted(path)}))" for path in (*SYSTEM, *reads)]
        lines.append('(allow file-read* (literal "/"))')
    lines += [f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in writes]
    lines += [f"(allow file-write* (literal {_quoted(path)}))" for path in ("/dev/null", "/dev/tty")]
    if network:
        lines.append("(allow network*)")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    real = os.path.realpath(path)
    return '"' + real.replace("\\", "\\\\").replace('"', '\\"') + '"'


def protection(policy: SandboxPolicy) -> Protection:
    """The protection that sandbox-exec gives under `policy`."""
    by = ("sandbox-exec",)
    files = Shield("weak", by, "that a file exists, its size and mode can be seen outside, too")
    network = (
        Shield("full", gap="the policy allows the network") if policy.network else Shield("weak", by, "not tested")
    )
    none = Shield(None, gap="macOS has no process spaces")
    return Protection(policy.level, files, network, none, Shield(None, gap="macOS has none that hold"))
