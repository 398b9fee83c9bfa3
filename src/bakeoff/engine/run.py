"""A run: nodes with paths, their results committed before anybody sees them, found again when the run resumes."""

from __future__ import annotations

import heapq
import json
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Any

import anyio

from bakeoff.engine.budget import Budget, Reservation
from bakeoff.engine.clock import Clock, SystemClock
from bakeoff.engine.events import Events, NodeEnded, NodeHeard, NodeRetried, NodeStarted, Warned
from bakeoff.engine.failures import is_stray
from bakeoff.engine.history import Checkpoint, History, decode_record, encode, encode_record
from bakeoff.engine.journal import Batch, CommitQueue, Journal, MemoryJournal, NoJournal
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError, BudgetSpentError, described

Work = Callable[[int], Awaitable[Outcome]]
"""A leaf's work: takes the number of the try, from 1 over all sessions of the run."""

ResumeFrom = Callable[[Mapping[str, Any]], Awaitable[Work | None]]
"""Makes work that goes on from what a reply's facts say; None where nothing can be made of it any more."""

DEFAULT_MAX_PARALLEL = 64

SIGNS = 1.0
"""Seconds between two events that tell that a node's work goes on, at least."""


class Run:
    """One run while it is alive. Everything in it happens in the event loop's thread.

    Args:
        journal: where results are committed; memory when the run need not survive.
        history: what the journal already holds.
        root: the run's folder.
        lanes: capacities; must have the lane `leaves`.
        budget: ceilings for everything under the run.
        events: the stream of what happens.
        masker: keeps secrets out of the journal.
        clock: see `Clock`.
        random: for jitter.
    """

    def __init__(
        self,
        *,
        journal: Journal | None = None,
        history: History | None = None,
        root: Path = Path(),
        lanes: Lanes | None = None,
        budget: Budget | None = None,
        events: Events | None = None,
        masker: Masker | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.journal = journal or MemoryJournal()
        self._keeps = not isinstance(self.journal, NoJournal)
        self.history = history or History(root)
        self.root = root
        self.lanes = lanes or Lanes({LEAVES: DEFAULT_MAX_PARALLEL})
        self.budget = budget or Budget({})
        self.events = events or Events()
        self.masker = masker or Masker()
        self.clock = clock or SystemClock()
        self.random = random or Random()  # noqa: S311  (jitter, not cryptography)
        self.answers = dict(self.history.answers)
        self.gates: dict[str, tuple[str, ...]] = {}
        self._answered: dict[str, anyio.Event] = {}
        self._since: dict[str, float] = {}
        """When the tries at work began, by path and the monotonic clock."""
        self._places: list[int] = []
        self._place_count = 0

    async def leaf(
        self,
        path: str,
        type_: str,
        work: Work,
        *,
        key: str = "",
        lanes: Iterable[str] | None = (),
        retry: Retry = ONCE,
        timeout: float | None = None,
        continue_on_error: bool = False,
        reserve: Mapping[str, float] | None = None,
        commit_queue: CommitQueue | None = None,
        resume_from: ResumeFrom | None = None,
    ) -> Record:
        """Do a piece of work once its lanes and budget allow, and return its record when that is committed.

        A record that an earlier session committed is returned instead, and nothing is done. An exception of
        the work that is no `BakeoffError` makes it failed (kind `error`, the traceback among its facts).
        Cancelled, the work is cancelled and the node counts as not run; a result that was already there is
        still written.

        Args:
            path: where the node stands.
            type_: what sort of node it is.
            work: see `Work`.
            key: digest of what the result depends on.
            lanes: lanes to hold besides `leaves`; None for work that only waits and holds none at all.
            retry: which failures are tried again.
            timeout: seconds for one try, from the start of the work; the work is cancelled then. Work that
                ends its own processes in time needs none here.
            continue_on_error: a failure is final: the run goes on after it, also when it resumes; not one that aborts
                the run.
            reserve: budget for one try, by kind.
            commit_queue: where the record waits for its commit, so that this can return before it. For siblings that
                see nothing of one another: whoever shows the record to others drains the queue first.
            resume_from: how to go on where an earlier try was cut off after its `checkpoint`; that try goes on then,
                and reserves nothing, since it was paid for.

        Raises:
            BudgetSpentError: the budget does not allow another try; it names the failure of the one before.

        Passes on JournalError: the result could not be written.
        """
        if (kept := self.find(path, key)) is not None:
            return await self._keep(*kept)
        attempt = self._tries(path)
        wanted = () if lanes is None else (LEAVES, *lanes)
        delays = retry.delays(self.random)
        rest = None if resume_from is None else await self._resumed(path, key, resume_from)
        before = 0.0 if rest is None else self.history.checkpoints[path].seconds
        error: str | None = None
        while True:
            if rest is None or attempt == 0:
                attempt += 1
            amounts = {} if rest is not None else reserve or {}
            try:
                outcome, begun, seconds = await self._try(path, type_, rest or work, attempt, wanted, timeout, amounts)
            except BudgetSpentError as spent:
                if error is None:
                    raise
                raise BudgetSpentError(f"{spent}; the last call failed: {error}") from spent
            begun, seconds = begun - before, seconds + before
            rest, before = None, 0.0
            delay = next(delays, None) if retry.wants(outcome) else None
            if delay is None:
                break
            delay = max(delay, float((outcome.facts or {}).get("retry_after") or 0.0))
            error = outcome.error or "failed"
            body = {"error": error, "kind": outcome.kind, "usage": outcome.usage, "at": begun + seconds}
            self._append("retry", path, encode(body))
            self.history.checkpoints.pop(path, None)
            self.events.emit(NodeRetried(self.clock.wall(), path, attempt, delay, self.masker.text(error)))
            await anyio.sleep(delay)
        record = Record(
            path=path,
            type=type_,
            status=outcome.status,
            output=outcome.output,
            error=outcome.error,
            kind=outcome.kind,
            input=outcome.input,
            usage=outcome.usage,
            facts=outcome.facts,
            key=key,
            started_at=begun,
            ended_at=begun + seconds,
            attempts=attempt,
            continued=continue_on_error and outcome.status is Status.FAILED and not outcome.output.get("aborted"),
        )
        return await self.commit(record, commit_queue)

    async def checkpoint(self, path: str, key: str, usage: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Checkpoint of a leaf: what its paid work came to, on disk while what follows from it is still to be done.

        Should that be cut off, a resumed run goes on from the `facts`: see `resume_from` of `leaf`. Path and key are
        the leaf's, usage is as its outcome will have it. Cancelled, it is written all the same.

        Passes on JournalError: it could not be written.
        """
        if not self._keeps:
            return
        now = self.clock.monotonic()
        seconds = round(now - self._since.get(path, now), 6)
        text = self.masker.text(encode(Checkpoint(key, usage, facts, seconds=seconds).to_json()))
        written = self.journal.append("reply", path, text)
        self.history.checkpoints[path] = Checkpoint(**json.loads(text))
        await written.committed()

    async def _resumed(self, path: str, key: str, resume_from: ResumeFrom) -> Work | None:
        """Remaining work of a node whose paid work has ended; None where all is done."""
        below = path in self.history.checkpoints
        checkpoint = self.history.checkpoint(path, key)
        if checkpoint is None:
            self.history.checkpoints.pop(path, None)  # of what stood there before
            return None
        if not below:  # it was another path's before an edit
            self._append("reply", path, encode(checkpoint.to_json()))
        rest = await resume_from(checkpoint.facts)
        if rest is None:
            del self.history.checkpoints[path]
            self._append("void", path, "null")
            said = "its call had ended when an earlier session was cut off, but what it made is lost: it is made again"
            self.events.emit(Warned(self.clock.wall(), said, path))
        return rest

    async def _try(
        self,
        path: str,
        type_: str,
        work: Work,
        attempt: int,
        lanes: tuple[str, ...],
        timeout: float | None,
        reserve: Mapping[str, float],
    ) -> tuple[Outcome, float, float]:
        """One try; its outcome, when it began (wall clock) and the seconds it took."""
        lease, held = await self._enter(lanes, reserve)
        place = self._take_place()
        try:
            with held as reservation:
                begun, since = self.clock.wall(), self.clock.monotonic()
                self._since[path] = since
                if self._keeps:
                    started = self._append("start", path, encode([attempt, round(begun, 6), place, reserve]))
                    if reserve:
                        await self._on_record(started, path, reservation)
                if self.events.heard:
                    self.events.emit(NodeStarted(begun, path, type_, attempt, place))
                outcome = await _guarded(work, attempt, timeout)
                reservation.settle(outcome.usage)
                return outcome, begun, self.clock.monotonic() - since
        finally:
            self._since.pop(path, None)
            heapq.heappush(self._places, place)
            self.lanes.release(lease)

    async def _enter(
        self, lanes: tuple[str, ...], reserve: Mapping[str, float]
    ) -> tuple[tuple[str, ...], AbstractContextManager[Reservation]]:
        """The lanes and the money for one try; cancelled, it holds neither.

        Who waits for money holds no lane. Who waits for a lane holds no money: what those before it cost in the
        end, be it more than was reserved for them, counts before it begins.
        """
        while True:
            await self.budget.room(reserve)
            lease = await self.lanes.acquire(lanes)
            if (held := self.budget.take(reserve)) is not None:
                return lease, held
            self.lanes.release(lease)

    async def _on_record(self, started: Batch, path: str, reservation: Reservation) -> None:
        """A call that may cost something is on disk before it is made; cancelled until then, it costs nothing."""
        try:
            await started.committed()
        except BaseException:
            reservation.void()
            if started.error is None:
                self._append("void", path, "null")
            raise

    def _tries(self, path: str) -> int:
        """Count of earlier starts of a node, in this session and earlier ones."""
        start, record = self.history.starts.get(path), self.history.records.get(path)
        return max(start.attempt if start else 0, record.attempts if record else 0)

    def find(self, path: str, key: str = "") -> tuple[Record, bool] | None:
        """The committed record that makes running this node needless, and whether it came from before an edit."""
        return self.history.find(path, key)

    async def kept(self, path: str, key: str = "") -> Record | None:
        """The record of a node that need not run again, announced as reused; None when it must run."""
        found = self.find(path, key)
        return None if found is None else await self._keep(*found)

    async def _keep(self, record: Record, adopted: bool) -> Record:
        if adopted:
            self.history.records[record.path] = record
            text, files = encode_record(record, self.root, adopted=True)
            await self._append("end", record.path, text, files).committed()
        if self.events.heard:
            self.events.emit(NodeEnded(self.clock.wall(), record, reused=True))
        return record

    async def commit(self, record: Record, commit_queue: CommitQueue | None = None) -> Record:
        """Write a node's record; return it, as a resumed run would find it, when it is on disk or in the queue.

        Cancelled, it is written all the same. Passes on JournalError: it could not be written.
        """
        batch: Batch | None = None
        if self._keeps or self.masker.forms:
            text, files = encode_record(record, self.root)
            if self.masker.forms:
                text = self.masker.text(text)
                record = decode_record(record.path, json.loads(text), self.root)
            batch = self.journal.append("end", record.path, text, files)
        self.history.records[record.path] = record
        if self.history.checkpoints and not record.replied:
            self.history.checkpoints.pop(record.path, None)
        if batch is not None:
            await (batch.committed() if commit_queue is None else commit_queue.add(batch))
        if self.events.heard:
            self.events.emit(NodeEnded(record.ended_at, record))
        return record

    async def decide(self, path: str, make: Callable[[], Any]) -> Any:
        """A choice that a resumed run must repeat: made once, committed, and the same ever after.

        Passes on JournalError: it could not be written.
        """
        if path in self.history.decisions:
            return self.history.decisions[path]
        choice = make()
        text = encode(choice)
        if self.masker.forms:
            text = self.masker.text(text)
            choice = json.loads(text)
        await self.journal.append("decide", path, text).committed()
        self.history.decisions[path] = choice
        return choice

    async def answer(self, path: str, choice: str) -> None:
        """Decide an open gate (one of `gates`: options by path); whoever waits for it hears at once.

        Raises:
            BakeoffError: no such gate is open, or it has no such option.
        """
        options = self.gates.get(path)
        if options is None:
            known = ", ".join(self.gates) or "none"
            raise BakeoffError(f"no gate waits at {path!r}; open gates: {known}")
        if choice.strip().lower() not in (option.lower() for option in options):
            raise BakeoffError(f"gate {path}: {choice!r} is no choice; the choices are {', '.join(options)}")
        await self._append("answer", path, encode(choice)).committed()
        self.answers[path] = choice
        self.answer_event(path).set()

    async def forget_answer(self, path: str) -> None:
        """Take an answer back, so that the gate asks again.

        Passes on JournalError: it could not be written.
        """
        if self.answers.pop(path, None) is not None:
            self._answered.pop(path, None)
            await self._append("answer", path, encode(None)).committed()

    def answer_event(self, path: str) -> anyio.Event:
        """The event that is set when the gate at `path` is answered."""
        return self._answered.setdefault(path, anyio.Event())

    async def keep_called(self, texts: Mapping[str, str]) -> None:
        """Keep the run's own copies of definitions that its definition calls, by path.

        Passes on JournalError: they could not be written.
        """
        self.history.called = dict(texts)
        if texts:
            await self._append("called", "", encode(texts)).committed()

    async def start_over(self) -> None:
        """The definition was replaced: what is done is found by key from here on, not by path.

        Passes on JournalError: it could not be written.
        """
        await self._append("edit", "", "null").committed()
        self.history.edited()
        self.answers = {}

    def hearing(self, path: str) -> Callable[[Mapping[str, Any]], None]:
        """Callback for whenever the work of the node at `path` shows that it goes on, with what it has told so far."""
        last = -SIGNS

        def heard(facts: Mapping[str, Any]) -> None:
            nonlocal last
            now = self.clock.monotonic()
            if self.events.heard and now - last >= SIGNS:
                last = now
                self.events.emit(NodeHeard(self.clock.wall(), path, facts))

        return heard

    def note(self, kind: str, body: Any) -> Batch:
        """Queue an entry about the run itself (`meta`, `run`, `inputs`, `edit`).

        Passes on JournalError: the journal takes nothing more.
        """
        return self._append(kind, "", encode(body))

    def _append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        return self.journal.append(kind, path, self.masker.text(body) if self.masker.forms else body, files)

    def _take_place(self) -> int:
        if self._places:
            return heapq.heappop(self._places)
        self._place_count += 1
        return self._place_count - 1


async def _guarded(work: Work, attempt: int, timeout: float | None) -> Outcome:
    """The work's outcome; its exceptions and its timeout are outcomes too.

    Raises:
        BakeoffError: the work met something only a person can mend.
    """
    scope: anyio.CancelScope | None = None
    facts: dict[str, Any] | None = None
    try:
        if timeout is None:
            return await work(attempt)
        with anyio.move_on_after(timeout) as scope:
            outcome = await work(attempt)
        # Called on the very tick of the deadline, the cancel did not reach work that ended then.
        if not scope.cancel_called or anyio.current_time() <= scope.deadline:
            return outcome
    except BakeoffError:
        raise
    except BaseException as failure:
        if not isinstance(failure, Exception) and not is_stray(failure):
            raise
        facts = {"traceback": "".join(traceback.format_exception(failure))}
        if scope is None or not scope.cancel_called:
            return Outcome(Status.FAILED, error=_said(failure), kind="error", facts=facts)
    # Whatever the work made of being cancelled: its time was up.
    return Outcome(Status.FAILED, {"timed_out": True}, f"timed out after {timeout:g} s", "timeout", facts=facts)


def _said(failure: BaseException) -> str:
    if is_stray(failure):
        return f"{type(failure).__name__}: something that the work waited for was cancelled, the work was not"
    return described(failure)
