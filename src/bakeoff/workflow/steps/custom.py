"""Custom step types: what they are handed and what they may return."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from bakeoff.engine.record import Outcome
from bakeoff.errors import BakeoffError
from bakeoff.process.command import Command, Finished
from bakeoff.system.named_files import NAMED_LIMIT, read_exactly
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.models import Interpolated, StepModel, marked
from bakeoff.workflow.steps.leaf import Leaf
from bakeoff.workflow.steps.shell import log_prefix, step_environment, working_directory
from bakeoff.workflow.values import plain
from bakeoff.workspace.files import RefusedError, open_regular, write_regular


@dataclass(frozen=True, slots=True)
class StepContext:
    """Context of a custom step. One serves one try of one step.

    Attributes:
        path: where the step stands in the run.
        values: the step's interpolated fields, evaluated, by name.
        attempt: which try this is, from 1.
        cwd: the folder to work in, absolute. With `workspace: slot` it lies below `/proc/PID/root`, and a path that is
            made real (`Path.resolve`, `os.path.realpath`), or a link to an absolute path, leads out of the slot into
            the user's own files: use `read`, `write` and `process`.
        env: variables to set for what it starts.
        run_id: the run.
        inputs: the workflow's inputs.
    """

    path: str
    values: Mapping[str, Any]
    attempt: int
    cwd: str
    env: Mapping[str, str | None]
    run_id: str
    inputs: Mapping[str, Any]
    _node: NodeContext

    def lookup(self, root: str) -> Any:
        """The value of a name that expressions may use (`steps`, `item`, ...); None when unknown."""
        return self._node.scope.lookup(root)

    def read(self, path: str | os.PathLike[str], limit: int = NAMED_LIMIT) -> bytes:
        """The content of a file in the folder that the step works in: its slot, or the project. It blocks.

        `path` is relative to `cwd`; no link is followed, so nothing outside of that folder is ever read.

        Raises:
            BakeoffError: it lies outside, the way to it is a link, or it is no regular file of at most `limit` bytes.

        Passes on FileNotFoundError: it is not there.
        """
        top, inside = self._inside(path)
        try:
            with open_regular(top, inside, limit) as (descriptor, found):
                return read_exactly(descriptor, found.st_size)
        except RefusedError as failure:
            raise BakeoffError(f"{path} cannot be read: {failure}") from None

    def write(self, path: str | os.PathLike[str], data: bytes) -> None:
        """Write a file atomically in the folder that the step works in: its slot, or the project. It blocks.

        `path` is relative to `cwd`; folders that are not there are made; no link is followed, so nothing outside of
        that folder is ever written.

        Raises:
            BakeoffError: it lies outside, the way to it or what stands there is a link, or it cannot be written.
        """
        top, inside = self._inside(path)
        try:
            write_regular(top, inside, data)
        except RefusedError as failure:
            raise BakeoffError(f"{path} cannot be written: {failure}") from None
        except OSError as failure:
            raise BakeoffError(f"{path} cannot be written: {failure.strerror}") from failure

    def _inside(self, path: str | os.PathLike[str]) -> tuple[Path, bytes]:
        """The folder that the step works in, and a path below it.

        Raises:
            BakeoffError: the path leads out of that folder.
        """
        run_context = self._node.run_context
        whole = os.path.normpath(os.path.join(self.cwd, path))
        folders = (run_context.slot,) if run_context.slot is not None else (run_context.project, self.cwd)
        for folder in map(os.path.normpath, folders):
            if whole.startswith(f"{folder}/"):
                return Path(folder), os.fsencode(os.path.relpath(whole, folder))
        raise BakeoffError(f"{path} lies outside of {folders[0]}, where the step works")

    async def process(self, *argv: str, timeout: float | None = None) -> Finished:
        """Run a program where the step works; it dies with the run.

        Cancelled, it ends the process tree first. Passes on SpawnError: it could not be started.
        """
        run_context = self._node.run_context
        return await run_context.processes.run(
            Command(
                argv=argv,
                cwd=self.cwd,
                env=self.env,
                log=log_prefix(self._node),
                timeout=timeout,
                grace=run_context.settings.grace,
            )
        )


def prepare(node_context: NodeContext) -> Leaf:
    """The work of a custom step: its `run`, awaited, or called in a thread where it is a plain function.

    A thread cannot be stopped: cancelled, the run goes on without it and says so.

    Passes on ExpressionError: a field cannot be evaluated.
    """
    step = node_context.step
    kind = node_context.run_context.step_types.custom(step.type)
    assert kind is not None  # validation knows every type
    values = {}
    for name, _, _ in marked(kind.model, Interpolated):
        written = getattr(step, name)
        if name not in _COMMON and written is not None:
            whole = node_context.values(name) if isinstance(written, (dict, list)) else node_context.value(name)
            values[name] = list(whole.values()) if isinstance(written, list) else whole

    async def work(attempt: int) -> Outcome:
        context = StepContext(
            node_context.path,
            values,
            attempt,
            working_directory(node_context),
            step_environment(node_context),
            node_context.run.root.name,
            node_context.run_context.inputs,
            node_context,
        )
        if inspect.iscoroutinefunction(kind.run):
            returned = await kind.run(step, context)
        else:
            call = functools.partial(kind.run, step, context)
            returned = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            if isinstance(returned, Awaitable):
                returned = await returned
        return _outcome(returned, values)

    plain_fields = {name: value for name, value in step.raw.items() if name not in _COMMON}
    return Leaf({**plain_fields, **plain(values)}, work, timeout=step.timeout)


_COMMON = frozenset(StepModel.model_fields)
"""Fields that every step has; the rest are the type's own."""


def _outcome(returned: Any, values: Mapping[str, Any]) -> Outcome:
    if isinstance(returned, Outcome):
        returned.input = returned.input or values
        return returned
    if returned is None:
        return Outcome(input=values)
    if isinstance(returned, Mapping):
        return Outcome(output=dict(returned), input=values)
    raise TypeError(f"a step returns an Outcome, a mapping or None, not {type(returned).__name__}")
