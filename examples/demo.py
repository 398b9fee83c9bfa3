"""Three results in a minute and a half: `make demo` runs this. What it makes lies in the folder it runs in.

1. A workflow splits a real package's test suite into shards, runs them side by side, and joins their results.
2. A small language model on this machine writes ten functions, sampled until their tests pass.
3. A slow function is rewritten by rules; what behaves the same is raced against it.
"""

import os
import shutil
import subprocess
import sys
import time
import webbrowser
from pathlib import Path

from bakeoff.report.escape import markup
from bakeoff.report.look import PAGE_END, page_head

EXAMPLES = Path(__file__).parent
BAKEOFF = [sys.executable, "-m", "bakeoff"]


def main():
    began = time.monotonic()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for number, (title, made, demonstrate) in enumerate(DEMOS, 1):
        print(f"\n== {number} of {len(DEMOS)}: {title}", flush=True)
        begun = time.monotonic()
        demonstrate()
        print(f"== done in {time.monotonic() - begun:.0f} s: {Path(made).absolute()}", flush=True)
    index = Path("index.html").absolute()
    index.write_text(contents())
    print(f"\nAll three took {time.monotonic() - began:.0f} s. See {index}")
    if has_screen():
        webbrowser.open(index.as_uri())


def shards():
    run("run", EXAMPLES / "shards" / "flow.yml")
    run("report", "-o", "tests.html")
    print(Path("report.md").read_text())


def functions():
    subprocess.run([sys.executable, EXAMPLES / "stubs" / "solve.py", "--write", "solved.py"], check=True)


def optimization():
    shutil.rmtree("library", ignore_errors=True)
    shutil.copytree(EXAMPLES / "optimize", "library")
    subprocess.run(["git", "init", "--quiet", "library"], check=True)
    run("optimize", "library/loans.py:returning_readers", "--seconds", "180", folder="library")
    run("report", "-o", Path("optimize.html").absolute(), folder="library")


def run(*words, folder="."):
    subprocess.run([*BAKEOFF, *words], cwd=folder, check=True)


DEMOS = [
    ("a test suite in shards, side by side", "tests.html", shards),
    ("ten functions, written by the model on this machine", "solved.py", functions),
    ("a slow function, made faster", "optimize.html", optimization),
]


def contents():
    """A page that leads to all three."""
    items = "".join(f'<li><a href="{made}">{markup(title)}</a>' for title, made, _ in DEMOS)
    return f"{page_head('bakeoff: three results')}<h1>Three results</h1><ol>{items}</ol>{PAGE_END}"


def has_screen():
    """Whether a browser could show a page: without a screen Python may start one that takes the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    main()
