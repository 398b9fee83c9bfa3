"""Exceptions that a function is written to raise."""

from __future__ import annotations

import pytest

from bakeoff.optimize.source_code.raised import raised_by

SOURCE = b"""
import errors

class Odd(ValueError):
    pass

def _check(key):
    if not key:
        raise errors.Missing(key)
    _check(key[1:])

def unrelated():
    raise OSError

class Box:
    def get(self, key):
        _check(key)
        try:
            return self._find(key)
        except Odd:
            raise

    def _find(self, key):
        raise Odd from None

def again(failure):
    raise failure

def plain(x):
    return x
"""


@pytest.mark.parametrize(
    ("qualname", "expected"),
    [
        ("_check", {"Missing"}),
        ("Box.get", {"Missing", "Odd"}),
        ("Box._find", {"Odd"}),
        ("again", {"failure"}),
        ("plain", set()),
    ],
)
def test_those_of_the_function_and_of_what_it_calls(qualname: str, expected: set[str]) -> None:
    assert raised_by(SOURCE, qualname) == expected
