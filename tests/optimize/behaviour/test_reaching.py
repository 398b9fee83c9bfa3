"""Functions that tests reach, wherever these are defined: in branches, through tables, from doctests."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.changes import changed_besides
from bakeoff.optimize.source_code.conditions import holds
from bakeoff.optimize.source_code.definitions import counterpart, locate

from .conftest import judges

pytestmark = pytest.mark.anyio


@dataclass
class Reached:
    """A module, its tests, what of it is optimised, and a right and a wrong replacement of a piece of its text."""

    module: str
    tests: str
    piece: str
    right: str
    wrong: str
    target: str = "work"


SLOW = "return [x for x in xs if x]"
RIGHT, WRONG = "return list(filter(None, xs))", "return xs"
ASKED = "from {mod} import {name}\n\ndef test_it():\n    assert {call}([0, 1]) == [1]\n"

REACHED = {
    "if": Reached(
        f"import sys\nif sys.version_info >= (3, 8):\n    def work(xs): {SLOW}\nelse:\n    def work(xs): return xs[:0]\n",
        ASKED.format(mod="mod", name="work", call="work"),
        SLOW, RIGHT, WRONG,
    ),
    "else, of what nobody knows": Reached(
        f"import json\nif hasattr(json, 'c_work'):\n    def work(xs): return xs[:0]\nelse:\n    def work(xs): {SLOW}\n",
        ASKED.format(mod="mod", name="work", call="work"),
        SLOW, RIGHT, WRONG,
    ),
    "except": Reached(
        f"try:\n    import no_such_module\n    def work(xs): return no_such_module(xs)\nexcept ImportError:\n    def work(xs): {SLOW}\n",
        ASKED.format(mod="mod", name="work", call="work"),
        SLOW, RIGHT, WRONG,
    ),
    "a class in a branch": Reached(
        f"try:\n    import json\nexcept ImportError:\n    json = None\nif json:\n    class Box:\n        def work(self, xs): {SLOW}\nelse:\n    class Box:\n        def work(self, xs): return xs[:0]\n",
        ASKED.format(mod="mod", name="Box", call="Box().work"),
        SLOW, RIGHT, WRONG, "Box.work",
    ),
    "a table": Reached(
        f"COMMANDS = {{}}\n\ndef command(name):\n    def put(f):\n        COMMANDS[name] = f\n        return f\n    return put\n\n@command('w')\ndef work(xs): {SLOW}\n",
        ASKED.format(mod="mod", name="COMMANDS", call="COMMANDS['w']"),
        SLOW, RIGHT, WRONG,
    ),
    "a table of what wraps it": Reached(
        f"import functools\nCOMMANDS = {{}}\n\ndef command(f):\n    @functools.wraps(f)\n    def call(*xs):\n        return f(list(xs))\n    COMMANDS[f.__name__] = call\n    return f\n\n@command\ndef work(xs): {SLOW}\n",
        "from mod import COMMANDS\n\ndef test_it():\n    assert COMMANDS['work'](0, 1) == [1]\n",
        SLOW, RIGHT, WRONG,
    ),
    "its own doctest": Reached(
        f"def work(xs):\n    '''Those that are.\n\n    >>> work([0, 1])\n    [1]\n    '''\n    {SLOW}\n",
        "def test_other():\n    pass\n",
        SLOW, RIGHT, WRONG,
    ),
    "the module's doctest": Reached(
        f"'''Lists.\n\n>>> Box().work([0, 1])\n[1]\n'''\n\nclass Box:\n    def work(self, xs): {SLOW}\n",
        "",
        SLOW, RIGHT, WRONG, "Box.work",
    ),
}  # fmt: skip


async def test_what_tests_reach_is_judged_out_of_process(tmp_path: Path) -> None:
    files, found = {}, {}
    packages = {name: f"kind{number}" for number, name in enumerate(REACHED)}
    for name, kind in REACHED.items():
        package = packages[name]
        files |= {f"{package}/__init__.py": "", f"{package}/mod.py": kind.module}
        files[f"{package}/test_{package}.py"] = kind.tests.replace("from mod", f"from {package}.mod")
    async with judges(tmp_path / "p", files, python=sys.executable, inputs="recorded", repeats=1) as judge_of:
        for name, kind in REACHED.items():
            assert kind.module.count(kind.piece) == 1
            judge = await judge_of(f"{packages[name]}/mod.py:{kind.target}")
            right, wrong = [await judge(kind.module.replace(kind.piece, text)) for text in (kind.right, kind.wrong)]
            found[name] = right.detail if right.reason else None, wrong.reason
            assert judge.baseline.inner is ("table" in name)
            if "table" in name:
                other = await judge(kind.module.replace("@command", "@(lambda f: f)\n@command"))
                assert other.reason == "invalid"
            if "branch" in name or "nobody" in name:
                other = await judge(kind.module.replace("return xs[:0]", "return xs"))
                assert other.reason == "incomparable"
    assert found == dict.fromkeys(REACHED, (None, "behaviour/return"))


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("TYPE_CHECKING", False),
        ("typing.TYPE_CHECKING", False),
        ("sys.version_info >= (3, 8)", True),
        ("sys.version_info[0] == 2", False),
        ("sys.version_info[:2] < (3, 0)", False),
        ("sys.version_info.major == 3 and not False", True),
        ("sys.platform.startswith('no such')", False),
        ("HAS_IT or True", True),
        ("HAS_IT and 1", None),
        ("HAS_IT", None),
        ("not HAS_IT", None),
        ("os.name in ('posix', 'nt')", True),
        ("sys.version_info > 3", None),
        ("len(x) == 2", None),
    ],
)
def test_conditions_hold_as_far_as_their_text_tells(test: str, answer: bool | None) -> None:
    import ast

    assert holds(ast.parse(test, mode="eval").body) is answer


BRANCHES = b"""\
if FAST:
    LIMIT = 1

    def work(x): return 1
