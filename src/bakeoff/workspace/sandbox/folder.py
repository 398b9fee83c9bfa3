"""Folder as the work site of commands that need no work tree: code of a model that is called, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.process.command import Command


@dataclass(frozen=True, slots=True)
class Folder:
    """An empty folder; commands start in it, and it is their /tmp.

    Attributes:
        path: where it is.
        env: variables for the commands; None takes one away.
        shown: places that they see besides.
    """

    path: str
    env: Mapping[str, str | None] = field(default_factory=dict)
    shown: Sequence[str] = ()
    holder: int = 0
    environments: Sequence[str] = ()

    @property
    def bare(self) -> str:
        """The folder."""
        return self.path

    @property
    def temp(self) -> Path:
        """The folder."""
        return Path(self.path)

    @property
    def links(self) -> Mapping[str, str]:
        """None."""
        return {}

    @property
    def owned(self) -> Sequence[str]:
        """The folder."""
        return [self.path]

    @property
    def closed(self) -> Sequence[str]:
        """Nothing but what always is."""
        return ()

    def command(self, argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **more: Any) -> Command:
        """A command to run in it without a sandbox."""
        return Command(argv, self.path, {**self.env, **(env or {})}, **more)
