"""The Python API: fan a function out over items under one bound, durably if a run is named.

The same bound, order, halt, resume and cancel as in workflows, without YAML.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio

from bakeoff.api.arguments import CallOptions, amounts, check_name, project_folder, whole
from bakeoff.api.codec import JSON, Codec, argument_json
from bakeoff.api.isolated import Workers
from bakeoff.api.nesting import CURRENT, HeldLeaf, waiting
from bakeoff.engine.blocking import call_in_thread, is_async, warn_not_stopped
from bakeoff.engine.budget import Budget
from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events
from bakeoff.engine.failures import is_cancel
from bakeoff.engine.fan_out import fan_out as fan_out_items
from bakeoff.engine.journal import CommitQueue, NoJournal
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.record import Outcome, Record, RunStatus, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.engine.run import DEFAULT_MAX_PARALLEL, Run
from bakeoff.engine.session import Ending, SessionConfig, run_session
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError, RunBusyError, described, the_failure

Value = TypeVar("Value")

JOB = "python"


class ItemError(BakeoffError):
    """An item failed.

    Attributes:
        index: its place among the items.
        kind: `error` for an exception, `timeout`, ...
        record: all that is known of it; the traceback is among its facts.
    """

    def __init__(self, index: int, record: Record) -> None:
        super().__init__(f"item {index}: {record.error}")
        self.index = index
        self.kind = record.kind
        self.record = record


class FanOutError(BakeoffError):
    """A fan-out did not get what was asked for.

    Attributes:
        results: results in item order, up to and including the item that halted it, as an `ItemError`.
    """

    def __init__(self, message: str, results: list[Any]) -> None:
        super().__init__(message)
        self.results = results


@dataclass(slots=True)
class DurableRun:
    """A run that is open: everything done through it shares its bound, lanes, budget and journal."""

    run: Run
    closed: bool = False
    _calls: set[anyio.CancelScope] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=count)
    _workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self._workers = Workers(str(self.run.root) if keeps(self.run) else None)

    async def fan_out(
        self,
        function: Callable[[Any], Awaitable[Value]] | Callable[[Any], Value],
        items: Iterable[Any],
        *,
        max_concurrency: int = 8,
        name: str | None = None,
        version: str = "",
        on_halt: str = "finish",
        min_success: int | None = None,
        timeout: float | None = None,
        retry: Retry = ONCE,
        lanes: Iterable[str] = (),
        isolate: bool = False,
        codec: Codec = JSON,
        reserve: Mapping[str, float] | None = None,
    ) -> list[Any]:
        """The results of `function(item)` for every item, in item order, at most `max_concurrency` at once.

        A result that an earlier session of the run committed is taken from there: it is found by `name`, the
        item's JSON and `version`. A failed item is tried again when the run is resumed. Called from inside an
        item of the same run, that item holds no place while it waits for this.

        Args:
            function: async, or plain: then it runs in a thread, or with `isolate` in a process that can be killed.
            items: JSON values where the run is durable; pulled one by one.
            max_concurrency: most items open at once.
            name: what results are found under; the function's own name if left out.
            version: change it when the function now means something else.
            on_halt: what happens to later items when one fails: `finish` or `cancel`.
            min_success: failures do not halt; at least so many items must succeed. Failed ones are `ItemError`s in
                the list.
            timeout: seconds for one try of one item.
            retry: which failures are tried again.
            lanes: lanes that each item holds.
            isolate: see `function`.
            codec: for results that are not JSON.
            reserve: what one try uses of the run's budget at most, by kind; it counts in full. One call where the
                run has a ceiling on calls.

        Cancelled, running items are cancelled and nothing that has ended is lost. An exception that is no failure
        of an item (`items` raised it, or SystemExit and its like) cancels the items and is raised as it is.

        Passes on FanOutError: an item failed, or fewer than `min_success` succeeded.
        Passes on ValueError and TypeError: an option is out of its range, or of the wrong kind.
        Passes on BakeoffError: the run is over, or has no such lane.
        """
        options = CallOptions(
            max_concurrency, name, version, on_halt, min_success, timeout, retry,
            lanes if isinstance(lanes, (str, Mapping)) else tuple(lanes), isolate, codec, reserve,
        )  # fmt: skip
        self._check_open()
        options.check(
            function, items, durable=keeps(self.run), lanes=self.run.lanes.sizes, ceilings=self.run.budget.ceilings
        )
        call = _Call(self.run, self._workers, function, options, next(self._numbers))
        async with self.joined():
            return await self._ends(call, items)

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[Run]:
        """The engine's run, for work that is built on it.

        The work is cancelled when the run is over. An item of the same run in which this is called holds no place
        meanwhile.

        Passes on BakeoffError: the run is over.
        """
        self._check_open()
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                async with waiting(self.run):
                    yield self.run
            finally:
                self._calls.discard(scope)
        if scope.cancelled_caught:
            self._check_open()

    async def _ends(self, call: _Call, items: Iterable[Any]) -> list[Any]:
        least, title = call.options.min_success, call.name
        try:
            ends = await fan_out_items(
                items,
                call.item,
                bound=call.options.max_concurrency,
                halts=(lambda end: isinstance(end, ItemError)) if least is None else (lambda _: False),
                on_halt=call.options.on_halt,
            )
        except ExceptionGroup as group:
            raise the_failure(group) or group from group
        await call.commit_queue.drained()
        if least is None:
            if ends and isinstance(ends[-1], ItemError):
                raise FanOutError(f"{title}: {ends[-1]}", ends) from call.raised.get(ends[-1].index)
        elif (good := sum(not isinstance(end, ItemError) for end in ends)) < least:
            raise FanOutError(f"{title}: {good} of {len(ends)} items succeeded, {least} were asked for", ends)
        return ends

    async def call(self, function: Callable[[Any], Any], item: Any = None, **options: Any) -> Any:
        """One item of a fan-out: `function(item)`, durable under the same rules; options as for `fan_out`.

        Passes on FanOutError: it failed.
        """
        return (await self.fan_out(function, [item], max_concurrency=1, **options))[0]

    def _check_open(self) -> None:
        if self.closed:
            raise BakeoffError("this run is over: `durable` has returned; call it again with the run's name")

    async def _close(self) -> None:
        """Closing: what is still waiting in a task of its own would wait for ever; and workers end with the run."""
        self.closed = True
        for scope in tuple(self._calls):
            scope.cancel()
        await self._workers.close()


def keeps(run: Run) -> bool:
    """Whether results of the run are found again."""
    return not isinstance(run.journal, NoJournal)


class _Call:
    """One function being fanned out."""

    def __init__(
        self, run: Run, workers: Workers, function: Callable[[Any], Any], options: CallOptions, number: int
    ) -> None:
        self.run, self.workers, self.function, self.options = run, workers, function, options
        self.name = options.title(function)
        # Where nothing is kept there is nothing to find again: every call of the run is another.
        self.place = f"{self.name}~{number}" if number else self.name
        self.lanes = tuple(options.lanes)
        self.amounts = options.amounts(run.budget.ceilings)
        self.commit_queue = CommitQueue(options.max_concurrency)
        self.durable = keeps(run)
        self.is_async = is_async(function)
        self.limiter = anyio.CapacityLimiter(options.max_concurrency)
        self.seen: dict[str, int] = {}
        self.raised: dict[int, BaseException] = {}
        self.prefix = hashlib.blake2b(f"{self.name}\0{options.version}\0".encode(), digest_size=12)

    async def item(self, index: int, item: Any) -> Any:
        """The item's result, or an `ItemError`."""
        path = self._path(index, item) if self.durable else f"{self.place}:{index}"
        fresh: list[Any] = []

        async def work(_: int) -> Outcome:
            leaf = HeldLeaf(self.run, self.lanes, self.amounts)
            token = CURRENT.set(leaf)
            try:
                value = await self._apply(item)
                if not self.durable:
                    fresh.append(value)
                    return _DONE
                data = self._encoded(value)
                fresh.append(value if data is value else self.options.codec.decode(data))
                return Outcome(output={"value": data})
            except BaseException as failure:
                self.raised[index] = failure
                raise
            finally:
                CURRENT.reset(token)
                leaf.end()

        record = await self.run.leaf(
            path,
            "call",
            work,
            lanes=self.lanes,
            retry=self.options.retry,
            timeout=self.options.timeout,
            reserve=self.amounts,
            commit_queue=self.commit_queue,
        )
        if record.status is not Status.COMPLETED:
            return ItemError(index, record)
        return fresh[-1] if fresh else self.options.codec.decode(record.output["value"])

    async def _apply(self, item: Any) -> Any:
        if self.is_async:
            return await self.function(item)
        if self.options.isolate:
            return await self.workers.call(self.function, item, limiter=self.limiter)
        result = await call_in_thread(
            self.function, item, limiter=self.limiter, left=lambda: warn_not_stopped(self.run.events, self.function)
        )
        return await result if inspect.isawaitable(result) else result

    def _encoded(self, value: Any) -> Any:
        codec = self.options.codec
        return codec.encode(value) if codec is JSON else JSON.encode(codec.encode(value))

    def _path(self, index: int, item: Any) -> str:
        """Where the item stands: by what it is, not by where it stood; equal items are told apart by ordinal."""
        text = argument_json(item, f"{self.name}, item {index}")
        whole = self.prefix.copy()
        whole.update(text.encode("utf-8", "surrogatepass"))
        path = f"{self.name}:{whole.hexdigest()}"
        ordinal = self.seen.get(path, 0)
        self.seen[path] = ordinal + 1
        return f"{path}:{ordinal}" if ordinal else path


