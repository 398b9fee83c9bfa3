"""Checks are run on the snapshot before the first paid call: what cannot judge refuses the run."""

from __future__ import annotations

import os

import pytest

from attempt.conftest import FIX, FIXED, TEST, Lab
from bakeoff.agent.registry import find_entry
from bakeoff.judge.checks.command import judged
from bakeoff.judge.checks.diagnosis import why_unrunnable
from bakeoff.judge.checks.on_base import MOST_TESTS, OnBase
from bakeoff.judge.checks.runner_output import Tests as Run
from bakeoff.judge.verdict import INVALID, ValidationResult
from bakeoff.process.command import Finished, Output
from bakeoff.sampling.attempt.preflight import paths_in
from bakeoff.settings import Settings


def found(status: int, said: str, error: str | None = None) -> ValidationResult:
    return ValidationResult(False, said, error=error, receipt={"exit_code": status})


INLINE = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
OTHERS = "cannot import name 'nosuch' from 'json' (/usr/lib/python3.11/json/__init__.py)"


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("pytset -q", 127, "exit status 127\nsh: 1: pytset: not found"),
        ("./run.sh", 126, "exit status 126\nsh: 1: ./run.sh: Permission denied"),
        ("echo 'x", 2, "sh: 1: Syntax error: Unterminated quoted string"),
        ("cd nope && x", 2, "sh: 1: cd: can't cd to nope"),
        ("sh nope.sh", 2, "sh: 0: cannot open nope.sh: No such file"),
        ("python nope.py", 2, "/usr/bin/python3: can't open file '/p/nope.py': [Errno 2] No such file or directory"),
        ("python -m pytest", 1, "/usr/bin/python3: No module named pytest"),
        ("python -m unittest a.test_b", 1, "E\nModuleNotFoundError: No module named 'a.test_b'\n\nRan 1 test in 0.0s"),
        ("python -m unittest a/test_b.py", 1, "ModuleNotFoundError: No module named 'a.test_b'"),
        ("python -m unittest a.b.T.f", 1, "AttributeError: module 'a' has no attribute 'b'"),
        ("python -m unittest a.T.f", 1, "AttributeError: type object 'T' has no attribute 'f'"),
        ("python -m unittest discover -s x", 1, "ImportError: Start directory is not importable: 'x'"),
        ("make tset", 2, "make: *** No rule to make target 'tset'.  Stop."),
        ("make", 2, "make: *** No targets specified and no makefile found.  Stop."),
        ("make t", 2, "make: pytset: No such file or directory\nmake: *** [Makefile:2: t] Error 127"),
        ("npm test", 1, 'npm error Missing script: "test"'),
        ("node x.js", 1, "Error: Cannot find module '/p/x.js'"),
        ("npx vitest run", 1, "No test files found, exiting with code 1"),
        ("go test ./x", 1, "stat /p/x: directory not found"),
        ("cargo test", 101, "error: could not find `Cargo.toml` in `/p` or any parent directory"),
        ("rspec spec/a_spec.rb", 1, "  cannot load such file -- /p/spec/a_spec.rb".strip()),
        ("just tset", 1, "error: Justfile does not contain recipe `tset`"),
        ("python -c 'import nosuch'", 1, f"{INLINE}ModuleNotFoundError: No module named 'nosuch'"),
        ("python - < x", 1, f"{INLINE}    import nosuch\nModuleNotFoundError: No module named 'nosuch'"),
        ("python -c 'from json import nosuch'", 1, f"{INLINE}ImportError: {OTHERS}"),
        ("python -m nosuch", 1, "/usr/bin/python3: No module named nosuch"),
    ],
)
def test_a_check_that_cannot_run(command: str, status: int, said: str) -> None:
    assert why_unrunnable(command, found(status, said)), said


