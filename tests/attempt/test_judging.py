"""What is read of test runners, and which paths are protected."""

from __future__ import annotations

import os
import re

import pytest

from bakeoff.judge.checks import junit, runner_output
from bakeoff.judge.checks.check_runner import tail
from bakeoff.judge.checks.protected import Protection
from bakeoff.judge.checks.runner_output import Tests as Run
from bakeoff.judge.checks.runner_output import names_pytest, read_output
from bakeoff.judge.checks.score import last_number
from bakeoff.reader.reading import read_here

GO_NONE = "?   \texample.org/m\t[no test files]\n"
GO_FILTERED = "testing: warning: no tests to run\nPASS\nok  \texample.org/m\t0.002s [no tests to run]\n"
GO_BAD = "--- FAIL: TestAdd (0.00s)\n    add_test.go:5: no\nFAIL\nFAIL\texample.org/m\t0.002s\n"
GO_UNBUILT = "# example.org/n\nn/n.go:3:1: syntax error\nFAIL\texample.org/n [build failed]\n"


@pytest.mark.parametrize(
    ("command", "output", "runner", "ran", "failing"),
    [
        ("python -m unittest", "FAIL: test_x (m.T)\n\nRan 3 tests in 0.1s\n", "unittest", 3, ("test_x (m.T)",)),
        ("python -m unittest", "Ran 0 tests in 0.0s\n\nOK\n", "unittest", 0, ()),
        ("python manage.py test", "Ran 4 tests in 0.1s\n", "unittest", 4, ()),
        ("go test ./...", "ok  \texample.org/m\t0.002s\n", "go test", None, ()),
        ("go test ./...", "ok  \texample.org/m\t(cached)\n", "go test", None, ()),
        ("go test ./...", GO_NONE, "go test", 0, ()),
        ("go test -run X ./...", GO_FILTERED, "go test", 0, ()),
        ("go test ./...", GO_BAD, "go test", None, ("TestAdd (example.org/m)",)),
        ("go test ./...", GO_UNBUILT, "go test", 0, ("example.org/n",)),
        ("go test ./...", GO_UNBUILT + GO_BAD, "go test", None, ("example.org/n", "TestAdd (example.org/m)")),
        ("npm test", "Tests:       1 failed, 2 passed, 3 total\n  \x1b[31m● adds\x1b[0m\n", "jest", 3, ("adds",)),
        ("npx jest", "No tests found, exiting with code 0\n", "jest", 0, ()),
        ("npx vitest run", " Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", "vitest", 3, ()),
        ("npx vitest run", "No test files found, exiting with code 0\n", "vitest", 0, ()),
        ("npm test", "  3 passing (5ms)\n  1 failing\n\n  1) adds\n", "mocha", 4, ("adds",)),
        ("node --test", "# tests 2\nnot ok 1 - adds\n", "node --test", 2, ("adds",)),
        ("cargo test", "test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n"
         "test result: ok. 0 passed; 0 failed;", "cargo test", 2, ("a",)),
        ("bundle exec rspec", "3 examples, 1 failure\nrspec ./a_spec.rb:3 # adds\n", "rspec", 3, ("./a_spec.rb:3",)),
        ("make check", "======= 2 failed, 5 passed in 0.31s =======\n", "pytest", 7, ()),
    ],
)  # fmt: skip
def test_what_runners_print(command, output, runner, ran, failing):
    found = read_output(command, output)
    assert found is not None
    assert (found.runner, found.ran, found.failing) == (runner, ran, failing)
    told = runner_output.printed(output.encode(), command)
    assert told is not None
    assert Run.of(told) == found


GO_MANY = """--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/zero (0.00s)
FAIL
FAIL	example.org/m/a	0.002s
ok  	example.org/m/b	0.003s
# example.org/m/d
d/d.go:3:1: syntax error
--- FAIL: TestAdd (0.00s)
panic: boom
FAIL	example.org/m/c	0.001s
FAIL	example.org/m/d [build failed]
?   	example.org/m/e	[no test files]
FAIL
"""

