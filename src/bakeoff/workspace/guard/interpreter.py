"""Interpreter of a command: the Python that its words name, as far as they tell, and how that one is set up."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.process.command import Processes
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slots.slot import Slot

FACTS = Path(__file__).with_name("programs").joinpath("facts.py")
PYTHON = re.compile(r"python(\d(\.\d+)?)?")
TOOLS = frozenset({"pytest", "py.test", "coverage", "unittest", "tox", "nox", "hypothesis", "mypy", "trial", "stestr"})
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, as it tells of itself.

    Attributes:
        executable: its path, as the slot sees it.
        base: the program that an environment's python stands for.
        prefix: the top of its environment, or of its installation.
        base_prefix: the top of its installation.
        version: three numbers with dots.
        scripts: the folder of its programs.
        sites: its folders of installed packages, the first first on its path.
    """

    executable: str
    base: str
    prefix: str
    base_prefix: str
    version: str
    scripts: str
    sites: tuple[str, ...]

    def folders(self, slot: str, main: str) -> list[str]:
        """Folders of its programs, by all their names: those of an environment in the project know the checkout's."""
        found = {self.scripts, os.path.dirname(self.executable)}
        found |= {main + folder[len(slot) :] for folder in found if folder.startswith(slot + "/")}
        return sorted(found)


def find_python(slot: Slot, argv: Sequence[str], variables: Mapping[str, str]) -> str | None:
    """The python that `argv` runs, by its path as the slot sees it; None where there is no Python at all.

    Of a shell's command line, or of a command that names neither python nor a tool of Python's (make), it is taken that
    it uses the first one of its PATH, after an environment `.venv` in the project.
    """
    words = list(_words(argv))
    for word in words:
        name = os.path.basename(word)
        if PYTHON.fullmatch(name) or name in TOOLS:
            found = _located(slot, word, variables)
            python = found and (found if PYTHON.fullmatch(name) else _of_script(slot, found, variables))
            if python:
                return python
    own = os.path.join(slot.path, ".venv", "bin", "python")
    if os.path.isfile(outside(slot, own)):
        return own
    return _located(slot, "python", variables) or _located(slot, "python3", variables)


def outside(slot: Slot, path: str) -> str:
    """Path, for this process, of what the slot sees at `path`."""
    if path == slot.path or path.startswith(slot.path + "/"):
        return str(slot.outside) + path[len(slot.path) :]
    return path


def _words(argv: Sequence[str]) -> Iterator[str]:
    if argv and os.path.basename(argv[0]) in SHELLS and len(argv) > 2:
        for text in argv[2:]:
            try:
                yield from shlex.split(text, comments=True)
            except ValueError:
                yield from text.split()
    else:
        yield from argv


def _located(slot: Slot, program: str, variables: Mapping[str, str]) -> str | None:
    if "/" in program:
        path = os.path.normpath(os.path.join(slot.path, program))
        return path if os.path.isfile(outside(slot, path)) else None
    for folder in variables.get("PATH", "").split(":"):
        path = os.path.join(slot.path, folder or ".", program)
        if os.path.isfile(outside(slot, path)) and os.access(outside(slot, path), os.X_OK):
            return path
    return None


def _of_script(slot: Slot, script: str, variables: Mapping[str, str]) -> str | None:
    """The python that a script's first line names."""
    with open(outside(slot, script), "rb") as file:
        lines = file.read(1024).decode(errors="replace").splitlines()[:2]
    if lines and lines[0].startswith("#!"):
        for word in " ".join(lines)[2:].replace("'", " ").replace('"', " ").split():
            if PYTHON.fullmatch(os.path.basename(word)):
                return _located(slot, word, variables)
    return None


async def ask(python: str, box: Sandbox[Slot], processes: Processes) -> Interpreter | str:
    """Facts of the interpreter's setup, or why it does not tell them."""
    command = box.command([python, "-c", FACTS.read_text()], env={"PYTHONPATH": None}, timeout=TIMEOUT)
    done = await processes.run(command)
    said = done.stdout.value if isinstance(done.stdout.value, str) else ""
    try:
        told = json.loads(said.strip().splitlines()[-1])
        found = Interpreter(**(told | {"sites": tuple(told["sites"])}))
        if not box.may_read([found.base, found.scripts, *found.sites]):
            return f"{python} tells of places that it may not see"
        return found
    except (IndexError, ValueError, TypeError, KeyError, RecursionError):
        why = str(done.stderr.value).strip().splitlines()[-1:] or [f"exit status {done.exit_code}"]
        return f"{python} does not run: {why[0]}"