@pytest.mark.parametrize("program", ["pytest", "__main__.py"])
def test_an_option_that_pytest_does_not_know_is_named(program: str) -> None:
    said = f"pytest ran no test\nERROR: usage: {program} [options]\n{program}: error: unrecognized arguments: --foo\n"
    why = why_unrunnable("pytest --foo", found(4, said, INVALID))
    assert why == f"pytest ran no test: {program}: error: unrecognized arguments: --foo"


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("pytest -q", 1, "FAILED tests/test_a.py::test_b - ModuleNotFoundError: No module named 'new'"),
        ("pytest -q", 4, "ImportError while loading conftest '/p/conftest.py'.\nNo module named 'new'"),
        ("python -m unittest test_a", 1, "ModuleNotFoundError: No module named 'new'"),
        ("python cli.py --new", 2, "cli.py: error: unrecognized arguments: --new"),
        ("grep -q x new.txt", 2, "grep: new.txt: No such file or directory"),
        ("wc < new.txt", 2, "sh: 1: cannot open new.txt: No such file"),
        ("make", 2, "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop."),
        ("go test ./...", 2, "FAIL\texample.org/n [build failed]"),
        ("node main.js", 1, "Error: Cannot find module './new'"),
        ("false", 1, "exit status 1"),
        ("python -c 'import calc.new'", 1, f"{INLINE}ModuleNotFoundError: No module named 'calc.new'"),
        (
            "python -c 'import calc'",
            1,
            f"{INLINE}  File \"/p/calc.py\", line 1\nModuleNotFoundError: No module named 'new'",
        ),
        (
            "python -c 'from calc import sub'",
            1,
            f"{INLINE}ImportError: cannot import name 'sub' from 'calc' (/p/calc.py)",
        ),
        ("x", 1, "y" * 600 + "sh: 1: Syntax error"),
    ],
)
def test_a_check_that_simply_fails(command: str, status: int, said: str) -> None:
    assert why_unrunnable(command, found(status, said)) is None


def test_what_tests_print_says_nothing_of_the_check() -> None:
    said = "exit status 1\nERROR: not found: x\nModuleNotFoundError: No module named 'a.test_b'"
    for runner, ran, failed, refused in (("pytest", 2, 2, False), ("unittest", 2, 1, False), ("unittest", 1, 1, True)):
        receipt = {"exit_code": 1, "tests": {"runner": runner, "ran": ran, "failed": failed}}
        why = why_unrunnable("python -m unittest a.test_b", ValidationResult(False, said, receipt=receipt))
        assert (why is not None) is refused
    assert why_unrunnable("python -m pkg --new", found(2, "__main__.py: error: unrecognized arguments: --new")) is None


def test_what_says_nothing_cannot_judge() -> None:
    said = "pytest ran no test\nERROR: file or directory not found: x"
    why = why_unrunnable("pytest x", found(4, said, INVALID))
    assert why == "pytest ran no test: ERROR: file or directory not found: x"
    for words in ("Ran 0 tests in 0.0s", "?   x [no test files]", "No tests found, exiting with code 0", "# tests 0"):
        assert why_unrunnable("x", found(0, f"x ran no test\n{words}", INVALID)), words
    assert why_unrunnable("./vitest", found(0, "vitest ran no test\nRUN  v1\n\nx", INVALID)) is None
    assert why_unrunnable("x", found(125, "", "sandbox")) == "sandbox"
    assert why_unrunnable("x", ValidationResult(True)) is None


def test_what_is_kept_of_the_snapshots_run() -> None:
    tests = Run("pytest", 2, 1, 1, ("a",), "junit", frozenset({"a", "b"}), frozenset({"c"}))
    for base in (OnBase(0, tests), OnBase(0, None), OnBase(143, None, 15.0)):
        assert OnBase.from_json(base.to_json()) == base
    many = Run("pytest", 1, names=frozenset(map(str, range(MOST_TESTS + 1))))
    assert OnBase.from_json(OnBase(0, many).to_json()) is None


def count(lab: Lab, name: str = "ran") -> int:
    file = lab.place / name
    return len(file.read_text().split()) if file.exists() else 0


