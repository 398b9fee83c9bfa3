"""Facade environment in place of the user's: the same packages, but paths of the checkout mean the slot."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.system.folders import remove_tree
from bakeoff.workspace.guard.interpreter import Interpreter

SCAN = Path(__file__).with_name("programs").joinpath("scan.py")
LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Facade:
    """A facade environment.

    Attributes:
        prefix: its top.
        scripts: its folder of programs, which comes first on PATH.
        report: the folder that its processes note wrongly loaded modules in.
    """

    prefix: Path
    scripts: Path
    report: Path


def build(
    home: Path, interpreter: Interpreter, main: str, slot: str, report: Path, real: Callable[[str], str]
) -> Facade:
    """Make one in the folder `home`, which it replaces.

    Args:
        home: where.
        interpreter: what it stands for.
        main: the user's checkout.
        slot: the slot's top as commands in it see it.
        report: a folder that commands can write in.
        real: where this process finds what the slot sees at a path.
    """
    remove_tree(home, ignore_errors=True)
    scripts = home / "bin"
    number = interpreter.version.rpartition(".")[0]
    site = home / "lib" / f"python{number}" / "site-packages"
    scripts.mkdir(parents=True)
    site.mkdir(parents=True)
    base = os.path.dirname(interpreter.base)
    config = f"home = {base}\ninclude-system-site-packages = false\nversion = {interpreter.version}\n"
    (home / "pyvenv.cfg").write_text(config)
    for name in ("python", "python3", f"python{number}"):
        (scripts / name).symlink_to(interpreter.base)
    _programs(scripts, Path(real(interpreter.scripts)), interpreter.folders(slot, main))
    moved = Moved(main, slot)
    (site / "00_bakeoff.pth").write_text("".join(f"{path}\n" for path in interpreter.sites))
    for path in interpreter.sites:
        _copy_site(path, Path(real(path)), site, moved)
    allowed = sorted({os.path.realpath(interpreter.prefix), os.path.realpath(slot)})
    head = f"MAIN = {os.path.realpath(main)!r}\nALLOWED = {allowed!r}\nREPORT = {str(report)!r}\n"
    (site / "_bakeoff_scan.py").write_text(head + SCAN.read_text())
    (site / "_bakeoff_scan.pth").write_text("import _bakeoff_scan\n")
    return Facade(home, scripts, report)


class Moved:
    """Replaces the checkout's path by the slot's where it stands as a path."""

    def __init__(self, main: str, slot: str) -> None:
        self._pattern = re.compile(rf"(?:(?<=file://)|(?<![\w./-])){re.escape(main)}(?![\w.-])")
        self._slot = slot.replace("\\", r"\\")

    def text(self, text: str) -> str:
        """The text with the other path."""
        return self._pattern.sub(self._slot, text)


def _programs(scripts: Path, theirs: Path, own: Sequence[str]) -> None:
    """Scripts that start a python in one of the folders `own` start the facade's; all other programs are linked."""
    for program in sorted(theirs.iterdir()):
        target = scripts / program.name
        if os.path.lexists(target) or program.is_dir():
            continue
        with program.open("rb") as file:
            head = file.read(2)
        if head != b"#!" or program.stat().st_size > LIMIT:
            if not program.name.startswith("python"):
                target.symlink_to(program)
            continue
        lines = program.read_bytes().split(b"\n", 3)
        for index, line in enumerate(lines[:3]):
            # The long form has the interpreter on its second line: #!/bin/sh, '''exec' PATH "$0" "$@", ' '''.
            if index == 0 or line.startswith(b"'''exec'"):
                for folder in own:
                    line = line.replace(os.fsencode(f"{folder}/python"), os.fsencode(f"{scripts}/python"))
                lines[index] = line
        target.write_bytes(b"\n".join(lines))
        target.chmod(0o755)


def _copy_site(seen: str, real: Path, site: Path, moved: Moved) -> None:
    """The files that Python obeys at its start, and the modules beside them that name the checkout."""
    for path in sorted(real.glob("*.pth")):
        target = site / path.name
        if not target.exists() and path.is_file() and path.stat().st_size <= LIMIT:
            lines = path.read_text(errors="surrogateescape").splitlines()
            text = "".join(_line(line, seen, moved) + "\n" for line in lines)
            target.write_text(text, errors="surrogateescape")
    for path in sorted(real.glob("*.py")):
        if not path.is_file() or path.stat().st_size > LIMIT or (site / path.name).exists():
            continue
        text = path.read_text(errors="surrogateescape")
        changed = moved.text(text)
        if changed != text:
            (site / path.name).write_text(changed, errors="surrogateescape")


def _line(line: str, folder: str, moved: Moved) -> str:
    if line.startswith(("import ", "import\t", "#")) or not line.strip() or os.path.isabs(line):
        return moved.text(line)
    return moved.text(
        os.path.normpath(os.path.join(folder, line.strip()))
    )  # a relative line is relative to its own folder
