"""The Python API: fan a function out over items under one bound, durably if a run is named.

The same bound, order, halt, resume and cancel as in workflows, without YAML.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from bakeoff.engine.blocking import call_blocking
from bakeoff.engine.clock import SystemClock
from bakeoff.engine.codec import JSON, Codec, argument_json
from bakeoff.engine.errors import BakeoffError, the_failure
from bakeoff.engine.events import Events
from bakeoff.engine.fan_out import fan_out as fan_out_items
from bakeoff.engine.journal import Backlog, NoJournal
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.record import Outcome, Record, RunStatus, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.engine.run import DEFAULT_MAX_PARALLEL, Run
from bakeoff.engine.session import Ending, Terms, run_session
from bakeoff.engine.store import RunFolder, RunStore

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
    ) -> list[Any]:
        """The results of `function(item)` for every item, in item order, at most `max_concurrency` at once.

        A result that an earlier session of the run committed is taken from there: it is found by `name`, the
        item's JSON and `version`. A failed item is tried again when the run is resumed.

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

        Cancelled, running items are cancelled and nothing that has ended is lost.

        Raises:
            FanOutError: an item failed, or fewer than `min_success` succeeded.
            ValueError: a bound of less than 1, or an unknown `on_halt`.
        """
        if on_halt not in ("finish", "cancel"):
            raise ValueError(f"on_halt is finish or cancel, not {on_halt!r}")
        title = str(name or getattr(function, "__qualname__", type(function).__name__))
        call = _Call(self.run, function, title, version, max_concurrency, timeout, retry, tuple(lanes), isolate, codec)
        try:
            ends = await fan_out_items(
                items,
                call.item,
                bound=max_concurrency,
                halts=(lambda end: isinstance(end, ItemError)) if min_success is None else (lambda _: False),
                on_halt=on_halt,
            )
        except ExceptionGroup as group:
            raise the_failure(group) or group from group
        await call.backlog.drained()
        if min_success is None:
            if ends and isinstance(ends[-1], ItemError):
                raise FanOutError(f"{title}: {ends[-1]}", ends) from call.raised.get(ends[-1].index)
        elif (good := sum(not isinstance(end, ItemError) for end in ends)) < min_success:
            raise FanOutError(f"{title}: {good} of {len(ends)} items succeeded, {min_success} were asked for", ends)
        return ends

    async def call(self, function: Callable[[Any], Any], item: Any = None, **options: Any) -> Any:
        """One item of a fan-out: `function(item)`, durable under the same rules; options as for `fan_out`.

        Passes on FanOutError: it failed.
        """
        return (await self.fan_out(function, [item], max_concurrency=1, **options))[0]


class _Call:
    """One function being fanned out."""

    def __init__(
        self,
        run: Run,
        function: Callable[[Any], Any],
        name: str,
        version: str,
        bound: int,
        timeout: float | None,
        retry: Retry,
        lanes: tuple[str, ...],
        isolate: bool,
        codec: Codec,
    ) -> None:
        self.run, self.function, self.name, self.version = run, function, name, version
        self.timeout, self.retry, self.lanes, self.isolate, self.codec = timeout, retry, lanes, isolate, codec
        self.backlog = Backlog(max(1, bound))
        self.durable = not isinstance(run.journal, NoJournal)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  (an object may be async to call)
        )
        self.limiter = anyio.CapacityLimiter(max(1, bound))
        self.seen: dict[str, int] = {}
        self.raised: dict[int, BaseException] = {}
        self.prefix = hashlib.blake2b(f"{name}\0{version}\0".encode(), digest_size=12)

    async def item(self, index: int, item: Any) -> Any:
        """The item's result, or an `ItemError`."""
        path = self._path(index, item) if self.durable else f"{self.name}:{index}"
        fresh: list[Any] = []

        async def work(_: int) -> Outcome:
            try:
                value = await self._apply(item)
                data = self.codec.encode(value)
            except Exception as failure:
                self.raised[index] = failure
                raise
            fresh.append(value if data is value else self.codec.decode(data))
            return Outcome(output={"value": data})

        async def plain(_: int) -> Outcome:
            fresh.append(await self._apply(item))
            return _DONE

        record = await self.run.leaf(
            path,
            "call",
            work if self.durable else plain,
            lanes=self.lanes,
            retry=self.retry,
            timeout=self.timeout,
            backlog=self.backlog,
        )
        if record.status is not Status.COMPLETED:
            return ItemError(index, record)
        return fresh[-1] if fresh else self.codec.decode(record.output["value"])

    async def _apply(self, item: Any) -> Any:
        if self.is_async:
            return await self.function(item)
        result = await call_blocking(
            self.function, item, isolate=self.isolate, limiter=self.limiter, events=self.run.events
        )
        return await result if inspect.isawaitable(result) else result

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

    Raises:
        BakeoffError: the run is owned by another process, was made by another job, or was cancelled from outside.
    """
    sizes = Lanes({**(lanes or {}), LEAVES: max_parallel})
    stream = events or Events()
    if run is None:
        return await main(DurableRun(Run(journal=NoJournal(), lanes=sizes, events=stream)))
    store = RunStore(Path(project or ".").absolute())
    folder, meta = _open(store, run)
    found: list[Value] = []

    async def job(open_run: Run) -> Ending:
        found.append(await main(DurableRun(open_run)))
        return Ending(RunStatus.COMPLETED)

    terms = Terms(sizes, budget or {}, None, stream, catch_signals=catch_signals)
    raised: list[Exception] = []

    async def guarded(open_run: Run) -> Ending:
        try:
            return await job(open_run)
        except Exception as failure:
            raised.append(failure)
            raise

    try:
        ending = await run_session(folder, guarded, terms, meta=meta)
    except Exception:
        if raised:  # as `main` raised it, not wrapped by the tasks around it
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]
    if not found:
        raise BakeoffError(f"run {run}: {ending.error}")
    return found[0]


def _open(store: RunStore, name: str) -> tuple[RunFolder, dict[str, Any] | None]:
    """The run's folder, and what it is where it is new.

    Raises:
        BakeoffError: another job made a run of that name.
    """
    folder = RunFolder(store.runs / name)
    if not folder.journal.exists():
        if folder.root.is_dir():  # its making was cut short before anything was done
            folder.delete()
        folder = store.create(name)
        return folder, {"run_id": name, "job": JOB, "created_at": SystemClock().wall()}
    meta = folder.history().meta
    if meta.get("job") != JOB:
        raise BakeoffError(f"run {name} was made by another job ({meta.get('job')}); choose another name")
    return folder, None


async def fan_out(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    *,
    run: str | DurableRun | None = None,
    project: Path | str | None = None,
    **options: Any,
) -> list[Any]:
    """The results of `function(item)` for every item, in item order; options as for `DurableRun.fan_out`.

    Args:
        function: async or plain.
        items: what it is called with.
        run: a name makes it durable: calling again with it takes finished results from the run. An open run shares
            its bound and journal.
        project: folder that holds `.bakeoff`; this one if left out.
        options: see `DurableRun.fan_out`.

    Passes on FanOutError (an item failed) and what `durable` raises.
    """
    if isinstance(run, DurableRun):
        return await run.fan_out(function, items, **options)
    limit = max(DEFAULT_MAX_PARALLEL, options.get("max_concurrency", 1))
    return await durable(
        lambda handle: handle.fan_out(function, items, **options), run=run, project=project, max_parallel=limit
    )
