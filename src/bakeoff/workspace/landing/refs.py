"""Refs of the user's, moved by compare and swap under a lock that is bakeoff's own, see `intent`."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.landing.intent import Intent, sync_folder
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.snapshot.project import Project


def stands_at(git: Git, ref: str) -> str | None:
    """The commit that a ref stands at; None where there is none."""
    return git.line("rev-parse", "-q", "--verify", f"{ref}^{{commit}}", statuses=(0, 1, 128)) or None


def real_name(git: Git, ref: str) -> str:
    """The ref that holds a commit where `ref` is a symbolic one, as a branch may be; `ref` itself elsewhere."""
    return git.line("symbolic-ref", "-q", ref, statuses=(0, 1, 128)) or ref


def lock_of(project: Project, ref: str) -> list[Path]:
    """The file that locks a ref; none where refs are no files."""
    place = _place(project, ref)
    return [] if _is_table(project) else [place.with_name(f"{place.name}.lock")]


def check_at(git: Git, ref: str, old: str | None) -> None:
    """See that a ref stands where it is to be moved from, or can be made.

    Raises:
        ApplyError: it does not, or another branch has a name that leaves no room for it.
    """
    if (now := stands_at(git, ref)) != old:
        raise ApplyError(f"{ref} was not moved, because it changed meanwhile: it stands at {now}; nothing was changed")
    if old is None and (other := _in_the_way(git, ref)) is not None:
        raise ApplyError(f"{ref} was not made: it cannot stand beside {other}; nothing was changed")


def move_ref(project: Project, intent: Intent, ref: str, new: str, old: str | None, message: str) -> None:
    """Have a ref stand at `new`; None as `old` makes it. What `lock_of` names is held by the `intent`.

    Passes on ApplyError: it stands elsewhere, or cannot be made.
    """
    git = project.git()
    check_at(git, ref, old)
    if _is_table(project):
        git.run("-c", "core.fsync=all", "update-ref", "-m", message, ref, new, old or "0" * len(new))
        return
    place, fresh = _place(project, ref), intent.beside("ref")
    with open(fresh, "wb") as file:
        file.write(f"{new}\n".encode())
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        fresh.chmod(place.stat().st_mode & 0o777)  # others may share the repository
    _log(project, git, ref, new, old or "0" * len(new), message)
    if place.is_dir():  # empty ones are left where branches were deleted
        for folder, _, _ in os.walk(place, topdown=False):
            os.rmdir(folder)
    os.replace(fresh, place)
    sync_folder(place.parent)


def _place(project: Project, ref: str) -> Path:
    return (project.git_dir if ref == "HEAD" else project.common_dir) / ref


def _is_table(project: Project) -> bool:
    return (project.common_dir / "reftable").is_dir()


def _in_the_way(git: Git, ref: str) -> str | None:
    """A branch whose name begins with this one's, or is a beginning of it."""
    parts = ref.split("/")
    above = ["/".join(parts[:end]) for end in range(3, len(parts))]
    found = git.run("for-each-ref", "--format=%(refname)", f"{ref}/", *above).decode("utf-8", "surrogateescape")
    return next((name for name in found.splitlines() if name.startswith(f"{ref}/") or name in above), None)


def _log(project: Project, git: Git, ref: str, new: str, old: str, message: str) -> None:
    """Note the move in the logs of the ref, and of HEAD where that stands on it; one that is noted already is not."""
    said = git.line("config", "--get", "core.logAllRefUpdates", statuses=(0, 1)).lower()
    wanted = said not in ("false", "no", "off", "0")
    head = real_name(git, "HEAD")
    logs = [_place(project, "HEAD").parent / "logs" / "HEAD"] if ref in ("HEAD", head) else []
    if ref != "HEAD":
        logs.append(project.common_dir / "logs" / ref)
    who = git.line("var", "GIT_COMMITTER_IDENT", statuses=(0, 128))
    who = who or f"bakeoff <bakeoff@localhost> {int(time.time())} +0000"
    line = f"{old} {new} {who}\t{message}\n".encode("utf-8", "surrogateescape")
    for log in logs:
        if wanted or log.is_file():
            with suppress(OSError):  # a log is no reason to stop in the middle
                _append(log, line)


def _append(log: Path, line: bytes) -> None:
    """A line at the end of a log, unless it ends with that move."""
    before = log.read_bytes() if log.is_file() else b""
    last = before.rpartition(b"\n")[0].rpartition(b"\n")[2] if before.endswith(b"\n") else b""
    if last.split(b" ")[:2] == line.split(b" ")[:2]:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as file:
        file.write((b"" if not before or before.endswith(b"\n") else b"\n") + line)
