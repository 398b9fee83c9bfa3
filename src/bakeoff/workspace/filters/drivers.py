"""Content filters, git's `filter` drivers, as the user's configuration has them: programs between files and blobs."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHELL = "\\`$|&;<>(){}*?[]~#'\""
"""Characters that make a word the shell's business: nobody can tell the program then without running it."""

_FOREIGN = "GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_LITERAL_PATHSPECS"
"""Variables that tell git about the place that bakeoff works in: no filter is asked about that."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A `filter.NAME` of git's configuration.

    Attributes:
        name: what `filter=` in `.gitattributes` calls it.
        clean: the shell command that makes what is stored out of what is in a file; empty for none.
        smudge: the one for the other way.
        process: the one for both ways that stays and speaks git's protocol; git prefers it to the others.
        required: git refuses where it fails; otherwise content goes through as it is.
    """

    name: str
    clean: str = ""
    smudge: str = ""
    process: str = ""
    required: bool = False

    @property
    def cleans(self) -> str:
        """The command that git runs when it stores a file; empty for none."""
        return self.process or self.clean

    @property
    def smudges(self) -> str:
        """The command that git runs when it writes a file; empty for none."""
        return self.process or self.smudge

    @property
    def may_salt(self) -> bool:
        """Whether what it stores may differ each time. Filter processes (LFS) are not known to do that."""
        return bool(self.clean and self.smudge and not self.process)

    def off(self) -> list[str]:
        """Settings that switch it off."""
        return [f"filter.{self.name}.{key}" for key in ("clean=", "smudge=", "process=", "required=false")]

    def at(self, root: Path) -> list[str]:
        """Settings that have it run where git runs it for the user: from the top of their work tree, and about that.

        So a program that is named relative to the top is theirs, whatever an attempt has at that place.
        """
        start = f"cd {shlex.quote(str(root))} || exit 1; unset {_FOREIGN}; "
        commands = {"clean": self.clean, "smudge": self.smudge}
        once = [f"filter.{self.name}.{key}={start.replace('%', '%%')}{text}" for key, text in commands.items() if text]
        return [*once, *([f"filter.{self.name}.process={start}{self.process}"] if self.process else [])]

    def identity(self, root: Path) -> str:
        """Changes when its commands or their programs do; `root` is the top of the user's work tree."""
        return repr((self, [_stamp(command, root) for command in (self.cleans, self.smudges) if command]))


def drivers_of(settings: Mapping[str, str]) -> tuple[Driver, ...]:
    """The drivers in `filter.*` settings of git, by the names that git gives them."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        name, _, part = key.removeprefix("filter.").rpartition(".")
        if name and part in ("clean", "smudge", "process"):
            found.setdefault(name, {})[part] = value
        elif name and part == "required":
            found.setdefault(name, {})[part] = value.lower() in ("", "true", "yes", "on", "1")
    return tuple(Driver(name, **parts) for name, parts in found.items())


def missing_program(command: str, root: Path) -> str | None:
    """The program of a shell command, run in `root`, that is not there; None where it is, or nobody can tell."""
    word = _program(command)
    if word is None or _place(word, root) is not None:
        return None
    known = subprocess.run(("sh", "-c", 'command -v -- "$0"', word), capture_output=True, check=False)
    return word if known.returncode else None  # else it is the shell's own


def _program(command: str) -> str | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    while words and words[0].partition("=")[0].isidentifier() and "=" in words[0]:
        words.pop(0)
    return words[0] if words and not any(sign in words[0] for sign in _SHELL) else None


def _place(word: str, root: Path) -> str | None:
    if "/" in word:
        return shutil.which(root / word)
    return shutil.which(word, path=f"{_git_programs()}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


@functools.cache
def _git_programs() -> str:
    """Folder of git's own programs, which it puts first on the PATH of what it runs."""
    done = subprocess.run(("git", "--exec-path"), capture_output=True, check=False)
    return os.fsdecode(done.stdout).strip()


def _stamp(command: str, root: Path) -> tuple[object, ...]:
    """The program that a command runs now: it may be installed or changed later."""
    place = _place(word, root) if (word := _program(command)) is not None else None
    if place is None:
        return (None,)
    found = os.stat(place)
    return place, found.st_size, found.st_mtime_ns
