"""Runs calls of a function and times its lines. In the interpreter of the user's project: standard library alone.

`python inside.py JOB` prints one JSON object on standard output: lines as [number, hits, nanoseconds], or an error.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any


class Lines:
    """A trace function that counts and times the lines of some code; what these call counts for the calling line."""

    def __init__(self, codes: set[CodeType]) -> None:
        self.codes = codes
        self.hits: dict[int, int] = {}
        self.spent: dict[int, int] = {}
        self.open: dict[int, tuple[int, int]] = {}

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """For `sys.settrace`."""
        return self._line if frame.f_code in self.codes else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        now = time.perf_counter_ns()
        at = self.open.pop(id(frame), None)
        if at is not None:
            self.spent[at[0]] = self.spent.get(at[0], 0) + now - at[1]
        if event == "line":
            self.hits[frame.f_lineno] = self.hits.get(frame.f_lineno, 0) + 1
        if event in ("line", "exception"):
            self.open[id(frame)] = frame.f_lineno, time.perf_counter_ns()
        return self._line


def _codec(folder: str) -> Any:
    spec = importlib.util.spec_from_file_location(
        "_bakeoff_codec", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _found(module: Any, qualname: str) -> Any:
    owner, found = None, module
    for name in qualname.split("."):
        owner, found = found, inspect.getattr_static(found, name)
    if isinstance(found, staticmethod | classmethod):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    callable_ = getattr(owner, qualname.rpartition(".")[2]) if owner is module else found
    return callable_, inspect.unwrap(found)


def _codes(code: CodeType) -> set[CodeType]:
    found = {code}
    for constant in code.co_consts:
        if inspect.iscode(constant):
            found |= _codes(constant)
    return found


def profile(job: dict[str, Any]) -> list[list[int]]:
    """Profile the function as `job` says."""
    codec = _codec(job["codec"])
    sys.path[:0] = job["path"]
    call, plain = _found(importlib.import_module(job["module"]), job["qualname"])
    lines = Lines(_codes(plain.__code__))
    until = time.monotonic() + job["seconds"]
    for data in job["calls"]:
        arguments, keywords = codec.decode(bytes.fromhex(data))
        sys.settrace(lines.trace)
        try:
            result = call(*arguments, **keywords)
            if job["is_async"]:
                asyncio.run(result)
            elif inspect.isgenerator(result):
                for _ in result:
                    pass
        except Exception:  # noqa: S110 - it is timed all the same
            pass
        finally:
            sys.settrace(None)
        if time.monotonic() > until:
            break
    return [[line, hits, lines.spent.get(line, 0)] for line, hits in sorted(lines.hits.items())]


def main(path: str) -> None:
    """Print what was asked for, past whatever the code itself prints."""
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with open(path) as file:
        job = json.load(file)
    answer: dict[str, Any]
    try:
        answer = {"lines": profile(job)}
    except BaseException as failure:
        answer = {"error": f"{type(failure).__name__}: {failure}"}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(out, data) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
