"""The program that calls the code under test: arguments in, plain JSON results out. Run by its path.

It knows nothing of what is expected, so nothing that the code does to it, or prints, is a verdict: it can only change
which results are reported. `python_tests` compares them, in another process.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

READY = {"ready": True}
"""The first line, before any of the code runs: what goes wrong from here on is the code's own fault."""
SAID = 200
"""Characters of an exception's message."""


def outcomes(source: str, function: str, calls: list[list[Any]]) -> Iterator[dict[str, Any]]:
    """One outcome a call: `value`; `raised`, what the call raised; or `odd`, why its result is no plain JSON.

    Code that cannot be loaded gives one outcome, `broken`.
    """
    names: dict[str, Any] = {"__name__": "candidate"}
    try:
        exec(compile(source, "<candidate>", "exec"), names)  # noqa: S102 - this process is there for it
    except BaseException as failure:
        yield {"broken": said(failure)}
        return
    if function not in names:
        yield {"broken": f"it defines no {function}"}
        return
    target = names[function]
    for arguments in calls:
        try:
            value = target(*arguments)
        except BaseException as failure:
            yield {"raised": said(failure)}
            continue
        try:
            check_plain(value)
            json.dumps(value)
        except BaseException as failure:
            yield {"odd": said(failure)}
        else:
            yield {"value": value}


def check_plain(value: Any) -> None:
    """See to it that a value is JSON to the letter: a subclass of int may call itself equal to anything.

    Raises:
        TypeError: it is not.
    """
    kind = type(value)
    if kind is list:
        for part in value:
            check_plain(part)
    elif kind is dict:
        for name, part in value.items():
            if type(name) is not str:
                raise TypeError(f"a key is a {type(name).__name__}")
            check_plain(part)
    elif kind is float:
        if not math.isfinite(value):
            raise TypeError(f"it is {value}")
    elif kind not in (str, int, bool, type(None)):
        raise TypeError(f"it is a {kind.__name__}")


def said(failure: BaseException) -> str:
    """An exception as text, also one that refuses to be."""
    try:
        return f"{type(failure).__name__}: {failure}"[:SAID]
    except BaseException:
        return "an exception that cannot be shown"


def restrict(cpu: int, memory: int) -> None:
    """Limit this process: seconds of processor time, bytes of memory. It writes no file.

    It starts no process or thread either, unless it is root's: the kernel does not count those.
    """
    limits = {
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_NPROC: 0,
    }
    for name, amount in limits.items():
        try:
            resource.setrlimit(name, (amount, amount))
        except (ValueError, OSError):  # macOS knows some of them by name only; the timeout holds everywhere
            continue


def main(pieces: list[str]) -> None:
    """Do the job that the pieces are the JSON of, then end without a further step of the code."""
    job = json.loads("".join(pieces))
    out = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)  # what the code prints is nobody's concern
    restrict(job["cpu"], job["memory"])
    write(out, READY)
    for outcome in outcomes(job["source"], job["function"], job["calls"]):
        write(out, outcome)
    os._exit(0)


def write(out: int, line: dict[str, Any]) -> None:
    """Write a line of JSON, all of it."""
    data = json.dumps(line).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]


if __name__ == "__main__":
    main(sys.argv[1:])
