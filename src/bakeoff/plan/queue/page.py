"""What HTML reports show of a merge queue: what landed, what conflicts, who breaks what. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.plan.queue.findings import Conflict, Culprit, Findings
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup
from bakeoff.report.look import table_head
from bakeoff.report.words import counted


def round_part(number: int, findings: Findings) -> Iterator[str]:
    """A round of a plan's merge queue."""
    yield f"<h3>Round {number}</h3><p>{counted(len(findings.landed), 'subplan')} landed, "
    yield from _findings(findings)


def merge_part(findings: Findings, wanted: int, diff: str | None) -> Iterator[str]:
    """The part of the page of a merge that is about branches.

    Args:
        findings: what came of it.
        wanted: how many branches were to be merged.
        diff: of all that landed; None where nothing did.
    """
    yield f"<h2>Merged</h2><p><b>{len(findings.landed)} of {counted(wanted, 'branch')}</b> landed, "
    yield from _findings(findings)
    if diff is not None:
        yield f"<h2>Diff</h2>{diff_markup(diff)}"


def _findings(findings: Findings) -> Iterator[str]:
    yield markup(findings.tested)
    yield f'<br><span class="quiet">{markup(", ".join(findings.landed))}</span></p>'
    for conflict in (*findings.conflicts, *findings.dropped):
        yield from _conflict(conflict)
    for culprit in findings.culprits:
        yield from _culprit(culprit)
    for one in findings.preexisting:
        if not one.landed:
            yield f"<p><b>{markup(one.ref)}</b> fails {markup(', '.join(one.tests))}, as the base does</p>"
            yield f'<p class="error">{markup(one.reason[-2000:])}</p>'
    if findings.resolved:
        yield table_head(["subplan", "path", "merged by the rule"])
        for ruled in findings.resolved:
            yield f"<tr><td>{markup(ruled.ref)}<td>{markup(ruled.path)}<td>{markup(ruled.rule)}\n"
        yield "</table>"


def _conflict(conflict: Conflict) -> Iterator[str]:
    yield f"<p><b>{markup(conflict.ref)}</b> {markup(conflict.said)} ({markup(conflict.kind)})</p>"
    if conflict.hunks:
        yield table_head(["line", conflict.other, conflict.ref])
        for hunk in conflict.hunks:
            yield f'<tr><td class="num">{hunk.line}<td><pre>{markup(hunk.ours)}</pre>'
            yield f"<td><pre>{markup(hunk.theirs)}</pre>\n"
        yield "</table>"


def _culprit(culprit: Culprit) -> Iterator[str]:
    other = "" if culprit.other is None else f" with <b>{markup(culprit.other)}</b>"
    yield f"<p><b>{markup(culprit.ref)}</b>{other} fails {markup(culprit.test)}</p>"
    yield f'<p class="error">{markup(culprit.reason[-2000:])}</p>'
