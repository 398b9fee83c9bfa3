"""Why an attempt could not be judged is said, and what could not be judged came close to nothing."""

from __future__ import annotations

import pytest

from attempt.conftest import Lab
from bakeoff.judge.checks.diagnosis import broken, is_near
from bakeoff.judge.verdict import INVALID, ValidationResult


def failed(reason: str, ran: int | None = None, failed: int = 0, error: str | None = None) -> ValidationResult:
    tests = "unknown" if ran is None else {"ran": ran, "failed": failed}
    return ValidationResult(False, reason, error=error, receipt={"tests": tests})


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("exit status 2\nE   ModuleNotFoundError: No module named 'x'\n", "ModuleNotFoundError: No module named 'x'"),
        ("exit status 2\nE     File 'a.py', line 1\nE   SyntaxError: invalid syntax", "SyntaxError: invalid syntax"),
        ("exit status 1\nImportError: cannot import name 'f' from 'm'", "ImportError: cannot import name 'f' from 'm'"),
        ("exit status 1\nFAIL\tm [build failed]", "FAIL\tm [build failed]"),
        ("exit status 101\nerror[E0425]: cannot find value", "error[E0425]: cannot find value"),
        ("exit status 1\nFAILED test_a.py::test - assert 1 == 2", None),
    ],
)
def test_code_that_cannot_be_loaded(reason: str, line: str | None) -> None:
    assert broken(failed(reason)) == line
    assert broken(failed(reason, 3, 3)) == line
    assert broken(failed(reason, 3, 2)) is None, "a test passed"
    assert is_near(failed(reason)) is (line is None)
    assert not is_near(failed(reason, error=INVALID))
    assert broken(ValidationResult(True)) is None


def test_each_that_cannot_be_judged_has_its_reason(lab: Lab) -> None:
    """1 and 4 leave nothing to import, 2 ends the test run, 3 is judged and nearest."""
    lab.agent(
        'case $BAKEOFF_ATTEMPT in 2) printf "import os\\nos._exit(0)\\n" > calc.py ;; 3) echo "# 3" >> calc.py ;; '
        '*) echo "import nowhere # $BAKEOFF_ATTEMPT" >> calc.py ;; esac'
    )
    said = lab.attempt("--attempts", "4", check="python -m pytest -q")
    assert said.status == 3, said
    for shown in (said.out, lab("show", "r").out):
        assert "attempts 1, 4: no test could say anything: `python -m pytest -q`: ModuleNotFoundError: No" in shown
        assert "attempt 2: invalid: `python -m pytest -q`: pytest ran no test" in shown
        assert "closest: attempt 3, 0 of 1 met" in shown
        assert "attempt 3: " not in shown
    shown = lab("show", "r", "--json").json
    assert shown["closest"] == 3
    assert "ran no test" in shown["attempts"][1]["checks"][0]["reason"]


def test_where_none_could_be_judged_none_is_closest(lab: Lab) -> None:
    lab.agent("echo import nowhere >> calc.py")
    said = lab.attempt(check="python -m pytest -q")
    assert said.status == 3, said
    assert "closest" not in said.out
    assert "none came close; of attempt 1:" in said.out
    assert lab("show", "r", "--json").json["closest"] is None