CARGO_RED = """running 2 tests
test tests::same ... FAILED
test tests::good ... ok

failures:
    tests::same

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s
"""
CARGO_MANY = f"""{CARGO_RED}
running 1 test
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s

{CARGO_RED}
running 1 test
test b/src/lib.rs - f (line 1) ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s
     Running unittests src/lib.rs (target/debug/deps/a-3110576fc3c3c96d)
error: test failed, to rerun pass `-p a --lib`
     Running unittests src/lib.rs (target/debug/deps/c-3110576fc3c3c96d)
     Running unittests src/lib.rs (target/debug/deps/b-d297d743c1d6421f)
error: test failed, to rerun pass `-p b --lib`
   Doc-tests b
error: doctest failed, to rerun pass `-p b --doc`
error: 3 targets failed:
    `-p a --lib`
    `-p b --lib`
    `-p b --doc`
"""
CARGO_CRASHED = (
    f"{CARGO_RED}error: test failed, to rerun pass `-p a --lib`\nerror: test failed, to rerun pass `-p b --lib`\n"
)
NEXTEST = """
        PASS [   0.004s] (1/3) a tests::good
        FAIL [   0.005s] (2/3) a tests::same
        FAIL [   0.005s] b::it tests::same
     Summary [   0.010s] 3 tests run: 1 passed, 2 failed, 0 skipped
"""

JEST = """PASS src/c.test.js
FAIL src/a.test.js (5.2 s)
  ● Console

    console.log

  ● sums › adds

    expect(received).toBe(expected)

FAIL unit packages/b/a b.test.js
  ● sums › adds
  ● Test suite failed to run

Summary of all failing tests
FAIL src/a.test.js (5.2 s)
  ● sums › adds

Tests:       2 failed, 1 passed, 3 total
"""


@pytest.mark.parametrize(
    ("command", "output", "ran", "failing"),
    [
        (
            "go test ./...", GO_MANY, None,
            ["TestAdd (example.org/m/a)", "TestAdd/zero (example.org/m/a)", "TestAdd (example.org/m/c)",
             "example.org/m/d"],
        ),
        ("go test ./...", "--- FAIL: TestAdd (0.00s)\n", None, ["TestAdd"]),
        (
            "cargo test --no-fail-fast", CARGO_MANY, 6,
            ["tests::same (-p a --lib)", "tests::same (-p b --lib)", "b/src/lib.rs - f (line 1) (-p b --doc)"],
        ),
        ("make check", CARGO_RED, 2, ["tests::same"]),
        ("cargo test", CARGO_CRASHED, 2, ["tests::same"]),
        ("cargo nextest run", NEXTEST, 3, ["tests::same (a)", "tests::same (b::it)"]),
        (
            "npx jest", JEST, 3,
            ["sums › adds (src/a.test.js)", "sums › adds (b.test.js)", "Test suite failed to run (b.test.js)"],
        ),
    ],
)  # fmt: skip
def test_two_tests_of_one_name_are_told_apart(command, output, ran, failing):
    found = read_output(command, output)
    assert found is not None
    assert (found.ran, list(found.failing), found.failed) == (ran, failing, len(failing))


@pytest.mark.parametrize("command", ["true", "test -f x", "npm test", "pip install pytest-cov", "./pytest.sh"])
def test_other_commands_say_nothing_of_tests(command):
    assert read_output(command, "all is well\n") is None
    assert not names_pytest(command)


@pytest.mark.parametrize(
    "command", ["pytest", "cd a && pytest -q", "python -m pytest", "uv run .venv/bin/pytest x", "(pytest)"]
)
def test_commands_that_run_pytest(command):
    assert names_pytest(command)


def test_reports_that_cannot_be_read():
    deep = b"<testsuite>" + b"<a>" * 200 + b"</a>" * 200 + b"</testsuite>"
    for content, why in (
        (b"<testsuite", "no XML"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "document type"),
        (b"", "no XML"),
        (deep, "too deeply"),
    ):
        with pytest.raises(ValueError, match=why):
            junit.read(content)