_DONE = Outcome()


async def durable(
    main: Callable[[DurableRun], Awaitable[Value]],
    *,
    run: str | None = None,
    project: Path | str | None = None,
    max_parallel: int = DEFAULT_MAX_PARALLEL,
    lanes: Mapping[str, int] | None = None,
    budget: Mapping[str, float] | None = None,
    events: Events | None = None,
    catch_signals: bool = False,
) -> Value:
    """Run `main(open_run)`; with `run=` durably, so that calling again with the same name goes on where it stopped.

    Without a name nothing is written. A run is stored in `project` (this folder if left out) under
    `.bakeoff/runs`, and `bakeoff show`, `report` and `cancel` know it.

    Args:
        main: does its work through the handle it is given.
        run: the run's name.
        project: folder that holds `.bakeoff`.
        max_parallel: most leaves at once, over all nesting.
        lanes: further named capacities.
        budget: ceilings by kind (`usd`, `tokens`, `calls`).
        events: the stream of what happens.
        catch_signals: end in order on SIGINT and SIGTERM (main thread only).

    Cancelled, what has ended stays committed and the run is paused. What `main` raises is raised, and the run has
    failed; it can be resumed.

    Passes on RunBusyError: the run is owned by another caller.
    Passes on BakeoffError: it was made by another job, or was cancelled from outside, or there is no such project.
    Passes on ValueError and TypeError: an argument is out of its range, or of the wrong kind.
    """
    check_name(run)
    whole("max_parallel", max_parallel, 1)
    amounts("budget", budget)
    sizes = Lanes({**(lanes or {}), LEAVES: max_parallel})
    stream = events or Events()
    if run is None:
        open_run = Run(journal=NoJournal(), lanes=sizes, budget=Budget(budget or {}), events=stream)
        return await _Main(main)(open_run)
    config = SessionConfig(sizes, budget or {}, None, stream, catch_signals=catch_signals)
    with _opened(RunStore(project_folder(project)), run) as (folder, meta):
        return await _session(_Main(main), folder, meta, config)


