from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.optimize.errors import BehaviourError

from .conftest import judges, judging
from .kinds import KINDS

pytestmark = pytest.mark.anyio

PARTS = 4
"""Projects that the kinds are spread over: for each of its functions all tests of a project are run."""


def moved(text: str, package: str) -> str:
    """A module's text for another place."""
    return text.replace("from mod import", f"from {package}.mod import").replace(
        "import mod", f"import {package}.mod as mod"
    )


@pytest.mark.parametrize("part", range(PARTS))
async def test_right_and_wrong_are_told_apart(tmp_path: Path, part: int) -> None:
    kinds = dict(list(KINDS.items())[part::PARTS])
    packages = {name: f"kind{number}" for number, name in enumerate(kinds)}
    files = {}
    for name, kind in kinds.items():
        package = packages[name]
        files |= {f"{package}/__init__.py": "", f"{package}/mod.py": kind.module}
        files[f"{package}/test_{package}.py"] = moved(kind.tests, package)
    found = {}
    async with judges(tmp_path / "p", files, trust=True, repeats=1, python=sys.executable) as judge_of:
        for name, kind in kinds.items():
            judge = await judge_of(f"{packages[name]}/mod.py:{kind.target}")
            right, wrong = await judge(kind.right), await judge(kind.wrong)
            found[name] = right.detail if right.reason else None, right.receipt["judged"], wrong.reason, wrong.detail
    assert {name: told for name, told in found.items() if told[0] is not None} == {}
    assert {name: told[1] for name, told in found.items()} == {name: kind.judged for name, kind in kinds.items()}
    assert {name: told for name, told in found.items() if told[2] not in kinds[name].reason.split("|")} == {}


CONFIGURED = {
    "mod.py": "def work(text):\n    return text.upper()\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-n 4 --cov --import-mode=importlib -p no:anyio -m \"not stress\"'\n"
    "markers = ['stress: so many that their names alone are more than one report holds']\n"
    "testpaths = ['checks']\nfilterwarnings = ['error']\n",
    "checks/conftest.py": "import pytest\n\n@pytest.fixture(autouse=True)\ndef word():\n    return 'word'\n",
    "checks/test_it.py": "from mod import work\n\nclass TestIt:\n    def test_it(self, word):\n"
    "        assert work(word) == 'WORD'\n",
    "checks/test_stress.py": "import pytest\n\n@pytest.mark.stress\n"
    "@pytest.mark.parametrize('x', [f'{n}{chr(120) * 20_000}' for n in range(300)])\ndef test_it(x):\n    assert False\n",
    "test_not_mine.py": "def test_it():\n    assert False\n",
}


async def test_the_projects_configuration_of_pytest_holds(tmp_path: Path) -> None:
    async with judging(tmp_path / "p", CONFIGURED, "mod.py:work", python=sys.executable) as judge:
        assert list(judge.baseline.tests) == ["checks/test_it.py::TestIt::test_it"]
        assert (await judge("def work(text):\n    return ''.join(map(str.upper, text))\n")).same
        found = await judge("def work(text):\n    return text.title()\n")
        assert found.reason == "behaviour/return"


REFUSED = {
    "no test reaches it": ("def work(x):\n    return 1\n", "def test_it():\n    pass\n", "no test reaches mod.py:work"),
    "it is not the same twice": (
        "import random\n\ndef work(x):\n    return random.random()\n",
        "from mod import work\n\ndef test_it():\n    assert work(1) < 2\n",
        "something else each time",
    ),
    "its tests cannot be read": ("def work(x):\n    return 1\n", "import nothing_of_that_name\n", "nothing_of_that_name"),
    "there are none": ("def work(x):\n    return 1\n", "", "pytest found none"),
    "its only test fails": (
        "def work(x):\n    return 1\n",
        "from mod import work\n\ndef test_it():\n    assert work(1) == 2\n",
        "1 that call it do not pass",
    ),
    "the tests die": (
        "def work(x):\n    return 1\n", "import os\nos._exit(3)\n", "did not come to an end",
    ),
    "its tests are flaky": (
        "def work(x):\n    return x\n",
        "import os\nfrom mod import work\n\ndef test_it():\n    work(1)\n    assert os.environ['PYTHONHASHSEED']\n"
        "    assert hash('a') == hash('a') and (hash('abcdef') % 7) == SEVEN\n",
        "flaky",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
async def test_what_cannot_be_judged_is_refused_in_words(tmp_path: Path, why: str) -> None:
    module, tests, said = REFUSED[why]
    if "SEVEN" in tests:
        import subprocess
        import sys

        env = {"PYTHONHASHSEED": "0"}
        asked = subprocess.run(
            [sys.executable, "-c", "print(hash('abcdef') % 7)"], env=env, capture_output=True, check=True
        )
        tests = tests.replace("SEVEN", asked.stdout.decode().strip())
    with pytest.raises(BehaviourError, match=said):
        async with judging(tmp_path / "p", {"mod.py": module, "test_mod.py": tests}, "mod.py:work"):
            pass


async def test_tests_that_cannot_judge_are_set_aside_and_said(tmp_path: Path) -> None:
    tests = (
        "import pytest\nfrom mod import work\n\ndef test_fails():\n    assert work(1) == 2\n\n"
        "def test_passes():\n    assert work(3) == 1\n\n"
        "@pytest.mark.skip\ndef test_skipped():\n    work(1)\n\n"
        "@pytest.mark.xfail\ndef test_expected():\n    assert work(1) == 2\n"
    )
    files = {"mod.py": "def work(x):\n    return 1\n", "test_mod.py": tests, "test_gone.py": "import no_such_module\n"}
    async with judging(tmp_path / "p", files, "mod.py:work") as judge:
        found = await judge("def work(x):\n    return 2 - 1\n")
        assert found.same
        assert list(judge.baseline.tests) == ["test_mod.py::test_passes"]
        assert set(found.receipt["set_aside"]) == {"test_mod.py::test_fails", "test_mod.py::test_expected"}
        assert "no_such_module" in found.receipt["uncollected"]["test_gone.py"]
