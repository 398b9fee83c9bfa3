"""A run's nodes as a tree, in the order they began: what `show` prints and the HTML report lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bakeoff.engine.history import History
from bakeoff.engine.record import Record, RunStatus, Status

HALTED = "halted"
"""Shown in place of the status of a node whose record is complete although what it holds did not get through."""


def halted(record: Record, records: Mapping[str, Record] | None = None) -> bool:
    """Whether a fan-out or parallel ended early, because an item or branch failed, paused or met the budget's end."""
    facts = record.facts or {}
    if record.status is not Status.COMPLETED:
        return False
    if "halted" in facts:
        return bool(facts["halted"])
    if record.type == "parallel":
        return HALTED in (record.output.get("branches") or {}).values()
    if record.type != "fan-out" or "collected" not in facts or facts.get("quorum"):
        return False
    if facts["collected"] < record.output.get("item_count", 0):
        return True
    last = (records or {}).get(f"{record.path}:{facts['template']}:{facts['collected'] - 1}")
    return last is not None and not last.final


@dataclass(slots=True)
class Node:
    """One node.

    Attributes:
        name: what it is called among its siblings.
        status: its status; `running` for a node that holds running ones; `halted` for one that has ended because
            an item or branch of it failed or paused.
        seconds: how long it took, None when it has not ended; of one that was gone through again by a resumed run,
            from the first start to the last end of what it holds.
        record: its record, None when it has not ended.
        children: the nodes that stand inside it.
    """

    path: str
    name: str
    type: str = ""
    status: str = Status.RUNNING.value
    started_at: float = 0.0
    seconds: float | None = None
    attempts: int = 0
    error: str | None = None
    record: Record | None = None
    retries: list[str] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


def _is_numbered(parts: list[str]) -> bool:
    """Whether the last part of a path is an item's or a pass's: holder, id and number; a check ends with a digest."""
    return len(parts) >= 3 and not (parts[0] == "check" and parts[1].isdecimal() and len(parts[2]) == _DIGEST)


_DIGEST = 12
"""Characters of what tells the checks of one attempt apart."""


def parent_of(path: str) -> str | None:
    """The path of the node that holds the one at `path`; None at the top."""
    before, slash, last = path.rpartition("/")
    parts = last.split(":")
    if _is_numbered(parts):
        return f"{before}{slash}{':'.join(parts[:-2])}"
    return before if slash else None


def name_of(path: str) -> str:
    """Name of a node among its siblings: its id, with the number of the item, pass, attempt or check."""
    parts = path.rpartition("/")[2].split(":")
    return ":".join(parts[-2:] if _is_numbered(parts) else parts[:2])


def is_called(path: str, step: str) -> bool:
    """Whether a person means the node at `path` by `step`.

    That is its path; the end of that, as `one:7` of `tests:one:7`, which is what it is called among its siblings; or
    the bare id of a step in a loop.
    """
    if path == step or (":" in step and path.endswith((f":{step}", f"/{step}"))):
        return True
    parts = path.rpartition("/")[2].split(":")
    return len(parts) >= 3 and parts[-2] == step


def is_inside(path: str, step: str) -> bool:
    """Whether the node at `path` is what a person means by `step`, or inside of it."""
    at: str | None = path
    while at is not None:
        if is_called(at, step):
            return True
        at = parent_of(at)
    return path.startswith((f"{step}:", f"{step}/"))


def called(paths: Iterable[str], step: str) -> str:
    """The one of `paths` that a person means by `step`; `step` itself where that is one, or not one alone is."""
    known = list(paths)
    found = [path for path in known if is_called(path, step)]
    return found[0] if len(found) == 1 and step not in known else step