def test_what_a_report_says():
    found = Run.of(
        junit.read(
            b'<testsuites><testsuite><testcase name="a"/><testcase name="b" classname="c"><failure/></testcase>'
            b'<testcase name="d"><skipped/></testcase><testcase name="e"><error/></testcase>'
            b'<testcase name="f"><system-out><failure/></system-out><testcase/></testcase></testsuite></testsuites>'
        ),
        runner="junit",
    )
    assert (found.ran, found.failed, found.skipped, found.failing) == (4, 2, 1, ("c.b", "e"))
    assert (found.names, found.left_out) == ({"a", "c.b", "f"}, {"d"})


@pytest.mark.parametrize(
    ("command", "output", "ran", "skipped"),
    [
        ("python -m unittest", "Ran 5 tests in 0.001s\n\nOK (skipped=2)\n", 3, 2),
        ("python -m unittest", "Ran 5 tests in 0.1s\n\nFAILED (failures=1, skipped=1, expected failures=1)\n", 4, 1),
        ("npx jest", "Tests:       1 skipped, 2 todo, 3 passed, 6 total\n", 3, 3),
        ("vitest run", " Tests  1 failed | 3 passed | 2 skipped (6)\n", 4, 2),
        ("mocha", "  3 passing (4ms)\n  2 pending\n", 3, 2),
        ("node --test", "# tests 4\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 1\n# todo 1\n", 2, 2),
        ("rspec", "4 examples, 1 failure, 2 pending\n", 2, 2),
        ("cargo test", "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured\n", 3, 2),
    ],
)
def test_skipped_tests_are_no_tests_that_ran(command, output, ran, skipped):
    found = read_output(command, output)
    assert found is not None
    assert (found.ran, found.skipped) == (ran, skipped)


def patterns() -> list[str]:
    """All that is sought in what others printed."""
    found = [
        runner_output._GO,
        runner_output._CARGO,
        runner_output._NEXTEST,
        runner_output._JEST,
        runner_output._GO_SOME,
        runner_output._ANSI,
    ]
    texts = [pattern.pattern for pattern in found]
    for runner in runner_output._RUNNERS:
        texts += [pattern for pattern in (runner.ran, runner.failing, runner.none, runner.skipped) if pattern]
    return [text for text in texts if isinstance(text, str)]


def longest_repeat(parsed) -> int:
    """The bound of the repetition that has the largest one, in a parsed expression."""
    most = 0
    for operator, argument in parsed:
        if str(operator) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            most = max(most, int(argument[1]))
        parts = argument if isinstance(argument, (list, tuple)) else [argument]
        for part in (inner for each in parts for inner in (each if isinstance(each, list) else [each])):
            if isinstance(part, type(parsed)):
                most = max(most, longest_repeat(part))
    return most


@pytest.mark.parametrize("pattern", patterns())
def test_what_is_sought_in_what_was_printed_repeats_within_bounds(pattern):
    assert longest_repeat(re._parser.parse(pattern)) <= 500


def test_whatever_is_printed_is_read_within_seconds():
    hostile = ["1" * 3_000_000, "\n" * 3_000_000, " " * 3_000_000, "1 passed " * 100_000, "\x1b[" * 500_000]
    hostile += ["Tests: " * 200_000, "Tests: 1 skipped, " * 50_000, "FAIL [" * 200_000, "--- FAIL: x " * 100_000]
    hostile += ["ok\t" * 300_000, "● " * 500_000, "test a ... FAIL" * 100_000, "\nFAIL x (" * 100_000]
    hostile += ["test result: ok. 1 passed; " * 50_000, "FAILED (skipped=" * 50_000, "\n 1) " * 200_000, "é\udc80" * 9]
    for text in hostile:
        for command in ("make test", "./vitest", "go test ./...", "npx jest", "cargo test"):
            data = text[:400_000].encode("utf-8", "surrogatepass")
            read_here(runner_output.printed, data, command)  # it has a bound of time


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("a 1 b -2.5e1\n", -25.0), ("9" * 400_000, "a number beyond"), ("x" * 99, "no number"),
        ("7 " + "x" * 99_999, "no number in its last"), ("0." + "1" * 99_999, "a number beyond"), ("1e999", "a number"),
    ],
)  # fmt: skip
def test_the_last_number_is_the_score(text, score):
    found = last_number(text)
    assert found.startswith(score) if isinstance(score, str) else found == score


