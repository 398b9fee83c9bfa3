"""Places that a command may read by default: system libraries, interpreters, and what PATH and PYTHONPATH name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt/homebrew",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/hosts", "/etc/protocols", "/etc/services",
    "/etc/mime.types", "/etc/magic", "/etc/os-release", "/etc/debian_version", "/etc/fonts", "/etc/ca-certificates",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/java",
)  # fmt: skip

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm")  # noqa: S108 - landlock names what is there
SOURCES = ("/dev/random", "/dev/urandom", "/proc/self")
"""Devices and files that a command writes and reads besides, where it has the user's own /dev and /proc."""

NETWORK = ("/etc/resolv.conf", "/etc/host.conf", "/etc/gai.conf")

PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")
"""Folders shown of the prefix of programs whose other parts may hold anything (`~/.local/share` has keyrings)."""


def readable(
    variables: Mapping[str, str], network: bool, closed: Iterable[str], environments: Iterable[str] = ()
) -> list[str]:
    """Places that can be read without harm, outermost ones only.

    Args:
        variables: of the command; PATH, PYTHONPATH and VIRTUAL_ENV say where its programs and modules are.
        network: also what resolving names needs.
        closed: places that no place found through a variable may contain, the home folder among them.
        environments: of Python's, whose interpreters stand elsewhere.
    """
    shut = [os.path.realpath(path) for path in closed]
    found = [*SYSTEM, *(NETWORK if network else ())]
    found += [prefix for prefix in {sys.base_prefix, sys.prefix} if is_open(prefix, shut)]
    for folder in (*variables.get("PATH", "").split(":"), *(f"{prefix}/bin" for prefix in environments)):
        if os.path.isabs(folder) and os.path.isdir(folder):
            found += _of_programs(Path(folder), shut)
    for folder in variables.get("PYTHONPATH", "").split(":"):
        if os.path.isabs(folder) and os.path.exists(folder) and is_open(folder, shut):
            found.append(folder)
    if is_open(variables.get("VIRTUAL_ENV", ""), shut):
        found.append(variables["VIRTUAL_ENV"])
    return outermost(found)


def _of_programs(folder: Path, shut: list[str]) -> list[str]:
    """A folder of programs, and what these need beside them."""
    found = [str(folder)] if is_open(str(folder), shut) else []
    if folder.name == "shims" and (folder.parent / "versions").is_dir():  # pyenv and its like
        return [str(folder.parent)] if is_open(str(folder.parent), shut) else found
    if folder.name == "bin":
        found += [str(folder.parent / part) for part in PARTS if (folder.parent / part).exists()]
    for name in ("python", "python3", "node"):
        program = folder / name
        if program.is_symlink():
            prefix = Path(os.path.realpath(program)).parent.parent
            found += [str(prefix / part) for part in PARTS if is_open(str(prefix / part), shut)]
    return found


def is_open(path: str, shut: Iterable[str]) -> bool:
    """Whether a place may be shown as it holds none of those that are shut; all real paths but `path`."""
    if not os.path.isabs(path):
        return False
    real = os.path.realpath(path)
    return real != "/" and not any(place == real or place.startswith(real + "/") for place in shut)


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of `folders` or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def outermost(paths: Iterable[str]) -> list[str]:
    """Those that are there and lie below none of the others."""
    found: list[str] = []
    for path in sorted({os.path.normpath(path) for path in paths if os.path.lexists(path)}):
        if not any(path.startswith(outer + "/") for outer in found):
            found.append(path)
    return found
