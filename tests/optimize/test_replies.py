"""Code out of replies, as models write them."""

from __future__ import annotations

import pytest

from bakeoff.optimize.source_code.dead_code import without_dead_code
from bakeoff.optimize.sources.replies import versions_of

DEF = "def work(x):\n    return x\n"


@pytest.mark.parametrize(
    ("reply", "codes"),
    [
        (f"```python\n{DEF}```", [DEF]),
        (f"So:\n\n```py\n{DEF}```\nand use it:\n```python\nprint(work(1))\n```", [DEF]),
        (f"~~~\n{DEF}~~~~\n", [DEF]),
        (f"```\n{DEF}", [DEF]),
        (f"````python\n{DEF}# ```\n````", [f"{DEF}# ```\n"]),
        (f"```python\r\n{DEF}```".replace("\n", "\r\n"), [DEF]),
        (DEF, [DEF]),
        (f"<think>```python\n{DEF}```</think>\n```python\nasync {DEF}```", [f"async {DEF}"]),
        (f"```python\nclass A:\n    {DEF}```", [f"class A:\n    {DEF}"]),
        (f"```python\n{DEF}```\n```python\nimport re\n{DEF}```", [DEF, DEF]),
        ("```python\ndef works(x):\n    pass\n```", []),
        ("def work(x): because of it", []),
        ("", []),
    ],
)
def test_blocks_that_define_the_target(reply: str, codes: list[str]) -> None:
    assert [version.code for version in versions_of(reply, "work")] == codes


def test_a_version_says_which_one_it_comes_from() -> None:
    first, second = versions_of(
        f"```python\n# version 2\n{DEF}```\n\n```python\n# Version 13: better\n{DEF}```", "work"
    )
    assert (first.number, second.number) == (2, 13)
    assert first.code == second.code == DEF


REPLY = """\
from __future__ import annotations
import re, sys
import json
from math import *
TABLE = {}
OTHER = {}
for i in range(3):
    TABLE[i] = i
try:
    import numpy
except ImportError:
    numpy = None

def helper(x):
    return TABLE.get(x, LIMIT)
LIMIT = 3

# Nobody calls this one.
@decorated
def unused(x):
    return json.dumps(x)

class Box:
    def work(self, x):
        return helper(x) if numpy else re.escape(x)

def test_work():
    assert Box().work("a") == "a"
OTHER.clear()
print(Box().work(1))
if __name__ == "__main__":
    test_work()
"""


def test_what_the_function_does_not_reach_is_no_part_of_it() -> None:
    left = without_dead_code(REPLY, "work")
    for gone in ("json", "OTHER", "unused", "Nobody calls", "decorated", "test_work", "print", "__main__"):
        assert gone not in left
        assert gone in REPLY
    for there in ("annotations", "import re, sys", "math", "TABLE[i] = i", "import numpy", "numpy = None", "LIMIT = 3"):
        assert there in left
    compile(left, "reply", "exec")
    assert without_dead_code(left, "work") == left


@pytest.mark.parametrize("code", ["def work(x:", "def work(x):\n    return eval(x)\n\ndef f():\n    pass\n"])
def test_code_that_cannot_be_followed_stays_whole(code: str) -> None:
    assert without_dead_code(code, "work") == code
