from __future__ import annotations

import pytest

from bakeoff.optimize.source_code.added_attributes import added_attributes

BEFORE = """
LIMIT = 3

class Outer:
    __slots__ = ("text", "_seen")

    def __init__(self, text):
        self.text = text
        self._seen = None

    def work(self):
        return len(self.text)
"""


def changed(body: str, slots: str = '("text", "_seen", "_new")') -> bytes:
    text = BEFORE.replace('("text", "_seen")', slots).replace("self._seen = None", f"self._seen = None\n        {body}")
    return text.encode()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("self._new = None", {"_new": "None"}),
        ("self._new: int | None = None", {"_new": "None"}),
        ("self._new = {}", {"_new": "{}"}),
        ("self._new = len(self.text) + LIMIT", {"_new": "len(self.text) + LIMIT"}),
        ("pass", {"_new": ""}),
        ("self._new = text", {}),
        ("self._new = [each for each in self.text]", {}),
        ("self._new = 1; self._new = 2", {}),
        ("self._new, self._more = 1, 2", {}),
        ("self.more = None", {"_new": ""}),
    ],
)
def test_what_instances_get_is_told_with_what_it_is_at_first(body: str, found: dict[str, str]) -> None:
    assert added_attributes(BEFORE.encode(), changed(body), "Outer.work") == ({"Outer": found} if found else {})


def test_what_the_original_knows_of_is_not_added() -> None:
    before = BEFORE.replace("len(self.text)", "getattr(self, '_new', 0)").encode()
    assert added_attributes(before, changed("self._new = None"), "Outer.work") == {}
    assert added_attributes(BEFORE.encode(), changed("pass", '("text", "_seen")'), "Outer.work") == {}
    assert added_attributes(BEFORE.encode(), changed("self._new = None"), "work") == {}
    assert added_attributes(BEFORE.encode(), b"class Outer(:", "Outer.work") == {}
