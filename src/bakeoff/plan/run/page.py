"""What the HTML report of a plan shows besides the run: hierarchy, timeline, merge queue. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.plan.queue.page import round_part
from bakeoff.plan.run.view import RunView
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup, one_line
from bakeoff.report.look import table_head
from bakeoff.report.words import amounts, counted, duration, known_amounts

WIDTH, LEFT, ROW = 900, 220, 18


def plan_part(found: RunView, diff: str | None) -> Iterator[str]:
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
            yield from round_part(number, findings)
    if diff is not None:
        yield f"<h2>Diff</h2><details><summary>all that landed</summary>{diff_markup(diff)}</details>"


def _head(found: RunView) -> Iterator[str]:
    findings = found.findings
    facts = [("goal", found.plan.goal), ("mode", found.plan.config.execution_mode)]
    facts.append(("at once", f"at most {found.plan.config.max_parallel}"))
    if found.split is not None:
        facts.append(("split by", f"{found.split['name']}: {known_amounts(found.split)}"))
    if findings is not None:
        facts.append(("landed", f"{len(findings.landed)} of {len(findings.wanted)}"))
    if found.at_once is not None:
        facts.append(("time", f"{duration(found.elapsed)}; at work at once on average: {found.at_once:.1f}"))
    yield f"<dl>{''.join(f'<dt>{markup(name)}<dd>{markup(text)}' for name, text in facts)}</dl>"


def _hierarchy(found: RunView) -> Iterator[str]:
    yield "<h2>Subplans</h2>"
    yield table_head(["subplan", "standing", "waits for", "time", "used", "wrote", "why"])
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


def _timeline(found: RunView) -> Iterator[str]:
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
