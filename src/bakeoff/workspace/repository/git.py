"""The git program: plumbing commands in an environment of their own, where no hook, monitor or pager runs."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from bakeoff.workspace.blocking import current_stop, kill_group
from bakeoff.workspace.errors import GitError, NoSpaceError
from bakeoff.workspace.full_disk import no_room

OLDEST = (2, 38)
"""The first version with `merge-tree --write-tree`."""

SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.untrackedCache=keep",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "log.showSignature=false",
)
"""Configuration that wins over any file's and any variable's: nothing is run unasked, fetched, or tidied."""

_THEIRS = re.compile(
    r"GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)|ATTR_NOSYSTEM"
    r"|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|LFS_\w+)"
)
"""Variables that say how the user's own repository is read; those that name another one do not count."""

PATIENCE = 600.0
"""Seconds after which a git program is taken for stuck; a pipe that poses as `.gitignore` can hold it for ever."""


@dataclass(frozen=True, slots=True)
class Git:
    """The git program for one repository.

    Attributes:
        directory: GIT_DIR; None to let git look for one from `cwd`.
        work_tree: GIT_WORK_TREE.
        index: GIT_INDEX_FILE.
        objects: where new objects go instead of the repository's own directory.
        alternates: further object directories to read from.
        config: more `key=value` settings that win over any file.
        owned: whether the repository is bakeoff's own; then no configuration of the user's or the system's is read.
        cwd: the directory it runs in.
    """

    directory: Path | None = None
    work_tree: Path | None = None
    index: Path | None = None
    objects: Path | None = None
    alternates: Sequence[Path] = ()
    config: Sequence[str] = ()
    owned: bool = True
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def at(self, **changes: object) -> Git:
        """The same with some attributes changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        """The whole command."""
        settings = [part for entry in (*SAFE, *self.config) for part in ("-c", entry)]
        return ["git", *settings, *args]

    def environment(self) -> dict[str, str]:
        """This process's variables with ours for git's; what configures the user's own repository stays."""
        found = {
            # A file is meant as seen from where bakeoff runs; git runs elsewhere.
            name: os.path.abspath(value) if name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") and value else value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or (not self.owned and _THEIRS.fullmatch(name))
        }
        found |= {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",  # a file may be called `:(exclude)x`
        }
        if self.owned:
            found |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
        places = {
            "GIT_DIR": self.directory,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
        }
        found |= {name: str(place) for name, place in places.items() if place is not None}
        if self.alternates:
            found["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(_quoted(place) for place in self.alternates)
        return found | dict(self.env)

    def run(self, *args: str | bytes, data: bytes = b"", statuses: Sequence[int] = (0,)) -> bytes:
        """Standard output of the command.

        Passes on GitError: it ended with a status that is none of `statuses`; the message has what it said.
        """
        return self.both(*args, data=data, statuses=statuses)[1]

    def line(self, *args: str | bytes, statuses: Sequence[int] = (0,)) -> str:
        """The one line that the command prints; empty for none."""
        return os.fsdecode(self.run(*args, statuses=statuses)).rstrip("\n")

    def ignored(self, paths: Iterable[bytes], *options: str) -> list[bytes]:
        """Those of the paths that git ignores. Passes on GitError: as for `run`."""
        # Behind `./` nothing reads like the magic of a pathspec; literal ones are not for this command.
        asked = b"".join(b"./" + path + b"\0" for path in paths)
        if not asked:
            return []
        git = self.at(env={**self.env, "GIT_LITERAL_PATHSPECS": "0"})
        out = git.run("check-ignore", "-z", "--stdin", *options, data=asked, statuses=(0, 1))
        return [path.removeprefix(b"./") for path in out.split(b"\0")[:-1]]

    def both(self, *args: str | bytes, data: bytes = b"", statuses: Sequence[int] = (0,)) -> tuple[int, bytes, bytes]:
        """Exit status, standard output and standard error. Passes on GitError: as for `run`."""
        return self.feed(*args, write=lambda pipe: _write(pipe, data), statuses=statuses)

    def feed(
        self, *args: str | bytes, write: Callable[[IO[bytes]], None], statuses: Sequence[int] = (0,)
    ) -> tuple[int, bytes, bytes]:
        """The same for input that is written bit by bit by `write`; the command must print little until it ends.

        Raises:
            GitError: as for `run`.
            NoSpaceError: because the disk is full.
        """
        process = self._start(*args)
        with process, current_stop().killing(process):
            try:
                if process.stdin is not None:
                    write(process.stdin)
                out, err = process.communicate(timeout=PATIENCE)
            except BaseException as failure:
                kill_group(process)
                process.communicate()
                if isinstance(failure, subprocess.TimeoutExpired):
                    raise GitError(f"git {_shown(args)} did not end within {PATIENCE:.0f} s") from failure
                raise
        if process.returncode not in statuses:
            said = err.decode(errors="replace").strip()
            what = f"git {_shown(args)} failed (status {process.returncode})"
            if says_full(said):
                where = self.directory or self.cwd or Path.cwd()
                raise NoSpaceError(f"{what}: {no_room(f'of {where}')}", process.returncode)
            raise GitError(f"{what}: {said or 'it said nothing'}", process.returncode)
        return process.returncode, out, err

    def beginning(self, *args: str | bytes, most: int) -> bytes:
        """The first bytes of what the command prints, at most so many; it is ended when there is more.

        Raises:
            GitError: as for `run`.
        """
        process = self._start(*args)
        with process, current_stop().killing(process):
            assert process.stdout is not None
            assert process.stderr is not None
            out = process.stdout.read(most)
            if len(out) == most:
                kill_group(process)
                return out
            said = process.stderr.read().decode(errors="replace").strip()
        if process.returncode:
            raise GitError(f"git {_shown(args)} failed (status {process.returncode}): {said}", process.returncode)
        return out

    def _start(self, *args: str | bytes) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.argv(*args),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment(),
                cwd=self.cwd,
                process_group=0,  # content filters are programs of the user's, and may hang
            )
        except FileNotFoundError as failure:
            raise GitError(MISSING) from failure


