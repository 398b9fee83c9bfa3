"""Dubious ownership: what another user may have planted is not obeyed, by git's rule of `safe.directory`."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from bakeoff.errors import JournalError

TRUSTED = "BAKEOFF_SAFE_DIRECTORY"
"""The variable with folders that are trusted whoever owns them, as in PATH; `*` stands for all."""


class OwnerError(JournalError):
    """Ownership by another user, of what says what is run: one such run is passed over as a damaged one is."""


def check_owner(*paths: Path) -> None:
    """See that files and folders belong to the user who runs bakeoff, or to whoever called it by `sudo`.

    Of a symbolic link, the link and what it leads to must. What does not exist is nobody's.

    Raises:
        OwnerError: one belongs to somebody else.
    """
    for path in paths:
        for look in (os.lstat, os.stat):
            try:
                owner = look(path).st_uid
            except OSError:
                continue
            if owner not in _ours() and not _trusted(path):
                raise OwnerError(
                    f"{path} belongs to {_name(owner)}, and you are {_name(os.geteuid())}: what it says would be run "
                    f"in your name. If you trust it, `chown` it to yourself, set {TRUSTED}={path.parent} or name that "
                    "folder as git's safe.directory; otherwise work in a folder that has none above it"
                )


def _ours() -> set[int]:
    ours = {os.geteuid()}
    called_by = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and called_by.isascii() and called_by.isdecimal():
        ours.add(int(called_by))
    return ours


def _trusted(path: Path) -> bool:
    folders = [folder for folder in os.environ.get(TRUSTED, "").split(os.pathsep) if folder]
    return _is_in(path, folders) or _is_in(path, _safe_to_git())


def _is_in(path: Path, folders: list[str]) -> bool:
    return "*" in folders or any(path.absolute().is_relative_to(folder.removesuffix("/*")) for folder in folders)


def _safe_to_git() -> list[str]:
    """Trusted folders, as told to git; an empty entry takes back those before it. No repository is looked at."""
    import subprocess

    asked = ("git", "config", "-z", "--type=path", "--get-all", "safe.directory")
    env = {name: text for name, text in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG")}
    try:
        done = subprocess.run(asked, capture_output=True, cwd="/", env=env, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    entries = os.fsdecode(done.stdout).split("\0")[:-1]
    last = max((number for number, entry in enumerate(entries, 1) if not entry), default=0)
    return [entry for entry in entries[last:] if entry == "*" or os.path.isabs(entry)]


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