def test_a_typo_in_a_check_is_not_paid_for(lab: Lab) -> None:
    lab.agent(FIX)
    lab.write("bad.sh", "")
    more = ["--check", "pytset -q", "--check", "./bad.sh", "--score", "nothing-here"]
    said = lab.attempt("--attempts", "5", "--repair", "1", "--json", *more, check="pytest -q tests/test_nope.py")
    assert said.status == 1, said
    assert (said.json["status"], said.json["attempts"], said.json["usage"]) == ("failed", [], {})
    error = said.json["error"]
    for part in ("file or directory not found: tests/test_nope.py", "pytset: not found", "status 126", "score `nothing",
                 "--no-preflight"):  # fmt: skip
        assert part in error, error
    assert lab.calls == []
    assert "go on with" not in said.err
    assert lab("resume", "r").status == 1
    assert lab.calls == []


def test_a_pytest_that_breaks_down_is_not_paid_for(lab: Lab) -> None:
    lab.write("pytest.ini", "[pytest]\nfilterwarnings = error\nnosuch_option = 1\n")
    lab.agent(FIX)
    said = lab.attempt("--json", check="python -m pytest -q")
    assert (said.status, lab.calls) == (1, [])
    why = (
        "cannot judge: pytest ran no test: INTERNALERROR> pytest.PytestConfigWarning: Unknown config option: nosuch_opt"
    )
    assert why in said.json["error"], said


def test_a_hook_of_the_project_that_fails_is_mended(lab: Lab) -> None:
    lab.write("conftest.py", "from calc import add\n\n\ndef pytest_sessionstart():\n    assert add(1, 2) == 3\n")
    lab.agent(FIX)
    said = lab.attempt(check="python -m pytest -q")
    assert (said.status, lab.calls) == (0, ["1"]), said


INSTALLED = 'INTERNALERROR>   File "/p/.venv/lib/python3.11/site-packages/_pytest/main.py", line 333, in x\n'
HOOK = 'INTERNALERROR>   File "/p/conftest.py", line 2, in pytest_sessionstart\n'
BROKEN = Run("pytest", 1, 1, failing=("pytest.internal",))
NONE = Run("pytest", 0)


@pytest.mark.parametrize(
    ("status", "tests", "printed", "refused"),
    [
        (3, BROKEN, INSTALLED, True),
        (2, BROKEN, f"{INSTALLED}make: *** [test] Error 3", True),
        (3, BROKEN, INSTALLED + HOOK, False),
        (3, Run("pytest", 2, 1, failing=("pytest.internal",)), INSTALLED, False),
        (4, NONE, "ERROR: /p/pytest.ini: 'minversion' requires pytest-99", True),
        (4, NONE, "ImportError while loading conftest '/p/conftest.py'.", False),
        (5, NONE, "1 deselected in 0.01s", True),
        (2, NONE, "no tests ran in 0.01s\n!!! _pytest.outcomes.Exit: no database !!!", True),
        (2, NONE, "sh: ruff says no", False),
        (2, Run("pytest", 1, 1, failing=("tests.test_calc",)), "1 error in 0.2s", False),
    ],
)
def test_a_pytest_that_ran_nothing(status: int, tests: Run, printed: str, refused: bool) -> None:
    passed, reason, error = judged(
        Finished(status, Output(printed, len(printed)), Output("", 0), 1.0), tests, printed, None
    )
    assert (passed, error) == (False, INVALID if refused else None)
    verdict = ValidationResult(False, reason, error=error, receipt={"exit_code": status, "tests": tests.to_json()})
    assert (why_unrunnable("pytest", verdict) or "").startswith("pytest ran no test" if refused else "")


def test_names_in_code_of_the_command_are_no_files(lab: Lab) -> None:
    lab.agent(FIX)
    said = lab.attempt(check='python -c "import os.path, nosuch; os.path.join(nosuch.x)"')
    assert (said.status, lab.calls) == (1, [])
    assert "cannot judge" in said.out + said.err
    assert "No module named 'nosuch'" in said.out + said.err


