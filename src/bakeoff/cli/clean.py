"""`bakeoff clean`."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli.completing import RUN

if TYPE_CHECKING:
    from bakeoff.engine.store import RunFolder, RunStore
    from bakeoff.report.overview import Overview
    from bakeoff.workspace.slots.inventory import Cleaning

STATUSES = ("paused", "completed", "failed", "aborted", "cancelled", "budget_spent", "unreadable")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_JUST_MADE = 60.0
"""Seconds within which a folder without a journal may still become a run."""


class Age(click.ParamType):  # type: ignore[type-arg]
    """A stretch of time, in seconds: `90m`, `36h`, `7d`, `2w`."""

    name = "age"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no age; write for example 90m, 36h, 7d or 2w", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


_SKEW = 60.0
"""Seconds that a clock which was set meanwhile may be off."""


@dataclass(slots=True)
class Choice:
    """Choice of what is to go, what stays for which reason, and what is to be said of how it was chosen."""

    go: list[tuple[Overview, int]] = field(default_factory=list)
    stay: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@click.command("clean")
@click.argument("runs", nargs=-1, type=RUN, metavar="[RUN]...")
@click.option("--older-than", type=Age(),
              help="Only runs that have not changed for so long, as in 7d.")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only runs that stand so.")
@click.option("--all", "everything", is_flag=True, help="Also runs that can still be resumed.")
@click.option(
    "--discard",
    multiple=True,
    metavar="SLOT",
    help="Remove this dead slot alone, and save nothing of what is in it.",
)
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    runs: tuple[str, ...],
    older_than: float | None,
    statuses: tuple[str, ...],
    everything: bool,
    discard: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove runs: those named, or those that have nothing left to do; and, naming none, slots that nobody owns.

    A live run is never removed. One that can still be resumed is removed only when it is named, or with --all;
    that, and cleaning without naming or narrowing anything, asks first (or needs --yes). Of a run that is dated in the
    future the time of its files counts; where that is to come, too, it is kept and named. Work in a slot is saved
    before the slot is removed; slots of live processes, results and saved work stay.
    """
    from bakeoff.cli.output import say
    from bakeoff.cli.run_lookup import misused, refuse, store
    from bakeoff.engine.slow import telling
    from bakeoff.workspace.slots.inventory import clean as clean_slots

    if discard:
        if runs or older_than is not None or statuses or everything or dry_run:
            misused("--discard is for slots alone")
        from bakeoff.workspace.slots.inventory import discard as removing

        _report([], Choice(), removing(discard), dry_run, as_json)
        return
    here = store()
    chosen = _named(here, runs) if runs else _fitting(here, older_than, statuses, everything)
    if runs and (older_than is not None or statuses or everything):
        misused("name runs, or choose by --older-than, --status and --all; not both")
    asks = not runs and (everything or (older_than is None and not statuses))
    if chosen.go and asks and not yes and not dry_run:
        if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            refuse(f"{_count(chosen)} would be removed: say --yes, or look with --dry-run")
        _list(chosen)
        click.confirm(f"Remove {_count(chosen)}?", err=True, abort=True)
    for note in chosen.notes:
        say(note)
    with telling(say):
        removed = chosen.go if dry_run else list(_removed(chosen))
        slots = None if runs else clean_slots(dry_run=dry_run)
    _report(removed, chosen, slots, dry_run, as_json)
    sys.exit(1 if runs and chosen.stay else 0)


def _named(store: RunStore, names: tuple[str, ...]) -> Choice:
    from bakeoff.engine.store import RunFolder
    from bakeoff.errors import RunNotFoundError
    from bakeoff.report.overview import overview

    chosen = Choice()
    for name in dict.fromkeys(names):
        folder = RunFolder(store.runs / name)
        if "/" in name or name in ("", ".", "..") or not os.path.isdir(folder.root):
            raise RunNotFoundError(f"there is no run {name!r} under {store.runs}; nothing was removed")
        _sort(chosen, overview(folder))
    return chosen


