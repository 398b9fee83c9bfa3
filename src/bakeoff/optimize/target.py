"""Targets of an optimisation: a function or method; where a command is timed, a whole file or the project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from bakeoff.optimize.errors import TargetError

PROJECT = PurePosixPath()
"""The path of a target that is no file."""


OTHERS = 'files of other languages are judged by commands: give the file alone, --bench "COMMAND" and --check "COMMAND"'
"""What to do with what is no Python."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function or method; where a command is timed, also a whole file, or the whole project.

    Attributes:
        path: of its file, relative to the project's root.
        qualname: its name with those of the classes around it: `Class.method`; empty for a whole file.
    """

    path: PurePosixPath
    qualname: str

    def __str__(self) -> str:
        if self.qualname:
            return f"{self.path}:{self.qualname}"
        return "the project" if self.is_project else str(self.path)

    @property
    def is_project(self) -> bool:
        """Whether no file is named."""
        return self.path == PROJECT


def parse_target(text: str) -> Target:
    """Read `pkg/mod.py:function` or `pkg/mod.py:Class.method`.

    Raises:
        TargetError: it is not of that form.
    """
    path, colon, qualname = text.rpartition(":")
    form = "write it as pkg/mod.py:function or pkg/mod.py:Class.method"
    if not colon or not path.strip() or not qualname.strip():
        raise TargetError(
            f"{text!r} names no function: {form}" + ("" if text.rstrip(":").endswith(".py") else f"; {OTHERS}")
        )
    if "<locals>" in qualname:
        raise TargetError(f"{text!r} is inside a function: name the function around it")
    if not all(part.isidentifier() for part in qualname.split(".")):
        raise TargetError(f"{text!r}: {qualname!r} is no name of a function: {form}")
    where = PurePosixPath(path.replace("\\", "/"))
    if where.suffix != ".py":
        raise TargetError(f"{text!r}: {path} is no Python file: {form}; {OTHERS}")
    if where.is_absolute() or ".." in where.parts:
        raise TargetError(f"{text!r}: {path} is not inside the project: give it relative to the project's root")
    return Target(where, qualname)


def parse_bench_target(text: str) -> Target:
    """The same where a command is timed: a function, a file of any kind, or nothing, which is the whole project.

    Passes on TargetError: it names a function wrongly.

    Raises:
        TargetError: the file is not inside the project.
    """
    path, colon, _ = text.rpartition(":")
    if colon and path.endswith(".py"):
        return parse_target(text)
    where = PurePosixPath(text)
    if where.is_absolute() or ".." in where.parts:
        raise TargetError(f"{text!r} is not inside the project: give it relative to the project's root")
    return Target(where, "")