class _Main(Generic[Value]):
    """The user's main function, and how it ended."""

    def __init__(self, function: Callable[[DurableRun], Awaitable[Value]]) -> None:
        self.function = function
        self.found: list[Value] = []
        self.raised: list[BaseException] = []

    async def __call__(self, run: Run) -> Value:
        handle = DurableRun(run)
        try:
            return await self.function(handle)
        finally:
            await handle._close()

    async def job(self, run: Run) -> Ending:
        """The same as the job of a session."""
        try:
            self.found.append(await self(run))
        except BaseException as failure:
            if is_cancel(failure):
                raise
            self.raised.append(failure)
            if isinstance(failure, Exception):
                raise
            # What would end the program ends the session in order first.
            status = RunStatus.PAUSED if isinstance(failure, KeyboardInterrupt) else RunStatus.FAILED
            return Ending(status, described(failure).rstrip(": "))
        return Ending(RunStatus.COMPLETED)


async def _session(main: _Main[Value], folder: RunFolder, meta: dict[str, Any] | None, config: SessionConfig) -> Value:
    try:
        ending = await run_session(folder, main.job, config, meta=meta)
    except Exception:
        if main.raised:  # as `main` raised it, not wrapped by the tasks around it
            raise main.raised[0] from main.raised[0].__cause__
        raise
    if main.raised:
        raise main.raised[0]
    if not main.found:
        raise BakeoffError(f"run {folder.id}: {ending.error}")
    return main.found[0]


