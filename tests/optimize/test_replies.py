"""Code out of replies, as models write them."""

from __future__ import annotations

import pytest

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
        (f"```python\n{DEF}```\n```python\nimport re\n{DEF}```", [DEF, f"import re\n{DEF}"]),
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
