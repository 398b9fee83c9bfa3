"""What the HTML report of a plan shows besides the run: hierarchy, timeline, merge queue. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bakeoff.plan.queue.findings import Conflict, Culprit, Findings
from bakeoff.plan.run.standing import Standing
from bakeoff.report.escape import markup, one_line
from bakeoff.report.words import amounts, counted, duration, known_amounts

WIDTH, LEFT, ROW = 900, 220, 18


def plan_part(found: Standing, diff: str | None) -> Iterator[str]:
    """The part of the page that is about the plan, in pieces.

    Args:
        found: how the run stands.
        diff: of all that landed; None where nothing did.
    """
    yield from _head(found)
    yield from _hierarchy(found)
    yield from _timeline(found)
    if found.findings is not None:
        yield "<h2>Merge queue</h2>"
        for number, findings in enumerate(found.findings.rounds, 1):
            yield from _round(number, findings)
    if diff is not None:
        yield f"<h2>Diff</h2><details><summary>all that landed</summary><pre>{markup(diff)}</pre></details>"


def _head(found: Standing) -> Iterator[str]:
    findings = found.findings
    facts = [("goal", found.plan.goal), ("mode", found.plan.config.execution_mode)]
    facts.append(("at once", f"at most {found.plan.config.max_parallel}"))
    if found.split is not None:
        facts.append(("split by", f"{found.split['name']}: {known_amounts(found.split)}"))
    if findings is not None:
        facts.append(("landed", f"{len(findings.landed)} of {len(findings.wanted)}"))
    if found.speedup is not None:
        one, all_ = duration(found.one_by_one), duration(found.elapsed)
        facts.append(("time", f"{all_}; one by one {one}: {found.speedup:.1f} times faster"))
    yield f"<dl>{''.join(f'<dt>{markup(name)}<dd>{markup(text)}' for name, text in facts)}</dl>"


def _hierarchy(found: Standing) -> Iterator[str]:
    yield "<h2>Subplans</h2>"
    yield from _table(["subplan", "standing", "waits for", "time", "used", "wrote", "why"])
    needs = found.plan.graph().needs
    for depth, name, leaf in found.plan.tree():
        indent = f'<td class="d{min(depth, 9)}">{markup(name)}'
        if not leaf:
            yield f'<tr>{indent}<td colspan="6" class="quiet">group\n'
            continue
        state, worked = found.states[name], found.worked.get(name)
        stands = "completed" if state.landed else "failed" if state.status == "completed" else state.status.value
        word = "landed" if state.landed else (state.kind or state.status.value)
        used = "" if worked is None else amounts(
            {kind: value for kind, value in worked.usage.items() if kind in ("usd", "tokens")} | {"calls": worked.calls}
        )  # fmt: skip
        cells = [
            ", ".join(sorted(needs[name])),
            "" if worked is None else duration(worked.seconds),
            used,
            counted(len(state.wrote), "file") if state.wrote else "",
            f"{state.why}{f' (round {state.round})' if state.round > 1 else ''}",
        ]
        if state.outside:
            cells[-1] += f" wrote outside of what it may: {', '.join(state.outside[:20])}"
        if state.left_out:
            cells[-1] += f" left out of what it made: {', '.join(state.left_out[:20])}"
        rest = "".join(f"<td>{markup(one_line(cell, 400))}" for cell in cells)
        yield f'<tr>{indent}<td><span class="{stands}">{markup(word)}</span>{rest}\n'
    yield "</table>"


def _timeline(found: Standing) -> Iterator[str]:
    """A row for each subplan, a bar for each time that it was at work."""
    rows = [(name, found.worked[name].ended_spans) for name in found.states if name in found.worked]
    ends = [end for _, spans in rows for _, end in spans]
    if not ends:
        return
    first, last = min(begun for _, spans in rows for begun, _ in spans), max(ends)
    scale = (WIDTH - LEFT - 10) / max(last - first, 1e-3)
    yield "<h2>Who worked when</h2>"
    yield f'<svg viewBox="0 0 {WIDTH} {ROW * (len(rows) + 1)}" role="img" aria-label="who worked when">'
    for place, (name, spans) in enumerate(rows):
        y = ROW * (place + 1)
        yield f'<text class="row" x="{LEFT - 8}" y="{y}">{markup(one_line(name, 40))}</text>'
        state = found.states[name]
        colour = "completed" if state.landed else "failed" if state.status != "running" else "running"
        for begun, end in spans:
            x, width = LEFT + (begun - first) * scale, max(1.0, (end - begun) * scale)
            yield f'<rect class="{colour}" x="{x:.1f}" y="{y - 9}" width="{width:.1f}" height="10">'
            yield f"<title>{markup(name)}: {duration(end - begun)}</title></rect>"
    yield "</svg>\n"


def _round(number: int, findings: Findings) -> Iterator[str]:
    yield f"<h3>Round {number}</h3><p>{counted(len(findings.landed), 'subplan')} landed, "
    yield f"{counted(findings.runs, 'run')} of the checks on what was merged"
    yield f'<br><span class="quiet">{markup(", ".join(findings.landed))}</span></p>'
    for conflict in (*findings.conflicts, *findings.dropped):
        yield from _conflict(conflict)
    for culprit in findings.culprits:
        yield from _culprit(culprit)
    if findings.resolved:
        yield from _table(["subplan", "path", "merged by the rule"])
        for ruled in findings.resolved:
            yield f"<tr><td>{markup(ruled.ref)}<td>{markup(ruled.path)}<td>{markup(ruled.rule)}\n"
        yield "</table>"


def _conflict(conflict: Conflict) -> Iterator[str]:
    yield f"<p><b>{markup(conflict.ref)}</b> conflicts with <b>{markup(conflict.other)}</b> in "
    yield f"{markup(conflict.path)} ({markup(conflict.kind)})</p>"
    if conflict.hunks:
        yield from _table(["line", conflict.other, conflict.ref])
        for hunk in conflict.hunks:
            yield f'<tr><td class="num">{hunk.line}<td><pre>{markup(hunk.ours)}</pre>'
            yield f"<td><pre>{markup(hunk.theirs)}</pre>\n"
        yield "</table>"


def _culprit(culprit: Culprit) -> Iterator[str]:
    other = "" if culprit.other is None else f" with <b>{markup(culprit.other)}</b>"
    yield f"<p><b>{markup(culprit.ref)}</b>{other} fails {markup(culprit.test)}</p>"
    yield f'<p class="error">{markup(culprit.reason[-2000:])}</p>'


def _table(heads: Iterable[str]) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{markup(head)}' for head in heads)}\n"