def report(*names: str, left_out: tuple[str, ...] = ()) -> Run:
    return Run("pytest", len(names), source="junit", names=frozenset(names), left_out=frozenset(left_out))


def test_which_tests_were_left_out():
    base = report("t.a[1]", "t.a[2]", "t.b")
    assert report("t.a[1]", "t.a[2]", "t.b", "t.c").fewer_than(base) is None
    assert report("t.a[3]", "t.b").fewer_than(base) is None, "cases of a test may be made of the code"
    assert "1 of the tests" in (report("t.a[1]", "t.b", left_out=("t.a[2]",)).fewer_than(base) or "")
    assert (report("t.a[1]").fewer_than(base) or "").endswith(": t.b")
    assert report("t.a", left_out=("t.b",)).fewer_than(report("t.a", left_out=("t.b",))) is None
    many = report(*(f"t.{number}" for number in range(9)))
    assert (report().fewer_than(many) or "").endswith("t.3, t.4, ...")


def test_where_there_are_no_names_numbers_are_compared():
    base = Run("unittest", 5)
    assert Run("unittest", 5).fewer_than(base) is None
    assert Run("unittest", 4).fewer_than(base) == "4 tests ran; 5 run on the snapshot"
    assert Run("jest", 4).fewer_than(base) is None
    assert Run("go test", None).fewer_than(Run("go test", None)) is None
    assert report("a").fewer_than(Run("pytest", 0)) is None


def test_what_make_reads_is_protected_where_a_check_runs_it():
    protection = Protection(checks=("cd web && make -s test",))
    assert protection.covers("web/Makefile")
    assert not Protection(checks=("sh ./makeshift",)).covers("Makefile")
    assert not Protection(("Makefile",), checks=("make",)).covers("Makefile")


def test_files_that_a_check_names():
    protection = Protection(checks=("sh ./ci/run.sh && python 'a b.py'", "an 'open quote app.py"))
    paths = ["ci/run.sh", "a b.py", "run.sh", "app.py"]
    assert protection.named(paths) == ["ci/run.sh", "a b.py", "app.py"]


def test_a_test_that_a_check_names_is_protected_wherever_it_stands():
    protection = Protection(
        checks=("ava src/test-limit.js ./src/checks.test/tests.ts app.js src/latest.js run-tests.sh",)
    )
    paths = ["src/test-limit.js", "src/checks.test/tests.ts", "app.js", "src/latest.js", "run-tests.sh"]
    assert [path for path in paths if protection.covers(path)] == paths[:2]
    assert not Protection().covers("src/test-limit.js")
    assert not Protection(may_edit=("src/",), checks=protection.checks).covers("src/test-limit.js")


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("tests/a.py", True), ("pkg/tests/data/x.json", True), ("test_a.py", True), ("src/a_test.py", True),
        ("src/conftest.py", True), ("pytest.ini", True), ("tox.ini", True), ("setup.cfg", True), ("tests", True),
        ("web/a.test.ts", True), ("m/a_test.go", True), ("web/__tests__/a.js", True), ("spec/a.rb", True),
        ("jest.config.mjs", True), ("sitecustomize.py", True), ("a/__pycache__/test_m.cpython-311.pyc", True),
        ("m.pyc", True), ("test_m/__init__.py", True), ("conftest/__init__.py", True), ("test_m.abi3.so", True),
        ("a/.mypy_cache/3.11/x.json", True), (".worktreeinclude", True), (".specify/integration.json", True),
        ("m.so", False), ("test_m/data.py", False), ("a/.worktreeinclude", False),
        ("evil-1.0.dist-info/entry_points.txt", True), ("lib/pluggy.py", True), ("a.py", False), ("testing.py", False),
        ("contest.py", False), ("attests/a.py", False), ("setup.py", False), ("latest.txt", False),
        ("test.js", True), ("test.mts", True), ("test.py", True), ("lib/a-test.cjs", True), ("lib/a_test.ts", True),
        ("commands/test.js", False), ("test.md", False), ("ava.config.js", True),
    ],
)  # fmt: skip
def test_which_paths_are_tests_or_configure_them(path, covered):
    assert Protection().covers(path) is covered


