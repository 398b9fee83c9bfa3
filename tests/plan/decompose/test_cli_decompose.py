"""`bakeoff plan decompose`, as a person and as a program call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bakeoff.cli.schema import output_schema
from cli.conftest import ARGV, Result, environment
from plan.decompose.conftest import Checkout


def bakeoff(checkout: Checkout, *args: str, cwd: str = ".") -> Result:
    folders = {f"XDG_{name.upper()}_HOME": str(checkout.root.parent / name) for name in ("cache", "data")}
    done = subprocess.run(
        [*ARGV, "plan", *args],
        cwd=checkout.root / cwd,
        env=environment(**folders),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_process(checkout: Checkout, *args: str, capsysbinary: Any) -> str:
    """The same in this process, for what a test of the coverage can see."""
    from bakeoff.cli.command_line import cli

    cli.main(["plan", *args], prog_name="bakeoff", standalone_mode=False)
    out: bytes = capsysbinary.readouterr().out
    return out.decode()


@pytest.fixture
def here(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Two packages that import each other in a circle, a hub, and files that are left out."""
    for package in ("one", "two"):
        for number in range(8):
            checkout.write(f"src/{package}/m{number}.py", f"from base import x  # {package}{number}\n" * 9)
        checkout.write(f"src/{package}/__init__.py", f"from {'two' if package == 'one' else 'one'} import m1\n")
    checkout.write("src/base.py", "x = 1\n")
    checkout.write("src/gen.py", "x = 1\n")
    checkout.write("big.txt", "word " * 5000)
    checkout.write("pic.png", b"\0")
    checkout.write(".gitattributes", "src/gen.py linguist-generated\n")
    checkout.write(".github/CODEOWNERS", "* @all\n/src/two/ @two\n")
    checkout.write(
        "pyproject.toml",
        '[tool.bakeoff]\nexclude = [".*", "pyproject.toml"]\n'
        "[tool.bakeoff.plan]\nmax_files_per_subplan = 9\nmax_tokens_per_subplan = 5000\ncohesion = 1\n",
    )
    checkout.commit()
    monkeypatch.chdir(checkout.root)
    return checkout


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(output_schema("plan-decompose")).validate(found)
    return found


def test_json_is_what_its_schema_says_and_the_same_from_everywhere(here: Checkout):
    first = bakeoff(here, "decompose", "--json")
    assert (first.status, first.err) == (0, "")
    found = document(first.out)
    assert found["metrics"]["skipped"] == {"binary": 1, "excluded": 3, "generated": 1}
    assert found["metrics"]["files"] == 20
    assert found["metrics"]["circles"] == [found["order"][-2:]]
    leaves = [node for node in found["nodes"] if not node["children"]]
    assert [node["id"] for node in leaves] == found["order"]
    assert leaves[0]["hub"]
    assert leaves[0]["files"] == ["src/base.py"]
    assert [node["files"] for node in leaves if node["oversize"]] == [["big.txt"]]
    assert bakeoff(here, "decompose", "--json", cwd="src/one").out == first.out
    assert bakeoff(here, "decompose", "--json", str(here.root), cwd="src/one").out == first.out
    (here.root / "src" / "one" / os.fsdecode(b"bad\xff.txt")).write_text("x")
    here.commit()
    named = bakeoff(here, "decompose", "--json")
    assert "src/one/bad\udcff.txt" in [path for node in document(named.out)["nodes"] for path in node["files"]]


def test_the_tree_says_all_there_is_to_know(here: Checkout, capsysbinary: Any):
    out = in_process(here, "decompose", capsysbinary=capsysbinary)
    assert out == in_process(here, "decompose", "--tree", capsysbinary=capsysbinary)
    lines = out.splitlines()
    assert lines[0].startswith("20 files, ")
    assert "leaves down to depth 1" in lines[0]
    assert any("of them between leaves; " in line for line in lines)
    assert "1 hub apart: files that so many others know belong to no other part" in lines
    assert "1 file with more tokens than a subplan may have, each alone" in lines
    assert "leaves that import each other in a circle: 2" in lines
    assert "left out: 1 binary, 3 excluded, 1 generated" in lines
    (one,) = [line for line in lines if line.startswith("  src/one/")]
    assert one.split()[2:] == ["9", str(int(one.split()[3])), "100%", one.split()[5], "circle", "1"]
    assert in_process(here, "decompose", "--no-imports", "src/one", capsysbinary=capsysbinary).startswith("9 files, ")


def test_the_page_needs_nothing_else(here: Checkout, capsysbinary: Any):
    here.write("src/one/<b>.py", "")
    here.commit()
    page = in_process(
        here, "decompose", "--html", "--max-files", "300", "--max-tokens", "90000", capsysbinary=capsysbinary
    )
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "&lt;b&gt;.py" in page
    assert "<b>" not in page
    assert "src=" not in page
    assert in_process(here, "decompose", "--html", "-o", "p.html", capsysbinary=capsysbinary) == "p.html\n"
    assert 'data-s="hub"' in Path("p.html").read_text()
    assert 'data-s="oversize"' in Path("p.html").read_text()


