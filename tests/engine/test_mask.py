from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from bakeoff.engine.mask import Masker

SECRET = "  tok'en-\"12<78\\34&abcdefgh é\nsecond line/+ of it\tend  \n"
PARTS = ("tok", "abcdefgh", "second", "of it")


@pytest.mark.parametrize(
    "spell",
    [
        str,
        str.strip,
        lambda value: " ".join(value.split()),
        lambda value: "".join(value.splitlines()),
        lambda value: value.splitlines()[0] + " | " + value.splitlines()[1],
    ],
)
@pytest.mark.parametrize(
    "escape",
    [
        str,
        shlex.quote,
        repr,
        json.dumps,
        html.escape,
        quote,
        quote_plus,
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: shlex.quote(json.dumps(value)),
        lambda value: json.dumps(shlex.quote(json.dumps(value))),
        lambda value: json.dumps(repr(value)),
        lambda value: html.escape(json.dumps(value)),
        lambda value: repr({"inputs": value}),
    ],
)
def test_no_spelling_of_a_secret_shows_it(spell: Callable[[str], str], escape: Callable[[str], str]) -> None:
    shown = Masker({"TOKEN": SECRET}).text(f"a {escape(spell(SECRET))} z")
    assert "***" in shown
    assert not [part for part in PARTS if part in shown], shown


def test_a_plain_secret_has_one_spelling_and_a_long_key_is_bounded() -> None:
    assert Masker({"A": "plainsecret1234"}).forms == ("plainsecret1234",)
    key = "\n".join(f"MIIEvQIBADANBgkqhkiG9w0BAQEFA'ASCBKcwggSj+/{at}=" for at in range(60))
    masker = Masker({"KEY": key})
    assert len(masker.forms) <= 2000
    assert all(masker.text(line) == "***" for line in key.splitlines())


def test_what_is_short_is_let_through() -> None:
    assert Masker({"A": "short"}).text("short") == "short"
    assert Masker({"A": "lines\nof\na few words"}).text("of a few, of lines") == "of a few, of lines"
