"""The parent of the forks: one process for all contenders of a round, so that what it is like is like that for all.

It never runs code of a contender, nor sees inputs: the forks read these themselves. What it says of them (how they
ended, what they used, what they left) is as good as the sandbox around it.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import resource
import select
import signal
import sys
import time

from . import child, frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
HARD_END = 9


def main(control: int, answers: int, inputs: int) -> None:
    """Serve until the other end is gone."""
    try:
        setup, sources = frames.read(control)
        server = _Server(setup, sources, control, answers, inputs)
        frames.write(answers, frames.packed({"serving": os.getpid(), "version": sys.version_info[:3]}))
        while True:
            order, _ = frames.read(control)
            if "preload" in order:
                server.preload(order["preload"])
                server.answer({"preloaded": len(order["preload"])})
            else:
                server.fork(order)
    except (frames.Broken, BrokenPipeError):
        pass
    finally:
        os._exit(0)


class _Server:
    def __init__(self, setup: dict[str, Any], sources: bytes, control: int, answers: int, inputs: int) -> None:
        self.setup = setup
        self.control = control
        self.answers = answers
        self.inputs = inputs
        self.contenders = _files(setup["contenders"], sources)
        sys.dont_write_bytecode = True
        self.prctl = _prctl()
        self.prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.prctl(PR_SET_DUMPABLE, 0)  # else forks could open its pipes through /proc
        if setup["cpu"] is not None:
            os.sched_setaffinity(0, {setup["cpu"]})
        sys.path[:0] = [os.path.join(setup["root"], entry) for entry in setup["path"]]
        self.codec = _codec(setup)
        self.preload([*setup["preload"], *(["asyncio"] if setup["is_async"] else [])])

    def preload(self, names: list[str]) -> None:
        """Import what forks will, unless it is the project's own: no code of it runs here."""
        for name in names:
            try:
                if not _lies_below(self.setup["root"], importlib.util.find_spec(name.partition(".")[0])):
                    importlib.import_module(name)
            except Exception:  # noqa: S112 - then the contenders import it, or fail to
                continue
        gc.collect()
        gc.freeze()

    def answer(self, header: dict[str, Any], body: bytes = b"") -> None:
        frames.write(self.answers, frames.packed(header, body))

    def fork(self, order: dict[str, Any]) -> None:
        """One sample: the answers are `ready` or `failed`, then the report, then how it ended.

        Raises:
            Broken: the other end is gone.
        """
        report, reporting = os.pipe()
        ending, end = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(order, reporting, ending, (report, end))
        os.close(reporting)
        os.close(ending)
        limit = time.monotonic() + order["seconds"]
        reader = _Reader(report, self.control)
        how = ""
        facts: dict[str, Any] = {}
        try:
            header, _ = reader.message(limit)
            self.answer(frames.parsed(header))
            if b'"ready"' in header:
                go, _ = frames.read(self.control)  # its token is not in the memory of the fork
                limit = time.monotonic() + order["seconds"]
                header, body = reader.message(limit)
                self.answer({"token": go["token"], "header": len(header)}, header + body)
                facts = _seen(pid, self.setup["cpu"])
        except _Late:
            how = "timeout"
        except frames.Broken as failure:
            how = "broken" if reader.lost != self.control else "lost"
            facts = {"said": str(failure)}
        self._end(pid, end, how)
        os.close(report)
        if how == "lost":
            raise frames.Broken("the other end is gone")
        facts.update(self._reap(pid), how=how)
        self._drain()
        self.answer(facts)

    def _become(self, order: dict[str, Any], reporting: int, ending: int, theirs: tuple[int, ...]) -> None:
        try:
            for descriptor in (*theirs, self.control, self.answers):
                os.close(descriptor)
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            os.close(null)
            self.prctl(PR_SET_DUMPABLE, 1)
            if order["keep_files"]:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # nothing is remembered from fork to fork
            timed = child.Child(self.setup, self.codec, reporting, ending, self.inputs)
            timed.run(order, self.contenders[order["contender"]])
        finally:
            os._exit(0)

    def _end(self, pid: int, end: int, how: str) -> None:
        try:
            if not how:
                os.write(end, b"1")
        except OSError:
            pass
        os.close(end)
        if how:
            _signal(pid, signal.SIGKILL)

    def _reap(self, pid: int) -> dict[str, Any]:
        """Wait for the fork, end what it left, and add up what all of them used."""
        _, status, used = os.wait4(pid, 0)
        cpu, left = used.ru_utime + used.ru_stime, 0
        while True:
            children = _children()
            for other in children:
                _signal(other, HARD_END)
            try:
                _, _, more = os.wait4(-1, 0)
            except ChildProcessError:
                break
            left += 1
            cpu += more.ru_utime + more.ru_stime
        return {"status": status, "cpu_seconds": cpu, "maxrss": used.ru_maxrss, "left": left}

    def _drain(self) -> None:
        """Throw away what a fork did not read of its inputs."""
        while select.select([self.inputs], [], [], 0)[0]:
            if not os.read(self.inputs, 1 << 16):
                break


