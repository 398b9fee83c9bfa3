"""`bakeoff show`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from bakeoff.cli.completing import RUN, STEP
from bakeoff.cli.gates import open_gates
from bakeoff.cli.output import mark, print_json, tell
from bakeoff.cli.run_lookup import open_run
from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import OpenRun, job_of, outcome
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.report.escape import one_line
from bakeoff.report.outline import Node, is_called, is_inside, outline, tally, walk
from bakeoff.report.state import run_state
from bakeoff.report.words import amounts, counted, duration, moment, no_step


@click.command("show")
@click.argument("run", required=False, type=RUN)
@click.argument("step", required=False, type=STEP)
@click.option("--all", "everything", is_flag=True, help="List every item and pass, not only those that need a look.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, step: str | None, everything: bool, as_json: bool) -> None:
    """Show RUN, or the latest run: its status and what each of its steps gave; or STEP and what is inside it.

    STEP is a path as `tests:one:7`, or its end as it is printed here, `one:7`.
    """
    folder = open_run(run)
    if as_json:
        opened = OpenRun(folder)
        state = run_state(folder, opened.history)
        if step is not None:
            state["steps"] = _inside(folder, state["steps"], step)
        print_json({**state, **job_of(opened).facts(opened)})
    elif step is not None:
        print_step(folder, step, everything)
    else:
        print_run(folder, everything)


def _inside(folder: RunFolder, steps: dict[str, Any], step: str) -> dict[str, Any]:
    """Those that `step` names, and what is inside them.

    Raises:
        BakeoffError: there is none.
    """
    found = {path: shown for path, shown in steps.items() if is_inside(path, step)}
    if not found:
        raise BakeoffError(no_step(folder.id, step))
    return found


MOST_CHILDREN = 12
"""Items or passes that are listed each; of more, those that ended well are only counted."""

MOST_LISTED = 20
"""Of those that are listed although there are many, how many."""


def print_run(folder: RunFolder, everything: bool) -> None:
    """The run on standard output: head, tree of steps, what waits and what is damaged.

    Passes on JournalError: its journal cannot be read.
    """
    run = OpenRun(folder)
    history, job = run.history, job_of(run)
    status, error = folder.status_and_error(history)
    for line in _head(folder, history, status, error):
        tell(line)
    for line in job.lines(run):
        tell(f"  {line}")
    if job.lists_steps or everything:
        for line in tree(outline(history, status), everything):
            tell(line)
    for line in _foot(folder, history, status):
        tell(line)


def print_step(folder: RunFolder, step: str, everything: bool) -> None:
    """The nodes that `step` names, with what is inside them. Passes on JournalError: as for `print_run`.

    Raises:
        BakeoffError: there is none.
    """
    history = folder.history()
    status, _ = folder.status_and_error(history)
    found = [node for _, node in walk(outline(history, status)) if is_called(node.path, step)]
    if not found:
        raise BakeoffError(no_step(folder.id, step))
    for line in tree(found, everything):
        tell(line)


def _head(folder: RunFolder, history: History, status: RunStatus, error: str | None) -> Iterator[str]:
    workflow = one_line(str(history.meta.get("workflow_id") or history.meta.get("name") or "?"))
    created = history.meta.get("created_at")
    sign, words = outcome(history.meta.get("job"), status, history.ending) or (status, "")
    yield f"{mark(sign)} run {click.style(folder.id, bold=True)} of {workflow}: {status}{words and f', {words}'}"
    if error:
        yield f"  {one_line(error, 2000)}"
    span = duration(history.updated_at - created) if created else "-"
    yield f"  created {moment(created)}, last change {moment(history.updated_at)} ({span})"
    for name, value in history.inputs.items():
        yield f"  input {one_line(str(name))}: {_value(value)}"
    if used := amounts(history.usage, history.unreported):
        yield f"  used {used}"


def _foot(folder: RunFolder, history: History, status: RunStatus) -> Iterator[str]:
    for name, value in (history.ending.get("outputs") or {}).items():
        yield f"  output {one_line(str(name))}: {_value(value)}"
    if status is not RunStatus.RUNNING:
        for path, options in open_gates(history).items():
            if path in history.answers:
                yield f"  gate {path} is answered: {one_line(history.answers[path])}"
            else:
                yield f"  gate {path} waits: bakeoff answer {folder.id} {path} {{{'|'.join(map(one_line, options))}}}"
    if history.damaged:
        numbers = ", ".join(map(str, history.damaged[:10])) + (", ..." if len(history.damaged) > 10 else "")
        yield f"  journal entries that cannot be read and count as not done: {numbers}"
    way = how_to_go_on(folder.id, status, history.meta.get("job"))
    if way is not None and not history.ending.get("refused"):
        yield f"  go on with: {way}"


def tree(tops: list[Node], everything: bool) -> Iterator[str]:
    """A line for each node, indented by its depth; many items or passes of one node are counted."""
    left: list[tuple[int, Node | str]] = [(0, node) for node in reversed(_listed(tops, True))]
    while left:
        depth, node = left.pop()
        if isinstance(node, str):
            yield f"{'  ' * (depth + 1)}{node}"
            continue
        yield f"{'  ' * (depth + 1)}{_line(node)}"
        left.extend((depth + 1, child) for child in reversed(_listed(node.children, everything)))


def _listed(nodes: list[Node], everything: bool) -> list[Node | str]:
    """The nodes, or those among many that need a look, with a line for the rest."""
    if everything or len(nodes) <= MOST_CHILDREN:
        return [*nodes]
    notable = [node for node in nodes if node.status not in ("completed", "skipped")][:MOST_LISTED]
    rest = tally([node for node in nodes if node not in notable])
    counts = ", ".join(f"{count:,} {status}" for status, count in rest.items())
    return [f"{counted(len(nodes), 'node')}: {counts} (--all lists them)", *notable] if rest else [*notable]


def _line(node: Node) -> str:
    parts = [mark(node.status), click.style(one_line(node.name, 80), bold=True)]
    if node.type:
        parts.append(click.style(node.type, fg="bright_black"))
    if node.status != "completed":
        parts.append(node.status)
    if node.seconds is not None and node.status != "skipped":
        parts.append(duration(node.seconds))
    if node.attempts > 1 and node.type != "gate":
        parts.append(f"try {node.attempts}")
    if node.error:
        parts.append(click.style(one_line(node.error), fg="red"))
    if node.record is not None and node.record.continued:
        parts.append("(the run went on)")
    return " ".join(parts)


def _value(value: object) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
