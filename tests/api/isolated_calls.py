"""What tests of isolated calls have workers do; it imports little, since every worker imports it."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bakeoff.api.worker import HEADER, RESULT


def with_noisy_child(number: int) -> int:
    subprocess.run(["git", "--version"], check=True)
    return number


def with_raw_output(number: int) -> int:
    os.write(1, b"EXCEPTION 3\nabc\n")
    os.write(2, b"err\n")
    return number


class Touch:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)


def with_forging_child(number: int) -> int:
    for data in (pickle.dumps(999), pickle.dumps(Touch("forged"))):
        forged = b"RETURN %d\n%b" % (len(data), data)
        program = f"import os, sys\nfor fd in range(64):\n try: os.write(fd, {forged!r})\n except OSError: pass"
        subprocess.run([sys.executable, "-c", program], check=True)
    return number


def with_reading_child(number: int) -> int:
    subprocess.run(["cat"], check=True, timeout=20)
    assert sys.stdin.read() == ""
    return number


def with_fork(number: int) -> int:
    """The fork comes back out of the function, too."""
    os.fork()
    return number


def open_in_a_child(_: int) -> str:
    program = "import os; print([fd for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')])"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def own_sockets() -> list[int]:
    return [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode)]


def misuse(item: str) -> str:
    (link,) = own_sockets()
    if item == "early":
        os.write(link, b"hello" * 20)
    elif item == "number":
        os.write(link, HEADER.pack(77, RESULT, 0))
    elif item == "closed":
        os.closerange(3, 64)
    elif item == "held":
        os.close(link)
        time.sleep(60)
    return item


def write_later(_: int) -> int:
    (link,) = own_sockets()
    if os.fork() == 0:  # what Python is told of a fork does not reach one made by C
        os._exit(0)
    os.wait()
    if (pid := ctypes.CDLL(None).fork()) == 0:
        while os.getppid() and not Path(f"/proc/{os.getppid()}/wchan").read_text().startswith(("unix", "wait", "0")):
            time.sleep(0.001)
        time.sleep(0.05)
        os.write(link, b"x")
        os._exit(0)
    return pid


class Told(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Bad:
    """Cannot be unpickled."""

    def __reduce__(self) -> Any:
        return int, ("x",)


def fail(how: str) -> Any:
    match how:
        case "cause":
            raise LookupError("outer") from KeyError("inner")
        case "exception":
            raise Told(3, "times")
        case "local":
            raise type("Local", (ValueError,), {})("here")
        case "mute":
            raise Mute
        case "memory":
            raise MemoryError("all of it")
        case "result":
            return lambda: 0
        case "unreadable":
            return Bad()
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crashed":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exited":
            os._exit(3)
    return how


def ids(_: int) -> tuple[int, int]:
    return os.getpid(), os.getppid()


def large(size: int) -> bytes:
    return bytes(size)


LEFT = """exec 9>"$FIFO"; (env -i setsid sh -c 'echo bare >&9; : > "$0"; exec sleep 600' "$FIFO.$$" &)
(setsid sleep 601 &) ; echo up >&9"""


def leave(path: str) -> int:
    with subprocess.Popen(["sh", "-c", LEFT], env={**os.environ, "FIFO": path}) as shell:
        while not os.path.exists(f"{path}.{shell.pid}"):
            time.sleep(0.005)
    return os.getppid()


def leave_and_wait(path: str) -> None:
    leave(path)
    signal.pause()


def leave_and_compute(path: str) -> None:
    """Inside C code that lets no other thread run."""
    leave(path)
    re.match(r"(a+)+$", "a" * 60 + "b")


def leave_and_lose_the_keeper(path: str) -> None:
    subprocess.run(["sh", "-c", 'exec 9>"$FIFO"; (setsid sleep 601 &) ; echo up >&9; echo up >&9'],
                   env={**os.environ, "FIFO": path}, check=True)  # fmt: skip
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def leave_and_end(path: str) -> None:
    leave(path)
    os._exit(1)


def leave_and_die(path: str) -> None:
    leave(path)
    os.kill(os.getpid(), signal.SIGKILL)
