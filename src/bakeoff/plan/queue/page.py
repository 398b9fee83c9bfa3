"""HTML report of a merge queue: what landed, what conflicts, who breaks what. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.plan.queue.findings import Conflict, Culprit, Findings
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup, one_line
from bakeoff.report.table import CODE, NAME, NUMBER, TEXT, Cell, Column, Row, cell, table
from bakeoff.report.verdict import NONE, PART, WON, Verdict
from bakeoff.report.words import counted, short_ids

MOST_OUT = 5
"""Conflicts, and branches that fail, which the verdict names; the page has all."""


def merge_verdict(findings: Findings, wanted: int) -> Verdict:
    """Verdict on a merge: how many of the `wanted` branches landed."""
    landed = len(findings.landed)
    kind = WON if landed == wanted else PART if landed else NONE
    tested = short_ids(findings.tested)
    why = [f"{tested[:1].upper()}{tested[1:]}.", *(f"{one.ref} {one.said}." for one in findings.conflicts[:MOST_OUT])]
    for one in findings.culprits[:MOST_OUT]:
        together = "" if one.other is None else f" together with {one.other}"
        why.append(f"{one.ref} fails {one_line(one.test, 200)}{together}.")
    return Verdict(kind, f"{landed} of {counted(wanted, 'branch')} landed.", tuple(why), lands=landed > 0)


def round_part(number: int, findings: Findings) -> Iterator[str]:
    """A round of a plan's merge queue."""
    yield f"<h3>Round {number}</h3>"
    yield from _findings(findings, "subplan")


def merge_part(findings: Findings, diff: str | None) -> Iterator[str]:
    """The part of the page of a merge that is about branches."""
    yield "<h2>Merged</h2>"
    yield from _findings(findings, "branch")
    if diff is not None:
        yield f"<h2>Diff</h2>{diff_markup(diff)}"


def _findings(findings: Findings, noun: str) -> Iterator[str]:
    named = f": {', '.join(findings.landed)}" if findings.landed else ""
    yield f"<p>{counted(len(findings.landed), noun)} landed{markup(named)}</p>"
    yield f'<p class="quiet">{markup(findings.tested)}</p>'
    for conflict in (*findings.conflicts, *findings.dropped):
        yield from _conflict(conflict)
    for culprit in findings.culprits:
        yield from _culprit(culprit)
    for one in findings.preexisting:
        if not one.landed:
            yield f"<p><b>{markup(one.ref)}</b> fails {markup(', '.join(one.tests))}, as the base does</p>"
            yield _output(one.reason)
    if findings.resolved:
        columns = [Column(noun, NAME), Column("path", TEXT), Column("merged by the rule"), Column("why")]
        rows = (Row([cell(one.ref), cell(one.path), cell(one.rule), cell(one.why)]) for one in findings.resolved)
        yield from table("Places that rules merged", columns, rows)


def _conflict(conflict: Conflict) -> Iterator[str]:
    yield f"<p><b>{markup(conflict.ref)}</b> {markup(conflict.said)} ({markup(conflict.kind)})</p>"
    if conflict.hunks:
        columns = [Column("line", NUMBER), Column(conflict.other, CODE), Column(conflict.ref, CODE)]
        rows = (Row([cell(hunk.line, hunk.line), _code(hunk.ours), _code(hunk.theirs)]) for hunk in conflict.hunks)
        yield from table("Places in conflict", columns, rows)


def _code(text: str) -> Cell:
    return Cell(f"<pre>{markup(text)}</pre>")


def _culprit(culprit: Culprit) -> Iterator[str]:
    other = "" if culprit.other is None else f" with <b>{markup(culprit.other)}</b>"
    yield f"<p><b>{markup(culprit.ref)}</b>{other} fails {markup(culprit.test)}</p>"
    yield _output(culprit.reason)


def _output(text: str) -> str:
    """The end of what a check said."""
    return f"<details open><summary>what the check said</summary><pre>{markup(text[-2000:])}</pre></details>"
