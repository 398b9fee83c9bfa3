"""Setup command: run once in a slot, and what it built becomes a layer that all slots share."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from fnmatch import fnmatchcase
from pathlib import Path

import anyio

from bakeoff.process.command import Finished, Processes
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.repository.locks import FileLock, wait_for_lock
from bakeoff.workspace.results.results import not_in_results
from bakeoff.workspace.slots.slot import Slot, SlotMaker
from bakeoff.workspace.snapshot.snapshot import Entries


def setup_digest(command: str, inputs: tuple[str, ...], entries: Entries, tree: str, place: str) -> str:
    """Digest of the products: of the command, its inputs in the snapshot (or all of it), and where it runs."""
    found = hashlib.sha256(f"{command}\0{place}\0".encode())
    if not inputs:
        found.update(tree.encode())
    for path in sorted(entries.files):
        text = os.fsdecode(path)
        if any(
            text == asked or text.startswith(asked.rstrip("/") + "/") or fnmatchcase(text, asked) for asked in inputs
        ):
            found.update(path + b"\0" + entries.files[path][1] + b"\0")
    return f"setup-{found.hexdigest()[:24]}"


async def setup_layer(maker: SlotMaker, command: str, digest: str, processes: Processes) -> tuple[Path, FileLock]:
    """The layer with the products: the ignored files that the command made. Made by whoever comes first.

    Cancelled, the command is ended and nothing is left.

    Passes on SlotError: the command failed; the message has the end of what it said.
    """
    cache = maker.made.cache
    home = cache.layers / digest
    making = await in_thread(wait_for_lock, cache.layers / f"{digest}.making")
    try:
        if not home.is_dir():
            await _build(maker, command, home, processes)
        lock = await in_thread(wait_for_lock, cache.layers / f"{digest}.lock", shared=True)
        os.utime(home)
        return home, lock
    finally:
        making.release()


async def _build(maker: SlotMaker, command: str, home: Path, processes: Processes) -> None:
    held: list[Slot] = []
    try:
        await in_thread(_into, held, maker)
        done = await processes.run(held[0].command(["sh", "-c", command]))
        if done.exit_code != 0:
            raise SlotError(f"the setup command failed ({_how(done)}): {command}\n{_said(done)}")
        await in_thread(_freeze, maker, held[0], home)
    finally:
        with anyio.CancelScope(shield=True):
            for slot in held:
                await in_thread(maker.drop, slot)


def _into(held: list[Slot], maker: SlotMaker) -> None:
    held.append(maker.make())


def _freeze(maker: SlotMaker, slot: Slot, home: Path) -> None:
    """Move what the command made, and no rule counts as the project's own, into a layer."""
    changes = slot.place.changes()
    fresh = maker.made.cache.layers / f".new.{secrets.token_hex(6)}"
    (fresh / "files").mkdir(parents=True)
    paths = []
    for path in not_in_results(slot.base, changes):
        target = fresh / "files" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(changes.root / path, target)
        paths.append(path.rstrip("/"))
    (fresh / "paths.json").write_text(json.dumps(paths))
    fresh.rename(home)


def _how(done: Finished) -> str:
    return done.message or done.ended_by or f"status {done.exit_code}"


def _said(done: Finished) -> str:
    text = "".join(str(stream.value) for stream in (done.stdout, done.stderr))
    return text[-2000:].strip()
