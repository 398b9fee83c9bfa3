"""A chain of merges: each change on top of those before it, in memory, with the rules that resolve what git cannot."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.plan.merge.hunks import favoured, texts_of
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.merge.rules.resolution import CHOSEN, PROVEN
from bakeoff.plan.merge.trees import UNKNOWN, UNRELATED, Clash, Side, merge_many
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.snapshot.submodules import MODE, Submodules


@dataclass(frozen=True, slots=True)
class Change:
    """Something to merge.

    Attributes:
        name: what people call it: a branch, a subplan; no two of a batch are called the same.
        commit: its commit, in bakeoff's repository.
        tested: its own tests are said to pass on the base, so that they are not run.
        needs: names of others of the batch that it was made on top of: it is merged only where they are.
    """

    name: str
    commit: str
    tested: bool = False
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """Tip of a chain: a commit, its tree, and its date in seconds since the epoch."""

    commit: str
    tree: str
    date: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """A clash that a rule resolved.

    Attributes:
        why: `proven` where the changes commute, `chosen` where something was chosen.
    """

    path: str
    rule: str
    why: str = CHOSEN


@dataclass(frozen=True, slots=True)
class Step:
    """One change on top of a chain.

    Attributes:
        point: where the chain stands with it; None where something keeps it from being merged.
        left: clashes that nothing resolved.
        resolved: clashes that rules did.
        dropped: clashes in which our side was taken, by the strategy `ours_first`.
        locks: lockfiles that are still to be made anew, with the command that makes them.
        tree: the tree without these, in which that command is to be run.
    """

    point: Point | None
    left: tuple[Clash, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    dropped: tuple[Clash, ...] = ()
    locks: Mapping[str, str] = field(default_factory=dict)
    tree: str = ""


@dataclass(slots=True)
class Merger:
    """Merges changes. Its functions block.

    Attributes:
        git: bakeoff's repository.
        rules: what is tried before a clash counts as a conflict.
        strategy: what is done with a conflict; one of `settings.merge.STRATEGIES`.
        footer: the end of each commit's message.
        submodules: whose history tells which of two commits of a submodule is newer; None where there are none.
        attributes: the `.gitattributes` of what all is merged onto; see `merge_many`.
    """

    git: Git
    rules: Rules = field(default_factory=Rules)
    strategy: str = "three_way"
    footer: str = ""
    submodules: Submodules | None = None
    attributes: Mapping[bytes, bytes] | None = None

    def point(self, commit: str) -> Point:
        """Tip of a chain that begins at `commit`."""
        (found,) = self.points([commit])
        return found

    def points(self, commits: Sequence[str]) -> list[Point]:
        """The same of several."""
        if not commits:
            return []
        out = self.git.run("log", "--no-walk=unsorted", "--format=%H %T %ct", *commits).decode().split("\n")
        rows = (line.split(" ") for line in out if line)
        known = {commit: Point(commit, tree, int(date)) for commit, tree, date in rows}
        return [known[commit] for commit in commits]

    def step(self, tip: Point, change: Change, date: int) -> Step:
        """`change`, whose commit is of that date, on top of `tip`.

        The same arguments give the same commit.
        """
        (merged,) = merge_many(self.git, [(tip.commit, change.commit)], self.attributes)
        if merged.clean:
            return Step(self.commit(tip, change, date, merged.tree))
        found = _Resolution(self, merged.clashes)
        tree = self.tree_with(merged.tree, found.entries(tip.tree)) if not found.left else merged.tree
        if found.left or found.locks:
            return Step(None, tuple(found.left), tuple(found.resolved), tuple(found.dropped), found.locks, tree)
        point = self.commit(tip, change, date, tree)
        return Step(point, (), tuple(found.resolved), tuple(found.dropped))

    def relock(self, tip: Point, change: Change, date: int, step: Step, made: Mapping[str, str | None]) -> Step:
        """The step when its lockfiles are made: `made` has their objects; one that is None could not be made."""
        missing = tuple(Clash(path, "lockfile") for path, oid in made.items() if oid is None)
        if missing and self.strategy != "ours_first":
            return Step(None, missing, step.resolved, step.dropped)
        entries = {path: Side("100644", oid) for path, oid in made.items() if oid is not None}
        point = self.commit(tip, change, date, self.tree_with(step.tree, entries))
        locks = tuple(Resolved(path, "lockfile") for path in entries)
        return Step(point, (), (*step.resolved, *locks), (*step.dropped, *missing))

    def commit(self, tip: Point, change: Change, date: int, tree: str) -> Point:
        """The merge commit; `tip` itself where it has the change already."""
        if tree == tip.tree and self._has(tip, change):
            return tip
        # Dates come from what is merged, so that the same merge is the same commit whenever it is made.
        when = max(tip.date, date)
        dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{when} +0000")
        git = self.git.at(env={**self.git.env, **dates})
        message = f"Merge {change.name}" + (f"\n\n{self.footer}" if self.footer else "")
        made = git.line("commit-tree", "-p", tip.commit, "-p", change.commit, "-m", message, tree)
        return Point(made, tree, when)

    def _has(self, tip: Point, change: Change) -> bool:
        asked = ("merge-base", "--is-ancestor", change.commit, tip.commit)
        return self.git.both(*asked, statuses=(0, 1))[0] == 0

    def tree_with(self, tree: str, entries: Mapping[str, Side | None]) -> str:
        """The tree with some paths put in or, for None, taken out."""
        assert self.git.directory is not None
        index = self.git.directory / f"merge.{secrets.token_hex(6)}.index"
        git = self.git.at(index=index)
        ordered = sorted(entries.items(), key=lambda entry: entry[1] is not None)  # what goes makes room
        nothing = Side("0", "0" * len(tree))
        lines = [f"{side.mode} {side.oid}\t{path}" for path, side in ((p, s or nothing) for p, s in ordered)]
        try:
            git.run("read-tree", tree)
            data = b"".join(os.fsencode(line) + b"\0" for line in lines)
            git.run("update-index", "--replace", "-z", "--index-info", data=data)
            return git.line("write-tree")
        finally:
            index.unlink(missing_ok=True)

    def later(self, clash: Clash) -> str | None:
        """The newer commit of a submodule that both sides moved; None where it is not known, or it is no such clash."""
        sides = (clash.base, clash.ours, clash.theirs)
        oids = [side.oid for side in sides if side is not None and side.mode == MODE]
        if self.submodules is None or len(oids) < 3:
            return None
        return self.submodules.later(clash.path, *oids)

    def write(self, content: bytes) -> str:
        """The id of a new object."""
        return self.git.both("hash-object", "-w", "--stdin", data=content)[1].decode().strip()

    def sides(self, tree: str, paths: Sequence[str]) -> dict[str, Side]:
        """Entries of a tree at those paths, as far as these are no folders."""
        literal = self.git.at(env={**self.git.env, "GIT_LITERAL_PATHSPECS": "1"})
        found = {}
        for entry in literal.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths).split(b"\0")[:-1]:
            facts, _, name = entry.partition(b"\t")
            mode, _, oid = facts.decode().split(" ")
            found[os.fsdecode(name)] = Side(mode, oid)
        return {path: found[path] for path in paths if path in found}


class _Resolution:
    """Resolution of the clashes of one merge."""

    def __init__(self, merger: Merger, clashes: Sequence[Clash]) -> None:
        self.merger = merger
        self.left: list[Clash] = []
        self.resolved: list[Resolved] = []
        self.dropped: list[Clash] = []
        self.locks: dict[str, str] = {}
        self._made: dict[str, Side] = {}
        self._ours: list[str] = []
        for clash in clashes:
            self._resolve(clash)

    def _resolve(self, clash: Clash) -> None:
        merger, path = self.merger, clash.path
        command = merger.rules.lockfile_command(path)
        if command is not None and clash.ours is not None and clash.theirs is not None:
            self.locks[path] = command
            self._ours.append(path)
            return
        if (later := merger.later(clash)) is not None:
            self.resolved.append(Resolved(path, "submodule", PROVEN))
            self._made[path] = Side(MODE, later)
            return
        texts = texts_of(merger.git, clash)
        found = None if texts is None else merger.rules.resolve(path, texts)
        if texts is not None and found is not None:
            self.resolved.append(Resolved(path, found.rule, found.why))
            self._put(clash, found.content)
        elif merger.strategy != "ours_first" or clash.kind in (UNKNOWN, UNRELATED):
            self.left.append(clash)
        else:
            self.dropped.append(clash)
            if texts is not None:
                self._put(clash, favoured(texts, "ours"))
            else:
                self._ours.append(path)

    def _put(self, clash: Clash, content: bytes) -> None:
        assert clash.ours is not None
        self._made[clash.path] = Side(clash.ours.mode, self.merger.write(content))

    def entries(self, ours: str) -> dict[str, Side | None]:
        """Entries for the clashing paths; where our side is taken, those of the tree `ours`."""
        kept = self.merger.sides(ours, self._ours) if self._ours else {}
        return {**{path: kept.get(path) for path in self._ours}, **self._made}
