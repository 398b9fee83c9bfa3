"""Worker: a keeper, and the process below it that calls the user's functions.

The keeper is forked from before anything is imported. As the subreaper of its descendants, and being no place for the
user's code, it sees to it that everything a worker started ends with the worker, and the worker with the coordinator.
Calls and answers go over a socket that only the coordinator and the worker have: no child of the worker inherits it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

from bakeoff.errors import described
from bakeoff.process.proctable import adopt_orphans, die_with_parent, end_descendants

HEADER = struct.Struct("<QBQ")
"""Before each call and answer: the call's number, what follows (`CALL`, ...), and its length in bytes."""
CALL, RESULT, RAISED = range(1, 4)
STATUS = struct.Struct("<i")
"""What a keeper says last: the worker's exit status (negative: the signal), or `ENDED`."""
ENDED = 1 << 16
"""The worker did not end by itself."""

CAUSES = 16
"""Most exceptions of a chain of causes that are sent."""
PERIOD = 200
"""Milliseconds between two looks at whether the parent lives, where there is no pidfd."""


def main() -> None:
    """Be a worker of the coordinator whose sockets and, where there is such a thing, pidfd the arguments name."""
    link, leash, *parent = (int(word) for word in sys.argv[1:])
    for fd in (link, leash, *parent):
        os.set_inheritable(fd, False)
    adopt_orphans()
    keeper = os.getpid()
    worker = os.fork()
    if worker:
        os.close(link)
        keep(worker, leash, parent)
        return
    for fd in (leash, *parent):
        os.close(fd)
    die_with_parent()
    os.setsid()
    if os.getppid() == keeper:
        serve(link)


# The keeper.


def keep(worker: int, leash: int, parent: Sequence[int]) -> None:
    """Wait until the worker ends, or the coordinator lets go of the leash or dies; then kill all below this process."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    wake, wake_end = os.pipe()
    for fd in (wake, wake_end):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    coordinator = os.getppid()
    poll = select.poll()
    for fd in (leash, wake, *parent):
        poll.register(fd, select.POLLIN)
    while (status := _reaped(worker)) is None and (parent or os.getppid() == coordinator):
        ready = {fd for fd, _ in poll.poll(None if parent else PERIOD)}
        if ready - {wake}:
            break
        if ready:
            os.read(wake, 4096)
    end_descendants([-worker])
    try:
        os.write(leash, STATUS.pack(ENDED if status is None else status))
    except OSError:
        pass  # nobody is there to hear it


def _reaped(worker: int) -> int | None:
    """The worker's exit status if it has ended; orphans that came to this process are reaped, too."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == worker:
            return os.waitstatus_to_exitcode(status)
        if not pid:
            return None


# The worker.


def serve(link: int) -> None:
    """Answer calls until the coordinator is gone."""
    me = os.getpid()
    # A fork of the worker is not the worker: it has no say here, and must not hold the socket open.
    os.register_at_fork(after_in_child=lambda: _close(link))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    while (call := _received(link)) is not None:
        number, body = call
        kind, answer = answer_to(body)
        _flush()
        if os.getpid() != me:
            os._exit(0)  # a fork that came back out of the function
        try:
            _send(link, HEADER.pack(number, kind, len(answer)))
            _send(link, answer)
        except OSError:
            return  # the coordinator is gone, or the function closed what is not its own


def prepare(path: list[str], argv: list[str], main: str | None) -> None:
    """Look like the coordinator: its path, its arguments, and its main module, as `__mp_main__`.

    Passes on whatever the main module raises.
    """
    sys.path[:], sys.argv[:] = path, argv
    # Whoever starts a fan-out while the main module is being imported is told by this what is wrong.
    del sys.modules["__main__"]
    if main is not None and os.path.isfile(main):
        import runpy
        from types import ModuleType

        module = ModuleType("__mp_main__")
        module.__dict__.update(runpy.run_path(main, run_name="__mp_main__"))
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def answer_to(body: bytes) -> tuple[int, bytes]:
    """Answer to the call in `body`: the kind, and a pickle of the result or of what was raised."""
    try:
        return RESULT, _result(body)
    except BaseException as failure:
        return RAISED, _raised(failure)


def _result(body: bytes) -> bytes:
    function: Callable[..., Any]
    try:
        function, args = pickle.loads(body)  # noqa: S301  (the coordinator's)
    except Exception as failure:
        raise TypeError(f"the worker process cannot unpickle what it is to call: {described(failure)}") from failure
    result = function(*args)
    try:
        return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as failure:
        raise TypeError(f"the result cannot be pickled: {described(failure)}") from failure


def _raised(failure: BaseException) -> bytes:
    """The exception, those that caused it, and the traceback."""
    import traceback

    chain: list[BaseException] = []
    cause: BaseException | None = failure
    while cause is not None and len(chain) < CAUSES:
        chain.append(_portable(cause))
        cause = cause.__cause__
    return pickle.dumps((chain, "".join(traceback.format_exception(failure))), pickle.HIGHEST_PROTOCOL)


def _portable(failure: BaseException) -> BaseException:
    """The exception if it survives pickling, else one that says the same."""
    try:
        if type(pickle.loads(pickle.dumps(failure))) is type(failure):  # noqa: S301  (its own)
            return failure
        why = "it comes back as something else"
    except Exception as second:
        why = described(second)
    return RuntimeError(f"{described(failure)} (this exception cannot be pickled: {why})")


def _received(link: int) -> tuple[int, bytes] | None:
    head = _read(link, HEADER.size)
    if head is None:
        return None
    number, _, length = HEADER.unpack(head)
    body = _read(link, length)
    return None if body is None else (number, body)


def _read(link: int, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = os.read(link, min(length - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _send(link: int, data: bytes) -> None:
    with memoryview(data) as rest:
        sent = 0
        while sent < len(rest):
            sent += os.write(link, rest[sent : sent + (1 << 20)])


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the function closed or replaced it


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass
