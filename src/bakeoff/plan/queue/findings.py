"""Findings of a merge queue: what landed, what conflicts, who broke what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bakeoff.plan.merge.hunks import Hunk
from bakeoff.plan.merge.rules.resolution import CHOSEN
from bakeoff.plan.merge.trees import UNRELATED
from bakeoff.report.words import counted

BASE = "the base"
"""What a change is said to conflict with when it does not even fit what all are merged onto."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two changes that cannot both be merged, at one path.

    Attributes:
        ref: the later one in plan order.
        other: the earlier one.
        path: where; `.` where it is about no path.
        kind: git's word for it: `contents`, `modify/delete`, `rename/rename`, `binary`, ...
        hunks: the places and what each has there; none where it is not about lines. `ours` is the earlier one's.
    """

    ref: str
    other: str
    path: str
    kind: str
    hunks: tuple[Hunk, ...] = ()

    @property
    def brief(self) -> str:
        """Opponent of `ref`, for a table."""
        if self.kind == UNRELATED:
            return f"no history in common with {self.other}"
        return f"with {self.other} in {self.path}"

    @property
    def said(self) -> str:
        """Conflict of `ref` in words."""
        if self.kind == UNRELATED:
            more = "as far as it is here; after a shallow clone `git fetch --unshallow` brings the rest"
            return f"has {self.brief}, {more}"
        return f"conflicts {self.brief}"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        hunks = [hunk.to_json() for hunk in self.hunks]
        return {"ref": self.ref, "with": self.other, "path": self.path, "kind": self.kind, "hunks": hunks}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Conflict:
        """The same out of what `to_json` gave."""
        hunks = tuple(Hunk(**hunk) for hunk in kept["hunks"])
        return cls(kept["ref"], kept["with"], kept["path"], kept["kind"], hunks)


@dataclass(frozen=True, slots=True)
class Culprit:
    """A change that did not land because of what fails with it.

    Attributes:
        other: the change that it does not go together with; None where it fails by itself.
        test: the first test that fails, or the check.
        tests: all that fail, as far as they are known by name.
        reason: what the check said.
        confirmed: whether the two were seen to fail without the others; True where it fails by itself.
    """

    ref: str
    other: str | None
    test: str
    tests: tuple[str, ...] = ()
    reason: str = ""
    confirmed: bool = True

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        found = {"ref": self.ref, "with": self.other, "test": self.test, "tests": list(self.tests)}
        return found | {"reason": self.reason, "confirmed": self.confirmed}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Culprit:
        """The same out of what `to_json` gave."""
        return cls(kept["ref"], kept["with"], kept["test"], tuple(kept["tests"]), kept["reason"], kept["confirmed"])


@dataclass(frozen=True, slots=True)
class Preexisting:
    """A change whose failing tests fail without it, too: it is not blamed.

    Attributes:
        landed: whether it was taken all the same, because nothing else fails; only where tests are known by name.
        reason: what the check said on the base, where the change did not land.
    """

    ref: str
    tests: tuple[str, ...]
    landed: bool
    reason: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Preexisting:
        """As it stands in what `Findings.to_json` gave."""
        return cls(kept["ref"], tuple(kept["tests"]), kept["landed"], kept.get("reason", ""))


@dataclass(frozen=True, slots=True)
class Ruled:
    """A place where changes met and a rule told what stands there.

    Attributes:
        why: `proven` where the changes commute; where something was chosen `tested` if the checks passed on it, else
            `chosen`.
    """

    ref: str
    path: str
    rule: str
    why: str = CHOSEN


@dataclass(slots=True)
class Findings:
    """All of it. Changes are named; `landed` is in plan order.

    Attributes:
        tip: the commit that has all that landed; the base where nothing did.
        base: what was merged onto.
        runs: runs of the tests on merged trees.
        tested_as: where none was needed, the change whose own tree, which passed, is that of all together.
        dropped: what the strategy `ours_first` left out of changes that landed.
        resolved: what rules by kind of file resolved, in changes that landed and in culprits.
        flaky: changes that failed together once, and passed when they were tested again.
    """

    base: str
    tip: str
    landed: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    culprits: list[Culprit] = field(default_factory=list)
    runs: int = 0
    preexisting: list[Preexisting] = field(default_factory=list)
    dropped: list[Conflict] = field(default_factory=list)
    resolved: list[Ruled] = field(default_factory=list)
    flaky: list[tuple[str, ...]] = field(default_factory=list)
    tested_as: str | None = None

    @property
    def tested(self) -> str:
        """Tests of what was merged, in words."""
        if not self.runs and self.tested_as is not None:
            return f"already tested as {self.tested_as}"
        return f"{counted(self.runs, 'run')} of the checks on what was merged"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "landed": list(self.landed),
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "culprits": [culprit.to_json() for culprit in self.culprits],
            "runs": self.runs,
            "tested_as": self.tested_as,
            "tip": self.tip,
            "base": self.base,
            "preexisting": [{**asdict(one), "tests": list(one.tests)} for one in self.preexisting],
            "dropped": [conflict.to_json() for conflict in self.dropped],
            "resolved": [asdict(one) for one in self.resolved],
            "flaky": [list(names) for names in self.flaky],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Findings:
        """The same out of what `to_json` gave."""
        return cls(
            base=kept["base"],
            tip=kept["tip"],
            landed=list(kept["landed"]),
            conflicts=[Conflict.from_json(one) for one in kept["conflicts"]],
            culprits=[Culprit.from_json(one) for one in kept["culprits"]],
            runs=kept["runs"],
            preexisting=[Preexisting.from_json(one) for one in kept["preexisting"]],
            dropped=[Conflict.from_json(one) for one in kept["dropped"]],
            resolved=[Ruled(**one) for one in kept["resolved"]],
            flaky=[tuple(names) for names in kept["flaky"]],
            tested_as=kept.get("tested_as"),
        )
