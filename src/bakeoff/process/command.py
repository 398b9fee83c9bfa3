"""Running a process: the command, how it ended, what it printed. `spawner` does the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ECHILD
from typing import Protocol

from bakeoff.engine.record import Stored


@dataclass(frozen=True, slots=True)
class Command:
    """One process to run in a session of its own.

    Attributes:
        argv: program and arguments; no shell is involved unless it is the program.
        cwd: the directory it starts in.
        env: variables set on top of the spawner's base environment; None removes one.
        log: path prefix for output kept in files (`log + ".out"`, `log + ".err"`), made on need; without one
            output stands in memory only, and 16 MB of one stream end the process tree.
        timeout: seconds from the moment the process exists; None for no limit.
        grace: seconds between TERM and KILL when it is ended early.
        inherit_stdin: give it the coordinator's standard input instead of nothing.
        live: write output to the log file from the first byte (long work that people watch).
        lossy: output that cannot be kept in its file ends nothing; what there is in memory is then all that is kept.
        on_stdout: called with each piece of standard output, masked, as it comes.
        output_limit: bytes of one stream after which the process tree is ended.
        fork: for a Python program of bakeoff's that is started often: a function that does what `argv` does, as
            `module:name`, and how many words of `argv` are not its arguments. It may then be called, with the arguments
            and the environment, in a fork of the process that starts commands, and must not return. The module imports
            the standard library only.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str | None] = field(default_factory=dict)
    log: str | None = None
    timeout: float | None = None
    grace: float = 5.0
    inherit_stdin: bool = False
    live: bool = False
    lossy: bool = False
    on_stdout: Callable[[bytes], None] | None = None
    output_limit: int = 1 << 30
    fork: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One stream of a finished process.

    Attributes:
        value: the text, decoded as UTF-8 with replacement, or `Stored` where it outgrew `INLINE_LIMIT`.
        size: bytes printed.
        path: file with the raw bytes, where there is one; always when they were not valid UTF-8.
    """

    value: str | Stored
    size: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of a finished process. `exit_code` is -N after death by signal N, and -1 after a timeout.

    Attributes:
        exit_code: the exit status.
        stdout: its standard output.
        stderr: its standard error.
        seconds: from the moment the process existed to its end, by a monotonic clock.
        ended_by: why it was ended early: `timeout`, `output-limit`, `log` (its output could not be kept),
            `kill` (the user would not wait); None when it ended itself. `exit_code` is not 0 then.
        message: what went wrong, for a person, where `ended_by` alone does not tell (`log`).
    """

    exit_code: int
    stdout: Output
    stderr: Output
    seconds: float
    ended_by: str | None = None
    message: str | None = None


class SpawnError(Exception):
    """The process could not be started.

    Attributes:
        errno: the system's error number; ECHILD where it was started and lost.
        transient: whether trying again may help (process table or memory full).
    """

    def __init__(self, message: str, errno: int, transient: bool) -> None:
        super().__init__(message)
        self.errno = errno
        self.transient = transient

    @property
    def lost(self) -> bool:
        """Whether it may have been started all the same: who looked after it died."""
        return self.errno == ECHILD


class Processes(Protocol):
    """Runs commands; simulation puts its own in place of the real one."""

    async def run(self, command: Command) -> Finished:
        """Run `command` to its end.

        Cancelled, it sends TERM to the process tree, KILL after the grace time, and returns to the
        canceller only when the tree is gone.

        Raises:
            SpawnError: the process could not be started.
        """
        ...
