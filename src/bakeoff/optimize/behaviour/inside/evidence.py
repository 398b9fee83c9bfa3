"""Side effects of code: a witness of its system calls, as Python's audit hook tells of them, and of what it patched.

Both live in the process of the code they watch. That they saw nothing proves nothing: the sandbox holds. What they saw
is written to a socket at once, and cannot be taken back.
"""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

FILES, NETWORK, PROCESS, TAMPERING = "files", "network", "process", "tampering"
MOST = 100
HARMLESS = ("/dev/null", "/dev/shm", "/dev/tty", "/dev/full", "/dev/zero")  # noqa: S108 - of the sandbox's own
HOUSEKEEPING = "pytest-of-"
"""Beginning of the folder in which pytest keeps temporary folders: it also removes links there that are not there."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGED = {
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "os.mkdir": (0,), "os.link": (0, 1),
    "os.symlink": (1,), "os.setxattr": (0,),
}  # fmt: skip
"""Events, and which of their arguments are paths that change."""
REMOVED = {"os.remove": (0,), "os.rmdir": (0,), "os.rename": (0,), "shutil.rmtree": (0,), "shutil.move": (0,)}
SOCKETS = frozenset({
    "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname",
    "socket.gethostbyaddr", "socket.getnameinfo",
})  # fmt: skip
ADDRESSED = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"})
"""Those whose second argument is an address."""
CHOSEN = 32_768
"""Where the ports begin that Linux chooses from by itself."""
STARTED = frozenset({
    "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "os.spawn", "pty.spawn",
})  # fmt: skip
MEDDLED = frozenset({
    "os.kill", "os.killpg", "sys.settrace", "sys.setprofile", "gc.get_objects", "gc.get_referrers", "sys.monitoring",
    "sys.addaudithook",
})  # fmt: skip


class Witness:
    """Hears what Python tells of system calls, and writes down what leads outside.

    Args:
        channel: a descriptor.
        root: the project's top.
        temp: the folder for temporary files, empty at the start.
    """

    def __init__(self, channel: int, root: str, temp: str) -> None:
        self.channel = channel
        self.root = root
        self.temp = temp
        self.told: set[tuple[str, str]] = set()
        self._busy = False
        self._write, self._dumps = os.write, json.dumps  # as they are now
        self._exists, self._abspath, self._fsdecode = os.path.lexists, os.path.abspath, os.fsdecode

    def arm(self) -> None:
        """Listen from now on; there is no way back."""
        sys.addaudithook(self._hear)

    def tell(self, kind: str, what: str) -> None:
        """Write something down, once."""
        if (kind, what) in self.told or len(self.told) > MOST:
            return
        self.told.add((kind, what))
        try:
            self._write(self.channel, self._dumps([kind, what[:300]]).encode() + b"\n")
        except OSError:
            pass  # nobody listens any more

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _EVENTS or self._busy:
            return
        self._busy = True
        try:
            self._note(event, args)
        except Exception:  # an odd path is no reason to change what the code sees
            return
        finally:
            self._busy = False

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & WRITING and not isinstance(path, int):
                self._changes(event, path)
        elif event in CHANGED:
            for index in CHANGED[event]:
                self._changes(event, args[index])
        elif event in REMOVED:
            if event != "shutil.move" and isinstance(args[-1], int) and args[-1] >= 0:
                return  # relative to a folder that it opened
            self._removes(event, args[0])
            if event in ("os.rename", "shutil.move"):
                self._changes(event, args[1])
        elif event in SOCKETS:
            where = self._address(args[1]) if event in ADDRESSED and len(args) > 1 else repr(args[:1])
            self.tell(NETWORK, f"{event} {where}")
        elif event in STARTED:
            self.tell(PROCESS, event)
        else:
            self.tell(TAMPERING, event)

    def _address(self, address: Any) -> str:
        """Address without what is another each time: ports of this machine that the system chose, temporary names."""
        if isinstance(address, (str, bytes)) and _below(self._fsdecode(address), (self.temp,)):
            return "a temporary file"
        if isinstance(address, tuple) and len(address) > 1 and isinstance(address[1], int) and address[1] >= CHOSEN:
            host = str(address[0])
            if host.startswith("127.") or host in ("::1", "localhost"):
                return f"({host!r}, any port)"
        return repr(address)

    def _changes(self, event: str, path: Any) -> None:
        if isinstance(path, int):
            return
        place = self._abspath(self._fsdecode(path))
        if not _below(place, (self.root, self.temp, *HARMLESS)):
            self.tell(FILES, f"{event} {place}")

    def _removes(self, event: str, path: Any) -> None:
        place = self._abspath(self._fsdecode(path))
        if _below(place, (self.root,)):
            return
        if _below(place, (self.temp,)) and place[len(self.temp) :].lstrip("/").startswith(HOUSEKEEPING):
            return
        # The folder for temporary files was empty: what is not there now was never this code's own.
        if not _below(place, (self.temp,)) or not self._exists(place):
            self.tell(FILES, f"{event} {place}")


_EVENTS = frozenset({"open", *CHANGED, *REMOVED, *SOCKETS, *STARTED, *MEDDLED})


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


WATCHED = (
    "builtins", "time", "gc", "random", "sys", "os", "posix", "io", "math", "json", "json.encoder", "struct", "socket",
    "signal", "threading", "_thread", "datetime", "asyncio.events", "importlib", "importlib._bootstrap", "inspect",
    "warnings", "unittest.case", "_pytest.reports", "_pytest.runner", "_pytest.main", "_pytest.outcomes",
)  # fmt: skip
PREFIXES = ("_pytest.", "_bakeoff_", "unittest.")
"""Modules whose classes are watched, too. No candidate has a reason to change any of these; looking at many more would
cost each evaluation some milliseconds, as a fork copies what it looks at."""

_KINDS = (types.FunctionType, types.BuiltinFunctionType, type, types.MethodType)
_PLACES = ("stdin", "stdout", "stderr", "last_value", "last_traceback", "last_type", "last_exc")


class Untouched:
    """Snapshot of the functions of the watched modules, to find out later which were replaced."""

    def __init__(self) -> None:
        self.modules = {
            name: module
            for name, module in list(sys.modules.items())
            if module is not None and (name in WATCHED or name.startswith("_bakeoff_"))
        }
        self.found = {name: _members(module) for name, module in self.modules.items()}
        self._state = _state()

    def changed(self) -> list[str]:
        """Names of what is not as it was."""
        names = [name for name, value in _state().items() if self._state[name] != value]
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                names.append(f"sys.modules[{name!r}]")
            now = _members(module)
            for member, (value, code) in self.found[name].items():
                other = now.get(member)
                if other is None or other[0] is not value or other[1] is not code:
                    names.append(f"{name}.{member}")
        return sorted(names)[:20]


def _state() -> dict[str, Any]:
    import gc

    return {
        "gc is enabled": gc.isenabled(),
        "gc's thresholds": gc.get_threshold(),
        "the trace function": sys.gettrace() is not None,
        "the profile function": sys.getprofile() is not None,
        "the switch interval": sys.getswitchinterval(),
    }


def _members(module: types.ModuleType) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    deep = module.__name__.startswith(PREFIXES)
    for name, value in list(vars(module).items()):
        if not isinstance(value, _KINDS) or name in _PLACES:
            continue
        found[name] = (value, getattr(value, "__code__", None))
        if deep and isinstance(value, type) and value.__module__ == module.__name__:
            for inner, member in list(vars(value).items()):
                if isinstance(member, (types.FunctionType, staticmethod, classmethod)):
                    function = getattr(member, "__func__", member)
                    found[f"{name}.{inner}"] = (member, getattr(function, "__code__", None))
    return found


def reseed() -> None:
    """Give this process chance of its own: a fork has its parent's."""
    import random

    random.seed()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        seed: Callable[..., None] = numpy.random.seed
        seed()
