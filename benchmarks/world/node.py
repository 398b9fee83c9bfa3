"""Projects of JavaScript and TypeScript: installed in `node_modules`, tested by the runner that they declare."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.world.language import UNTESTED, Language

if TYPE_CHECKING:
    from benchmarks.world.project import Project

INSTALL_SECONDS = 600
SUFFIXES = (".js", ".ts", ".mjs", ".mts", ".jsx", ".tsx")

# The command that takes test files, and a file with one test that passes.
RUNNERS = {
    "jest": ("jest --env node --coverage=false", "import {test} from '@jest/globals';\ntest('it', () => {});\n"),
    "vitest": ("vitest run", "import {test} from 'vitest';\ntest('it', () => {});\n"),
    "ava": ("ava", "import test from 'ava';\ntest('it', t => t.pass());\n"),
    "mocha": ("mocha", "it('passes', () => {});\n"),
}


def is_node(top: Path) -> bool:
    """Whether contributors install it with npm."""
    return (top / "package.json").exists()


def is_test(path: str) -> bool:
    """Whether a file of this name is tests, by what runners look for."""
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0]
    return name.endswith(SUFFIXES) and (stem in ("test", "tests") or stem.endswith((".test", ".spec", "-test")))


def counts(text: str) -> Counter[str]:
    """The numbers of jest's line `Tests:`, or of ava's last lines."""
    lines = [line for line in text.splitlines() if re.match(r"\s*(Tests:?\s|\d+ (known )?tests? )", line)]
    found = re.findall(r"(\d+) (?:tests? )?(passed|failed|skipped|todo)", "\n".join(lines))
    return Counter({word: int(number) for number, word in found})


def install(project: Project) -> str:
    """Fill `node_modules`, and say what could not be installed."""
    npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
    done = project.run(npm, INSTALL_SECONDS)
    missing = [f"npm install: {done.err.strip()[-200:]}"] if done.status else []
    if list(project.top.glob("jest.config.ts")):  # jest reads it by this, which newer versions of node do without
        done = project.run([*npm, "--no-save", "ts-node"], INSTALL_SECONDS)
        missing += ["ts-node"] if done.status else []
    return f"not installed: {', '.join(missing)}" if missing else ""


def language(top: Path) -> Language:
    """The project's runner; none where it declares no runner that takes test files, or it is not installed."""
    declared: dict[str, Any] = json.loads((top / "package.json").read_text())
    wanted = declared.get("devDependencies", {})
    name = next((name for name in RUNNERS if name in wanted and (top / "node_modules/.bin" / name).exists()), None)
    if name is None:
        return UNTESTED
    command, empty = RUNNERS[name]
    return Language(name, SUFFIXES, f"{command}", f"{command}", "", is_test, counts, "//", empty_test=empty)