def _fitting(store: RunStore, older_than: float | None, statuses: tuple[str, ...], everything: bool) -> Choice:
    from bakeoff.report.overview import overviews

    chosen = Choice()
    for run in overviews(store):
        old = _age(run)
        if statuses and (run.status or "unreadable") not in statuses:
            continue
        if older_than is not None and old is None:
            chosen.stay.append((run.folder.id, f"{_ahead(run)}, and so are its files: name it to have it removed"))
            continue
        if older_than is not None and old is not None and old < older_than:
            continue
        if older_than is not None and run.updated_at > time.time() + _SKEW:
            chosen.notes.append(f"{run.folder.id}: {_ahead(run)}, so the time of its files counts")
        begun = run.folder.begun()
        if run.folder.root.is_symlink():
            _sort(chosen, run)
        elif run.status is None and not (everything if begun else (old or 0.0) >= _JUST_MADE):
            chosen.stay.append((run.folder.id, f"{run.error}; --all takes it too"))
        elif run.resumable and not everything and not run.folder.alive():
            chosen.stay.append((run.folder.id, f"it is {run.status} and can be resumed; --all takes it too"))
        else:
            _sort(chosen, run)
    return chosen


def _age(run: Overview) -> float | None:
    """Seconds since it changed last; None where they are not known.

    Its journal may tell a moment that is still to come, for a clock that was wrong then or is now. The time of its
    files counts in its place; where that is to come as well, nobody can tell, and it is None.
    """
    now = time.time()
    moments = [run.updated_at or _changed(run.folder), _changed(run.folder)]
    past = [moment for moment in moments if moment <= now + _SKEW]
    return max(0.0, now - past[0]) if past else None


def _ahead(run: Overview) -> str:
    from bakeoff.report.words import moment

    return f"it changed last at {moment(run.updated_at)}, which is still to come (a clock was wrong)"


def _changed(folder: RunFolder) -> float:
    """When the folder changed last; long ago where it cannot be seen."""
    try:
        return folder.root.lstat().st_mtime
    except OSError:
        return 0.0


def _sort(chosen: Choice, run: Overview) -> None:
    if run.folder.root.is_symlink():
        chosen.stay.append((run.folder.id, "it is a symbolic link, not a run's folder; remove the link yourself"))
    elif run.folder.alive():
        owner = run.folder.owner() or "another process"
        chosen.stay.append(
            (run.folder.id, f"it is being run by {owner}; stop it with `bakeoff cancel {run.folder.id}`")
        )
    elif run.folder.id == _half_applied(run.folder.root.parents[2]):
        chosen.stay.append((run.folder.id, f"applying it was cut off: `bakeoff apply {run.folder.id}` finishes that"))
    else:
        chosen.go.append((run, _bytes(run.folder)))


@cache
def _half_applied(project: Path) -> str | None:
    from bakeoff.workspace.landing.recovery import half_applied

    return half_applied(project)


def _bytes(folder: RunFolder) -> int:
    """Bytes on disk, as far as they can be seen."""
    from bakeoff.system.folders import walk

    try:
        return sum(status.st_size for inner in walk(folder.root) for _, status in inner.entries)
    except OSError:  # it went away, or may not be looked at
        return 0


def _removed(chosen: Choice) -> Iterator[tuple[Overview, int]]:
    """Remove what is to go; yields what is gone. Nobody can take a run up while it is removed."""
    from bakeoff.errors import BakeoffError
    from bakeoff.jobs.registry import JOBS
    from bakeoff.workspace.results.removal import forget

    for run, size in chosen.go:
        try:
            lock = run.folder.lock()
        except BakeoffError as failure:
            chosen.stay.append((run.folder.id, str(failure)))
            continue
        try:
            if (run.job in JOBS and JOBS[run.job].in_results) or _has_results(run):
                forget(run.folder.root.parents[2], run.folder.id)
            run.folder.delete()
        except OSError as failure:
            chosen.stay.append((run.folder.id, f"{failure.filename or run.folder.root}: {failure.strerror}"))
            continue
        finally:
            lock.release()
        yield run, size


