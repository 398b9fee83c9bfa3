"""History of a run, as its journal has it: entries read back into records, decisions, answers and sessions.

Kinds of entry: `meta` (what the run is), `run` (its status changed), `start` and `end` of a node, `reply` (a
checkpoint: what paid work came to, before its end is written), `void` (a start whose work did not begin, or a
checkpoint that nothing can be made of any more), `decide` (a choice that a resumed run must repeat), `answer` (to a
gate), `inputs` (new ones given on resume), `called` (copies of definitions that are called), `edit` (the definition was
replaced; what was done before is found by key from here on).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff.engine.journal import Entry
from bakeoff.engine.record import Record, RunStatus, Status, Stored

# The letters that stand for a record's fields on disk; absent where the field has its default.
_LETTERS = {"kind": "c", "error": "e", "input": "i", "usage": "u", "facts": "f", "key": "k", "continued": "a"}


def _plain(value: Any) -> Any:
    """Plain data that the JSON encoder asks for, of large values, views and sets."""
    if isinstance(value, Stored):
        return value.load()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    return str(value)


_whole = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
_escape = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def _encoder() -> Callable[[Any], str]:
    """As `_whole`, for which json makes an encoder anew at each call: half of its time for a short row."""
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _whole
    chunks = make(None, _plain, json.encoder.encode_basestring, None, ":", ",", False, False, True)

    def encode(value: Any) -> str:
        try:
            return "".join(chunks(value, 0))
        except RecursionError:
            return _whole(value)  # which tells a value that holds itself from one that is too deep

    return encode


_encode = _encoder()


def encode(value: Any) -> str:
    """Any value a node may hold as JSON text; what is no valid Unicode (lone surrogates) is escaped."""
    text = _encode(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _escape(value)
    return text


def encode_record(record: Record, root: Path, adopted: bool = False) -> tuple[str, list[str]]:
    """The journal's text for a record, and the files that must be on disk before it."""
    body: dict[str, Any] = {"t": record.type, "s": record.status.value, "o": record.output}
    files: list[str] = []
    for name, value in record.output.items():
        if isinstance(value, Stored):
            if not files:
                body["o"] = dict(record.output)
                body["x"] = {}
            relative = str(Path(value.path).relative_to(root)) if Path(value.path).is_relative_to(root) else value.path
            body["x"][name] = [relative, value.size, value.form, value.excerpt]
            files.append(value.path)
            body["o"][name] = None
    for name, letter in _LETTERS.items():
        if value := getattr(record, name):
            body[letter] = value
    if record.attempts != 1:
        body["n"] = record.attempts
    if adopted:
        body["r"] = 1
    body["b"] = round(record.started_at, 6)
    body["d"] = round(record.ended_at - record.started_at, 6)
    return encode(body), files


def decode_record(path: str, body: dict[str, Any], root: Path) -> Record:
    """The record whose parsed text `encode_record` wrote."""
    output = body["o"]
    for name, (file, size, form, excerpt) in body.get("x", {}).items():
        output[name] = Stored(str(root / file), size, form, excerpt)
    fields = {name: body[letter] for name, letter in _LETTERS.items() if letter in body}
    return Record(
        path=path,
        type=body["t"],
        status=Status(body["s"]),
        output=output,
        attempts=body.get("n", 1),
        started_at=body["b"],
        ended_at=body["b"] + body["d"],
        **fields,
    )


@dataclass(slots=True)
class Start:
    """One try of a node: which one, when, at which place, what it may spend, and when it ended."""

    path: str
    attempt: int
    at: float
    place: int
    reserved: Mapping[str, float]
    ended_at: float | None = None


