from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from bakeoff.model.prices import price
from bakeoff.model.protocol import Usage

OPENAI = "https://api.openai.com/v1"
USED = Usage(1_000_000, 100_000, 500_000)


def test_own_prices_win():
    assert price(USED, "gpt-4o", OPENAI, (1.0, 2.0)) == pytest.approx(1.2)
    assert price(USED, "x", "http://h/v1", (0.0, 0.0)) == 0.0


@pytest.mark.parametrize("usage", [Usage(), Usage(1), Usage(None, 1)])
def test_unknown_usage_has_no_price(usage):
    assert price(usage, "gpt-4o", OPENAI, (1.0, 2.0)) is None


@pytest.mark.skipif(find_spec("genai_prices") is None, reason="genai-prices is not installed")
def test_listed_prices():
    # 2.5 USD for a million tokens of input, half of that from the cache, 10 for output.
    assert price(USED, "gpt-4o", OPENAI) == pytest.approx(0.5 * 2.5 + 0.5 * 1.25 + 1.0)
    assert price(USED, "no-such-model", OPENAI) is None
    assert price(USED, "gpt-4o", "http://127.0.0.1:1/v1") is None


def test_without_the_list_only_own_prices_are_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert price(USED, "gpt-4o", OPENAI) is None
    assert price(USED, "gpt-4o", OPENAI, (None, 2.0)) is None