else:
    def work(x): return 2
try:
    def other(): return 1
except ValueError:
    def other(): return 2
"""


def test_of_several_definitions_that_one_is_meant_that_was_seen() -> None:
    assert locate(BRANCHES, "work").line == 6
    assert locate(BRANCHES, "work", line=4).line == 4
    assert locate(BRANCHES.replace(b"FAST", b"True"), "work").line == 4
    assert locate(BRANCHES, "other").line == 8
    moved = b"import x\n\n" + BRANCHES
    assert [each.line for each in counterpart(BRANCHES, moved, "work", 6)] == [6, 8]
    assert counterpart(BRANCHES, b"def work(x): return 3\n", "work", 6)[1].line == 1
    for other in (b"def work(x:\n", b"def else_where(): pass\n"):
        with pytest.raises(TargetError):
            counterpart(BRANCHES, other, "work", 6)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return 1\nelse", "return 7\nelse", []),
        ("return 2\ntry", "return 7\ntry", ["work"]),
        ("LIMIT = 1", "LIMIT = 2", ["LIMIT"]),
        ("if FAST", "if not FAST", ["if FAST: ...", "LIMIT", "work", "if not FAST: ..."]),
        ("    LIMIT = 1\n", "    LIMIT = 1\n    def _further(): pass\n", []),
        ("    LIMIT = 1\n\n    def work(x): return 1\nelse:\n", "    def work(x): return 1\nelse:\n    LIMIT = 1\n", ["LIMIT"]),
    ],
)  # fmt: skip
def test_what_stands_beside_a_target_in_a_branch_is_seen_by_itself(old: str, new: str, said: list[str]) -> None:
    text = BRANCHES.decode()
    assert text.count(old) == 1
    assert changed_besides(BRANCHES, text.replace(old, new).encode(), "work", 4) == said