@contextmanager
def _opened(store: RunStore, name: str) -> Iterator[tuple[RunFolder, dict[str, Any] | None]]:
    """The run's folder, and what it is where it is new. Until the end nobody else can open it here.

    Raises:
        RunBusyError: somebody else has it.
        BakeoffError: another job made a run of that name, or the name is malformed.
    """
    folder = RunFolder(store.runs / name)
    try:
        store.create(name)
    except BakeoffError:
        if folder not in list(store.all()):
            raise
    # The run's own lock is taken by its session; by then it must be settled whether the run is new.
    descriptor = os.open(folder.root / "opening", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder, _meta(folder)
    except BlockingIOError:
        raise RunBusyError(f"run {name} is being run by {folder.owner() or 'another caller'}") from None
    finally:
        os.close(descriptor)


def _meta(folder: RunFolder) -> dict[str, Any] | None:
    if folder.journal.exists():
        history = folder.history()
        job = history.meta.get("job")
        if job == JOB:
            return None
        if job or history.records or history.damaged:
            raise BakeoffError(f"run {folder.id} was made by another job ({job}); choose another name")
    return {"run_id": folder.id, "job": JOB, "created_at": SystemClock().wall()}


async def fan_out(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    run: str | DurableRun | None = None,
    project: Path | str | None = None,
    events: Events | None = None,
    **options: Any,
) -> list[Any]:
    """The results of `function(item)` for every item, in item order; options as for `DurableRun.fan_out`.

    Args:
        function: async or plain.
        items: what it is called with.
        run: a name makes it durable: calling again with it takes finished results from the run. An open run shares
            its bound and journal.
        project: folder that holds `.bakeoff`; this one if left out.
        events: the stream of what happens.
        options: see `DurableRun.fan_out`.

    Passes on FanOutError (an item failed) and what `durable` raises.

    Passes on ValueError: an option is out of its range.

    Raises:
        TypeError: an option is unknown or of the wrong kind.
    """
    if isinstance(run, DurableRun):
        if project is not None or events is not None:
            raise TypeError("an open run has its project and events already: give them to `durable`")
        return await run.fan_out(function, items, **options)
    check_name(run)
    checked = CallOptions.of(options, "run", "project", "events")
    checked.check(function, items, durable=run is not None, lanes=(LEAVES,), ceilings=())
    return await durable(
        lambda handle: handle.fan_out(function, items, **options),
        run=run,
        project=project,
        max_parallel=max(DEFAULT_MAX_PARALLEL, checked.max_concurrency),
        events=events,
    )
