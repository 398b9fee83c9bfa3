"""Source `given`: what the user brings. Files replace the target's file; patches and commits are taken as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.options import PATCHES
from bakeoff.optimize.sources.commits import changed_files
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine
from bakeoff.sampling.attempt.given import take
from bakeoff.system.named_files import read_named
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.workspace import Workspace


class Given:
    """Files, patches and commits, in the order they were named.

    Args:
        workspace: whose snapshot they are laid on.
        run: the run's id.
        files: names of files, patches among them by their ending.
        refs: names of commits.
        leave_out: those of some changed files that are left out of a patch or commit.
    """

    name = "given"
    reads: frozenset[str] = frozenset()

    def __init__(
        self,
        workspace: Workspace,
        run: str,
        files: Sequence[str],
        refs: Sequence[str],
        leave_out: Callable[[Mapping[str, bytes | None]], Sequence[str]],
    ) -> None:
        self.workspace = workspace
        self.run = run
        self.files = files
        self.refs = refs
        self.leave_out = leave_out

    async def propose(self, context: Context) -> AsyncIterator[Candidate]:
        """Each of them; what does not fit the snapshot, or changes nothing, is invalid.

        Passes on BakeoffError: a file cannot be read.
        """
        for number, name in enumerate((*self.files, *self.refs)):
            if name in self.files and not name.endswith(PATCHES):
                yield Candidate(f"files/{name}", {str(context.target.path): await in_thread(_content, name)})
                continue
            origin = f"{'files' if name in self.files else 'refs'}/{name}"
            try:
                changes = await in_thread(self._changes, name, number)
            except ApplyError as failure:
                yield Candidate(origin, {}, invalid=str(failure))
                continue
            if not changes:
                yield Candidate(origin, {}, invalid=f"{name} changes nothing")
                continue
            left = await in_thread(self.leave_out, changes)
            kept = {path: content for path, content in changes.items() if path not in left}
            said = f"judged without its changes of {', '.join(left)}" if left else ""
            if kept:
                yield Candidate(origin, kept, said)
            else:
                yield Candidate(origin, {}, invalid=f"it changes nothing but tests, or what is protected: {left[0]}")

    def _changes(self, name: str, number: int) -> dict[str, bytes | None]:
        ref = ref_name(self.run, f"given-{number}")
        return changed_files(self.workspace, take(self.workspace, name, ref, f"{name}, for run {self.run}"))

    async def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        """Nothing: they are the user's."""
        return
        yield

    async def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        """Nothing."""
        return
        yield

    async def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        """Nothing."""
        return
        yield


def check_given(files: Sequence[str]) -> None:
    """See that each can be read, before anything is begun.

    Passes on BakeoffError: one cannot.
    """
    for name in files:
        _content(name)


def _content(name: str) -> bytes:
    try:
        return read_named(Path(name))
    except OSError as failure:
        raise BakeoffError(f"the candidate {name} cannot be read: {failure.strerror}") from failure
