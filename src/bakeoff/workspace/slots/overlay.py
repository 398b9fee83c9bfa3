"""Overlay slot: a mount over the materialised snapshot, in a namespace of its own; resetting it is a new mount."""

from __future__ import annotations

from pathlib import Path

from bakeoff.workspace.results.changes import Changes, read_upper
from bakeoff.workspace.results.sparse_checkout import spare_narrowed
from bakeoff.workspace.slots.mounts import Bind, Mounts, Overlay, entering
from bakeoff.workspace.slots.place import SlotSource


class OverlayPlace:
    """An overlay in `home`: `upper.N` holds what changed since the Nth reset."""

    kind = "overlay"

    def __init__(self, home: Path, made: SlotSource, mounts: Mounts) -> None:
        self.home = home
        self._made = made
        self._mounts = mounts
        self._number = 0
        self.holder = 0
        self.links = made.links
        self._mounted: tuple[str, ...] = ()
        self.path = str(made.at or home / "tree")
        # Where the slot is seen over a folder that its own home is in, nothing beside it can be seen.
        self.bare = self.path if home.is_relative_to(self.path) else str(home / "bare")
        self.cwd = "/"
        self.prefix: tuple[str, ...] = ()
        self.outside = home / "tree"

    @property
    def _upper(self) -> Path:
        return self.home / f"upper.{self._number}"

    def make(self) -> None:
        """Start a namespace and mount in it."""
        for name in ("tree", "bare"):
            (self.home / name).mkdir()
        self.holder = self._mounts.start()
        self.prefix = entering(self.holder, self.path)
        self.outside = Path(f"/proc/{self.holder}/root{self.path}")
        self._mount()

    def _mount(self) -> None:
        work = self.home / f"work.{self._number}"
        for folder in (self._upper, work):
            folder.mkdir()
        lowers = [*(str(layer / "files") for layer in self._made.layers), str(self._made.lower)]
        binds = [Bind(str(source), target) for target, source in self._made.links.items()]
        overlay = Overlay(lowers, str(self._upper), str(work), self.path, self.bare, binds)
        was, self._mounted = self._mounted, ()
        self._mounts.mount(self.holder, overlay, was)
        self._mounted = tuple({self.path, self.bare})

    def changes(self) -> Changes:
        """Changes that the upper layer holds."""
        found = read_upper(self._upper, self._made.lower or self.home)
        spare_narrowed(found, self._made.base, self._upper / ".git")
        return found

    def git_folders(self) -> list[Path]:
        """The changed part of the agent's repository."""
        return [self._upper / ".git"]

    def reset(self) -> None:
        """Mount anew over an empty upper layer; whoever still has the old one open goes on in what is deleted soon."""
        old = [self._upper, self.home / f"work.{self._number}"]
        self._number += 1
        self._mount()
        for folder in old:
            self._made.cache.bury(folder)

    def close(self) -> None:
        """End the namespace."""
        if self.holder:
            self._mounts.stop(self.holder)
            self.holder = 0


def uppers(home: Path) -> list[Path]:
    """The upper layers in the folder of an overlay slot, the latest last."""
    found = [path for path in home.glob("upper.*") if path.suffix[1:].isdigit() and path.is_dir()]
    return sorted(found, key=lambda path: int(path.suffix[1:]))
