"""The tests of the ten functions: `pytest examples/stubs` fails until somebody has written them."""

import pytest
import stubs
from cases import CASES


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [(name, arguments, expected) for name, cases in CASES.items() for arguments, expected in cases],
)
def test_returns(name, arguments, expected):
    result = getattr(stubs, name)(*arguments)
    assert (type(result), result) == (type(expected), expected)