def test_what_attempts_are_to_make_is_asked_for(lab: Lab) -> None:
    lab.agent(f"printf 'def test(): pass' > tests/test_new.py; {FIX}")
    asked = ["--may-edit", "tests/test_new.py"]
    said = lab.attempt(*asked, check="pytest -q tests/test_new.py")
    assert said.status == 0, said
    said = lab.attempt("--run-id", "t", "--may-edit", "*", check="pytset -q")
    assert (said.status, len(lab.calls)) == (1, 1), "no file is named"
    lab.agent(f"echo true > new.sh; {FIX}")
    assert lab.attempt("--run-id", "s", "--no-preflight", check="sh new.sh").status == 0


def test_the_snapshot_is_tried_once(lab: Lab) -> None:
    """Whoever passes is compared with what came of it then, and a resumed run finds it again."""
    lab.agent(f"[ -e {lab.place}/go ] && {FIX} || exit 1")
    check = f"echo x >> {lab.place}/ran; python -m pytest -q"
    said = lab.attempt("--sandbox=none", "--max-calls", "1", "--attempts", "2", check=check)
    assert (said.status, count(lab)) == (4, 1), said
    (lab.place / "go").touch()
    said = lab("resume", "r", "-i", "max_calls=2", "--json")
    assert said.json["winner"] == 2, said
    assert count(lab) == 2
    (receipt,) = [check["receipt"] for check in said.json["attempts"][1]["checks"]]
    assert receipt["base"]["tests"]["failed"] == 1


def test_a_check_that_passes_already(lab: Lab) -> None:
    lab.agent(FIX)
    said = lab.attempt("--require-red", "--check", "true")
    assert said.status == 1
    assert "check `true` passes before anything is done" in said.out
    assert "--no-preflight" not in said.out
    assert lab.calls == []
    said = lab.attempt("--run-id", "s", "--check", "true", task="mend calc.py, see tests/test_calc.py:3 and `tests`")
    assert said.status == 0
    assert "check `true` passes on the snapshot" in said.err
    assert f"check `{FIXED}` passes" not in said.err
    assert "! tests/test_calc.py is judged as the snapshot has it" in said.err
    said = lab.attempt("--run-id", "u", "--score", "echo none")
    assert "score `echo none` gives no score on the snapshot: the score's command printed no number" in said.err
    assert "--require-red and --no-preflight" in lab.attempt("--require-red", "--no-preflight").err


def test_a_check_that_hangs_on_the_snapshot_holds_nobody_up(lab: Lab) -> None:
    lab.agent(FIX)
    said = lab.attempt("--check-timeout", "3", check=f"{FIXED} || sleep 600")
    assert said.status == 0, said
    assert "had not ended on the snapshot after 3 s" in said.err


def test_an_ignored_file_that_tests_need_is_named(lab: Lab) -> None:
    lab.write("pkg/__init__.py", "from pkg._version import V\n")
    lab.write("tests/test_calc.py", f"import pkg\n{TEST}")
    lab.write(".gitignore", ".bakeoff\nbakeoff.toml\n_version.py\n*.json\n")
    lab.commit()
    lab.write("pkg/_version.py", "V = 1\n")
    lab.write("data/made.json", "{}")
    lab.agent(FIX)
    reads = "import json, os; json.load(open(os.path.abspath('data/made.json')))"
    said = lab.attempt("--check", f'python -c "{reads}"', check="python -m pytest -q")
    assert said.status == 1, said
    assert 'copy = ["pkg/_version.py"] in [tool.bakeoff.slots]' in said.out + said.err
    assert 'copy = ["data/made.json"]' in said.out + said.err
    assert lab.calls == []
    said = lab.attempt("--run-id", "n", "--no-preflight", check="python -m pytest -q")
    assert (said.status, len(lab.calls)) == (3, 1)
    assert "what was judged misses pkg/_version.py" in said.err
    lab.settings('[slots]\ncopy = ["pkg/_version.py"]\n')
    assert lab.attempt("--run-id", "s", check="python -m pytest -q").status == 0


