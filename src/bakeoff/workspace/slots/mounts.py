"""Mount namespaces of slots, the coordinator's side: overlays mounted in them, and trying whether that works here."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.system.folders import remove_tree
from bakeoff.workspace.errors import NoSpaceError, SlotError
from bakeoff.workspace.full_disk import NO_ROOM, is_full, no_room
from bakeoff.workspace.slots.mount_holder import dumps, loads

ROOT = str(Path(__file__).parents[3])
START = "import sys; sys.path.append(sys.argv[1]); from bakeoff.workspace.slots.mount_holder import main; main()"
"""How the holder starts: imported, as Python keeps no compiled program of what it runs as a file."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder from outside that is shown in a slot, at a path relative to its top."""

    source: str
    target: str
    readonly: bool = True


@dataclass(frozen=True, slots=True)
class Overlay:
    """Parts of one overlay mount.

    Attributes:
        lowers: read-only layers, the uppermost first.
        upper: the layer for changes.
        work: a folder that the kernel needs beside it.
        at: where it is seen.
        bare: a folder where it is seen without what is bound.
        binds: what is shown on top of it.
    """

    lowers: Sequence[str]
    upper: str
    work: str
    at: str
    bare: str
    binds: Sequence[Bind] = ()


class Mounts:
    """The process that holds the namespaces of this pool's slots; its methods block for a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """A new namespace; returns the id of the process that holds it.

        Passes on SlotError: the kernel allows none.
        """
        pid: int = self._ask({"do": "start"})["pid"]
        return pid

    def mount(self, pid: int, overlay: Overlay, was: Sequence[str] = ()) -> None:
        """Mount in a namespace, after unmounting what stands at the places in `was`.

        Passes on SlotError: the kernel refuses.
        """
        self._ask({"do": "mount", "pid": pid, "was": list(was), **asdict(overlay)})

    def unmount(self, pid: int, was: Sequence[str]) -> None:
        """Unmount what stands at these places."""
        self._ask({"do": "mount", "pid": pid, "was": list(was), "at": ""})

    def stop(self, pid: int) -> None:
        """End a namespace, as far as no process in it keeps it alive."""
        self._ask({"do": "stop", "pid": pid})

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            with process:
                process.communicate()

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._process is None:
                self._process = _start()
            process = self._process
            try:
                if process.stdin is None or process.stdout is None:
                    raise SlotError("the process that holds the slots' namespaces has no pipes")
                process.stdin.write(dumps(order))
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError:
                line = b""
            if not line:
                raise SlotError("the process that holds the slots' namespaces died")
        answer = loads(line)
        if "error" in answer:
            raise SlotError(str(answer["error"]))
        return answer


def _start() -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", "-c", START, ROOT]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, start_new_session=True)
    if process.stdout is None or not process.stdout.readline():
        process.kill()
        process.communicate()
        raise SlotError("the process that holds the slots' namespaces did not start")
    return process


def entering(pid: int, folder: str) -> tuple[str, ...]:
    """Command prefix that enters the namespaces of process `pid`, in `folder` as seen there."""
    return ("nsenter", "-t", str(pid), "-U", "-m", "--preserve-credentials", "--", *starting_in(folder))


def starting_in(folder: str) -> tuple[str, ...]:
    """Command prefix that starts a command in `folder`."""
    # env would take a program with an = in its path for a variable; nice takes it as it is, and changes nothing.
    return ("env", "-C", folder, "nice", "-n", "0")


TRIAL = ".try."
"""Prefix of the folders in which it is found out what can be mounted."""


def try_overlay(mounts: Mounts, folder: Path) -> str | None:
    """Why overlay slots cannot be had with their changes in `folder`; None when they can. Found out by doing it.

    Raises:
        NoSpaceError: there is no room to find it out.
    """
    if not sys.platform.startswith("linux"):
        return "overlay mounts are for Linux"
    for program in ("nsenter", "env", "nice"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    place = folder / f"{TRIAL}{secrets.token_hex(6)}"
    pid = None
    try:
        lower, upper, work, at, bare = (place / name for name in ("lower", "upper", "work", "at", "bare"))
        (lower / "whole").mkdir(parents=True)
        for path in (upper, work, at, bare):
            path.mkdir()
        for name in ("gone", "changed", "whole/inside"):
            (lower / name).write_text(name)
        pid = mounts.start()
        mounts.mount(pid, Overlay([str(lower)], str(upper), str(work), str(at), str(bare)))
        script = "rm gone && rm -r whole && mkdir whole && echo more >> changed && echo new > whole/new && cat changed"
        done = subprocess.run(
            [*entering(pid, str(at)), "sh", "-c", script], capture_output=True, cwd="/", check=False, timeout=30
        )
        if done.returncode != 0 or done.stdout != b"changedmore\n":
            said = done.stderr.decode(errors="replace").strip()
            if any(words in said for words in NO_ROOM):
                raise NoSpaceError(no_room())
            return f"a mounted overlay does not work: {said[:200]}"
        return _wrong(upper)
    except (OSError, SlotError, subprocess.SubprocessError) as failure:
        if is_full(failure):
            raise NoSpaceError(no_room()) from failure
        return f"overlay mounts are not allowed here: {failure}"
    finally:
        if pid is not None:
            mounts.stop(pid)
        for inner in ("work/work", "work"):
            if (place / inner).exists():
                (place / inner).chmod(0o700)
        remove_tree(place, ignore_errors=True)


def _wrong(upper: Path) -> str | None:
    gone = (upper / "gone").lstat()
    if not stat.S_ISCHR(gone.st_mode) or gone.st_rdev != 0:
        return "a deleted file leaves no whiteout that can be read"
    if not is_opaque(upper / "whole"):
        return "a replaced folder is not marked as opaque"
    return None


def is_opaque(folder: Path | int) -> bool:
    """Whether a folder of an overlay's upper layer hides the folder below it altogether."""
    try:
        return os.getxattr(folder, "user.overlay.opaque") == b"y"
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Allowed:
    """Why something cannot be had; None where it can.

    Attributes:
        namespaces: user and mount namespaces.
        overlay: overlay slots.
    """

    namespaces: str | None
    overlay: str | None


def look(cache: Path) -> Allowed:
    """Try namespaces, and an overlay with its changes in `cache`, which is made when it is not there."""
    if not sys.platform.startswith("linux"):
        return Allowed("namespaces are for Linux", "overlay mounts are for Linux")
    mounts = Mounts()
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        mounts.stop(mounts.start())
        return Allowed(None, try_overlay(mounts, cache))
    except NoSpaceError as failure:
        return Allowed(None, str(failure))
    except (OSError, SlotError) as failure:
        return Allowed(f"namespaces are not allowed here: {failure}", f"it needs namespaces: {failure}")
    finally:
        mounts.close()