def says_full(said: str) -> bool:
    """Whether git says that there was no room."""
    return _FULL.search(said) is not None


_FULL = re.compile(r"out of disk ?space|no space left on device|disk quota exceeded", re.IGNORECASE)


def _write(pipe: IO[bytes], data: bytes) -> None:
    if len(data) <= 1 << 15:  # it fits the pipe
        try:
            pipe.write(data)
            pipe.flush()
        except BrokenPipeError:
            pass  # what the command says and its status tell more
        return
    import threading

    # Written by another thread, so that what the command prints meanwhile is read.
    threading.Thread(target=_pour, args=(os.dup(pipe.fileno()), data), daemon=True).start()


def _pour(descriptor: int, data: bytes) -> None:
    try:
        with open(descriptor, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:
        pass


def copy_index(source: Path, target: Path) -> None:
    """Copy an index with its time: by that git knows which files may have changed unseen right after it was written.

    Passes on FileNotFoundError: there is none.
    """
    with source.open("rb") as file:
        times = os.fstat(file.fileno())
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _quoted(place: Path) -> str:
    text = str(place)
    if ":" not in text and not text.startswith('"'):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shown(args: Sequence[str | bytes]) -> str:
    return " ".join(os.fsdecode(arg) for arg in args[:3])


MISSING = f"git was not found on PATH: install git {OLDEST[0]}.{OLDEST[1]} or later"


def check_git() -> str:
    """The version of git.

    Raises:
        GitError: there is none, or it is older than 2.38; the message names it.
    """
    text = _version(os.environ.get("PATH", ""))
    number = re.search(r"(\d+)\.(\d+)[\w.]*", text)
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        found = number[0] if number else text or "of unknown version"
        raise GitError(f"git {found} is too old: attempts need git {OLDEST[0]}.{OLDEST[1]} or later")
    return number[0]


@functools.lru_cache(maxsize=4)
def _version(path: str) -> str:
    try:
        found = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False, env=os.environ)
    except OSError as failure:
        raise GitError(MISSING) from failure
    return found.stdout.strip()
