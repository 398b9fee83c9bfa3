"""Makes the pictures of the README from a real run: the terminal as SVG, its report as PNG, each by day and by night.

`make pictures` runs it. It needs Chromium and the extra `screens` for the report; without them that is left as it is.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLUMNS, ROWS = 112, 60
CUT = "  hits"
"""How the line begins from which on the picture leaves the run out: line profile and diff, which the report shows."""

COMMAND = "bakeoff optimize library/loans.py:returning_readers --seconds 180 --run-id demo"

DAY = TerminalTheme(
    (255, 255, 255), (36, 41, 47),
    [(36, 41, 47), (192, 38, 38), (23, 111, 61), (138, 86, 0), (28, 99, 192), (125, 67, 181), (11, 110, 120),
     (87, 96, 106)],
    [(95, 104, 120), (192, 38, 38), (23, 111, 61), (138, 86, 0), (28, 99, 192), (125, 67, 181), (11, 110, 120),
     (36, 41, 47)],
)  # fmt: skip
NIGHT = TerminalTheme(
    (20, 24, 31), (228, 232, 239),
    [(20, 24, 31), (255, 128, 128), (76, 199, 130), (229, 178, 90), (106, 171, 255), (200, 164, 238), (94, 205, 215),
     (200, 206, 216)],
    [(154, 164, 181), (255, 128, 128), (76, 199, 130), (229, 178, 90), (106, 171, 255), (200, 164, 238),
     (94, 205, 215), (255, 255, 255)],
)  # fmt: skip

FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""rich's own, without fonts that would be fetched."""

_ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\r|\n|[^\x1b\r\n]")


class Screen:
    """What a terminal shows, as far as it scrolls nothing away: rows of characters, each with its colours."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[str, str]]] = [[]]
        self.row = self.column = 0
        self.style = ""

    def write(self, text: str) -> None:
        """Obey what rich and click print: text, colours, and going up to erase lines."""
        for found in _ESCAPE.finditer(text):
            if found[2] is not None:
                self._control(found[1], found[2])
            elif found[0] == "\r":
                self.column = 0
            elif found[0] == "\n":
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.rows):
                    self.rows.append([])
            elif not found[0].startswith("\x1b"):
                line = self.rows[self.row]
                line.extend([(" ", "")] * (self.column + 1 - len(line)))
                line[self.column] = (found[0], self.style)
                self.column += 1

    def _control(self, given: str, letter: str) -> None:
        if letter == "m":
            self.style = "" if given in ("", "0") else f"{self.style}\x1b[{given}m"
        elif letter == "A":
            self.row = max(0, self.row - int(given or 1))
        elif letter == "K":
            del self.rows[self.row][0 if given == "2" else self.column :]
        elif letter == "J":
            del self.rows[self.row + 1 :]

    def text(self) -> Text:
        """All of it, up to where it is cut."""
        plain = ["".join(character for character, _ in row) for row in self.rows]
        end = next((number for number, line in enumerate(plain) if line.startswith(CUT)), len(plain))
        lines = ["".join(f"\x1b[0m{style}{character}" for character, style in row) for row in self.rows[:end]]
        return Text.from_ansi("\n".join(lines))


def recorded(words: list[str], folder: Path) -> Text:
    """What a command shows in the end in a terminal of its own. Raises CalledProcessError: it failed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "TERM": "xterm-256color", "PATH": path}
    child = subprocess.Popen(words, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed: Linux says so by an error
            break
        if not piece:
            break
        pieces.append(piece)
    if child.wait():
        raise subprocess.CalledProcessError(child.returncode, words)
    screen = Screen()
    screen.write(b"".join(pieces).decode("utf-8", "replace"))
    return screen.text()


def drawn(text: Text, title: str, theme: TerminalTheme, unique: str) -> str:
    """A terminal's content as SVG."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)
    console.print(text, soft_wrap=False)
    return console.export_svg(title=title, theme=theme, code_format=FORMAT, unique_id=unique)


def photographed(page: Path, scheme: str, file: Path) -> None:
    """The first screen of a page as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=args)
        opened = browser.new_page(viewport={"width": 1000, "height": 760}, color_scheme=scheme)
        opened.goto(page.as_uri())
        opened.screenshot(path=file)
        browser.close()


def main() -> None:
    """Record the run, draw its terminal, photograph its report."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "project"
        shutil.copytree(
            ROOT / "examples" / "optimize", folder, ignore=shutil.ignore_patterns("__pycache__", ".bakeoff")
        )
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
        text = recorded(COMMAND.split(), folder)
        for name, theme in (("light", DAY), ("dark", NIGHT)):
            (HERE / f"terminal-{name}.svg").write_text(drawn(text, COMMAND, theme, f"terminal-{name}"))
            print(f"docs/pictures/terminal-{name}.svg")
        page = Path(place) / "report.html"
        bakeoff = Path(sys.executable).parent / "bakeoff"
        subprocess.run([bakeoff, "report", "demo", "-o", page], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name in ("light", "dark"):
            try:
                photographed(page, name, HERE / f"report-{name}.png")
            except ImportError:
                print("the report is left out: there is no Playwright: pip install '.[screens]'")
                break
            print(f"docs/pictures/report-{name}.png")


if __name__ == "__main__":
    main()