def test_globs_of_the_user():
    protection = Protection(may_edit=("tests/new/", "*.test.ts"), protect=("Makefile", "ci/[a-c]?.sh", "x/[!a]"))
    assert not protection.covers("tests/new/a.py")
    assert not protection.covers("tests/new/deep/a.py")
    assert protection.covers("tests/old/a.py")
    assert not protection.covers("web/a.test.ts")
    assert protection.covers("Makefile")
    assert protection.covers("sub/Makefile")
    assert protection.covers("ci/b1.sh")
    assert not protection.covers("ci/d1.sh")
    assert protection.covers("x/b")
    assert not protection.covers("x/a")


def touched(path: str, before: str, after: str, **more) -> bool:
    return bool(Protection(**more).touched([path], lambda _: before.encode(), lambda _: after.encode()))


def test_of_project_files_only_what_configures_tests_counts():
    project = "[project]\nname = 'x'\n"
    assert not touched("pyproject.toml", project, project + "dependencies = ['y']\n")
    assert touched("pyproject.toml", project, project + "[tool.pytest.ini_options]\naddopts = '--co'\n")
    assert touched("pyproject.toml", project, "no [toml")
    assert touched("pyproject.toml", project + "[tool.pytest.ini_options]\naddopts = '-q'\n", project)
    assert not touched("pyproject.toml", project, "no [toml", may_edit=("pyproject.toml",))
    options = "[tool.pytest.ini_options]\naddopts = '-q'\ntestpaths = ['t']\n"
    swapped = "[tool.pytest.ini_options]\ntestpaths = ['t']\naddopts = '-q'\n"
    assert not touched("pyproject.toml", options, swapped), "the order of keys says nothing"
    assert not touched("package.json", "{}", '{"dependencies": {"a": "1"}}')
    assert touched("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}')
    assert touched("web/package.json", "", '{"scripts": {"test": "true"}}')
    assert touched("package.json", "{}", "[]")


@pytest.mark.parametrize(
    ("path", "hostile"),
    [
        ("pyproject.toml", "a = " + "[" * 20_000 + "]" * 20_000),
        ("pyproject.toml", "a = " + "1" * 5000),
        ("package.json", "[" * 200_000 + "]" * 200_000),
        ("package.json", '{"a":' * 200_000),
        ("package.json", '{"scripts": 1' + "0" * 5000 + "}"),
        ("package.json", " " * (5 << 20)),
    ],
)
def test_a_project_file_that_cannot_be_read_counts_as_changed(path, hostile):
    assert touched(path, "", hostile)
    assert not touched(path, hostile, hostile)


def test_the_end_of_a_long_text_begins_with_a_line():
    assert tail("short") == "short"
    assert tail("first\nsecond\nthird", 12) == "[...]\nthird"


def test_a_products_own_folders_and_modules_are_no_test_machinery():
    has = ["src/_pytest/a.py", "src/pluggy/__init__.py", "pkg/testing/__init__.py", "pkg/testing/tests/test_x.py"]
    has += [
        "lib/unittest.py",
        "testing/test_core.py",
        "testing/data/x.json",
        "unittest/a_test.cc",
        "unittest/b_test.cc",
    ]
    has += ["unittest/fixtures.cc", "go/testing/fake.go", "go/testing/fake_test.go"]
    protection = Protection(protect=("pkg/testing/fixed.py",)).within(os.fsencode(path) for path in has)
    free = ["src/_pytest/a.py", "src/_pytest/new/b.py", "src/pluggy/new.py", "pkg/testing/b.py", "lib/unittest.py"]
    free += ["go/testing/fake.go"]
    held = ["_pytest/__init__.py", "src/pytest.py", "pkg/unittest/x.py", "testing/data/x.json", "unittest/fixtures.cc"]
    held += [
        "pkg/testing/tests/test_x.py",
        "pkg/testing/fixed.py",
        "src/_pytest/pluggy/x.py",
        "src/_pytest/conftest.py",
    ]
    held += ["unittest.py", "pytest", "go/testing/fake_test.go"]
    assert [path for path in free if protection.covers(path)] == []
    assert [path for path in held if not protection.covers(path)] == []
    assert all(Protection().covers(path) for path in [*free, *held] if path != "pkg/testing/fixed.py")
