"""HTML report of a plan: its verdict, hierarchy, timeline and merge queue. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engine.record import RunStatus, Status
from bakeoff.plan.queue.page import round_part
from bakeoff.plan.run.findings import State
from bakeoff.plan.run.view import RunView
from bakeoff.report.chart import Line, Tick, bar, chart
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup, one_line
from bakeoff.report.table import NAME, NUMBER, TEXT, Cell, Column, Row, cell, facts, status_cell, table
from bakeoff.report.verdict import NONE, PART, WON, Verdict
from bakeoff.report.words import amounts, counted, duration, known_amounts

_COLUMNS = [
    Column("subplan", NAME),
    Column("standing"),
    Column("waits for"),
    Column("time", NUMBER),
    Column("used", TEXT),
    Column("wrote", NUMBER),
    Column("why", TEXT),
]

MOST_OUT = 5
"""Subplans that did not land which the verdict names; the table has all."""


def plan_verdict(found: RunView) -> Verdict | None:
    """Verdict on how much landed; None where that is not settled."""
    findings = found.findings
    if findings is None or found.status is not RunStatus.COMPLETED:
        return None
    landed, wanted = len(findings.landed), len(findings.wanted)
    words = f"{landed} of {counted(wanted, 'subplan')} landed."
    why = []
    if findings.rounds:
        tested = findings.rounds[-1].tested
        why.append(f"{tested[:1].upper()}{tested[1:]}.")
    if landed < wanted:
        why += [f"{name} did not land: {one_line(state.why, 200)}" for name, state in _out(found)[:MOST_OUT]]
    kind = WON if found.whole else PART if landed else NONE
    return Verdict(kind, words, tuple(why), lands=bool(found.facts()))


def _out(found: RunView) -> list[tuple[str, State]]:
    skipped = Status.SKIPPED
    return [(name, state) for name, state in found.states.items() if not state.landed and state.status is not skipped]


def plan_part(found: RunView, diff: str | None) -> Iterator[str]:
    """The part of the page that is about the plan, in pieces."""
    yield from _head(found)
    yield from _hierarchy(found)
    yield from _timeline(found)
    if found.findings is not None:
        yield "<h2>Merge queue</h2>"
        for number, findings in enumerate(found.findings.rounds, 1):
            yield from round_part(number, findings)
    if diff is not None:
        yield f"<h2>Diff of all that landed</h2>{diff_markup(diff)}"


def _head(found: RunView) -> Iterator[str]:
    findings = found.findings
    told = [("goal", found.plan.goal), ("mode", found.plan.config.execution_mode)]
    told.append(("at once", f"at most {found.plan.config.max_parallel}"))
    if found.split is not None:
        told.append(("split by", f"{found.split['name']}: {known_amounts(found.split)}"))
    if findings is not None:
        told.append(("landed", f"{len(findings.landed)} of {len(findings.wanted)}"))
    if found.at_once is not None:
        told.append(("time", f"{duration(found.elapsed)}; at work at once on average: {found.at_once:.1f}"))
    yield facts(told)


def _hierarchy(found: RunView) -> Iterator[str]:
    yield "<h2>Subplans</h2>"
    needs = found.plan.graph().needs
    rows = (
        _row(found, depth, name, sorted(needs[name])) if leaf else _group(depth, name)
        for depth, name, leaf in found.plan.tree()
    )
    yield from table("Subplans", _COLUMNS, rows)


def _group(depth: int, name: str) -> Row:
    return Row([Cell(markup(name), depth=min(depth, 9)), status_cell("group", "skipped"), *[Cell("")] * 5])


def _row(found: RunView, depth: int, name: str, needs: list[str]) -> Row:
    state, worked = found.states[name], found.worked.get(name)
    stands = "completed" if state.landed else "failed" if state.status == "completed" else state.status.value
    word = "landed" if state.landed else (state.kind or state.status.value)
    used = "" if worked is None else amounts(
        {kind: value for kind, value in worked.usage.items() if kind in ("usd", "tokens")} | {"calls": worked.calls}
    )  # fmt: skip
    why = f"{state.why}{f' (round {state.round})' if state.round > 1 else ''}"
    if state.outside:
        why += f" wrote outside of what it may: {', '.join(state.outside[:20])}"
    if state.left_out:
        why += f" left out of what it made: {', '.join(state.left_out[:20])}"
    cells = [
        Cell(markup(name), depth=min(depth, 9)),
        status_cell(one_line(word, 400), stands),
        cell(one_line(", ".join(needs), 400)),
        cell("") if worked is None else cell(duration(worked.seconds), worked.seconds),
        cell(used, None if worked is None else worked.usage.get("usd") or worked.calls),
        cell(counted(len(state.wrote), "file") if state.wrote else "", len(state.wrote)),
        cell(one_line(why, 400)),
    ]
    return Row(cells)


def _timeline(found: RunView) -> Iterator[str]:
    """A line for each subplan, a bar for each time that it was at work."""
    rows = [(name, found.worked[name].ended_spans) for name in found.states if name in found.worked]
    ends = [end for _, spans in rows for _, end in spans]
    if not ends:
        return
    first, last = min(begun for _, spans in rows for begun, _ in spans), max(ends)
    whole = max(last - first, 1e-3)
    lines = []
    for name, spans in rows:
        state = found.states[name]
        tone = "completed" if state.landed else "failed" if state.status != "running" else "running"
        drawn = "".join(bar(tone, (begun - first) / whole, (end - first) / whole) for begun, end in spans)
        lines.append(Line(one_line(name, 80), drawn, duration(found.worked[name].seconds)))
    ticks = [Tick(share, duration(share * whole)) for share in (0, 0.25, 0.5, 0.75, 1)]
    yield "<h2>Who worked when</h2>"
    yield from chart("Who worked when", lines, ticks)