def outline(history: History, status: RunStatus) -> list[Node]:
    """The top of the tree; nodes whose holder has not ended hang from one that stands for it."""
    nodes: dict[str, Node] = {}
    live = status is RunStatus.RUNNING
    standing = (Status.RUNNING if live else Status.PENDING).value
    cut_off = None if live else "interrupted before it ended"
    for start in history.spans:
        if start.path in history.starts and start.path not in nodes:
            nodes[start.path] = Node(start.path, name_of(start.path), "", standing, start.at, error=cut_off)
    for path, record in history.records.items():
        node = nodes.get(path)
        if node is None:
            node = nodes[path] = Node(path, name_of(path), started_at=record.started_at)
        _fill(node, record, history)
    for path, start in history.open.items():
        node = nodes[path]
        node.status, node.error, node.attempts, node.record = standing, cut_off, start.attempt, None
    if live:
        _wake(nodes, history)
    known = set(nodes)
    tops = _grown(nodes, standing)
    over = not live and status not in (RunStatus.PAUSED, RunStatus.CREATED, RunStatus.CANCELLED)
    for node in tops:
        _conclude(node, known, over)
    return tops


def _conclude(node: Node, known: set[str], over: bool) -> None:
    """Conclude what has no record of its own, such as an attempt: it ends with what holds it, as its parts did."""
    over = over or node.record is not None
    for child in node.children:
        _conclude(child, known, over)
    if over and node.path not in known:
        statuses = {child.status for child in node.children}
        for status in (Status.PENDING, Status.FAILED, Status.COMPLETED):
            if status.value in statuses:
                node.status = status.value
                return


def _fill(node: Node, record: Record, history: History) -> None:
    node.type, node.status, node.record = record.type, record.status.value, record
    if halted(record, history.records):
        node.status = HALTED
    verdict = record.output.get("verdict") if record.type == "check" else None
    node.seconds = record.ended_at - record.started_at
    node.attempts, node.error = record.attempts, record.error
    if isinstance(verdict, Mapping) and not verdict.get("result") and node.error is None:
        node.status = Status.FAILED.value
        said = str(verdict.get("reason") or verdict.get("error") or "")
        node.error = said.partition("\n")[0] or None
    node.retries = history.retries.get(record.path, [])


def _grown(nodes: dict[str, Node], standing: str) -> list[Node]:
    tops: list[Node] = []
    for node in list(nodes.values()):
        while True:
            holder = parent_of(node.path)
            if holder is None:
                tops.append(node)
                break
            if holder in nodes:
                nodes[holder].children.append(node)
                break
            parent = nodes[holder] = Node(holder, name_of(holder), status=standing, started_at=node.started_at)
            parent.children.append(node)
            node = parent
    for _, node in reversed(list(walk(tops))):
        if node.children:
            _span(node)
    tops.sort(key=lambda node: node.started_at)
    for node in nodes.values():
        numbers = [_number(child) for child in node.children]
        by_number = all(number is not None for number in numbers)
        node.children.sort(key=lambda child: (_number(child) if by_number else 0, child.started_at))
    return tops


def _wake(nodes: dict[str, Node], history: History) -> None:
    """Wake what halted in an earlier session and holds running nodes: it runs again."""
    for path in history.open:
        holder = parent_of(path)
        while holder is not None:
            node = nodes.get(holder)
            if node is not None and node.status == HALTED:
                node.status, node.seconds = Status.RUNNING.value, None
            holder = parent_of(holder)


def _span(node: Node) -> None:
    """When a node that holds others began, and how long it took."""
    first = min(child.started_at for child in node.children)
    if first < node.started_at and node.seconds is not None:
        node.seconds = max(child.started_at + (child.seconds or 0.0) for child in node.children) - first
    node.started_at = min(node.started_at, first)


def _number(node: Node) -> int | None:
    """The number of an item or pass: where all siblings have one, they stand in its order, else as they began."""
    number = node.name.rpartition(":")[2]
    return int(number) if ":" in node.name and number.isdecimal() else None


def walk(tops: list[Node]) -> Iterator[tuple[int, Node]]:
    """Every node with its depth, holders before what they hold."""
    left = [(0, node) for node in reversed(tops)]
    while left:
        depth, node = left.pop()
        yield depth, node
        left.extend((depth + 1, child) for child in reversed(node.children))


def tally(nodes: list[Node]) -> Mapping[str, int]:
    """Count of the nodes that have each status."""
    counts: dict[str, int] = {}
    for node in nodes:
        counts[node.status] = counts.get(node.status, 0) + 1
    return counts
