"""Program of a reader process: one function of ours applied to bytes that somebody else wrote, at a time.

It gets a line of JSON that says where modules are found, then jobs: a line of JSON (`call`, `args`, `seconds`, `memory`
and `size`) and `size` bytes. It answers each with a line of JSON: `answer`, or `raised` with `said`. The kernel ends it
by a signal when a job takes too long, whatever it is doing then, and refuses it memory beyond its limit. Where the
kernel can, it also refuses to write a file, to read one that is no program or library, and to open a socket. It ends
itself when its standard input does, so it does not outlive the process that started it by more than one job.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

ANSWER = 32 << 20
"""Bytes of an answer."""

SYSTEM = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/proc/self/statm", "/dev/urandom", "/dev/null")
"""Places that Python and its libraries read."""

MACHINES = ("x86_64", "aarch64")
"""Those whose system calls are known."""

WAIT = 10.0
"""Factor of a job's processor time that it may last by the clock, on a machine that is busy."""


def answer(call: str, args: list[Any], data: bytes, memory: int) -> bytes:
    """The answer to one job, as a line of JSON; `memory` is how many bytes more than now it may have."""
    try:
        limit(resource.RLIMIT_AS, _held() + memory)
        module, _, name = call.partition(":")
        found = json.dumps({"answer": getattr(import_module(module), name)(data, *args)}).encode()
        if len(found) <= ANSWER:
            return found + b"\n"
        raised, said = "OverflowError", f"there is more in it than {ANSWER >> 20} MiB"
    except RecursionError:
        raised, said = "RecursionError", "it is nested too deeply"
    except MemoryError:
        raised, said = "MemoryError", f"reading it takes more than {memory >> 20} MiB of memory"
    except Exception as failure:
        raised, said = type(failure).__name__, str(failure)[:2000]
    return json.dumps({"raised": raised, "said": said}).encode() + b"\n"


def _held() -> int:
    """Bytes of address space that this process has."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def limit(what: int, most: int) -> None:
    """Let the kernel bound what this process may use, as far as it does that."""
    try:
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
    except (OSError, ValueError):  # as for address space on macOS
        pass


def confine(reads: list[str]) -> None:
    """Take from this process what reading bytes does not need, as far as this kernel can.

    Args:
        reads: files and folders that may be read and executed; nothing else, and nothing is written.
    """
    if not sys.platform.startswith("linux") or os.uname().machine not in MACHINES or sys.maxsize < 1 << 32:
        return
    from bakeoff.confine import filter, kernel, landlock

    with suppress(OSError):
        kernel.prctl(kernel.PR_NO_NEW_PRIVS, 1)
        with suppress(OSError):
            landlock.confine(reads, (), landlock.SIGNALS | landlock.ABSTRACT_SOCKETS)
        with suppress(OSError):
            kernel.drop_capabilities()
        kernel.filter_calls(filter.program((), keep_modes=True))


def main() -> None:
    """Be a reader process: confine it, then serve."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given = sys.stdin.buffer
    sys.path[:] = json.loads(given.readline() or b"[]")
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    confine([*sys.path, sys.prefix, sys.base_prefix, *libraries, *SYSTEM])
    serve(given, sys.stdout.buffer)


def serve(given: BinaryIO, taken: BinaryIO) -> None:
    """Answer the jobs that come until there are no more."""
    while line := given.readline():
        job = json.loads(line)
        data = given.read(job["size"])
        signal.setitimer(signal.ITIMER_PROF, job["seconds"])
        signal.setitimer(signal.ITIMER_REAL, job["seconds"] * WAIT)
        said = answer(job["call"], job["args"], data, job["memory"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        taken.write(said)
        taken.flush()


if __name__ == "__main__":
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    main()