def test_why_a_file_is_where_it_is(here: Checkout, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch):
    def why(path: str, *more: str) -> str:
        return in_process(here, "decompose", "--explain", path, *more, capsysbinary=capsysbinary)

    hub = why("src/base.py")
    assert "a hub, kept apart" in hub
    assert "comes as number 1 of 4" in hub
    plain = why("src/one/__init__.py")
    assert "its folder was put there as a whole" in plain
    assert "of its folder src/one, 9 of 9 files are in this leaf" in plain
    assert "2 leaves import each other in a circle" in plain
    assert "are in this leaf" in plain
    assert "more tokens than a leaf may have" in why("big.txt")
    monkeypatch.chdir("src")
    assert "src/two/m1.py is in leaf" in why("two/m1.py")
    refused = bakeoff(here, "decompose", "--explain", "pic.png")
    assert (refused.status, refused.out) == (1, "")
    assert "pic.png is in no subplan" in refused.err
    here.write("src/two/use.py", "from three import y\n")
    here.write("src/three.py", "y = 1\n")
    here.commit()
    after = why("two/use.py", "--max-files", "4", "--cohesion", "9")
    assert "its leaf comes after those it imports from: " in after


def test_the_previous_hierarchy_is_the_warm_start(here: Checkout, capsysbinary: Any):
    before = in_process(here, "decompose", "--json", capsysbinary=capsysbinary)
    Path("before.json").write_text(before)
    here.write("src/aaa.py", "x = 1\n")
    here.git("add", "src/aaa.py")
    after = document(in_process(here, "decompose", "--json", "--previous", "before.json", capsysbinary=capsysbinary))
    assert after["metrics"]["kept"] == 1
    assert set(json.loads(before)["order"]) < set(after["order"])
    out = in_process(here, "decompose", "--previous", "before.json", capsysbinary=capsysbinary)
    assert "100% of the previous leaves are still there" in out
    for text, said in (
        ("{", "cannot be read"),
        ("[]", "is not what"),
        ('{"root": null, "nodes": []}', "is not what"),
        (before.replace('"depth": 1', '"depth": 2', 1), "no tree"),
        (before.replace('"order": ["', '"order": ["x", "', 1), "no tree"),
    ):
        Path("wrong.json").write_text(text)
        refused = bakeoff(here, "decompose", "--json", "--previous", "wrong.json")
        assert (refused.status, refused.out) == (1, "")
        assert f"wrong.json {said}" in refused.err or f"wrong.json: its nodes are {said}" in refused.err
    assert "cannot be read" in bakeoff(here, "decompose", "--previous", "none.json").err


def test_owners_have_their_files_apart(here: Checkout, capsysbinary: Any):
    found = document(in_process(here, "decompose", "--by", "owners", "--json", capsysbinary=capsysbinary))
    for node in found["nodes"]:
        if not node["children"]:
            assert len({path.startswith("src/two/") for path in node["files"]}) == 1
    (here.root / ".github/CODEOWNERS").unlink()
    refused = bakeoff(here, "decompose", "--by", "owners")
    assert (refused.status, refused.out) == (1, "")
    assert "there is no CODEOWNERS file" in refused.err
    assert bakeoff(here, "decompose", "--by", "owners", "--previous", "x").status == 2


def test_what_cannot_be_split_is_said(here: Checkout, tmp_path: Path):
    for args, said in ((("..",), "is outside the project"), (("nothing",), "git knows no file at nothing")):
        refused = bakeoff(here, "decompose", *args)
        assert (refused.status, refused.out) == (1, "")
        assert said in refused.err
    for misuse in (["--max-files", "0"], ["--json", "-o", "x"], ["--explain", "big.txt", "--json"],
                   ["--explain", "big.txt", "-o", "x"]):  # fmt: skip
        assert bakeoff(here, "decompose", *misuse).status == 2
    assert bakeoff(here, "decomposed").status == 2
    here.write("pyproject.toml", "[tool.bakeoff.plan]\nmax_children = 1\n")
    assert "plan.max_children must be a whole number from 2, not 1" in bakeoff(here, "decompose").err
    here.write("pyproject.toml", "[tool.bakeoff.plan]\nmax_files = 1\n")
    assert "plan.max_files is no setting" in bakeoff(here, "decompose").err


def test_a_project_without_files(checkout: Checkout):
    found = bakeoff(checkout, "decompose", "--json")
    assert document(found.out)["root"] is None
    assert bakeoff(checkout, "decompose").out == "0 files, 0 tokens: nothing to split\n"
    assert bakeoff(checkout, "decompose", "--html").status == 0


def test_help_lists_the_subcommands_and_imports_none(checkout: Checkout):
    found = bakeoff(checkout, "--help")
    assert found.status == 0
    assert "decompose  Split a project's files into subplans." in found.out
    code = (
        "import sys\nsys.argv = ['bakeoff', 'plan', '--help']\nfrom bakeoff.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not [name for name in sys.modules if name.startswith('bakeoff.plan')]"
    )
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True)
