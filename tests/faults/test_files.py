"""Workflow files of any size and shape: they work, or one clear message says why not, in bounded time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows import HEAD

ROOT = Path(__file__).parents[2]
SECONDS = 30
"""Of the processor, so that a busy machine breaks nothing."""
MEMORY = 2 << 30


def run(root: Path, text: str) -> tuple[int, str]:
    """Exit status and standard error of `bakeoff run`; its processor time and memory are bounded."""
    (root / "flow.yml").write_text(text)
    ended = subprocess.run(
        [sys.executable, "-c", f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}));"
         f"resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}));"
         "from bakeoff.cli import main; main()", "run", "flow.yml", "--quiet", "--run-id", "it"],
        cwd=root,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr, ended.stderr[-2000:]
    return ended.returncode, ended.stderr


def refused(root: Path, text: str, *words: str) -> None:
    code, err = run(root, text)
    assert code == 1
    assert err.strip()
    assert len(err) < 20_000, "the message is not one to read"
    for word in words:
        assert word in err, err
    assert not (root / ".bakeoff").exists(), "a refused file left a run behind"


@pytest.mark.parametrize("count", [2_500, pytest.param(10_000, marks=pytest.mark.soak(only=True))])
def test_thousands_of_steps(tmp_path: Path, count: int) -> None:
    steps = "".join(f"  - {{id: s{number}, type: slot}}\n" for number in range(count))
    code, err = run(tmp_path, HEAD + "steps:\n" + steps)
    assert code == 0, err


def test_deep_nesting_of_steps(tmp_path: Path) -> None:
    def nested(depth: int) -> str:
        inner = "{id: last, type: slot}"
        for number in range(depth):
            inner = f'{{id: i{number}, type: if, condition: "true", then: [{inner}]}}'
        return HEAD + f"steps: [{inner}]\n"

    assert run(tmp_path, nested(20))[0] == 0
    (tmp_path / "deep").mkdir()
    code, err = run(tmp_path / "deep", nested(3000))
    assert code == 0 or "deep" in err or "nest" in err, err


@pytest.mark.parametrize("kind", ["list", "map"])
def test_deep_nesting_of_values(tmp_path: Path, kind: str) -> None:
    opening, closing = ("[", "]") if kind == "list" else ("{a: ", "}")
    refused(tmp_path, HEAD + f"steps:\n  - {{id: a, type: slot, name: {opening * 100_000}{closing * 100_000}}}\n")


def test_a_bomb_of_aliases(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    refused(
        tmp_path,
        "\n".join(lines) + "\n" + HEAD + "steps:\n  - {id: a, type: fan-out, items: *a11, step: {id: i, type: slot}}\n",
    )


def test_an_alias_of_itself(tmp_path: Path) -> None:
    refused(tmp_path, HEAD + "steps: &s\n  - {id: a, type: if, condition: true, then: *s}\n")


def test_an_expression_of_a_megabyte(tmp_path: Path) -> None:
    for expression in ("1 + " * 250_000 + "1", "(" * 500_000 + ")" * 500_000, "not " * 250_000 + "true", "a" * 1_000_000,
                       "x." * 500_000 + "x", "'" + "y" * 1_000_000 + "'", "1 | json" + " | json" * 100_000,
                       "a or " * 200_000 + "a", "[" * 500_000):  # fmt: skip
        code, err = run(
            tmp_path, HEAD + f'steps:\n  - {{id: a, type: shell, run: "true", when: "{{{{ {expression} }}}}"}}\n'
        )
        assert code == 0 or 0 < len(err) < 20_000, err[:3000]
        subprocess.run(["rm", "-rf", tmp_path / ".bakeoff"], check=True)


@pytest.mark.parametrize(
    "text",
    ["", "\0", "- a", "steps: [", "%YAML 9.9\n---\na: b", "a: !!python/object/apply:os.system [id]", "\xff\xfe", "? [a]\n: b",
     HEAD, HEAD + "steps: []\n", HEAD + "steps: 3\n", HEAD + "steps:\n  - 3\n", HEAD + "steps:\n  - {}\n"],
)  # fmt: skip
def test_what_is_no_workflow(tmp_path: Path, text: str) -> None:
    refused(tmp_path, text, "flow.yml")