def _has_results(run: Overview) -> bool:
    """Whether bakeoff's repository may hold results of a workflow's steps."""
    import sqlite3
    from contextlib import closing

    from bakeoff.engine.journal import open_to_read
    from bakeoff.errors import JournalError

    try:
        with closing(open_to_read(run.folder.journal)) as db:
            query = "SELECT 1 FROM entry WHERE kind = 'decide' AND path = '#workspaces' LIMIT 1"
            return db.execute(query).fetchone() is not None
    except (JournalError, sqlite3.DatabaseError):
        return False


def _count(chosen: Choice) -> str:
    from bakeoff.report.words import counted, size

    return f"{counted(len(chosen.go), 'run')} ({size(sum(bytes_ for _, bytes_ in chosen.go))})"


def _list(chosen: Choice) -> None:
    from bakeoff.cli.output import say
    from bakeoff.report.words import moment, size

    for run, bytes_ in chosen.go:
        say(f"  {run.folder.id}  {run.status or 'unreadable'}  {moment(run.created_at)}  {size(bytes_)}")


def _report(
    removed: list[tuple[Overview, int]], chosen: Choice, slots: Cleaning | None, dry_run: bool, as_json: bool
) -> None:
    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.report.words import counted, size

    total = sum(bytes_ for _, bytes_ in removed)
    if as_json:
        gone = [{"run_id": run.folder.id, "status": run.status, "bytes": bytes_} for run, bytes_ in removed]
        kept = [{"run_id": name, "reason": reason} for name, reason in chosen.stay]
        found = {"removed": gone, "kept": kept, "bytes": total, "dry_run": dry_run}
        print_json(found | ({} if slots is None else {"slots": _slots_shown(slots)}), indent=2)
        return
    if slots is not None:
        _tell_slots(slots, dry_run)
    for run, bytes_ in removed:
        tell(
            f"{'would remove' if dry_run else 'removed'} {run.folder.id} ({run.status or 'unreadable'}, {size(bytes_)})"
        )
    for name, reason in chosen.stay:
        say(f"kept {name}: {reason}")
    if removed or not chosen.stay:
        tell(f"{'would free' if dry_run else 'freed'} {size(total)} of {counted(len(removed), 'run')}")
    else:
        tell(f"{'nothing would be' if dry_run else 'nothing was'} removed: {counted(len(chosen.stay), 'run')} kept")


def _slots_shown(slots: Cleaning) -> dict[str, object]:
    kept = [{"slot": name, "reason": reason} for name, reason in slots.kept.items()]
    lost = [{"slot": name, "reason": reason} for name, reason in slots.lost.items()]
    return {
        "removed": slots.slots,
        "saved": slots.saved,
        "lost": lost,
        "kept": kept,
        "unused": slots.unused,
        "bytes": slots.size,
    }


def _tell_slots(slots: Cleaning, dry_run: bool) -> None:
    from bakeoff.cli.output import say, tell
    from bakeoff.report.words import counted, size

    if slots.slots or slots.unused:
        what = f"{counted(len(slots.slots), 'dead slot')} and {counted(len(slots.unused), 'unused folder')}"
        tell(f"{'would remove' if dry_run else 'removed'} {what} ({size(slots.size)})")
    for ref in slots.saved:
        say(f"saved as {ref}")
    for name, reason in slots.kept.items():
        say(
            f"kept slot {name}: its work cannot be saved: {reason}; clean again when that is mended, or lose its work: "
            f"bakeoff clean --discard {name}"
        )
    for name, reason in slots.lost.items():
        say(f"slot {name} is gone with all that was in it: {reason}")
