"""Guarded commands: Python takes the project's modules from the slot, and it is looked whether it did."""

from __future__ import annotations

import ast
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.process.command import Command, Processes
from bakeoff.reader.reading import UnreadError, read_here
from bakeoff.system.folders import remove_tree
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import read_small
from bakeoff.workspace.guard.facade import Facade, build
from bakeoff.workspace.guard.interpreter import Interpreter, ask, find_python, outside
from bakeoff.workspace.guard.names import import_names
from bakeoff.workspace.sandbox.places import below
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.sandbox.variables import scrubbed
from bakeoff.workspace.slots.slot import Slot

CANARY = Path(__file__).with_name("programs").joinpath("canary.py")
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that resolves to another tree than the slot.

    Attributes:
        what: what is wrong.
        path: where it leads.
        by: the `.pth` file or finder that leads there; empty where that is unknown.
        when: `before` or `after` the command, or `loaded` by one of its processes.
    """

    what: str
    path: str
    by: str
    when: str

    def __str__(self) -> str:
        return self.what + (f": {self.path}" if self.path else "") + (f", by {self.by}" if self.by else "")


@dataclass(slots=True)
class GuardReport:
    """Findings of the guard, for the receipt.

    Attributes:
        kind: `mounted` (the slot stands at the project's own path), `facade` (an environment of the slot's own), or
            `none` (there is no Python here).
        interpreter: the python that was looked at.
        names: the project's modules that were looked up.
        problems: what resolves to another tree; the verdict is then `invalid`.
        looked: `before` and `after`, as far as it came.
        scanned: processes whose loaded modules were looked at when they ended.
    """

    kind: str
    interpreter: str | None = None
    names: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)
    scanned: int = 0

    @property
    def invalid(self) -> str | None:
        """Why the verdict is `invalid`; None when everything came from the slot."""
        if not self.problems:
            return None
        more = len(self.problems) - 1
        return f"wrong tree: {self.problems[0]}" + (f" (and {more} more)" if more else "")

    def receipt(self) -> dict[str, Any]:
        """JSON types only."""
        return asdict(self) | {"names": list(self.names), "invalid": self.invalid}


@dataclass(slots=True)
class Guard:
    """Commands of one slot that are guarded; made by `guarded`."""

    box: Sandbox[Slot]
    report: GuardReport
    interpreter: Interpreter | None = None
    facade: Facade | None = None
    link: tuple[Path, str] | None = None

    def command(self, argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **more: Any) -> Command:
        """As `Sandbox.command`, in the environment that stands for the user's."""
        if self.facade is None or self.interpreter is None:
            return self.box.command(argv, env=env, **more)
        path = scrubbed(self.box.slot.env, (*self.box.policy.environment, "PATH"), env or {}, "").get(
            "PATH", os.defpath
        )
        changes = {**(env or {}), "PATH": f"{self.facade.scripts}:{path}", "VIRTUAL_ENV": str(self.facade.prefix)}
        reads = [*more.pop("reads", ()), str(self.facade.prefix)]
        return self.box.command(self._moved(argv), env=changes, reads=reads, **more)

    def _moved(self, argv: Sequence[str]) -> list[str]:
        """A program of the user's environment is taken from the facade; later words and shell texts stay."""
        first = argv[0]
        if self.interpreter is None or self.facade is None or "/" not in first:
            return list(argv)
        slot = self.box.slot
        folder, name = os.path.split(os.path.normpath(os.path.join(slot.path, first)))
        stand_in = self.facade.scripts / name
        if folder in self.interpreter.folders(slot.path, str(slot.base.project.root)) and os.path.lexists(stand_in):
            return [str(stand_in), *argv[1:]]
        return list(argv)


@asynccontextmanager
async def guarded(
    box: Sandbox[Slot],
    argv: Sequence[str],
    processes: Processes,
    *,
    env: Mapping[str, str | None] | None = None,
    known: MutableMapping[str, Interpreter] | None = None,
) -> AsyncIterator[Guard]:
    """Guard commands like `argv` in the slot of `box`: looks before the block, and again after it.

    Run in it what `Guard.command` gives; read `Guard.report` afterwards, and before the first command if a wrong tree
    should not be run at all. When the block is left by an exception, nothing more is looked at. In `known` interpreters
    are kept that no command in a slot can change.

    Passes on SpawnError: the interpreter cannot be started at all.
    """
    guard = await _start(box, argv, processes, env or {}, known)
    try:
        await canary(guard, processes, "before", env)
        yield guard
        await canary(guard, processes, "after", env)
        await in_thread(_read_scans, guard)
    finally:
        if guard.link is not None:
            _relink(*guard.link)
        if guard.facade is not None:
            remove_tree(guard.facade.prefix, ignore_errors=True)


async def _start(
    box: Sandbox[Slot],
    argv: Sequence[str],
    processes: Processes,
    env: Mapping[str, str | None],
    known: MutableMapping[str, Interpreter] | None,
) -> Guard:
    """Find the interpreter, and make it a facade where the slot stands elsewhere than the project."""
    slot = box.slot
    variables = scrubbed(slot.env, box.policy.environment, env, str(slot.temp))
    python = await in_thread(find_python, slot, argv, variables)
    if python is None:
        return Guard(box, GuardReport("none"))
    found = (known or {}).get(python) or await ask(python, box, processes)
    if isinstance(found, str):
        return Guard(box, GuardReport("none", python, problems=[Problem(found, "", "", "before")]))
    if known is not None and _is_fixed(slot, found.executable):
        known[python] = found
    names = await in_thread(import_names, slot)
    guard = Guard(box, GuardReport("mounted", found.executable, names), found)
    main = str(slot.base.project.root)
    if slot.path != main:
        report = slot.temp / f"guard.{secrets.token_hex(4)}"
        report.mkdir()
        home = slot.home / f"facade.{secrets.token_hex(4)}"
        guard.facade = await in_thread(
            build, home, _unlinked(slot, found), main, slot.path, report, partial(outside, slot)
        )
        guard.link = await in_thread(_point_at, slot, found.prefix, guard.facade.prefix)
        guard.report.kind = "facade"
        guard.report.interpreter = str(guard.facade.scripts / "python")
    return guard