@dataclass(slots=True)
class Checkpoint:
    """Checkpoint of a node's paid work, where its end is not on record: it need not be paid for again.

    Attributes:
        key: the node's.
        usage: what it used, as an outcome's.
        facts: what is needed to go on from there.
        counted: whether its usage is in the totals, because the try that it belongs to was cut off.
        seconds: how long it took.
    """

    key: str
    usage: Mapping[str, Any]
    facts: Mapping[str, Any]
    counted: bool = False
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As the journal has it; `Checkpoint(**it)` is the same again."""
        return asdict(self)


@dataclass(slots=True)
class History:
    """All that a journal says.

    Attributes:
        meta: what the run is: `run_id`, `job`, `created_at`, ...
        status: the last status written; a run whose owner died still says `running` here.
        error: the error that came with it.
        ending: all that came with it.
        updated_at: when the last entry with a time was written.
        records: the last end of each node, in the order the nodes first ended.
        starts: the last start of each node.
        open: the tries that have not ended.
        spans: every try in order of start, for timelines.
        retries: what the failed tries of a node said, oldest first.
        checkpoints: what paid work came to whose end is not on record, by path.
        pool: final records from before an edit that were not taken over yet, by key; `checkpoint_pool` likewise.
        damaged: numbers of entries that cannot be read, or whose files are lost.
        known: those of them that a later session went on without.
        spent: what counts against the budgets.
        usage: what every try reported, by kind, and what was reserved where none was reported.
        unreported: kinds that some try did not report, so that an amount counts that nobody knows to be true.
        settled: prefixes of paths under which failures are final too: their parent has ended well in spite of them.
    """

    root: Path
    meta: dict[str, Any] = field(default_factory=dict)
    status: RunStatus = RunStatus.CREATED
    error: str | None = None
    ending: dict[str, Any] = field(default_factory=dict)
    updated_at: float = 0.0
    records: dict[str, Record] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    open: dict[str, Start] = field(default_factory=dict)
    spans: list[Start] = field(default_factory=list)
    retries: dict[str, list[str]] = field(default_factory=dict)
    decisions: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    pool: dict[str, deque[Record]] = field(default_factory=dict)
    checkpoint_pool: dict[str, deque[Checkpoint]] = field(default_factory=dict)
    damaged: list[int] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    settled: tuple[str, ...] = ()
    spent: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    unreported: set[str] = field(default_factory=set)
    active_seconds: float = 0.0
    began: float | None = None

    def read(self, entries: Iterable[Entry | int]) -> History:
        """Take in entries, in order."""
        for entry in entries:
            if isinstance(entry, int):
                self.damaged.append(entry)
            else:
                getattr(self, f"_{entry.kind}")(entry)
        return self

    def find(self, path: str, key: str) -> tuple[Record, bool] | None:
        """The record that stands in for running a node again, and whether it was adopted by key."""
        record = self.records.get(path)
        if record is not None and (record.final or (self.settled and path.startswith(self.settled))):
            return record, False
        if key and self.pool.get(key):
            return replace(self.pool[key].popleft(), path=path), True
        return None

    def checkpoint(self, path: str, key: str) -> Checkpoint | None:
        """Checkpoint of the node's paid work in a try that was cut off; from before an edit, it is moved to `path`."""
        found = self.checkpoints.get(path)
        if found is not None:
            return found if found.key == key else None
        if key and self.checkpoint_pool.get(key):
            return self.checkpoints.setdefault(path, self.checkpoint_pool[key].popleft())
        return None

    def _meta(self, entry: Entry) -> None:
        self.meta = json.loads(entry.body)
        self.inputs = dict(self.meta.get("inputs", {}))
        self.updated_at = self.meta.get("created_at", 0.0)

    def _run(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        status = RunStatus(body["status"])
        if status is RunStatus.RUNNING:
            self.interrupt()
            self.began = body["at"]
            self.known.update(body.get("lost", ()))
        else:
            self.active_seconds += body.get("seconds", 0.0)
            self.began = None
            self.interrupt()
        self.status = status
        self.error = body.get("error")
        self.ending = body
        self.updated_at = body["at"]

    def interrupt(self) -> None:
        """The session that wrote last is over: what is open did not finish, and what it had reserved counts as used.

        Where it is known what the work came to, that counts instead. A session that was killed could not say how long
        it was active; it counts up to its last entry.
        """
        for path, start in self.open.items():
            checkpoint = self.checkpoints.get(path)
            if checkpoint is None:
                self._charge(start.reserved, start.reserved)
            elif not checkpoint.counted:
                self._charge(start.reserved, checkpoint.usage)
                checkpoint.counted = True
        self.open.clear()
        if self.began is not None:
            self.active_seconds += max(0.0, self.updated_at - self.began)
            self.began = None

    def _start(self, entry: Entry) -> None:
        start = Start(entry.path, *json.loads(entry.body))
        before = self.starts.get(entry.path)
        if before is not None and before.attempt != start.attempt:
            self.checkpoints.pop(entry.path, None)  # nothing came of it
        self.starts[entry.path] = self.open[entry.path] = start
        self.spans.append(start)
        self.updated_at = start.at

    def _retry(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        self.retries.setdefault(entry.path, []).append(body["error"])
        self._close(entry.path, body["at"], body.get("usage"))

    def _reply(self, entry: Entry) -> None:
        checkpoint = Checkpoint(**json.loads(entry.body))
        self.checkpoints[entry.path] = checkpoint
        if checkpoint.counted and self.checkpoint_pool.get(checkpoint.key):
            self.checkpoint_pool[checkpoint.key].popleft()

    def _void(self, entry: Entry) -> None:
        """A start whose work did not begin after all, or a reply that is lost."""
        self.open.pop(entry.path, None)
        self.checkpoints.pop(entry.path, None)

    def _end(self, entry: Entry) -> None:
        body = json.loads(entry.body)
        record = decode_record(entry.path, body, self.root)
        if "x" in body and not all(value.whole() for value in record.output.values() if isinstance(value, Stored)):
            self.damaged.append(entry.seq)  # what it printed is lost, so it is not done
            return
        self.records[entry.path] = record
        if record.replied:
            self._close(entry.path, record.ended_at, None, replied=True)
            return
        if "r" in body and self.pool.get(record.key):
            self.pool[record.key].popleft()
        self._close(entry.path, record.ended_at, record.usage)

    def _close(self, path: str, at: float, usage: Mapping[str, Any] | None, replied: bool = False) -> None:
        """A try has ended; where it went on from what is counted already, nothing more is."""
        start, checkpoint = self.open.pop(path, None), self.checkpoints.get(path)
        if start is not None:
            start.ended_at = self.updated_at = at
            if checkpoint is None or not checkpoint.counted:
                self._charge(start.reserved, checkpoint.usage if replied and checkpoint is not None else usage)
        if checkpoint is not None:
            if replied:
                checkpoint.counted = True
            else:
                del self.checkpoints[path]

    def _charge(self, reserved: Mapping[str, float], usage: Mapping[str, Any] | None) -> None:
        """Count what a try used that had reserved so much."""
        spent = {kind: used(kind, usage, amount) for kind, amount in reserved.items()}
        _add(self.spent, spent)
        assumed = (usage or {}).get("assumed", {})
        self.unreported.update(assumed)
        known = {**(usage or {}), **spent}
        _add(self.usage, {kind: amount for kind, amount in known.items() if kind not in assumed})

    def _decide(self, entry: Entry) -> None:
        self.decisions[entry.path] = json.loads(entry.body)

    def _answer(self, entry: Entry) -> None:
        choice = json.loads(entry.body)
        if choice is None:
            self.answers.pop(entry.path, None)
        else:
            self.answers[entry.path] = choice

    def _called(self, entry: Entry) -> None:
        self.called = json.loads(entry.body)

    def _inputs(self, entry: Entry) -> None:
        self.inputs = json.loads(entry.body)

    def _edit(self, entry: Entry) -> None:
        self.edited()

    def edited(self) -> None:
        """The definition changed: paths mean nothing any more, keys do."""
        self.interrupt()
        for record in self.records.values():
            if record.final and record.key:
                self.pool.setdefault(record.key, deque()).append(record)
        for checkpoint in self.checkpoints.values():
            if checkpoint.key:
                self.checkpoint_pool.setdefault(checkpoint.key, deque()).append(checkpoint)
        self.records, self.decisions, self.answers, self.checkpoints = {}, {}, {}, {}
        self.starts, self.open = {}, {}
        self.called = {}


def _add(totals: dict[str, float], amounts: Mapping[str, Any]) -> None:
    """Add what is a number to the totals by kind."""
    for kind, amount in amounts.items():
        if isinstance(amount, int | float) and not isinstance(amount, bool):
            totals[kind] = totals.get(kind, 0) + amount


def used(kind: str, usage: Mapping[str, Any] | None, reserved: float) -> float:
    """Usage charged to one kind of budget for a try: as reported, else as `assumed` says, else as reserved."""
    reported = (usage or {}).get(kind)
    if reported is None and usage and "assumed" in usage:
        reported = usage["assumed"].get(kind)
    return reserved if reported is None else float(reported)
