"""Feedback to the owner of a reopened change, which did not land, for another attempt on the new tip. Blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.plan.merge.chain import Change
from bakeoff.plan.queue.findings import Findings
from bakeoff.workspace.landing.diff import diff
from bakeoff.workspace.repository.repository import Repository

MOST_BYTES = 20_000
"""Of a diff that is repeated."""

_CONFLICT = """Your work is not merged: it conflicts with other work that is, in {paths}.
Do it again on the present state, so that both have their effect.

What the others changed:
{theirs}

What you had changed:
{own}"""

_CULPRIT = """Your work is not merged: together with other work{other} it fails {tests}.
{reason}

Do it again on the present state, so that this passes. What you had changed:
{own}"""


@dataclass(frozen=True, slots=True)
class Reopening:
    """A change that is to be made again.

    Attributes:
        change: as it was.
        tip: the commit to start from.
        prompt: what went wrong, with the diffs.
    """

    change: Change
    tip: str
    prompt: str


def reopenings(repository: Repository, findings: Findings, changes: Sequence[Change]) -> list[Reopening]:
    """One for each of `changes` that conflicts or is a culprit, in plan order."""
    commits = {change.name: change.commit for change in changes}
    found = []
    for change in changes:
        own = _diff(repository, findings.base, change.commit)
        conflicts = [conflict for conflict in findings.conflicts if conflict.ref == change.name]
        culprit = next((one for one in findings.culprits if one.ref == change.name), None)
        if culprit is not None:
            other = "" if culprit.other is None else f" ({culprit.other})"
            tests = ", ".join(culprit.tests) or culprit.test
            prompt = _CULPRIT.format(other=other, tests=tests, reason=culprit.reason, own=own)
        elif conflicts:
            others = dict.fromkeys(conflict.other for conflict in conflicts)
            # What it conflicts with in the base is what the base got since the change left it.
            named = [(findings.base, commits[other]) if other in commits else (change.commit, findings.base)
                     for other in others]  # fmt: skip
            theirs = [_diff(repository, *ends) for ends in named]
            paths = ", ".join(dict.fromkeys(conflict.path for conflict in conflicts))
            prompt = _CONFLICT.format(paths=paths, theirs="\n".join(theirs), own=own)
        else:
            continue
        found.append(Reopening(change, findings.tip, prompt))
    return found


def _diff(repository: Repository, base: str, commit: str) -> str:
    """Diff of what `commit` has since it and `base` went apart."""
    fork = repository.git().line("merge-base", base, commit, statuses=(0, 1)) or base
    text = diff(repository, fork, commit)
    cut = "" if len(text) <= MOST_BYTES else f"\n[... {len(text) - MOST_BYTES} bytes left out ...]"
    return text[:MOST_BYTES].decode("utf-8", "replace") + cut