def _unlinked(slot: Slot, found: Interpreter) -> Interpreter:
    """The interpreter with the real paths of its packages, where it is in an environment that the slot links to."""

    def real(path: str) -> str:
        for target, source in slot.place.links.items():
            if below(path, [f"{slot.path}/{target}"]):
                return str(source) + path[len(f"{slot.path}/{target}") :]
        return path

    if slot.kind == "overlay":
        return found
    return replace(found, sites=tuple(map(real, found.sites)))


def _point_at(slot: Slot, prefix: str, facade: Path) -> tuple[Path, str] | None:
    """Let the slot's link to the environment lead to the facade, for commands that name it; the link and its words."""
    link = slot.outside / os.path.relpath(prefix, slot.path)
    if slot.kind == "overlay" or not below(prefix, [slot.path]) or not _is_link(link):
        return None
    words = os.readlink(link)
    _relink(link, str(facade))
    return link, words


def _relink(link: Path, words: str) -> None:
    """Replace what is at `link` if it still is a link."""
    if _is_link(link):
        link.unlink()
        link.symlink_to(words)


def _is_link(path: Path) -> bool:
    """Whether there is a link, and the way to it leads through none: an attempt may have put one there."""
    return path.is_symlink() and os.path.realpath(path.parent) == str(path.parent)


def _is_fixed(slot: Slot, path: str) -> bool:
    """Whether no command in the slot can change what is at a path; what an overlay slot links to is mounted in it."""
    links = [f"{slot.path}/{target}" for target in slot.place.links] if slot.kind == "overlay" else []
    return below(path, links) or not below(path, slot.owned)


async def canary(
    guard: Guard, processes: Processes, when: str, env: Mapping[str, str | None] | None = None
) -> GuardReport:
    """Look where the judged interpreter finds the project's modules; problems are added to the guard's report.

    Raises nothing of its own. Passes on SpawnError: the interpreter cannot be started at all.
    """
    slot, interpreter = guard.box.slot, guard.interpreter
    if interpreter is None:
        return guard.report
    code = CANARY.read_text()
    sentinel = None
    if slot.path == str(slot.base.project.root):
        sentinel = (os.path.join(slot.path, f".bakeoff-{secrets.token_hex(8)}"), secrets.token_hex(16))
        await in_thread(_put, outside(slot, sentinel[0]), sentinel[1])
    told = {
        "names": list(guard.report.names),
        "slot": slot.path,
        "main": str(slot.base.project.root),
        "allowed": [interpreter.prefix, interpreter.base_prefix, *slot.environments],
        "sentinel": sentinel,
        "code": code,
    }
    python = interpreter.executable if guard.facade is None else str(guard.facade.scripts / "python")
    try:
        done = await processes.run(guard.command([python, "-c", code, ascii(told)], env=env, timeout=TIMEOUT))
    finally:
        if sentinel is not None:
            Path(outside(slot, sentinel[0])).unlink(missing_ok=True)
    guard.report.looked.append(when)
    said = done.stdout.value if isinstance(done.stdout.value, str) else ""
    try:
        found = json.loads(said.strip().splitlines()[-1])["problems"]
        problems = [Problem(str(each["what"]), str(each["path"]), str(each["by"]), when) for each in found]
    except (IndexError, ValueError, KeyError, TypeError, RecursionError):
        why = str(done.stderr.value).strip().splitlines()[-1:] or [f"exit status {done.exit_code}"]
        problems = [Problem(f"the canary did not answer: {why[0]}", "", "", when)]
    guard.report.problems += problems
    return guard.report


def _put(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)


def _read_scans(guard: Guard) -> None:
    """Notes of the facade's processes when they ended; written by code that nobody has read."""
    report = guard.report
    for content in _scans(guard.facade.report) if guard.facade is not None else ():
        report.scanned += 1
        try:
            modules = None if content is None else read_here(scanned, content)
        except UnreadError:
            modules = None
        for name, place in modules or ():
            report.problems.append(Problem(f"module {name} was loaded from the user's checkout", place, "", "loaded"))
        if modules is None:
            report.problems.append(Problem("what a process noted of its modules cannot be read", "", "", "loaded"))


MOST_MODULES = 100
"""Of one note that are named."""

MOST_NOTES, MOST_NOTED = 10_000, 64 << 20
"""Notes, and bytes of all of them, that are read."""


def scanned(data: bytes) -> list[tuple[str, str]]:
    """The modules that a process noted, each with its place; for a reader process."""
    found = []
    for line in data.decode(errors="replace").splitlines():
        try:
            name, place = ast.literal_eval(line)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        found.append((str(name)[:200], str(place)[:4096]))
        if len(found) == MOST_MODULES:
            break
    return found


def _scans(folder: Path) -> Iterator[bytes | None]:
    """The files right in a folder, as far as they are regular; None for what there is too much of."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    finally:
        os.close(place)
    room = MOST_NOTED
    for name in names[:MOST_NOTES]:
        content = read_small(folder, os.fsencode(name), min(1 << 20, room))
        room -= len(content or b"")
        yield content
    if len(names) > MOST_NOTES:
        yield None