def test_words_that_may_be_paths() -> None:
    assert paths_in("Mend `src/a.py:3`, (b.py) and tests/; e.g. not this.") == ["src/a.py", "b.py", "tests", "e.g"]


def test_an_agent_without_login_is_not_called(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    program = lab.place / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho x >> {lab.place}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name in find_entry("claude", Settings()).login_variables:
        monkeypatch.delenv(name, raising=False)
    asked = ("--agent", "claude", "--check", FIXED, "--run-id", "r")
    for command in (("attempt", "x"), ("plan", "x")):
        said = lab(*command, *asked)
        assert said.status == 1, said
        assert "start claude once and log in, or set ANTHROPIC_API_KEY" in said.err
        assert not lab.run.root.exists()
    assert count(lab) == 0


def test_a_pattern_that_protects_nothing_is_named(lab: Lab) -> None:
    lab.agent(FIX)
    lab.write("docs/a/b.md", "x")
    lab.commit()
    asked = [word for glob in ("calc.py", "clac.py", "docs", "docs/", "*.md") for word in ("--protect", glob)]
    said = lab.attempt(*asked, "--no-preflight")
    lines = [line for line in said.err.splitlines() if "matches no file of the snapshot" in line]
    assert [line.split()[2] for line in lines] == ["clac.py", "docs"], said
    assert lines[1].endswith("for what is in that folder give docs/**")
    lab.git("branch", "b")
    said = lab("compare", "b", "--check", "true", "--protect", "nope/*", "--run-id", "c")
    assert "--protect nope/* (`protect` in files) matches no file of the snapshot" in said.err
    said = lab("optimize", "--bench", "true", "--ref", "b", "--protect", "nope/*", "--run-id", "o")
    assert "--protect nope/* (`protect` in files) matches no file of the snapshot" in said.err


def test_a_score_that_fails_on_the_snapshot_is_named(lab: Lab) -> None:
    lab.agent(FIX)
    said = lab.attempt("--score", "grep -c 'a + b' calc.py")
    assert said.status == 0, said
    assert (
        "score `grep -c 'a + b' calc.py` gives no score on the snapshot: the score's command ended with exit"
        in said.err
    )


@pytest.mark.parametrize(
    ("task", "check", "makes", "missed"),
    [
        ("write a module greet", "python -c 'import greet'", "touch greet.py", "module greet"),
        (
            "write the package greet",
            "python -c 'import greet.inner'",
            "mkdir greet; touch greet/inner.py",
            "module greet",
        ),
        ("write new.sh", "sh new.sh", "echo true > new.sh", "new.sh"),
        ("write `tools/new.py`.", "python tools/new.py", "mkdir tools; touch tools/new.py", "tools/new.py"),
    ],
)
def test_what_the_task_names_is_to_be_made(lab: Lab, task: str, check: str, makes: str, missed: str) -> None:
    lab.agent(makes)
    said = lab.attempt(task=task, check=check)
    assert (said.status, lab.calls) == (0, ["1"]), said
    assert f"check `{check}` misses {missed}, so it fails until an attempt makes that" in said.err


@pytest.mark.parametrize(
    ("task", "check"),
    [
        ("write a module greet", "python -c 'import gret'"),
        ("write a module greeting", "python -c 'import greet'"),
        ("write tests/test_new.py", "pytest -q tests/test_new.py"),
        ("write a module test_new", "python -c 'import test_new'"),
        ("mend it for pytest_x", "python -m pytest_x"),
        ("write new.sh", "sh nwe.sh"),
    ],
)
def test_what_the_task_does_not_name_or_may_not_make_is_refused(lab: Lab, task: str, check: str) -> None:
    lab.agent(FIX)
    said = lab.attempt(task=task, check=check)
    assert (said.status, lab.calls) == (1, []), said
    assert "name that file or module in the task, or give --no-preflight" in said.out + said.err
