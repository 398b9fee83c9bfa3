"""Starts one process with pipes for its output, in a session of its own. It imports what is quick to import only."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import: it makes enumerations
import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

DEFAULTED = tuple(
    getattr(_signal, f"SIG{name}")
    for name in ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT", "CHLD", "TSTP", "TTIN", "TTOU")
)
"""Signals that Python or the supervisor ignores and a command must not inherit so."""

NICER = 10
"""By how much the niceness of a command is above that of what starts it: whatever it burns, its output is read, time
limits are kept and a cancellation reaches it at once, and the user's own programs go first."""


class CannotStart(Exception):
    """A process could not be started: `errno`, and `where` (`cwd` or `program`)."""

    def __init__(self, number: int, where: str) -> None:
        super().__init__(number, where)
        self.errno = number
        self.where = where


def launch(
    argv: list[bytes], cwd: bytes, env: dict[bytes, bytes], stdin: int, fork: tuple[str, int] | None = None
) -> tuple[int, int, int]:
    """Start `argv`; its pid and the reading ends, non-blocking, of its standard output and error.

    `posix_spawn` takes no directory, so this process goes there for the moment. `fork`: see `Command`.

    Raises:
        CannotStart: with the system's reason; EINVAL for NUL bytes.
    """
    descriptors: list[int] = []
    where = "cwd"
    try:
        os.chdir(cwd)
        where = "program"
        program = argv[0] if b"/" in argv[0] else locate(argv[0], env.get(b"PATH", os.defpath.encode()))
        descriptors += os.pipe()
        descriptors += os.pipe()
        out, out_end, err, err_end = descriptors
        actions = [(os.POSIX_SPAWN_DUP2, out_end, 1), (os.POSIX_SPAWN_DUP2, err_end, 2)]
        if stdin:
            actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))
        if fork is not None:
            pid = _forked(fork, argv, env, (stdin, out_end, err_end))
        else:
            pid = os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=DEFAULTED
            )
    except (OSError, ValueError, IndexError) as failure:
        for fd in descriptors:
            os.close(fd)
        raise CannotStart(getattr(failure, "errno", None) or errno.EINVAL, where) from failure
    finally:
        os.chdir("/")  # or the command's directory could not be unmounted
    _be_nice(pid)
    os.close(out_end)
    os.close(err_end)
    os.set_blocking(out, False)
    os.set_blocking(err, False)
    return pid, out, err


def _be_nice(pid: int) -> None:
    """Lower the priority of a process and of its session: Linux may share processors out among sessions first."""
    niceness = min(os.getpriority(os.PRIO_PROCESS, 0) + NICER, 19)
    try:
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        with open(f"/proc/{pid}/autogroup", "w") as group:
            group.write(str(niceness))
    except OSError:
        pass


def _forked(fork: tuple[str, int], argv: list[bytes], env: dict[bytes, bytes], streams: tuple[int, int, int]) -> int:
    """Call the function in a child of this process; the child's pid. This process has one thread, so that it may."""
    module, _, name = fork[0].partition(":")
    __import__(module)
    function = getattr(sys.modules[module], name)
    pid = os.fork()
    if pid == 0:
        _be_child(function, argv[fork[1] :], env, streams)
    return pid


def _be_child(
    function: Callable[[list[bytes], dict[bytes, bytes]], None],
    arguments: list[bytes],
    env: dict[bytes, bytes],
    streams: tuple[int, int, int],
) -> NoReturn:  # pragma: no cover - nothing can measure what ends by _exit
    """Child side of a fork: what `posix_spawn` would do, and then the function."""
    try:
        _signal.set_wakeup_fd(-1)
        for number in DEFAULTED:
            _signal.signal(number, _signal.SIG_DFL)
        os.setsid()
        for descriptor, standard in zip(streams, (0, 1, 2), strict=True):
            os.dup2(descriptor, standard)
        for name in os.listdir("/dev/fd"):  # else other commands' pipes would stay open with this one
            if int(name) > 2:
                try:
                    os.close(int(name))
                except OSError:
                    pass
        function(arguments, env)
    except BaseException as failure:
        os.write(2, f"{failure!r}\n".encode(errors="replace"))
    finally:
        os._exit(125)


def locate(program: bytes, path: bytes) -> bytes:
    """The file that `program` names on `path`, as a shell finds it.

    Raises:
        OSError: there is none (ENOENT), or one that may not be executed (EACCES).
    """
    failure = errno.ENOENT
    for directory in path.split(b":"):
        file = os.path.join(directory or b".", program)
        if os.path.isfile(file):
            if os.access(file, os.X_OK):
                return file
            failure = errno.EACCES
    raise OSError(failure, os.strerror(failure))
