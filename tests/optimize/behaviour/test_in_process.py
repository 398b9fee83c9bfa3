"""What can be judged in the candidate's own process only, and what originals do besides computing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.optimize.behaviour import derived_inputs
from bakeoff.optimize.errors import BehaviourError

from .conftest import judges, judging

pytestmark = pytest.mark.anyio

MODULE = "def work(f, xs):\n    return [f(x) for x in xs]\n"
TESTS = (
    "from mod import work\n\ndef test_it():\n    seen = []\n    def f(x):\n        seen.append(x)\n        return -x\n"
    "    assert work(f, [1, 2]) == [-1, -2]\n    assert seen == [1, 2]\n"
)
CANDIDATES = {
    "right": ("def work(f, xs):\n    return list(map(f, xs))\n", None),
    "wrong": ("def work(f, xs):\n    return list(xs)\n", "test-failed"),
    "leaves": ("import os\ndef work(f, xs):\n    os._exit(0)\n", "crash"),
    "interrupts": ("def work(f, xs):\n    raise KeyboardInterrupt\n", "behaviour/missing"),
    "no Python": ("def work(f, xs:\n", "import-failure"),
    "reports falsely": (
        "import os\ndef work(f, xs):\n    for fd in range(3, 20):\n        try: os.write(fd, b'passed' * 9)\n"
        "        except OSError: pass\n    os._exit(0)\n",
        "tampering",
    ),
    "patches reports": (
        "from _pytest.reports import TestReport\nold = TestReport.from_item_and_call\ndef new(cls, item, call):\n"
        "    report = old(item, call)\n    report.outcome, report.longrepr = 'passed', None\n    return report\n"
        "TestReport.from_item_and_call = classmethod(new)\ndef work(f, xs):\n    return 3\n",
        "tampering",
    ),
    "hangs": ("def work(f, xs):\n    while True: pass\n", "timeout"),
    "calls no more": ("def work(f, xs):\n    return [f(x) for x in xs]\ntwin = work\n", None),
}


async def test_with_trust_it_is_judged_in_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.optimize.behaviour.evaluation.SLACK", 1.0)
    options = {"trust": True, "python": sys.executable, "floor": 1.0}
    async with judging(tmp_path / "p", {"mod.py": MODULE, "test_mod.py": TESTS}, "mod.py:work", **options) as judge:
        assert list(judge.baseline.in_process) == ["test_mod.py::test_it"]
        found = {name: await judge(source) for name, (source, _) in CANDIDATES.items()}
    assert {name: one.reason for name, one in found.items()} == {
        name: reason for name, (_, reason) in CANDIDATES.items()
    }
    assert {one.receipt["judged"] for one in found.values()} == {"in-process"}


async def test_without_trust_it_is_incomparable(tmp_path: Path) -> None:
    files = {"mod.py": MODULE + "\ndef other():\n    pass\n", "test_mod.py": TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", python=sys.executable) as judge:
        found = await judge(files["mod.py"].replace("[f(x) for x in xs]", "list(map(f, xs))"))
        assert found.reason == "incomparable"
        assert "--trust" in found.detail
        assert found.receipt["judged"] == "not at all"


COUNTING = "COUNT = [0]\n\ndef work(f):\n    COUNT[0] += 1\n    return COUNT[0]\n"
COUNTING_TESTS = (
    "from mod import COUNT, work\n\ndef test_first():\n    assert work(1) >= 1\n\n"
    "def test_then():\n    n = 2\n    before = work(lambda: n)\n    assert work(1) == before + 1\n"
)


async def test_calls_that_depend_on_earlier_tests_count_by_their_outcome(tmp_path: Path) -> None:
    files = {"mod.py": COUNTING, "test_mod.py": COUNTING_TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", python=sys.executable, trust=True) as judge:
        assert "test_mod.py::test_then" in judge.baseline.in_process
        assert "test_mod.py::test_then" in judge.baseline.unrepeatable
        right = await judge(COUNTING.replace("COUNT[0] += 1", "COUNT[0] = 1 + COUNT[0]"))
        assert right.reason is None, right.detail
        wrong = await judge(COUNTING.replace("COUNT[0] += 1", "COUNT[0] += 2"))
        assert wrong.reason is not None


DOCTESTS = 'def work(f, xs):\n    """Of each.\n\n    >>> work({0}, [1, 2])\n    [1, 2]\n    """\n    return [f(x) for x in xs]\n'
ADDED = "    assert xs, 'none'\n    return [f(x)"


BESIDES = "import mod\n\ndef test_it():\n    assert mod.work(abs, [-1]) == [1]\n"


@pytest.mark.parametrize(
    ("function", "trust", "besides"),
    [
        pytest.param("abs", False, "", id="alone"),
        pytest.param("(lambda x: x)", True, BESIDES, id="trusted, besides"),
        pytest.param("abs", False, BESIDES, id="besides", marks=pytest.mark.soak(only=True)),
        pytest.param("(lambda x: x)", True, "", id="trusted, alone", marks=pytest.mark.soak(only=True)),
    ],
)
async def test_doctests_of_its_own_file_judge_a_function(
    tmp_path: Path, function: str, trust: bool, besides: str
) -> None:
    source = DOCTESTS.format(function)
    files = {"mod.py": source, "test_mod.py": besides, "setup.cfg": "[tool:pytest]\naddopts = --doctest-modules\n"}
    async with judging(tmp_path / "p", files, "mod.py:work", python=sys.executable, trust=trust) as judge:
        name = "mod.py::mod.work"
        assert name in (judge.baseline.in_process if trust else judge.baseline.passing)
        right = await judge(source.replace("    return [f(x)", ADDED))
        assert right.reason is None, right.detail
        assert right.receipt["calls_compared"] >= (0 if trust else 1)
        wrong = await judge(source.replace("return [f(x)", "return [2 * f(x)"))
        assert wrong.reason in ("behaviour/return", "test-failed")


ORIGINALS = {
    "leaks": (
        "import os, time\n\ndef work(x):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)\n    return x\n",
        "from leaks.mod import work\n\ndef test_it():\n    assert work(1) == 1\n",
    ),
    "writes": (
        "def work(x):\n    with open('log.txt', 'a') as file: file.write('x')\n    return x\n",
        "from writes.mod import work\n\ndef test_it():\n    assert work(1) == 1\n",
    ),
    "picky": (
        "import os, time\n\ndef work(xs):\n    if len(xs) == 1: raise ValueError(xs)\n    if len(xs) == 2: time.sleep(30)\n"
        "    if len(xs) == 3: os._exit(4)\n    return xs[::-1]\n",
        "from picky.mod import work\n\ndef test_it():\n    assert work([1, 2, 3, 4]) == [4, 3, 2, 1]\n    assert work([]) == []\n",
    ),
    "counts": (
        "CALLS = []\n\ndef work(x):\n    CALLS.append(x)\n    return len(CALLS)\n",
        "from counts.mod import work\n\ndef test_it():\n    assert work(5) == 1\n    assert work(5) == 2\n",
    ),
    "loops": (
        "import time\n\ndef work(n):\n    return sum(range(n))\n",
        "from loops.mod import work\n\ndef test_it():\n    assert work(100) == 4950\n    assert work(0) == 0\n",
    ),
}


async def test_what_the_original_does_is_no_fault(tmp_path: Path) -> None:
    files = {}
    for name, (module, tests) in ORIGINALS.items():
        files |= {f"{name}/__init__.py": "", f"{name}/mod.py": module, f"{name}/test_{name}.py": tests}
    async with judges(tmp_path / "p", files, python=sys.executable, inputs="derived", derived=6, floor=1.0) as judge_of:
        for name, (module, _) in ORIGINALS.items():
            judge = await judge_of(f"{name}/mod.py:work")
            found = await judge(module + "\n")
            assert found.reason is None, (name, found.differences)
            if name == "picky":
                assert judge.baseline.dropped["derived"] > 0
            if name == "loops":
                hangs = await judge(module.replace("return", "while n not in (100, 0): time.sleep(1)\n    return"))
                assert hangs.reason == "differs-on-derived-input"
                assert "timeout" in hangs.detail
                dies = await judge(
                    module.replace("    return", "    if n not in (100, 0): import os; os._exit(3)\n    return")
                )
                assert dies.reason == "differs-on-derived-input"
                assert "status 3" in dies.detail
                once = await judge(
                    module.replace("    return", "    if n not in (100, 0): return time.time()\n    return")
                )
                assert once.reason == "flaky"
                escapes = await judge(
                    module.replace(
                        "    return",
                        "    if n not in (100, 0):\n        try: open('/x', 'w')\n        except OSError: pass\n    return",
                    )
                )
                assert escapes.reason == "fs-escape"


async def test_inputs_that_cannot_be_derived_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await derived_inputs.derive([], 3) == []
    monkeypatch.setattr(derived_inputs.sys, "executable", "/bin/false")
    for call in (b"x", b"x" * 1_000_000):
        with pytest.raises(BehaviourError, match="derived inputs cannot be made"):
            await derived_inputs.derive([call], 3)
    monkeypatch.setattr(derived_inputs, "SECONDS", 0.0)
    assert await derived_inputs.derive([b"x"], 3) == []


SIGNED = (
    "def work(xs, *, back=False, by=1):\n    found = [x * by for x in xs]\n    return found[::-1] if back else found\n"
)


SIGNATURES = {
    "xs": "keyword back is gone",
    "rows, *, back=False, by=1": "parameter xs is now called rows",
    "xs, *, back=True, by=1": "keyword back has another default",
    "*xs, **back": "parameter xs is gone",
    "xs, *, back=False, by=1, _known=()": None,
}


async def test_calls_that_no_test_makes_are_possible_as_before(tmp_path: Path) -> None:
    tests = "from mod import work\n\ndef test_it():\n    assert work([1, 2]) == [1, 2]\n"
    async with judging(tmp_path / "p", {"mod.py": SIGNED, "test_mod.py": tests}, "mod.py:work") as judge:
        for signature, said in SIGNATURES.items():
            body = "    return list(xs)\n" if not signature.startswith("*") else "    return list(xs[0])\n"
            body = body.replace("xs", "rows") if signature.startswith("rows") else body
            found = await judge(f"def work({signature}):\n{body}")
            if said is None:
                assert found.reason is None, found
            else:
                assert (found.reason, said in found.detail) == ("invalid", True), found


LIBRARY = {
    "lib/acme/geo/base.py": "def square(x):\n    return x * x\n",
    "lib/acme/geo/mod.py": "from . import base\n\ndef work(xs):\n    return [base.square(x) for x in xs]\n",
    "check/check_mod.py": "from acme.geo.mod import work\n\ndef check_it():\n    assert open('numbers.txt').read() == '4'\n"
    "    assert work([2, 0]) == [4, 0]\n",
    "numbers.txt": "4",
    "pytest.ini": "[pytest]\npythonpath = lib\npython_files = check_*.py\npython_functions = check_*\n",
}


@pytest.mark.parametrize("folder", ["", "services/api/"])
async def test_what_pytest_is_configured_with_counts_at_the_top_and_in_a_folder(tmp_path: Path, folder: str) -> None:
    files = {folder + path: text for path, text in LIBRARY.items()}
    target = f"{folder}lib/acme/geo/mod.py:work"
    async with judging(tmp_path / "p", files, target, python=sys.executable, inputs="derived") as judge:
        assert list(judge.baseline.tests) == [f"{folder}check/check_mod.py::check_it"], judge.baseline.in_process
        right = await judge("from . import base\n\ndef work(xs):\n    return [x * x for x in xs]\n")
        wrong = await judge("from . import base\n\ndef work(xs):\n    return [x + x for x in xs]\n")
    assert (right.reason, wrong.reason) == (None, "differs-on-derived-input")


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ("list(range(1000))", "mod.more = 1  # a module that a test changes keeps it in one process"),
        ("bytearray(64_000)", "mod.more = 1"),
        ("list(range(1000))", "mod.work([0])  # so do many values: to pass them on would take minutes"),
    ],
)
async def test_calls_beyond_what_is_noted_of_a_test_are_judged_by_its_outcome(
    tmp_path: Path, given: str, first: str
) -> None:
    """An object that grows is noted at each call of its methods, which would take minutes."""
    tests = (
        f"import mod\n\ndef test_it():\n    {first}\n"
        f"    given = {given}\n    for turn in range(12):\n"
        "        given[0] = turn\n        mod.work(given)\n"
    )
    source = "more = 0\ndef work(xs):\n    return xs[0] + more\n"
    files = {"mod.py": source, "test_mod.py": tests}
    options = {"trust": True, "python": sys.executable, "noted": 8000}
    async with judging(tmp_path / "p", files, "mod.py:work", **options) as judge:
        here = judge.baseline.here["test_mod.py::test_it"]
        assert [call.kind for call in here][-12:] == ["return"] * 8 + ["unfit"] * 4
        assert (await judge(source + "    # the same\n")).reason is None
        assert (await judge(source.replace("xs[0]", "min(xs[0], 5)"))).reason == "behaviour/return"


async def test_many_values_need_no_trust_where_other_tests_judge(tmp_path: Path) -> None:
    source = "def work(xs):\n    return xs[0]\n"
    tests = (
        "import pytest\nfrom mod import work\n\ndef test_few():\n    assert work([3]) == 3\n\n"
        "@pytest.mark.parametrize('turn', range(20))\ndef test_many(turn):\n    given = [turn] * 600\n"
        "    assert work(given) == work(given) == turn\n"
    )
    options = {"python": sys.executable, "noted": 1000}
    async with judging(tmp_path / "p", {"mod.py": source, "test_mod.py": tests}, "mod.py:work", **options) as judge:
        baseline = judge.baseline
        assert next(iter(baseline.tests)) == "test_mod.py::test_few"
        assert not baseline.in_process
        assert 10 <= len(baseline.set_aside) <= 18  # of all tests together three times as many values are looked at
        assert (await judge(source + "    # the same\n")).reason is None
        assert (await judge(source.replace("xs[0]", "xs[0] or None"))).reason == "behaviour/type"


NETWORKED = """
import socket

def work(port, send):
    with socket.create_connection(("127.0.0.1", port)) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
        send(one)
        other.sendto(b"x", ("127.0.0.1", port))
        return 1
"""


async def test_a_port_that_is_another_each_time_is_the_same_network(tmp_path: Path) -> None:
    tests = (
        "import socket\nfrom mod import work\n\ndef test_it():\n    with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "        assert work(server.getsockname()[1], lambda one: one.send(b'x')) == 1\n"
    )
    options = {"trust": True, "python": sys.executable}
    async with judging(tmp_path / "p", {"mod.py": NETWORKED, "test_mod.py": tests}, "mod.py:work", **options) as judge:
        assert (await judge(NETWORKED.replace("return 1", "found = 1\n        return found"))).reason is None
        escapes = NETWORKED.replace("return 1", "other.sendto(b'x', ('10.0.0.1', port))\n        return 1")
        assert (await judge(escapes)).reason == "network-escape"
