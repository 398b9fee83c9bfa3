"""A rename across forty files of a repository of a thousand, by the real codex CLI against a scripted model."""

from __future__ import annotations

import json
import os

import pytest

from agent.real import CODEX_PROVIDER, KEY, TOOLS
from plan.run.conftest import lab, plans, states  # noqa: F401  (fixtures)
from scripted_model import Say, ScriptedModel, Shell

pytestmark = [
    pytest.mark.agents,
    pytest.mark.soak(only=True),
    pytest.mark.skipif(not (TOOLS / ".ready").exists(), reason="run `make agents-cli`"),
]

TEST = """import importlib, pathlib, pytest

MODULES = sorted(str(path.with_suffix("")).replace("/", ".") for path in pathlib.Path("app").glob("p*/m*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_used(name):
    assert importlib.import_module(name).use(3) >= 3


def test_notes():
    assert "<<<" not in open("NOTES.md").read()
"""


def project(lab):  # noqa: F811
    """Four packages of ten callers of `compute`, shared code, and nine hundred and sixty files besides."""
    lab.write("core/__init__.py", "")
    lab.write("core/calc.py", "def compute(x):\n    return x\n")
    lab.write("core/shape.py", "def fmt(x):\n    return x\n")
    lab.write("NOTES.md", "# Notes\n\nNames: compute\n\nEnd\n")
    lab.write("tests/test_app.py", TEST)
    for package in range(4):
        for number in range(10):
            text = "from core.calc import compute\n\n\ndef use(x):\n    return compute(x)\n"
            lab.write(f"app/p{package}/m{number}.py", text)
    for number in range(960):
        lab.write(f"data/d{number // 40}/f{number}.txt", f"{number}\n")
    lab.commit("project")
    assert len(lab.git("ls-files").splitlines()) >= 1000


def rename(package: int) -> str:
    return f"sed -i 's/compute/evaluate/g' app/p{package}/*.py"


FIRST = {
    "core": "printf '\\n\\ndef evaluate(x):\\n    return compute(x)\\n' >> core/calc.py",
    "p0": f"{rename(0)}; sed -i 's/Names: compute/Names: evaluate (p0)/' NOTES.md",
    # It renames a helper that nobody uses, ...
    "p1": f"{rename(1)}; sed -i 's/fmt/shaped/' core/shape.py",
    # ... and this one begins to use it, under its old name.
    "p2": f"{rename(2)}; printf '\\nfrom core.shape import fmt\\n' >> app/p2/m9.py",
    "p3": f"{rename(3)}; sed -i 's/Names: compute/Names: evaluate, by p3/' NOTES.md",
}

AGAIN = {
    "p2": f"{rename(2)}; printf '\\nfrom core.shape import shaped\\n' >> app/p2/m9.py",
    "p3": f"{rename(3)}; sed -i 's/(p0)/(p0, p3)/' NOTES.md",
}


def script(seen):
    part = next(name for name in FIRST if seen.says(f"Your part:\nyou are part {name}."))
    again = seen.says("Your work is not merged")
    return Say("done") if seen.tool_results else Shell((AGAIN if again else FIRST)[part])


def test_a_rename_ends_green_with_the_conflict_and_the_culprit_named(lab, plans, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PATH", f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}")
    project(lab)
    plans.checks = "python -m pytest -q tests/test_app.py"
    parts = [{"name": "core", "goal": "you are part core.", "files": ["core/calc.py"]}]
    for number in range(4):
        extra = ["NOTES.md"] if number in (0, 3) else ["core/shape.py"] if number == 1 else []
        files = [f"app/p{number}/m{n}.py" for n in range(10)]
        goal = f"you are part p{number}."
        parts.append(
            {
                "name": f"p{number}",
                "goal": goal,
                "files": files,
                "writes": [f"app/p{number}/", *extra],
                "after": ["core"],
            }
        )
    with ScriptedModel(script) as model:
        provider = CODEX_PROVIDER.format(url=model.url, retries=0)
        args = ["--ignore-user-config", "-c", "model_provider=scripted", "-c", provider]
        lab.settings(
            f'[agents.codex]\nmodel = "scripted"\nargs = {json.dumps(args)}\nenv = {{SCRIPTED_KEY = "{KEY}"}}\n'
        )
        before = lab.digest()
        shown = plans.run(parts, "--agent", "codex", config={"max_reopened": 1}, goal="rename compute to evaluate")
    assert set(states(shown).values()) == {"landed"}
    assert [(one["ref"], one["with"], one["path"]) for one in shown["conflicts"]] == [("p3", "p0", "NOTES.md")]
    assert [(one["ref"], one["with"]) for one in shown["culprits"]] == [("p2", "p1")]
    assert "Names: evaluate (p0, p3)" in plans.result("NOTES.md")
    assert "import shaped" in plans.result("app/p2/m9.py")
    assert "compute" not in "".join(plans.result(f"app/p{p}/m{n}.py") for p in range(4) for n in range(10))
    assert shown["usage"]["calls"] == 7
    assert lab.digest() == before
    assert lab.left() == []
    assert lab.slots() == []