class _Late(Exception):
    pass


class _Reader:
    """Reads messages of a fork, but not for longer than it may take, nor after our own end is gone."""

    def __init__(self, report: int, control: int) -> None:
        self.report = report
        self.control = control
        self.data = bytearray()
        self.lost: int | None = None
        self.poll = select.poll()
        self.poll.register(report, select.POLLIN)
        self.poll.register(control, 0)  # only that it was closed

    def message(self, limit: float) -> tuple[bytes, bytes]:
        """Header and body, as they are."""
        header, body = frames.sizes(self._take(frames.SIZES.size, limit))
        return self._take(header, limit), self._take(body, limit)

    def _take(self, count: int, limit: float) -> bytes:
        while len(self.data) < count:
            left = limit - time.monotonic()
            if left <= 0:
                raise _Late
            for descriptor, _ in self.poll.poll(left * 1000):
                if descriptor == self.control:
                    self.lost = self.control
                    raise frames.Broken("the other end is gone")
                piece = os.read(self.report, 1 << 20)
                if not piece:
                    raise frames.Broken("it ended without a report")
                self.data += piece
        found = bytes(self.data[:count])
        del self.data[:count]
        return found


def _files(contenders: list[dict[str, Any]], sources: bytes) -> list[dict[str, bytes | None]]:
    """Contents of each contender's files, cut out of one piece."""
    return [
        {name: None if span is None else sources[span[0] : span[1]] for name, span in files.items()}
        for files in contenders
    ]


def _codec(setup: dict[str, Any]) -> Any:
    """The parts of the codec that forks need, loaded from where it stands."""
    folder, unseen, with_messages = setup["codec"], frozenset(setup["unseen"]), setup["messages"]
    spec = importlib.util.spec_from_file_location(
        "_bakeoff_codec", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["_bakeoff_codec"] = package
    spec.loader.exec_module(package)
    tree = importlib.import_module("_bakeoff_codec.tree")
    decoder = importlib.import_module("_bakeoff_codec.decoder")
    instances = importlib.import_module("_bakeoff_codec.instances")
    importlib.import_module("_bakeoff_codec.temporary")
    child.drained = instances.drained

    class Codec:
        Incomparable = package.Incomparable
        messages = with_messages
        encode = staticmethod(
            lambda value: package.neutral(package.encode(value, unseen=unseen, messages=with_messages))
        )
        build = staticmethod(lambda tree: decoder.build(tree, setup["added"]))
        parse = staticmethod(lambda data: tree.parse(data, package.DEFAULT))

    return Codec


def _lies_below(root: str, spec: Any) -> bool:
    """Whether a module is the project's; what is installed in an environment there is not."""
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    inside = [os.path.relpath(place, root).split(os.sep) for place in places if os.path.isabs(place)]
    return any(parts[0] != os.pardir and "site-packages" not in parts for parts in inside)


def _seen(pid: int, cpu: int | None) -> dict[str, Any]:
    """Facts on a fork that waits for its end, from outside of it."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        moved = cpu is not None and any(os.sched_getaffinity(int(task)) != {cpu} for task in tasks)
        return {"threads": len(tasks), "moved": moved, "children": len(_children(pid))}
    except (OSError, AttributeError):
        return {}


def _children(pid: int | None = None) -> list[int]:
    pid = pid or os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _prctl() -> Any:
    if not sys.platform.startswith("linux"):
        return lambda *numbers: 0
    import ctypes

    function = ctypes.CDLL(None).prctl
    return lambda option, value: function(option, ctypes.c_ulong(value), 0, 0, 0)
